use crate::evidence::{Change, FileState, Invocation, InvocationStatus, Purpose};
use crate::value::Json;

/// What the runtime recorded of a step's own work, by path.
pub(super) struct Recorded<'a>(Vec<(&'a Invocation, &'a Change)>, Option<String>);

/// What was recorded of one path.
pub(super) struct History<'a>(Vec<(&'a Invocation, &'a Change)>);

impl<'a> Recorded<'a> {
    pub(super) fn of(trace: &'a [Invocation]) -> Self {
        let own = trace.iter().filter(|call| call.purpose == Purpose::Execution);
        let changes = own.flat_map(|call| call.changes.iter().map(move |change| (call, change)));
        Recorded(changes.collect(), gap(trace))
    }

    /// Everything that happened to a path, in order.
    pub(super) fn history(&self, path: &str) -> History<'a> {
        History(self.0.iter().filter(|(_, change)| change.path == path).copied().collect())
    }

    /// Paths that were changed, each once, in the order of their first change.
    pub(super) fn paths(&self) -> Vec<&'a str> {
        let mut paths: Vec<&str> = Vec::new();
        for (_, change) in &self.0 {
            if !paths.contains(&change.path.as_str()) {
                paths.push(&change.path);
            }
        }
        paths
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
        self.1.as_deref()
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
