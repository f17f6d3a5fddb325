//! The log of `kb` itself, on stderr. It is off unless `KB_LOG` is set, except for `kb serve`.

use kb_service::service::Redactors;
use std::io::Write;
use tracing_subscriber::EnvFilter;

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LogFormat {
    /// Human-readable lines
    Text,
    /// One JSON object per line
    Json,
}

/// How a command logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Logging {
    /// The form.
    pub(super) format: LogFormat,
    /// The filter unless `KB_LOG` is set; `None`: nothing is logged.
    pub(super) usual: Option<&'static str>,
}

impl Logging {
    /// The form that was asked for, else that of `KB_LOG_FORMAT`.
    pub(super) fn new(format: Option<LogFormat>, usual: Option<&'static str>) -> Logging {
        let of_variable = || match std::env::var("KB_LOG_FORMAT") {
            Ok(name) if name == "json" => LogFormat::Json,
            _ => LogFormat::Text,
        };
        Logging { format: format.unwrap_or_else(of_variable), usual }
    }
}

/// Starts logging with the filter in `KB_LOG` (`debug`, `kb::engine=trace`, …).
pub(super) fn start(logging: Logging, redactors: Redactors) {
    let given = std::env::var("KB_LOG").ok();
    let Some(wanted) = given.or_else(|| logging.usual.map(str::to_owned)) else { return };
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("debug"));
    let writer = move || MaskedStderr { redactors: redactors.clone() };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // A program that embeds this library may have installed a subscriber; it is kept.
    let _ = match logging.format {
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
