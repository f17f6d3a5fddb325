use super::orphans::value_of;
use super::watchdog::HELPER_MARKER;
use std::time::Duration;

/// How long to wait for what stands still.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until nothing is left of the steps of a `kb` that was killed: for some milliseconds they may
/// still write, and whoever goes on with them would be written over. What ends them carries the mark
/// of that `kb`, and lives as long as any of them.
pub fn wait_for_orphans_of(pid: u32) {
    let began = crate::clock::instant();
    // An id may come again, but its own helpers are no remains.
    while pid != std::process::id() && has_helpers(pid) {
        if began.elapsed() > PATIENCE {
            tracing::warn!(pid, "what was left of the killed process does not end");
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether a watchdog, keeper or cell of that process lives.
fn has_helpers(pid: u32) -> bool {
    let name = format!("{pid}-");
    std::fs::read_dir("/proc").into_iter().flatten().flatten().any(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        value_of(HELPER_MARKER, &environment)
            .is_some_and(|value| value.starts_with(name.as_bytes()))
    })
}
