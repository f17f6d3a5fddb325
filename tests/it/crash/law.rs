//! The rules that hold for a run that was killed any number of times.

use super::ledger::Line;
use kb::definition::StepKind;
use kb::evidence::{InvocationStatus, Record};
use kb::journal::StoredEvent;
use kb::plan::Plan;
use kb::run::{Event, Rules, State, StepStatus};
use kb::value::RunId;
use std::collections::{BTreeMap, BTreeSet};

/// Where journal and ledger stood when a lease owner had died or left.
#[derive(Debug, Clone)]
pub(super) struct Life {
    /// Every event that was stored by then.
    pub(super) events: Vec<StoredEvent>,
    /// Every line that was written by then; read before the events.
    pub(super) lines: usize,
    /// Whether it was killed.
    pub(super) killed: bool,
}

/// What was counted; all but `kills` and `recoveries` must be nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) kills: u64,
    /// Kills of a lease owner that had taken the run over from another.
    pub(super) recoveries: u64,
    pub(super) lost: u64,
    pub(super) repeated: u64,
    pub(super) twice: u64,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.kills += other.kills;
        self.recoveries += other.recoveries;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.twice += other.twice;
    }
}

/// A work's place: its idempotency key and its attempt.
type Place = (String, u32);

/// What the events say of each attempt, by the number of the event.
#[derive(Default)]
struct Told {
    began: BTreeMap<Place, u64>,
    over: BTreeMap<Place, u64>,
    /// By key: the end of the instance in its iteration.
    ended: BTreeMap<String, (u64, StepStatus)>,
    answered: BTreeMap<String, u64>,
    last_attempt: BTreeMap<String, u32>,
    /// Keys of instances whose work writes into the ledger by itself.
    processes: BTreeSet<String>,
    specialists: BTreeSet<String>,
    unsafe_to_repeat: BTreeSet<String>,
    /// Whether a person has re-opened the run.
    reset: bool,
}

impl Told {
    fn by(run: &RunId, plan: &Plan, events: &[StoredEvent]) -> Told {
        let mut told = Told::default();
        let mut state = State::new(plan, Rules::default());
        for stored in events {
            state.apply(plan, stored.at, &stored.event);
            let key = |ix| {
                let instance = state.instance(ix);
                format!("{run}/{}/{}", state.key(plan, ix), instance.iteration)
            };
            match &*stored.event {
                Event::Started { instance, attempt } => {
                    let step = &plan.step(state.instance(*instance).step).step;
                    let kinds = match &step.kind {
                        StepKind::Run(_) => Some(&mut told.processes),
                        StepKind::Specialist(_) => Some(&mut told.specialists),
                        _ => None,
                    };
                    kinds.map(|kinds| kinds.insert(key(*instance)));
                    if !step.details().retry_safe {
                        told.unsafe_to_repeat.insert(key(*instance));
                    }
                    told.began.insert((key(*instance), *attempt), stored.seq);
                    told.last_attempt.insert(key(*instance), *attempt);
                }
                Event::AttemptEnded { instance, attempt, .. } => {
                    told.over.insert((key(*instance), *attempt), stored.seq);
                }
                Event::Reset { .. } => told.reset = true,
                Event::Answered { instance, approved: true, .. } => {
                    *told.answered.entry(key(*instance)).or_default() += 1;
                }
                Event::Ended { instance, status, .. } => {
                    told.ended.insert(key(*instance), (stored.seq, *status));
                }
                _ => {}
            }
        }
        told
    }

    /// Whether a line's key is surely that of its iteration: a request says none, so in a run that
    /// was re-opened it may be of a later one.
    fn knows(&self, line: &Line) -> bool {
        !self.reset || !line.who.starts_with("http")
    }
}

/// Whether a specialist's call was under way at a kill. It is told that the outcome is unknown; a
/// script cannot look, so its work may be refuted for it, and a person re-opens the run.
pub(super) fn lost_sight_of_a_call(events: &[StoredEvent]) -> bool {
    events.iter().any(|stored| match &*stored.event {
        Event::Recorded { record, .. } => matches!(
            &**record,
            Record::ToolResult { invocation, .. } if invocation.status == InvocationStatus::Unknown
        ),
        _ => false,
    })
}

/// Holds everything to the laws; what breaks one is said with all that is known of it.
pub(super) fn hold(
    run: &RunId,
    plan: &Plan,
    lives: &[Life],
    lines: &[Line],
) -> Result<Count, String> {
    let last = lives.last().ok_or("no owner ever lived")?;
    for (i, life) in lives.iter().enumerate() {
        let kept = last.events.get(..life.events.len());
        if kept != Some(&life.events[..]) {
            return Err(format!("what was stored when owner {i} ended is not there any more"));
        }
    }
    let told = Told::by(run, plan, &last.events);
    let mut count = Count::default();
    for (i, life) in lives.iter().enumerate().filter(|(_, life)| life.killed) {
        count.kills += 1;
        count.recoveries += u64::from(i > 0);
        begun_only_after_their_event(&told, life, lines)?;
    }
    count.repeated = repeated(&told, lives, lines)?;
    count.twice = twice(&told, lives, lines)?;
    count.lost = lost(&told, lines)?;
    one_at_a_time(lines)?;
    Ok(count)
}

/// An effect never precedes its event.
fn begun_only_after_their_event(told: &Told, life: &Life, lines: &[Line]) -> Result<(), String> {
    let stored = life.events.len() as u64;
    for line in lines[..life.lines].iter().filter(|line| line.starts && told.knows(line)) {
        let began = told.began.get(&(line.key.clone(), line.attempt));
        if began.is_none_or(|seq| *seq > stored) {
            return Err(format!("{line:?} began, and the journal had {stored} events without it"));
        }
    }
    Ok(())
}

/// What had ended by an event that is stored never begins again in its iteration.
fn repeated(told: &Told, lives: &[Life], lines: &[Line]) -> Result<u64, String> {
    for life in lives {
        let stored = life.events.len() as u64;
        for line in lines[life.lines..].iter().filter(|line| line.starts && told.knows(line)) {
            if let Some((seq, status)) = told.ended.get(&line.key)
                && *seq <= stored
            {
                return Err(format!("{line:?} began again after event {seq} said {status}"));
            }
        }
    }
    Ok(0)
}

/// What was in flight at a kill begins again at most once for it; what must not be repeated only
/// where a person said so; a specialist's call never.
fn twice(told: &Told, lives: &[Life], lines: &[Line]) -> Result<u64, String> {
    let mut begun: BTreeMap<(&str, u32, &str), u64> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.starts && told.knows(line)) {
        *begun.entry(line.work()).or_default() += 1;
    }
    for ((key, attempt, tag), times) in begun {
        let place = (key.to_owned(), attempt);
        let in_flight = lives.iter().filter(|life| life.killed).filter(|life| {
            let stored = life.events.len() as u64;
            let began = told.began.get(&place).is_some_and(|seq| *seq <= stored);
            began && told.over.get(&place).is_none_or(|seq| *seq > stored)
        });
        let in_flight = in_flight.count() as u64;
        let answered = told.answered.get(key).copied().unwrap_or_default();
        let allowed = match (told.specialists.contains(key), told.unsafe_to_repeat.contains(key)) {
            (true, _) => 1,
            (_, true) => 1 + answered.min(in_flight),
            _ => 1 + in_flight,
        };
        if times > allowed {
            return Err(format!(
                "{key} ({tag}, attempt {attempt}) began {times} times; it was in flight at \
                 {in_flight} kills and {answered} answers let it go on"
            ));
        }
    }
    Ok(0)
}

/// What has ended was done to its end.
fn lost(told: &Told, lines: &[Line]) -> Result<u64, String> {
    for (key, (_, status)) in &told.ended {
        let done = *status == StepStatus::Succeeded;
        let Some(attempt) = told.last_attempt.get(key).filter(|_| done) else { continue };
        let mut own = lines.iter().filter(|line| line.key == *key && line.attempt == *attempt);
        if told.processes.contains(key) && !own.any(|line| !line.starts) {
            return Err(format!("{key} has {status} and was never done"));
        }
    }
    Ok(0)
}

/// No two processes do the work of one key at the same time: who ends is who began last.
fn one_at_a_time(lines: &[Line]) -> Result<(), String> {
    let mut at_work: BTreeMap<&str, &str> = BTreeMap::new();
    for line in lines {
        if line.starts {
            at_work.insert(&line.key, &line.who);
        } else if at_work.get(&*line.key) != Some(&&*line.who) {
            return Err(format!("{line:?} ended while {:?} was at it", at_work.get(&*line.key)));
        }
    }
    Ok(())
}
