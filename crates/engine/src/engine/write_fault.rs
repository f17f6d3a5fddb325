//! [`WriteFaults`]: faults of the journal that a test injects.

use crate::journal::JournalError;
use kb_core::run::Event;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What happens when the end of a step is stored, once for each step.
#[derive(Debug, Default)]
pub struct WriteFaults {
    killed: Mutex<BTreeSet<String>>,
    full: Mutex<BTreeSet<String>>,
}

impl WriteFaults {
    /// After the write with the end of a step of `killed`, the process acts as if it was killed. The
    /// write with the end of a step of `full` fails, because the disk is full.
    pub fn new(
        killed: impl IntoIterator<Item = String>,
        full: impl IntoIterator<Item = String>,
    ) -> WriteFaults {
        let (killed, full) = (killed.into_iter().collect(), full.into_iter().collect());
        WriteFaults { killed: Mutex::new(killed), full: Mutex::new(full) }
    }

    /// Whether faults are left that have not occurred.
    pub fn left(&self) -> Vec<String> {
        let mut left = BTreeSet::new();
        for steps in [&self.killed, &self.full] {
            left.extend(steps.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        }
        left.into_iter().collect()
    }

    /// Fails if the disk is full for one of these events. `name` is the instance of an event that ends
    /// a step.
    pub(super) fn before<'a>(
        &self,
        events: impl Iterator<Item = &'a Event>,
        name: impl Fn(&Event) -> Option<String>,
    ) -> Result<(), JournalError> {
        if occurs(&self.full, events, name) { Err(JournalError::Full(None)) } else { Ok(()) }
    }

    /// Whether the process is killed after these events were stored.
    pub(super) fn after<'a>(
        &self,
        events: impl Iterator<Item = &'a Event>,
        name: impl Fn(&Event) -> Option<String>,
    ) -> bool {
        occurs(&self.killed, events, name)
    }
}

/// Whether one of the events ends a step with a fault, which is over then.
fn occurs<'a>(
    steps: &Mutex<BTreeSet<String>>,
    events: impl Iterator<Item = &'a Event>,
    name: impl Fn(&Event) -> Option<String>,
) -> bool {
    let mut steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
    if steps.is_empty() {
        return false;
    }
    let ended: Vec<String> = events.filter_map(name).collect();
    let mut found = false;
    for name in ended {
        let step = name.split('[').next().unwrap_or(&name);
        found |= steps.remove(step) | steps.remove(&name);
    }
    found
}
