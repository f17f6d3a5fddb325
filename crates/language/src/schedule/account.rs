//! [`account`]: decides about every nominal time that has passed since the cursor: on time, late
//! (a misfire, made up for within `catchUp`), or missed.

use super::Schedule;
use kb_base::value::{Digest, Timestamp};
use std::time::Duration;

/// How late a time may be and still count as on time: the longest sleep of the daemon, and a restart.
const GRACE: Duration = Duration::from_secs(60);

/// How far ahead of the clock a cursor may be before it is taken as the trace of a wrong clock.
const AHEAD: Duration = Duration::from_secs(26 * 3600);

/// What follows from times that passed while nothing could start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatchUp {
    /// How old a time may be to be started late; zero: none is.
    pub window: Duration,
    /// Which of them are started.
    pub keep: Keep,
    /// Maximum number of late starts with [`Keep::All`].
    pub max: u32,
}

impl Default for CatchUp {
    fn default() -> Self {
        CatchUp { window: Duration::ZERO, keep: Keep::Latest, max: 10 }
    }
}

/// Which late times are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// The newest one stands for all of them.
    #[default]
    Latest,
    /// Each of them, up to the maximum.
    All,
}

/// The rules of a schedule that decide about its nominal times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// What happens to nominal times that passed while nothing was running.
    pub catch_up: CatchUp,
    /// Maximum delay of a start; the delay of each time is fixed.
    pub jitter: Duration,
}

/// What happens to a nominal time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It fires; `late` if it had passed while nothing could start.
    Fire {
        /// Whether it is a late start.
        late: bool,
    },
    /// The trigger is paused.
    Paused,
    /// It had passed, and `catchUp.window` does not reach back to it.
    Missed,
    /// It had passed, and a newer time stands for it (`catchUp.keep: latest`).
    Superseded,
    /// It had passed, and `catchUp.max` newer times start.
    BeyondMaximum,
}

/// One nominal time, or several in a row with the same verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The nominal time, or the first one.
    pub nominal: Timestamp,
    /// The last nominal time, if there are several.
    pub until: Option<Timestamp>,
    /// Whether the nominal time starts a run, and if not, why.
    pub verdict: Verdict,
}

/// The result of [`account`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accounting {
    /// The nominal times from the cursor on, in order.
    pub entries: Vec<Entry>,
    /// The new cursor: every time up to here is accounted for.
    pub cursor: Timestamp,
    /// When the next nominal time is due, its delay included; `None` if there is none.
    pub due: Option<Timestamp>,
}

/// The delay of a nominal time: the same for every daemon and every restart.
pub fn jitter(trigger: &str, nominal: Timestamp, most: Duration) -> Duration {
    let most = most.as_millis() as u64;
    if most == 0 {
        return Duration::ZERO;
    }
    let digest = Digest::of(format!("{trigger}/{}", nominal.0));
    let bytes = digest.as_bytes();
    let number = bytes[..8].iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    Duration::from_millis(number % most)
}

/// Decides about the nominal times after `cursor` that are due at `now`. `trigger` is the id from which
/// the delays are computed.
///
/// Times are accounted for in order and once: a clock that goes back finds no time after the cursor. A
/// cursor far ahead of the clock was written under a wrong clock; it returns to `now`.
pub fn account(
    trigger: &str,
    schedule: &Schedule,
    policy: Policy,
    paused: bool,
    cursor: Timestamp,
    now: Timestamp,
) -> Accounting {
    let cursor = if cursor > now.after(AHEAD) { now } else { cursor };
    let due = |nominal: Timestamp| nominal.after(jitter(trigger, nominal, policy.jitter));
    let mut result = Accounting { entries: Vec::new(), cursor, due: None };
    // Older times than these are missed without inspecting each.
    let reach = policy.catch_up.window.max(GRACE) + policy.jitter;
    let start = Timestamp(now.0.saturating_sub(reach.as_millis() as i64));
    if cursor < start
        && let Some(first) = schedule.next(cursor).filter(|first| *first < start)
    {
        let last = schedule.last(cursor, start).filter(|last| *last > first);
        let verdict = if paused { Verdict::Paused } else { Verdict::Missed };
        result.entries.push(Entry { nominal: first, until: last, verdict });
        result.cursor = last.unwrap_or(first);
    }
    let mut recent = Vec::new();
    let mut next = schedule.next(result.cursor);
    while let Some(nominal) = next.filter(|nominal| due(*nominal) <= now) {
        recent.push(nominal);
        result.cursor = nominal;
        next = schedule.next(nominal);
    }
    result.due = next.map(due);
    let verdicts = verdicts(&recent, policy.catch_up, paused, now, due);
    for (nominal, verdict) in recent.into_iter().zip(verdicts) {
        add(&mut result.entries, nominal, verdict);
    }
    result
}

/// The verdicts of times that are due, oldest first.
fn verdicts(
    recent: &[Timestamp],
    catch_up: CatchUp,
    paused: bool,
    now: Timestamp,
    due: impl Fn(Timestamp) -> Timestamp,
) -> Vec<Verdict> {
    let mut newer = 0;
    let mut verdicts: Vec<Verdict> = recent
        .iter()
        .rev()
        .map(|nominal| {
            let age = now.since(due(*nominal));
            let verdict = match catch_up.keep {
                _ if paused => Verdict::Paused,
                _ if age <= GRACE => Verdict::Fire { late: false },
                _ if age > catch_up.window => Verdict::Missed,
                Keep::Latest if newer > 0 => Verdict::Superseded,
                Keep::All if newer >= catch_up.max => Verdict::BeyondMaximum,
                _ => Verdict::Fire { late: true },
            };
            newer += 1;
            verdict
        })
        .collect();
    verdicts.reverse();
    verdicts
}

/// Adds a time; times in a row that do not fire share an entry.
fn add(entries: &mut Vec<Entry>, nominal: Timestamp, verdict: Verdict) {
    if let Some(last) = entries.last_mut()
        && last.verdict == verdict
        && !matches!(verdict, Verdict::Fire { .. })
    {
        last.until = Some(nominal);
        return;
    }
    entries.push(Entry { nominal, until: None, verdict });
}
