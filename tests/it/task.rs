//! Tasks go on where they are woken: on the thread that follows up what it hears, else in the runtime.

use kb::task::{self, follow_up};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_wakes_a_task_from_many_threads_is_never_lost() {
    const THREADS: usize = 4;
    const MESSAGES: usize = 2_000;
    let (sender, mut messages) = unbounded_channel::<()>();
    let counted = task::drive(async move {
        let mut count = 0;
        while messages.recv().await.is_some() {
            count += 1;
        }
        count
    });
    let threads: Vec<_> = (0..THREADS)
        .map(|at| {
            let sender = sender.clone();
            thread::spawn(move || {
                for _ in 0..MESSAGES {
                    let send = || sender.send(()).unwrap();
                    if at % 2 == 0 { follow_up(send) } else { send() }
                }
            })
        })
        .collect();
    drop(sender);
    assert_eq!(counted.await, THREADS * MESSAGES);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
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
    let task = task::spawn(async move {
        let _held = held;
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
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
