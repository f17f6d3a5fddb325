//! Waiting for the orphan processes of a `kb` that was killed.

use super::base_environment::HELPER_MARKER;
use super::orphans::value_of;
use std::time::Duration;

/// How long to wait for processes that do not end.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits until no process of the steps of a killed `kb` is left, up to ten seconds.
///
/// Orphans may write files for some milliseconds after the kill, and a resumed run must not write
/// the same files meanwhile. The helper processes of that `kb` live as long as its orphans.
pub async fn wait_for_orphans_of(pid: u32) {
    let started = kb_clock::instant();
    // The id may be reused by this process, whose own helpers are not orphans.
    while pid != std::process::id() && has_helpers(pid).await {
        if started.elapsed() > TIMEOUT {
            tracing::warn!(pid, "orphan processes of the killed process do not end");
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether a watchdog or an init process of that process is alive. Reads all of `/proc`, so it runs outside
/// the async threads.
async fn has_helpers(pid: u32) -> bool {
    tokio::task::spawn_blocking(move || any_helper(pid)).await.unwrap_or(false)
}

/// The watchdog is marked by its environment. The kernel shows an ordinary user no environment of the init
/// process, which cannot be traced, so that process has the mark among its arguments.
fn any_helper(pid: u32) -> bool {
    let name = format!("{pid}-");
    std::fs::read_dir("/proc").into_iter().flatten().flatten().any(|process| {
        ["environ", "cmdline"].iter().any(|list| {
            let list = std::fs::read(process.path().join(list)).unwrap_or_default();
            value_of(HELPER_MARKER, &list).is_some_and(|value| value.starts_with(name.as_bytes()))
        })
    })
}
