//! The program's own log, for those who look into `kb` itself: off unless `KB_LOG` says otherwise.

use crate::service::mask_for_process;
use std::io::Write;
use tracing_subscriber::EnvFilter;

/// Writes to stderr what `KB_LOG` asks for (`debug`, `kb::engine=trace`, …). Costs nothing without it.
pub(super) fn start() {
    let Ok(wanted) = std::env::var("KB_LOG") else { return };
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("debug"));
    // A second subscriber can only come from a program that embeds this library; theirs stays.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Masked).try_init();
}

/// Standard error without the values of secrets. Each event comes as one write.
struct Masked;

impl Write for Masked {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        // Whoever logs is told of no error: it would be said on stderr, which is what is broken.
        let _ = std::io::stderr().write_all(mask_for_process(&text).as_bytes());
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}
