//! What a child run adds to the record of its parent: the verdicts of its gates and its file changes.
//!
//! The changes are recorded as a tool call of the attempt, so that the gate of the `playbook` step,
//! `kb run diff` and the audit of the parent read them like all other changes. Start at [`RollUp::of`].

use kb_base::value::{Digest, Json, RunId, Timestamp};
use kb_core::evidence::{
    Change, Invocation, InvocationStatus, Payload, ProcessEvidence, Purpose, Record, VerdictCounts,
};
use kb_core::run::{Event, InstanceIx, State, StepStatus};
use kb_engine::journal::StoredEvent;
use kb_language::plan::Plan;
use serde_json::json;
use std::collections::BTreeMap;

/// Name of the recorded call that has the file changes of a child run.
const TOOL: &str = "playbook";

/// The verdicts and file changes of a child run and of all runs below it.
#[derive(Debug, Default)]
pub(super) struct RollUp {
    pub(super) verdicts: VerdictCounts,
    changes: BTreeMap<String, Change>,
    /// What commands of checks changed, which is not the work of a step.
    checked: BTreeMap<String, Change>,
    /// Changes of steps with files of their own that are not merged.
    unmerged: BTreeMap<InstanceIx, Vec<Change>>,
    truncated: bool,
    started: Timestamp,
    ended: Timestamp,
}

impl RollUp {
    /// Reads them from the events of the child run, which lead to this state.
    pub(super) fn of(plan: &Plan, state: &State, events: &[StoredEvent]) -> RollUp {
        let mut found = RollUp { started: state.started_at(), ..RollUp::default() };
        for stored in events {
            found.ended = stored.at;
            found.read(plan, state, &stored.event);
        }
        for (_, instance) in state.instances().filter(|(_, instance)| instance.items().is_none()) {
            if let Some(gate) = instance.verification() {
                found.verdicts.add(gate.verdict, instance.status == StepStatus::Succeeded);
            }
            found.verdicts.merge(instance.child_verdicts());
        }
        found
    }

    fn read(&mut self, plan: &Plan, state: &State, event: &Event) {
        match event {
            Event::Recorded { instance, record, .. } => {
                let own_files = plan.step(state.instance(*instance).step).isolation().is_some();
                for call in record.calls() {
                    let process = call.process.as_deref();
                    self.truncated |= process.is_some_and(|process| process.manifest_truncated);
                    let changes = call.changes.iter().cloned();
                    match (call.purpose, own_files) {
                        (Purpose::Execution, true) => {
                            self.unmerged.entry(*instance).or_default().extend(changes);
                        }
                        (Purpose::Execution, false) => {
                            changes.for_each(|change| add(&mut self.changes, change));
                        }
                        // They have no changes.
                        (Purpose::Reported, _) => {}
                        (Purpose::Verification, _) => {
                            changes.for_each(|change| add(&mut self.checked, change));
                        }
                    }
                }
            }
            Event::Merged { trees, .. } => {
                let merged: Vec<InstanceIx> = self.unmerged.keys().copied().collect();
                for ix in merged {
                    let key = state.key(plan, ix).to_string();
                    let written = trees.iter().find(|tree| tree.instance == key);
                    if written.is_some_and(|tree| tree.conflicts.is_empty() && tree.kept.is_none())
                    {
                        let changes = self.unmerged.remove(&ix).unwrap_or_default();
                        changes.into_iter().for_each(|change| add(&mut self.changes, change));
                    }
                }
            }
            // A new iteration starts with new files.
            Event::Reset { closure, .. } | Event::SentBack { closure, .. } => {
                closure.iter().for_each(|ix| {
                    self.unmerged.remove(ix);
                });
            }
            _ => {}
        }
    }

    /// The recorded calls with the changes; none without any.
    pub(super) fn records(mut self, run: &RunId, definition: &str) -> Vec<Record> {
        let all = [
            (Purpose::Execution, std::mem::take(&mut self.changes)),
            (Purpose::Verification, std::mem::take(&mut self.checked)),
        ];
        let records = all.into_iter().filter_map(|(purpose, changes)| {
            let is_partial = purpose == Purpose::Execution && self.truncated;
            let changes: Vec<Change> = changes.into_values().collect();
            let has_any = !changes.is_empty() || is_partial;
            has_any.then(|| self.record((run, definition), purpose, changes))
        });
        records.collect()
    }

    fn record(
        &self,
        (run, definition): (&RunId, &str),
        purpose: Purpose,
        changes: Vec<Change>,
    ) -> Record {
        let process = self.truncated.then(|| {
            Box::new(ProcessEvidence {
                watched: true,
                manifest_truncated: true,
                ..ProcessEvidence::default()
            })
        });
        let args = json!({"playbook": definition, "run": run.as_str()});
        let invocation = Invocation {
            id: match purpose {
                Purpose::Execution | Purpose::Reported => format!("{TOOL}-{run}"),
                Purpose::Verification => format!("{TOOL}-{run}-checks"),
            },
            tool: TOOL.to_owned(),
            args_hash: Digest::of_json(&args),
            args,
            at: self.started,
            duration_ms: self.ended.since(self.started).as_millis() as u64,
            purpose,
            status: InvocationStatus::Success,
            changes,
            evidence: Vec::new(),
            process,
            output: None,
            bytes: 0,
        };
        Record::ToolResult { turn: 0, invocation, result: Payload::inline(Json::Null) }
    }
}

/// Adds a change: of a path, the first state before and the last state after count. The lines of
/// several changes together are not known.
fn add(changes: &mut BTreeMap<String, Change>, change: Change) {
    match changes.get_mut(&change.path) {
        None => {
            changes.insert(change.path.clone(), change);
        }
        Some(known) => {
            known.after = change.after;
            known.same_content &= change.same_content;
            known.diff = None;
        }
    }
}
