//! The program's own log, for those who look into `kb` itself: off unless `KB_LOG` says otherwise.

use tracing_subscriber::EnvFilter;

/// Writes to stderr what `KB_LOG` asks for (`debug`, `kb::engine=trace`, …). Costs nothing without it.
pub(super) fn start() {
    let Ok(wanted) = std::env::var("KB_LOG") else { return };
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|_| EnvFilter::new("debug"));
    // A second subscriber can only come from a program that embeds this library; theirs stays.
    let _ =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
