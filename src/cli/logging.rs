//! The log of `kb` itself, for debugging. It is off unless `KB_LOG` is set.

use crate::service::Redactors;
use std::io::Write;
use tracing_subscriber::EnvFilter;

/// Starts logging to stderr with the filter in `KB_LOG` (`debug`, `kb::engine=trace`, …).
pub(super) fn start(redactors: Redactors) {
    let Ok(wanted) = std::env::var("KB_LOG") else { return };
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("debug"));
    let writer = move || MaskedStderr { redactors: redactors.clone() };
    // A program that embeds this library may have installed a subscriber; it is kept.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).try_init();
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
