//! Records what earlier attempts left, so that claims and checks compare with the state before the step.

use super::host_access::HostAccess;
use crate::tool::protected_failure;
use crate::workspace::StateBefore;
use kb_attempt::{Context, Request, Stopped, run_blocking};
use kb_base::value::{Digest, Failure, Json, Timestamp};
use kb_core::evidence::FILES_BEFORE;
use kb_core::evidence::{Change, Invocation, InvocationStatus, Note, Payload, Purpose, Record};
use std::collections::BTreeMap;

/// Why the state before a step is not known, and what helps.
const UNKNOWN: &str = "the state before the interrupted attempt is not known, so what it left counts as \
                       there before; if a gate then finds no change, undo it (`git status` shows it) and \
                       run `kb run retry`";

/// Records the changes of earlier attempts that no record of this iteration has. Returns why the attempt fails: a command
/// of a killed process changed protected paths.
pub(super) async fn record(
    host: &HostAccess,
    request: &Request,
    killed: Vec<(StateBefore, Timestamp)>,
    context: &Context,
) -> Result<Option<Failure>, Stopped> {
    let Some(left) = request.left.as_deref() else { return Ok(None) };
    let at = host.clock.now();
    let Found { changes: found, protected, is_known } =
        found(host, left.recorded.clone(), killed.clone());
    let before = killed.first().map(|(before, _)| before);
    let failure = run_blocking(|| protected_failure(&protected, &host.workspace, before));
    if !is_known {
        context.recorder.record(Record::Note(Note::warning(UNKNOWN))).await?;
    }
    if !found.is_empty() {
        let args = serde_json::json!({});
        let invocation = Invocation {
            id: "files-before".to_owned(),
            tool: FILES_BEFORE.to_owned(),
            args_hash: Digest::of_json(&args),
            args,
            at,
            duration_ms: host.clock.now().since(at).as_millis() as u64,
            purpose: Purpose::Execution,
            status: InvocationStatus::Success,
            changes: found,
            evidence: Vec::new(),
            process: None,
            output: None,
            bytes: 0,
        };
        let result = Payload::inline(Json::Null);
        context.recorder.record(Record::ToolResult { turn: 0, invocation, result }).await?;
    }
    killed.iter().for_each(|(before, _)| before.forget());
    Ok(failure)
}

/// Why the gate fails that a killed process executed: one of its commands changed protected paths.
pub(super) fn protected(host: &HostAccess, before: &StateBefore) -> Option<Failure> {
    run_blocking(|| {
        let changes = host.workspace.protected_left_by_killed(before);
        let failure = protected_failure(&changes, &host.workspace, Some(before));
        before.forget();
        failure
    })
}

/// What earlier attempts left.
struct Found {
    /// In path order.
    changes: Vec<Change>,
    /// Those of protected paths by commands.
    protected: Vec<Change>,
    /// Whether the state before an interrupted call is known.
    is_known: bool,
}

fn found(host: &HostAccess, recorded: Vec<Change>, killed: Vec<(StateBefore, Timestamp)>) -> Found {
    let (workspace, redactor) = (host.workspace.clone(), host.redactor.clone());
    run_blocking(move || {
        let mut found = workspace.still_changed(&recorded);
        let (mut protected, mut is_known) = (Vec::new(), true);
        for (before, alive) in &killed {
            match workspace.left_by_killed(before, *alive, &redactor) {
                Ok(left) => found.extend(left),
                Err(_) => is_known = false,
            }
            protected.extend(workspace.protected_left_by_killed(before));
        }
        found.extend(protected.iter().cloned());
        // A path of several starts at the first state.
        let mut all: BTreeMap<String, Change> = BTreeMap::new();
        for change in found {
            all.entry(change.path.clone()).or_insert(change);
        }
        Found { changes: all.into_values().collect(), protected, is_known }
    })
}
