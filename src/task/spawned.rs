use super::follow_up::leave;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Wake, Waker};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// A task that somebody wants to go on; it ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Task(Arc<Woken>);

/// Runs a future beside everything else, wherever it is woken. Within a runtime.
pub fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Task {
    let task = Arc::new(Woken {
        future: Mutex::new(Some(future.boxed())),
        due: AtomicBool::new(false),
        runtime: Handle::current(),
    });
    task.clone().wake();
    Task(task)
}

/// Runs a future to its end, wherever it is woken. Dropping this drops it; its panic goes on here.
pub async fn drive<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let (done, ended) = oneshot::channel();
    let _task = spawn(async {
        let _ = done.send(AssertUnwindSafe(future).catch_unwind().await);
    });
    match ended.await {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        // The future is dropped by the guard above alone.
        Err(_) => std::future::pending().await,
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // Waits where it is being polled on another thread: from here on it does nothing more.
        drop(self.0.lock().take());
    }
}

/// A task as it is woken.
pub(super) struct Woken {
    /// Gone once it has ended.
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    /// Whether it was woken since it was polled.
    due: AtomicBool,
    runtime: Handle,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let was_due = self.due.swap(true, Ordering::SeqCst);
        // One that was left to the runtime may be taken over: here it can go on at once.
        if let Err(task) = leave(self)
            && !was_due
        {
            let runtime = task.runtime.clone();
            drop(runtime.spawn(async move { task.advance() }));
        }
    }
}

impl Woken {
    /// Polls it if it is due. Whoever finds it being polled leaves it to that thread, which looks
    /// again when it is done.
    pub(super) fn advance(self: Arc<Self>) {
        let mut future = match self.future.try_lock() {
            Ok(future) => future,
            Err(TryLockError::Poisoned(future)) => future.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if self.due.swap(false, Ordering::SeqCst) {
            self.poll(&mut future);
        }
        drop(future);
        // Woken meanwhile, by itself or by somebody who found it locked.
        if self.due.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    fn poll(self: &Arc<Self>, future: &mut Option<BoxFuture<'static, ()>>) {
        let Some(running) = future else { return };
        let _inside = self.runtime.enter();
        let waker = Waker::from(self.clone());
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| {
            running.poll_unpin(&mut Context::from_waker(&waker))
        }));
        if polled.map_or(true, |polled| polled.is_ready()) {
            *future = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<BoxFuture<'static, ()>>> {
        self.future.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Woken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Woken").field("due", &self.due).finish_non_exhaustive()
    }
}
