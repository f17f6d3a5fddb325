//! The log of `kb` itself, for debugging. It is off unless `KB_LOG` is set.

use crate::service::mask_for_process;
use std::io::Write;
use tracing_subscriber::EnvFilter;

/// Starts logging to stderr with the filter in `KB_LOG` (`debug`, `kb::engine=trace`, …).
pub(super) fn start() {
    let Ok(wanted) = std::env::var("KB_LOG") else { return };
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("debug"));
    // A program that embeds this library may have installed a subscriber; it is kept.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Masked).try_init();
}

/// Standard error with secrets masked. Each log event is one write.
struct Masked;

impl Write for Masked {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        // An error of stderr cannot be reported: it would be reported on stderr.
        let _ = std::io::stderr().write_all(mask_for_process(&text).as_bytes());
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}
