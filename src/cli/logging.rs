//! The log of `kb` itself, on stderr. It is off unless `KB_LOG` is set, except for `kb serve`.

use super::arguments::{Kb, KbCommand};
use crate::service::Redactors;
use std::io::Write;
use tracing_subscriber::EnvFilter;

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object per line
    Json,
}

impl LogFormat {
    /// The form that `KB_LOG_FORMAT` asks for.
    fn of_environment() -> Option<LogFormat> {
        match std::env::var("KB_LOG_FORMAT").ok()?.as_str() {
            "json" => Some(LogFormat::Json),
            _ => Some(LogFormat::Text),
        }
    }
}

/// The form of the log of a command line.
pub(super) fn format(arguments: &Kb) -> LogFormat {
    let given = match &arguments.command {
        Some(KbCommand::Serve(args)) => args.log_format,
        _ => None,
    };
    given.or_else(LogFormat::of_environment).unwrap_or(LogFormat::Text)
}

/// Starts logging with the filter in `KB_LOG` (`debug`, `kb::engine=trace`, …).
pub(super) fn start(arguments: &Kb, redactors: Redactors) {
    let is_daemon = matches!(&arguments.command, Some(KbCommand::Serve(args)) if args.is_daemon());
    let usual = match arguments.quiet {
        true => "kb=error",
        false => "kb=info",
    };
    let wanted = match std::env::var("KB_LOG") {
        Ok(wanted) => wanted,
        Err(_) if is_daemon => usual.to_owned(),
        Err(_) => return,
    };
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("debug"));
    let writer = move || MaskedStderr { redactors: redactors.clone() };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // A program that embeds this library may have installed a subscriber; it is kept.
    let _ = match format(arguments) {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init(),
    };
}

/// Standard error with secrets masked. Each log event is one write.
struct MaskedStderr {
    redactors: Redactors,
}

impl Write for MaskedStderr {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = self.redactors.mask(String::from_utf8_lossy(event).into_owned());
        // An error of stderr cannot be reported: it would be reported on stderr.
        let _ = std::io::stderr().write_all(super::escape::escaped(&text).as_bytes());
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}
