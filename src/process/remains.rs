use super::guardian::GUARDIAN_MARKER;
use std::path::Path;
use std::time::Duration;

/// How long to wait for what stands still.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until nothing is left of the steps of a `kb` that was killed: for some milliseconds they may
/// still write, and whoever goes on with them would be written over. What ends them carries the mark
/// of that `kb`, and lives as long as any of them.
pub fn wait_for_remains_of(pid: u32) {
    let began = crate::clock::instant();
    // An id may come again, but its own attendants are no remains.
    while pid != std::process::id() && attendant_of(pid).is_some() {
        if began.elapsed() > PATIENCE {
            tracing::warn!(pid, "what was left of the killed process does not end");
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// A living guardian, keeper or cell of that process.
fn attendant_of(pid: u32) -> Option<()> {
    let mark = format!("{GUARDIAN_MARKER}={pid}-");
    let carries = |folder: &Path| {
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes()))
    };
    let all = std::fs::read_dir("/proc").ok()?.flatten();
    all.map(|entry| entry.path()).find(|path| carries(path)).map(drop)
}
