//! The last words of a thread that panicked, which may repeat whatever it worked on.

use crate::service::mask_for_process;

/// Shows panics without the values of secrets.
pub(super) fn start() {
    std::panic::set_hook(Box::new(|panic| {
        use std::io::Write;
        let thread = std::thread::current();
        let text = format!("thread `{}` {panic}", thread.name().unwrap_or("unnamed"));
        let text = mask_for_process(&text);
        // There is nobody to tell that stderr is gone.
        let _ = writeln!(std::io::stderr(), "kb has a defect: {text}");
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|wanted| wanted != "0") {
            let _ = writeln!(std::io::stderr(), "{}", std::backtrace::Backtrace::force_capture());
        }
    }));
}
