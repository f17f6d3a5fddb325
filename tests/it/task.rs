//! Tasks go on where they are woken: on the thread that follows up what it hears, else in the runtime.

use kb::task::{self, follow_up};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread::{self, ThreadId};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

/// Answers each message with the thread on which it was taken in.
async fn tell_where(
    mut messages: UnboundedReceiver<()>,
    answers: impl Fn(ThreadId) + Send + 'static,
) {
    while messages.recv().await.is_some() {
        answers(thread::current().id());
    }
}

#[tokio::test]
async fn a_task_and_what_it_wakes_go_on_where_the_first_was_woken() {
    let (first, messages) = unbounded_channel();
    let (second, passed_on) = unbounded_channel();
    let (answers, mut places) = unbounded_channel();
    let also = answers.clone();
    let _first = task::spawn(tell_where(messages, move |at| {
        answers.send(at).unwrap();
        second.send(()).unwrap();
    }));
    let _second = task::spawn(tell_where(passed_on, move |at| also.send(at).unwrap()));

    // Woken from here, they run in the runtime, which is this thread.
    first.send(()).unwrap();
    let here = [places.recv().await.unwrap(), places.recv().await.unwrap()];
    assert_eq!(here, [thread::current().id(); 2]);

    // The runtime stands still until the other thread has ended, and it is all done by then.
    let heard = thread::spawn(move || {
        follow_up(|| first.send(()).unwrap());
        thread::current().id()
    });
    let other = heard.join().unwrap();
    assert_eq!([places.try_recv(), places.try_recv()], [Ok(other), Ok(other)]);
}

#[tokio::test]
async fn a_thread_that_has_followed_up_leaves_later_wakes_to_the_runtime() {
    let (sender, messages) = unbounded_channel();
    let (answers, mut places) = unbounded_channel();
    let _task = task::spawn(tell_where(messages, move |at| answers.send(at).unwrap()));
    thread::spawn(move || {
        follow_up(|| ());
        sender.send(()).unwrap();
    })
    .join()
    .unwrap();
    assert!(places.try_recv().is_err());
    assert_eq!(places.recv().await, Some(thread::current().id()));
}

/// Woken on another thread, which finds it being polled and leaves it to whoever does that.
#[tokio::test(start_paused = true)]
async fn what_wakes_a_task_while_it_is_polled_is_not_lost() {
    let mut polls = 0;
    let polled = task::drive(std::future::poll_fn(move |context| {
        polls += 1;
        if polls > 1 {
            return Poll::Ready(polls);
        }
        let waker = context.waker().clone();
        thread::spawn(move || follow_up(|| waker.wake())).join().unwrap();
        Poll::Pending
    }));
    assert_eq!(tokio::time::timeout(Duration::from_secs(1), polled).await, Ok(2));
}

#[tokio::test]
async fn a_dropped_task_ends_and_what_it_held_goes() {
    struct Held(Arc<AtomicBool>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let gone = Arc::new(AtomicBool::new(false));
    let held = Held(gone.clone());
    let (begun, begins) = oneshot::channel();
    // Whoever could wake it still can, which must not keep it.
    let (_never, message) = oneshot::channel::<()>();
    let task = task::spawn(async move {
        let _held = held;
        begun.send(()).unwrap();
        let _ = message.await;
    });
    begins.await.unwrap();
    assert!(!gone.load(Ordering::SeqCst));
    drop(task);
    assert!(gone.load(Ordering::SeqCst));
}

#[tokio::test]
#[should_panic(expected = "a defect")]
async fn a_panic_goes_on_in_whoever_waits() {
    task::drive(async { panic!("a defect") }).await
}
