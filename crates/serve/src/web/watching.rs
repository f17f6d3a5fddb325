//! Notices changes of journals and trigger stores, also by other processes.

use super::state::{WebProject, WebState};
use std::sync::Arc;
use std::time::Duration;

/// Interval between two looks without open streams.
const IDLE: Duration = Duration::from_millis(250);
/// Interval while streams are open: a look reads one number of shared memory.
const WATCHED: Duration = Duration::from_millis(50);

/// Looks for changes until the server stops.
pub(super) async fn watch_changes(state: Arc<WebState>) {
    let mut seen: Vec<(i64, i64)> = Vec::new();
    loop {
        let pause = if state.live().streams() > 0 { WATCHED } else { IDLE };
        tokio::select! {
            () = state.stop().cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        let looking = state.clone();
        let now = tokio::task::spawn_blocking(move || versions(&looking)).await;
        let Ok(now) = now else { continue };
        if now == seen {
            continue;
        }
        let stores = |all: &[(i64, i64)]| all.iter().map(|(_, store)| *store).collect::<Vec<_>>();
        let is_store = stores(&now) != stores(&seen);
        seen = now;
        if is_store {
            state.live().wake_stores();
        }
        state.live().wake();
        if state.feed().is_followed() {
            let looking = state.clone();
            let looked = move || looking.feed().look(&looking.sources());
            let _ = tokio::task::spawn_blocking(looked).await;
        }
    }
}

fn versions(state: &WebState) -> Vec<(i64, i64)> {
    let version = |project: &Arc<WebProject>| {
        // A journal that cannot be read has no news.
        let journal = project.shared.journal.version().unwrap_or(-1);
        (journal, project.shared.store.version().unwrap_or(-1))
    };
    state.projects().iter().map(version).collect()
}
