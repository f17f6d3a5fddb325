//! `max_api_calls_per_minute`: model calls wait until the minute before them has room.

use kb_language::definition::GlobalLimits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

const MINUTE: Duration = Duration::from_secs(60);

/// The model calls of the last minute, of a run and of its specialists.
#[derive(Debug, Default)]
pub(super) struct Pace {
    run: Option<Window>,
    specialists: Mutex<BTreeMap<String, Window>>,
}

/// A minute with room for so many calls.
#[derive(Debug, Clone)]
struct Window(Arc<Semaphore>);

impl Pace {
    /// The pace of a run with these limits of the settings.
    pub(super) fn of(limits: GlobalLimits) -> Pace {
        Pace { run: limits.calls_per_minute.map(Window::of), specialists: Mutex::default() }
    }

    /// Waits until a call may be made, and counts it.
    pub(super) async fn wait(&self, specialist: Option<(&str, GlobalLimits)>) {
        if let Some(window) = specialist.and_then(|(id, limits)| self.own(id, limits)) {
            window.wait().await;
        }
        if let Some(window) = &self.run {
            window.wait().await;
        }
    }

    fn own(&self, id: &str, limits: GlobalLimits) -> Option<Window> {
        let most = limits.calls_per_minute?;
        let mut known = self.specialists.lock().unwrap_or_else(PoisonError::into_inner);
        Some(known.entry(id.to_owned()).or_insert_with(|| Window::of(most)).clone())
    }
}

impl Window {
    fn of(most: u32) -> Window {
        Window(Arc::new(Semaphore::new(most as usize)))
    }

    async fn wait(&self) {
        // The semaphore is never closed.
        let Ok(permit) = self.0.clone().acquire_owned().await else { return };
        tokio::spawn(async move {
            tokio::time::sleep(MINUTE).await;
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test(start_paused = true)]
    async fn a_call_over_the_limit_waits_for_the_end_of_the_minute() {
        let pace = Pace::of(GlobalLimits { calls_per_minute: Some(2), tool_calls: None });
        let own = GlobalLimits { calls_per_minute: Some(1), tool_calls: None };
        pace.wait(Some(("a", own))).await;
        assert!(pace.wait(Some(("a", own))).now_or_never().is_none(), "the limit of `a`");
        pace.wait(Some(("b", GlobalLimits::default()))).await;
        assert!(pace.wait(None).now_or_never().is_none(), "the limit of the run");
        tokio::time::sleep(MINUTE + Duration::from_secs(1)).await;
        pace.wait(Some(("a", own))).await;
    }
}
