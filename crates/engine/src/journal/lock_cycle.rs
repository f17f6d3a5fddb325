//! Requests for named locks that wait for each other, and so would wait for ever.
//!
//! A request waits for all requests before it in its queue. Each of those lasts until its unit, a run or a step of a
//! run, has ended, and that waits for every request within it: the steps of the run, its child runs and
//! their steps.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What the file of a request says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Ticket {
    /// Who requests it, as human-readable text.
    pub(super) owner: String,
    /// Name of the lock.
    #[serde(default)]
    lock: String,
    /// The run or step whose end releases it.
    #[serde(default)]
    unit: String,
    /// The runs and steps that cannot end before it is granted; known once it waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    within: Vec<String>,
}

/// Requests that wait for each other; each waits for what the next one is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockCycle(Vec<Waiting>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Waiting {
    owner: String,
    lock: String,
    held_by: String,
}

impl Ticket {
    pub(super) fn new(lock: &str, owner: &str, unit: &str) -> Ticket {
        let within = Vec::new();
        Ticket { owner: owner.to_owned(), lock: lock.to_owned(), unit: unit.to_owned(), within }
    }

    pub(super) fn wait_within(&mut self, units: &[String]) {
        self.within = units.to_vec();
    }

    /// The text of its file. It only grows, so that it can be written over the earlier one.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a file. A text that is being written, or of another version, is a name only.
    pub(super) fn read(text: &str) -> Ticket {
        serde_json::from_str(text)
            .unwrap_or_else(|_| Ticket { owner: text.to_owned(), ..Ticket::default() })
    }
}

/// The cycle through a request, if it is the one of the cycle that has to be given up: the one whose unit is the
/// last in the order of their names, so that all processes choose the same one.
pub(super) fn find(queues: &[Vec<Ticket>], own: &Ticket) -> Option<LockCycle> {
    let at = queues.iter().enumerate().find_map(|(queue, tickets)| {
        let place = tickets.iter().position(|ticket| ticket == own)?;
        Some((queue, place))
    })?;
    let mut seen = BTreeSet::new();
    let mut path = vec![at];
    if !reaches(queues, at, at, &mut seen, &mut path) {
        return None;
    }
    let of = |(queue, place): &(usize, usize)| &queues[*queue][*place];
    if path.iter().map(of).any(|other| (&other.unit, &other.lock) > (&own.unit, &own.lock)) {
        return None;
    }
    let waiting = path.iter().map(|place| {
        let ticket = of(place);
        let held_by = queues[place.0].first().map(|first| first.owner.clone());
        Waiting {
            owner: ticket.owner.clone(),
            lock: ticket.lock.clone(),
            held_by: held_by.unwrap_or_default(),
        }
    });
    Some(LockCycle(waiting.collect()))
}

/// Extends the path to one that leads to `goal`. At most a few dozen requests wait at the same time, and each is
/// visited once.
fn reaches(
    queues: &[Vec<Ticket>],
    from: (usize, usize),
    goal: (usize, usize),
    seen: &mut BTreeSet<(usize, usize)>,
    path: &mut Vec<(usize, usize)>,
) -> bool {
    for next in waited_for(queues, from) {
        if next == goal {
            return true;
        }
        if seen.insert(next) {
            path.push(next);
            if reaches(queues, next, goal, seen, path) {
                return true;
            }
            path.pop();
        }
    }
    false
}

/// The waiting requests that must be granted before this one can be.
fn waited_for(queues: &[Vec<Ticket>], (queue, place): (usize, usize)) -> Vec<(usize, usize)> {
    let before = &queues[queue][..place];
    let mut found = Vec::new();
    for (number, tickets) in queues.iter().enumerate() {
        for (place, ticket) in tickets.iter().enumerate().skip(1) {
            if before.iter().any(|earlier| ticket.within.contains(&earlier.unit)) {
                found.push((number, place));
            }
        }
    }
    found
}

impl fmt::Display for LockCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Waiting { owner, lock, held_by }) in self.0.iter().enumerate() {
            let separator = if number > 0 { "; " } else { "" };
            let (kind, name) = match lock.split_once('/') {
                Some(("group", name)) => ("concurrency group", name),
                Some((_, name)) => ("lock", name),
                None => ("lock", &**lock),
            };
            write!(f, "{separator}{owner} waits for the {kind} `{name}`, which {held_by} holds")?;
        }
        Ok(())
    }
}
