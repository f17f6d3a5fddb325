//! The file changes that the runtime recorded for one step, by path.

use crate::evidence::{Change, FileState, Invocation, InvocationStatus, ProcessFacts, Purpose};
use std::collections::BTreeMap;

/// A file change with the tool call that made it.
type RecordedChange<'a> = (&'a Invocation, &'a Change);

/// The recorded file changes of a step, by path. Calls for verification are left out.
pub(super) struct RecordedChanges<'a> {
    by_path: BTreeMap<&'a str, Vec<RecordedChange<'a>>>,
    /// Each path once, in the order of the first changes.
    order: Vec<&'a str>,
    gap: Option<String>,
}

/// The recorded changes of one path.
pub(super) struct History<'a>(&'a [RecordedChange<'a>]);

impl<'a> RecordedChanges<'a> {
    pub(super) fn of(trace: &'a [Invocation]) -> Self {
        let mut by_path: BTreeMap<&str, Vec<RecordedChange<'a>>> = BTreeMap::new();
        let mut order = Vec::new();
        for call in trace.iter().filter(|call| call.purpose == Purpose::Execution) {
            for change in &call.changes {
                let changes = by_path.entry(&change.path).or_default();
                if changes.is_empty() {
                    order.push(change.path.as_str());
                }
                changes.push((call, change));
            }
        }
        RecordedChanges { by_path, order, gap: gap(trace) }
    }

    /// The changes of a path, in order.
    pub(super) fn history(&self, path: &str) -> History<'_> {
        History(self.by_path.get(path).map_or(&[], Vec::as_slice))
    }

    /// The paths whose content differs from the state before the first attempt, in the order of
    /// their first change.
    pub(super) fn differing(&self) -> impl Iterator<Item = &'a str> {
        self.order.iter().copied().filter(|path| self.differs(path))
    }

    /// Whether the content of a path below a folder differs from the state before the first attempt.
    pub(super) fn differs_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let later = self.by_path.range(below.as_str()..).map(|(path, _)| *path);
        later.take_while(|path| path.starts_with(&below)).any(|path| self.differs(path))
    }

    /// Whether the content of a path differs from the state before the first attempt.
    pub(super) fn differs(&self, path: &str) -> bool {
        let history = self.history(path);
        match (history.before(), history.after()) {
            (Some(before), Some(after)) => !is_same_content(before, after).unwrap_or(false),
            (None, None) => false,
            _ => true,
        }
    }

    /// Why the record may be incomplete, if it may. Then an absent change proves nothing.
    pub(super) fn gap(&self) -> Option<&str> {
        self.gap.as_deref()
    }
}

fn gap(trace: &[Invocation]) -> Option<String> {
    let truncated = |call: &&Invocation| {
        call.process.as_ref().is_some_and(|process| ProcessFacts::of(process).manifest_truncated)
    };
    if let Some(call) = trace.iter().find(|call| call.status == InvocationStatus::Unknown) {
        return Some(format!(
            "the outcome of the call `{}` of `{}` is unknown",
            call.id, call.tool
        ));
    }
    let call = trace.iter().find(truncated)?;
    Some(format!("the workspace has more files than could be watched around `{}`", call.tool))
}

impl<'a> History<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The state before the first attempt.
    pub(super) fn before(&self) -> Option<&'a FileState> {
        self.0.first().and_then(|(_, change)| change.before.as_ref())
    }

    /// The state after the last recorded call.
    pub(super) fn after(&self) -> Option<&'a FileState> {
        self.0.last().and_then(|(_, change)| change.after.as_ref())
    }

    /// Whether a call changed the path while it existed.
    pub(super) fn was_modified(&self) -> bool {
        self.0.iter().any(|(_, change)| change.before.is_some() && change.after.is_some())
    }

    /// The last call that changed the path.
    pub(super) fn last_call(&self) -> Option<&'a Invocation> {
        self.0.last().map(|(call, _)| *call)
    }

    /// The ids of the calls that changed the path, in order.
    pub(super) fn calls(&self) -> Vec<&'a str> {
        self.0.iter().map(|(call, _)| call.id.as_str()).collect()
    }
}

/// Whether two states have the same content, by digest. `None` if a digest is missing and the
/// metadata differ.
pub(super) fn is_same_content(a: &FileState, b: &FileState) -> Option<bool> {
    if a.kind != b.kind {
        return Some(false);
    }
    match (a.sha256, b.sha256) {
        (Some(a), Some(b)) => Some(a == b),
        _ if a.size != b.size => Some(false),
        _ => a.same_stat(b).then_some(true),
    }
}
