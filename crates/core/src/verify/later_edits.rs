//! The relevant edits of a step after one of its calls: did the tests see the files as the step left
//! them?

use super::earlier_step::EarlierStep;
use super::finding::Finding;
use super::gate::Gate;
use super::observation::{Observation, ObservationQuery, Observations};
use super::recorded_runs::RecordedRun;
use super::shell::CommandUse;
use crate::evidence::{Change, FileState, Invocation, Purpose, is_code};
use std::collections::BTreeMap;

/// Maximum number of changed files that are inspected for ignore rules.
const INSPECTED: usize = 200;

/// The recorded calls of a step, with what is known about ignored files.
pub(super) struct LaterEdits<'a> {
    pub(super) trace: &'a [Invocation],
    pub(super) observations: &'a Observations,
    /// The absolute path of the workspace.
    pub(super) root: &'a str,
    /// What specialists changed in earlier steps.
    pub(super) earlier: &'a [EarlierStep],
}

impl<'a> LaterEdits<'a> {
    pub(super) fn new(
        trace: &'a [Invocation],
        observations: &'a Observations,
        root: &'a str,
    ) -> Self {
        LaterEdits { trace, observations, root, earlier: &[] }
    }

    /// The edits of the step of a gate, which knows of earlier steps.
    pub(super) fn of_gate(gate: &'a Gate, observations: &'a Observations) -> Self {
        let edits = LaterEdits::new(&gate.trace, observations, &gate.root);
        LaterEdits { earlier: &gate.earlier, ..edits }
    }

    /// The queries about the changes of a step that may be ignored files.
    pub(super) fn queries(trace: &[Invocation]) -> Vec<ObservationQuery> {
        let paths = executed(trace).flat_map(|call| &call.changes).map(|change| &change.path);
        let paths = paths.filter(|path| is_code(path));
        let queries: std::collections::BTreeSet<_> =
            paths.map(|path| ObservationQuery::Ignored(path.clone())).take(INSPECTED).collect();
        queries.into_iter().collect()
    }

    /// Whether the files of a test run are those that the step left.
    pub(super) fn check(
        &self,
        run: &RecordedRun<'_>,
        used: &CommandUse,
        name: &str,
    ) -> Result<(), Finding> {
        let call = &run.call.id;
        let own: Vec<&str> = self.relevant(&run.call.changes);
        let is_last = run.script.ends_with(used);
        if let (false, Some(path)) = (is_last, own.first()) {
            return Err(Finding::inconclusive(format!(
                "call `{call}` ran `{name}` and changed `{path}`; the tests may have run before the \
                 change"
            )));
        }
        let rewritten = run.call.changes.iter().filter(|change| change.same_content);
        let mut rewritten = rewritten.filter(|change| self.counts(&change.path));
        if let (false, Some(change)) = (is_last, rewritten.next()) {
            let path = &change.path;
            return Err(Finding::inconclusive(format!(
                "call `{call}` ran `{name}`, and changed `{path}` and changed it back; the tests may have run in between"
            )));
        }
        self.since(run, name)
    }

    /// Whether no file was edited after a call.
    pub(super) fn since(&self, run: &RecordedRun<'_>, name: &str) -> Result<(), Finding> {
        let call = &run.call.id;
        let mut by_path: BTreeMap<&str, (&Change, &Change)> = BTreeMap::new();
        for later in executed(&self.trace[run.at + 1..]) {
            for change in &later.changes {
                by_path.entry(&change.path).or_insert((change, change)).1 = change;
            }
        }
        for (path, (first, last)) in by_path {
            if !self.counts(path) || is_same(first, last) {
                continue;
            }
            let created = self.before(path).is_none() && last.after.is_none();
            return Err(if created {
                Finding::inconclusive(format!(
                    "`{name}` ran in call `{call}` while the file `{path}` existed, which the step \
                     removed later"
                ))
            } else {
                Finding::failed(format!(
                    "tests are claimed to have passed, but `{path}` was edited after the last \
                     successful run of `{name}` (call `{call}`)"
                ))
            });
        }
        Ok(())
    }

    fn relevant<'c>(&self, changes: &'c [Change]) -> Vec<&'c str> {
        let changed = changes.iter().filter(|change| !is_same(change, change));
        changed.map(|change| change.path.as_str()).filter(|path| self.counts(path)).collect()
    }

    /// Whether a change of this path can change the result of tests. Ignore rules count only if the
    /// step did not change them.
    fn counts(&self, path: &str) -> bool {
        let changes = executed(self.trace).flat_map(|call| &call.changes);
        let mut rules = changes.filter(|change| change.path.ends_with(".gitignore"));
        let query = ObservationQuery::Ignored(path.to_owned());
        let ignored = self.observations.get(&query) == Some(&Observation::Ignored(true));
        is_code(path) && !(ignored && rules.next().is_none())
    }

    /// The state of a path before the step.
    fn before(&self, path: &str) -> Option<&FileState> {
        let mut changes = executed(self.trace).flat_map(|call| &call.changes);
        changes.find(|change| change.path == path)?.before.as_ref()
    }
}

fn executed(trace: &[Invocation]) -> impl Iterator<Item = &Invocation> {
    trace.iter().filter(|call| call.purpose == Purpose::Execution)
}

/// Whether the content before the first change is the content after the last one.
fn is_same(first: &Change, last: &Change) -> bool {
    if std::ptr::eq(first, last) && first.same_content {
        return true;
    }
    match (&first.before, &last.after) {
        (None, None) => true,
        (Some(before), Some(after)) => {
            // The digest of a state with the same content is recorded once.
            let unchanged = first.same_content.then_some(()).and(first.after.as_ref());
            let digest = before.sha256.or(unchanged.and_then(|state| state.sha256));
            before.kind == after.kind && digest.is_some() && digest == after.sha256
        }
        _ => false,
    }
}
