//! Panic messages, with secrets masked: a panic may repeat the value that caused it.

use kb_service::service::Redactors;

/// Installs the panic hook, which masks the secrets of these redactors.
pub(super) fn start(redactors: Redactors) {
    std::panic::set_hook(Box::new(move |panic| {
        use std::io::Write;
        let thread = std::thread::current();
        let text = format!("thread `{}` {panic}", thread.name().unwrap_or("unnamed"));
        let text = redactors.mask(text);
        let text = super::escape::escaped(&text);
        // If stderr is closed, the message is lost.
        let _ = writeln!(std::io::stderr(), "internal error in kb: {text}");
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|wanted| wanted != "0") {
            let _ = writeln!(std::io::stderr(), "{}", std::backtrace::Backtrace::force_capture());
        }
    }));
}
