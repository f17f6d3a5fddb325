use crate::evidence::{Change, FileState, Invocation, InvocationStatus, Purpose};
use crate::value::Json;
use std::collections::BTreeMap;

/// A recorded change with the call that made it.
type Step<'a> = (&'a Invocation, &'a Change);

/// What the runtime recorded of a step's own work, by path.
pub(super) struct Recorded<'a> {
    by_path: BTreeMap<&'a str, Vec<Step<'a>>>,
    /// Each path once, in the order of their first change.
    order: Vec<&'a str>,
    gap: Option<String>,
}

/// What was recorded of one path.
pub(super) struct History<'a>(&'a [Step<'a>]);

impl<'a> Recorded<'a> {
    pub(super) fn of(trace: &'a [Invocation]) -> Self {
        let mut by_path: BTreeMap<&str, Vec<Step<'a>>> = BTreeMap::new();
        let mut order = Vec::new();
        for call in trace.iter().filter(|call| call.purpose == Purpose::Execution) {
            for change in &call.changes {
                let steps = by_path.entry(&change.path).or_default();
                if steps.is_empty() {
                    order.push(change.path.as_str());
                }
                steps.push((call, change));
            }
        }
        Recorded { by_path, order, gap: gap(trace) }
    }

    /// Everything that happened to a path, in order.
    pub(super) fn history(&self, path: &str) -> History<'_> {
        History(self.by_path.get(path).map_or(&[], Vec::as_slice))
    }

    /// Paths that were left another than they were before the first attempt, in the order of their
    /// first change.
    pub(super) fn differing(&self) -> impl Iterator<Item = &'a str> {
        self.order.iter().copied().filter(|path| self.differs(path))
    }

    /// Whether something below a folder was left another than it was.
    pub(super) fn differs_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let later = self.by_path.range(below.as_str()..).map(|(path, _)| *path);
        later.take_while(|path| path.starts_with(&below)).any(|path| self.differs(path))
    }

    /// Whether a path was left another than it was before the first attempt.
    pub(super) fn differs(&self, path: &str) -> bool {
        let history = self.history(path);
        match (history.before(), history.after()) {
            (Some(before), Some(after)) => !is_same_content(before, after).unwrap_or(false),
            (None, None) => false,
            _ => true,
        }
    }

    /// Why the record may lack something, if it may: then absence of evidence proves nothing.
    pub(super) fn gap(&self) -> Option<&str> {
        self.gap.as_deref()
    }
}

fn gap(trace: &[Invocation]) -> Option<String> {
    let truncated = |call: &&Invocation| {
        let cut = call.process.as_ref().and_then(|process| process.get("manifestTruncated"));
        cut == Some(&Json::Bool(true))
    };
    if let Some(call) = trace.iter().find(|call| call.status == InvocationStatus::Unknown) {
        return Some(format!("what the call `{}` of `{}` did is not known", call.id, call.tool));
    }
    let call = trace.iter().find(truncated)?;
    Some(format!("the workspace has more files than could be watched around `{}`", call.tool))
}

impl<'a> History<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the path was before the first attempt.
    pub(super) fn before(&self) -> Option<&'a FileState> {
        self.0.first().and_then(|(_, change)| change.before.as_ref())
    }

    /// What the last recorded call left of it.
    pub(super) fn after(&self) -> Option<&'a FileState> {
        self.0.last().and_then(|(_, change)| change.after.as_ref())
    }

    /// Whether one call met the path and left it changed.
    pub(super) fn was_modified(&self) -> bool {
        self.0.iter().any(|(_, change)| change.before.is_some() && change.after.is_some())
    }

    /// The last call that touched it.
    pub(super) fn last_call(&self) -> Option<&'a Invocation> {
        self.0.last().map(|(call, _)| *call)
    }

    /// The ids of the calls that touched it, in order.
    pub(super) fn calls(&self) -> Vec<&'a str> {
        self.0.iter().map(|(call, _)| call.id.as_str()).collect()
    }
}

/// Whether two states have one content, by digest; `None` where a digest is missing and the stat
/// data differ.
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
