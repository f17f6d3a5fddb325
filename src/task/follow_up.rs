use super::spawned::Woken;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

thread_local! {
    /// The tasks that were woken on this thread, where it follows them up.
    static WOKEN: RefCell<Option<VecDeque<Arc<Woken>>>> = const { RefCell::new(None) };
}

/// Does what wakes tasks, then runs these tasks on this thread, and those that they wake, until all
/// of them wait again.
///
/// For a thread that waits for one thing and has nothing else to do: a task may take its time.
pub fn follow_up(wake: impl FnOnce()) {
    WOKEN.with_borrow_mut(|woken| *woken = Some(VecDeque::new()));
    wake();
    while let Some(task) = next() {
        task.advance();
    }
}

/// The next task that was woken here; after the last one, wakes go to the runtime again.
fn next() -> Option<Arc<Woken>> {
    WOKEN.with_borrow_mut(|woken| {
        let task = woken.as_mut()?.pop_front();
        if task.is_none() {
            *woken = None;
        }
        task
    })
}

/// Leaves a task to this thread; gives it back where this thread follows nothing up.
pub(super) fn leave(task: Arc<Woken>) -> Result<(), Arc<Woken>> {
    // A task may be woken while the thread ends, when its own variables are gone.
    let mut left = Some(task);
    let _ = WOKEN.try_with(|woken| {
        if let Some(woken) = &mut *woken.borrow_mut() {
            woken.extend(left.take());
        }
    });
    left.map_or(Ok(()), Err)
}
