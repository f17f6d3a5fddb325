//! [`NetChanges`]: the difference that several changes of files make together.

use super::{Change, FileState, Invocation, Purpose};
use std::collections::BTreeMap;

/// The state of each path before its first change and after its last one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetChanges(BTreeMap<String, (Option<FileState>, Option<FileState>)>);

impl NetChanges {
    /// Adds a change that happened after the others.
    pub fn add(&mut self, change: &Change) {
        let Change { path, before, after, same_content, .. } = change;
        if let Some((_, last)) = self.0.get_mut(path) {
            return last.clone_from(after);
        }
        // The digest of a content that did not change is recorded once, after the change.
        let digest = after.as_ref().filter(|_| *same_content).and_then(|after| after.sha256);
        let first =
            before.clone().map(|state| FileState { sha256: state.sha256.or(digest), ..state });
        self.0.insert(path.clone(), (first, after.clone()));
    }

    /// Adds the changes of calls that did the work of a step.
    pub fn add_calls(&mut self, calls: &[Invocation]) {
        let work = calls.iter().filter(|call| call.purpose == Purpose::Execution);
        work.flat_map(|call| &call.changes).for_each(|change| self.add(change));
    }

    /// Adds changes that happened after all of these.
    pub fn then(&mut self, later: &NetChanges) {
        later.changes().for_each(|change| self.add(&change));
    }

    /// Each path with its first and its last state, in path order.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        self.0
            .iter()
            .map(|(path, (first, last))| Change::new(path.clone(), first.clone(), last.clone()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
