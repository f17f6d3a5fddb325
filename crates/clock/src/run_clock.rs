//! [`RunClock`]: the time of a run, which a test can let pass without waiting.

use super::{Clock, timer_instant};
use kb_base::value::Timestamp;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The time of a run: that of the system, or virtual time.
///
/// Virtual time runs with the system clock while the run does work. As soon as everything in it waits
/// for a moment, it moves on to the earliest of them. Work is what holds a [`BusyGuard`]: attempts from their
/// start until the dispatcher has processed their end, and the dispatcher unless it [rests](RunClock::rest).
#[derive(Debug, Clone)]
pub struct RunClock {
    system: Clock,
    /// How far the times of the run are ahead of the system clock; see [`RunClock::continuing`].
    ahead: Duration,
    time: Option<Arc<Mutex<Virtual>>>,
}

#[derive(Debug, Default)]
struct Virtual {
    /// How far it is ahead of the system clock.
    ahead: Duration,
    /// How many parts of the run do work.
    busy: isize,
    /// What waits, by the moment and a number.
    waiting: BTreeMap<(Instant, u64), oneshot::Sender<()>>,
    next: u64,
}

impl Virtual {
    /// Moves on to the earliest moment if everything waits.
    fn advance(&mut self) {
        while self.busy <= 0
            && let Some((&(moment, _), _)) = self.waiting.first_key_value()
        {
            let moment = moment.max(timer_instant() + self.ahead);
            self.ahead += moment.saturating_duration_since(timer_instant() + self.ahead);
            let later = self.waiting.split_off(&(moment, u64::MAX));
            for (_, waker) in std::mem::replace(&mut self.waiting, later) {
                // It does work until its `Waiter` ends.
                self.busy += 1;
                let _ = waker.send(());
            }
        }
    }
}

fn locked(time: &Mutex<Virtual>) -> MutexGuard<'_, Virtual> {
    time.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunClock {
    /// The time of this clock.
    pub fn new(system: Clock) -> RunClock {
        RunClock { system, ahead: Duration::ZERO, time: None }
    }

    /// Virtual time, which starts at the time of this clock.
    pub fn virtual_time(system: Clock) -> RunClock {
        RunClock { time: Some(Arc::default()), ..RunClock::new(system) }
    }

    /// The clock below the time of the run.
    pub fn system(&self) -> &Clock {
        &self.system
    }

    /// The clock of a run whose last event has this time. It continues from there if the system clock was set
    /// back since, so that the time of a run never goes back and no timer takes longer than it was set to.
    pub fn continuing(mut self, last: Timestamp) -> RunClock {
        let behind = last.since(self.now());
        match &self.time {
            Some(_) => self.skip_to(last),
            None => self.ahead += behind,
        }
        self
    }

    /// The current time, for events and timers.
    pub fn now(&self) -> Timestamp {
        match &self.time {
            Some(time) => self.system.now().after(locked(time).ahead),
            None => self.system.now().after(self.ahead),
        }
    }

    /// The current time for measuring durations.
    pub fn instant(&self) -> Instant {
        match &self.time {
            Some(time) => timer_instant() + locked(time).ahead,
            None => timer_instant(),
        }
    }

    /// Marks work until the value is dropped; virtual time does not jump meanwhile.
    pub fn busy(&self) -> BusyGuard {
        self.change(|time| time.busy += 1);
        BusyGuard(self.clone())
    }

    /// The opposite of [`busy`](RunClock::busy), for a dispatcher that waits for its next input. It rests
    /// once `RestGuard::begin` is polled, after its timers.
    pub fn rest(&self) -> RestGuard {
        RestGuard { clock: self.clone(), at_rest: AtomicBool::new(false) }
    }

    /// Lets time pass at once; without virtual time, nothing happens.
    pub fn skip_to(&self, moment: Timestamp) {
        let ahead = moment.since(self.now());
        self.change(|time| time.ahead += ahead);
    }

    /// Waits as a part of the work of one attempt. Virtual time does not jump before what waits beside it in
    /// the same task, such as a limit, waits too.
    pub async fn sleep(&self, duration: Duration) {
        let moment = self.instant() + duration;
        if self.time.is_some() {
            tokio::task::yield_now().await;
        }
        drop(self.wait(moment, true).await);
    }

    /// Waits beside work, for its time limit or for a timer of a dispatcher that rests. Time does not
    /// jump while the result is kept.
    pub async fn sleep_until(&self, moment: Instant) -> WokenGuard {
        WokenGuard(self.wait(moment, false).await)
    }

    async fn wait(&self, moment: Instant, working: bool) -> Option<Waiter> {
        let Some(time) = &self.time else {
            tokio::time::sleep_until(moment).await;
            return None;
        };
        let (sender, woken) = oneshot::channel();
        let waiter = {
            let mut time = locked(time);
            time.next += 1;
            let key = (moment, time.next);
            time.waiting.insert(key, sender);
            Waiter { clock: self.clone(), key, working }
        };
        self.change(|time| time.busy -= isize::from(working));
        let left = moment.saturating_duration_since(self.instant());
        tokio::select! {
            biased;
            _ = woken => {}
            () = tokio::time::sleep(left) => {}
        }
        Some(waiter)
    }

    fn change(&self, change: impl FnOnce(&mut Virtual)) {
        if let Some(time) = &self.time {
            let mut time = locked(time);
            change(&mut time);
            time.advance();
        }
    }
}

impl From<Clock> for RunClock {
    fn from(system: Clock) -> RunClock {
        RunClock::new(system)
    }
}

/// Work of a run; see [`RunClock::busy`].
#[derive(Debug)]
#[must_use]
pub struct BusyGuard(RunClock);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.change(|time| time.busy -= 1);
    }
}

/// A dispatcher that waits; see [`RunClock::rest`].
#[derive(Debug)]
#[must_use]
pub struct RestGuard {
    clock: RunClock,
    at_rest: AtomicBool,
}

impl RestGuard {
    /// Rests until the value is dropped. Never ends.
    pub async fn begin(&self) -> Infallible {
        if !self.at_rest.swap(true, Ordering::Relaxed) {
            self.clock.change(|time| time.busy -= 1);
        }
        std::future::pending().await
    }
}

impl Drop for RestGuard {
    fn drop(&mut self) {
        if self.at_rest.load(Ordering::Relaxed) {
            self.clock.change(|time| time.busy += 1);
        }
    }
}

/// The end of a wait that is not work; see [`RunClock::sleep_until`].
#[must_use]
pub struct WokenGuard(#[expect(dead_code, reason = "is dropped")] Option<Waiter>);

/// A wait, until what follows from it has started.
struct Waiter {
    clock: RunClock,
    key: (Instant, u64),
    working: bool,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let (key, working) = (self.key, self.working);
        self.clock.change(|time| {
            let was_woken = time.waiting.remove(&key).is_none();
            match (was_woken, working) {
                (false, true) => time.busy += 1,
                (true, false) => time.busy -= 1,
                (true, true) | (false, false) => {}
            }
        });
    }
}

/// A time limit of work that is checked more than once.
pub struct Limit {
    clock: RunClock,
    moment: Instant,
}

impl Limit {
    /// A limit that starts now.
    pub fn of(clock: &RunClock, duration: Duration) -> Limit {
        Limit { clock: clock.clone(), moment: clock.instant() + duration }
    }

    /// Whether the time has passed.
    pub fn is_over(&self) -> bool {
        self.clock.instant() >= self.moment
    }

    /// Waits until the time has passed.
    pub async fn passed(&self) -> WokenGuard {
        self.clock.sleep_until(self.moment).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn virtual_time_moves_on_only_while_nothing_works() {
        let clock = RunClock::virtual_time(Clock::system());
        let started = clock.instant();
        let (first, second) = (clock.busy(), clock.busy());
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep(HOUR).await;
                drop(first);
            }
        });
        while clock.time.as_ref().is_some_and(|time| locked(time).busy == 2) {
            tokio::task::yield_now().await;
        }
        assert!(clock.instant() - started < HOUR, "time jumped beside work");
        clock.sleep(HOUR / 2).await;
        let passed = clock.instant() - started;
        assert!(passed >= HOUR / 2 && passed < HOUR, "{passed:?}");
        drop(second);
        sleeper.await.unwrap();
        assert!(clock.instant() - started >= HOUR);
    }

    #[test]
    fn a_run_continues_from_its_last_event_if_the_clock_was_set_back() {
        let day = 24 * HOUR;
        let last = Clock::system().now().after(day);
        for clock in [RunClock::new(Clock::system()), RunClock::virtual_time(Clock::system())] {
            let clock = clock.continuing(last);
            let first = clock.now();
            assert!(first >= last && first < last.after(HOUR), "{first:?}");
            let again = clock.continuing(last).now();
            assert!(again >= first && again < last.after(HOUR), "{again:?}");
        }
        let clock = RunClock::new(Clock::system()).continuing(Timestamp(0)).now();
        assert!(clock < last);
    }

    #[tokio::test]
    async fn a_limit_passes_before_a_longer_sleep() {
        let clock = RunClock::virtual_time(Clock::system());
        let _work = clock.busy();
        let limit = Limit::of(&clock, HOUR);
        let ended = tokio::select! {
            biased;
            () = clock.sleep(2 * HOUR) => "sleep",
            _woken = limit.passed() => "limit",
        };
        assert_eq!(ended, "limit");
        assert!(limit.is_over());
    }
}
