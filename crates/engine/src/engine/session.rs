//! The session state of one attempt, with the artifacts that it can read.

use super::context::RunContext;
use super::fold::Folded;
use super::payloads::journal_failure;
use super::session_reader::reader;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_core::evidence::{Artifact, SessionBrief};
use kb_core::run::InstanceIx;
use kb_language::expression::EvalError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What earlier steps left behind, for the attempt of a specialist; `None` for other steps and if there
/// is nothing. An included artifact that does not exist is an error.
pub(super) fn brief(
    context: &RunContext,
    folded: &Folded,
    instance: InstanceIx,
) -> Result<Option<Arc<SessionBrief>>, EvalError> {
    let (plan, state) = (&*context.plan, &folded.state);
    let ix = state.instance(instance).step;
    let Some(step) = reader(plan, ix) else { return Ok(None) };
    let mut seen = folded.session.seen_by(plan, state, ix);
    if !step.session {
        seen = Default::default();
    }
    if seen.is_empty() && step.artifacts.is_empty() {
        return Ok(None);
    }
    let shown: BTreeSet<&str> =
        seen.artifacts.iter().map(|artifact| artifact.id.as_str()).collect();
    let is_included = |id: &str| step.artifacts.iter().any(|wanted| wanted.includes(id));
    let all: Vec<(String, &Artifact)> = folded.session.artifacts(plan, state).collect();
    let missing =
        step.artifacts.iter().find(|wanted| !all.iter().any(|(id, _)| wanted.includes(id)));
    if let Some(wanted) = missing {
        return Err(Box::new(not_found(&wanted.id, &all)));
    }
    let (mut artifacts, mut included) = (Vec::new(), Vec::new());
    for (id, artifact) in all {
        if is_included(&id) {
            included.push(id.clone());
        } else if !shown.contains(id.as_str()) {
            continue;
        }
        let content = context.payloads.load(&artifact.content).map_err(journal_failure)?;
        artifacts.push((id, Json::clone(&content)));
    }
    Ok(Some(Arc::new(SessionBrief { state: seen, artifacts, included })))
}

fn not_found(wanted: &str, all: &[(String, &Artifact)]) -> Failure {
    let known: Vec<String> = all.iter().map(|(id, _)| format!("`{id}`")).collect();
    let help = if known.is_empty() {
        "no earlier step passed on an artifact; remove the entry, or ask for one in the task of \
                 that step"
            .to_owned()
    } else {
        format!("the artifacts are {}", known.join(", "))
    };
    Failure::new(Code::NO_SUCH_ARTIFACT, format!("there is no artifact `{wanted}`")).help(help)
}
