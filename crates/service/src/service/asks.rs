//! What waits for a person, with the evidence for the decision.

use super::runs::{Decision, Posted, ReplyRequest, post_reply};
use super::{Difference, Seen, ServiceError};
use kb_base::value::{Digest, Json, JsonMap, Timestamp, json_text};
use kb_core::run::{Question, QuestionKind, RunStatus, StepStatus};
use kb_core::wire::{CheckView, FollowingStep, InstanceView, RunView, Verdict};
use kb_engine::inspect::{Reader, RunDiff, RunFilter, list_rows};
use kb_engine::journal::Journal;
use kb_host::workspace::ChangedFiles;
use kb_language::plan::Plan;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of runs that are searched for questions.
const MOST_RUNS: usize = 1000;

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskView {
    /// `RUN.DIGEST`; another question of the same step has another id.
    pub id: String,
    /// Id of the run.
    pub run: String,
    /// Id of the definition.
    pub definition: String,
    /// Id of the step.
    pub step: String,
    /// Name of the step instance.
    pub instance: String,
    /// Parameter values of the run; secrets are references.
    #[serde(skip_serializing_if = "JsonMap::is_empty")]
    pub params: JsonMap,
    /// When the step began to wait, in RFC 3339.
    pub asked_at: Option<String>,
    /// What the person is asked, and which answers fit.
    pub question: Question,
    /// The steps that an approval lets run, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<FollowingStep>,
    /// The steps that it depends on, with their verdicts.
    pub evidence: Vec<AskEvidence>,
    /// The recorded changes about which an approval decides, by run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RunDiff>,
    /// Stands for them and for all files that changed.
    #[serde(skip)]
    seen: Option<Seen>,
    /// Digest of question, evidence and changes: a decision names the one that the person has seen.
    pub digest: String,
}

/// A step that a question depends on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskEvidence {
    /// Name of the step instance.
    pub instance: String,
    /// Status in its current iteration.
    pub status: StepStatus,
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Number of attempts.
    pub attempts: u32,
    /// The verdict of its gate.
    pub verdict: Option<Verdict>,
    /// The checks of the verdict.
    pub checks: Vec<CheckView>,
}

/// A decision about a question.
#[derive(Debug, Clone, PartialEq)]
pub struct AskReply {
    /// Whether the step continues.
    pub approved: bool,
    /// The answer to a question.
    pub answer: Option<Json>,
    /// A remark.
    pub comment: Option<String>,
    /// The digest of the question and evidence that the person has seen.
    pub digest: Option<String>,
    /// Who decides.
    pub by: String,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// It counts.
    Accepted(Posted),
    /// Another person has decided, or nothing waits any more.
    Taken,
    /// The question or its evidence is not what the person has seen.
    Changed,
    /// Its time is over.
    Expired,
}

/// Everything that waits for a person, newest run first.
pub fn open_asks(
    (journal, root): (&Arc<dyn Journal>, &Path),
    now: Timestamp,
) -> Result<Vec<AskView>, ServiceError> {
    let statuses = vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Interrupted];
    let filter = RunFilter { limit: MOST_RUNS, statuses, ..RunFilter::default() };
    let (mut asks, mut files) = (Vec::new(), ChangedFiles::default());
    // The files that changed since the oldest run started answer for the others.
    for row in list_rows(&**journal, &filter)?.iter().rev() {
        // A run that cannot be read has no question that could be answered.
        let of_run = asks_with((journal, root), row.run.as_str(), now, &mut files);
        asks.push(of_run.unwrap_or_default());
    }
    Ok(asks.into_iter().rev().flatten().collect())
}

/// What waits in one run.
pub fn asks_of(
    (journal, root): (&Arc<dyn Journal>, &Path),
    run: &str,
    now: Timestamp,
) -> Result<Vec<AskView>, ServiceError> {
    asks_with((journal, root), run, now, &mut ChangedFiles::default())
}

fn asks_with(
    (journal, root): (&Arc<dyn Journal>, &Path),
    run: &str,
    now: Timestamp,
    files: &mut ChangedFiles,
) -> Result<Vec<AskView>, ServiceError> {
    let mut reader = Reader::open(journal.clone(), run)?;
    if reader.status().has_ended() {
        return Ok(Vec::new());
    }
    let view = reader.view(now)?;
    let open = view.steps.iter().filter_map(|step| Some((step, step.question.as_ref()?)));
    // All approvals of a run decide about the same changes.
    let mut known: Option<Difference> = None;
    let mut difference = |question: &Question| match (question.kind, &known) {
        (QuestionKind::Ask, _) => Ok(Difference::default()),
        (QuestionKind::Approve, Some(known)) => Ok(known.clone()),
        (QuestionKind::Approve, None) => {
            let read = Difference::with((journal, root), &view.run, now, files)?;
            Ok::<_, ServiceError>(known.insert(read).clone())
        }
    };
    open.map(|(step, question)| {
        Ok(ask(reader.plan(), &view, (step, question), difference(question)?))
    })
    .collect()
}

/// Decides a question by its id.
pub fn decide(
    (journal, root): (&Arc<dyn Journal>, &Path),
    id: &str,
    reply: AskReply,
    now: Timestamp,
) -> Result<Decided, ServiceError> {
    let run = id.rsplit_once('.').map_or(id, |(run, _)| run);
    let Some(found) = asks_of((journal, root), run, now)?.into_iter().find(|ask| ask.id == id)
    else {
        return Ok(Decided::Taken);
    };
    if reply.digest.as_ref().is_some_and(|seen| *seen != found.digest) {
        return Ok(Decided::Changed);
    }
    if found.question.due.is_some_and(|due: Timestamp| due <= now) {
        return Ok(Decided::Expired);
    }
    let decision = match (found.question.kind, reply.approved, reply.answer) {
        (_, false, _) => Decision::Reject,
        (QuestionKind::Ask, true, Some(Json::String(text))) => Decision::Answer(text),
        (QuestionKind::Ask, true, Some(value)) => Decision::Answer(json_text(&value)),
        (QuestionKind::Ask, true, None) => Decision::Answer(String::new()),
        (QuestionKind::Approve, true, _) => Decision::Approve,
    };
    let about = Some(found.question.text);
    let (step, comment, by) = (Some(found.instance), reply.comment, reply.by);
    let seen = reply.digest.and(found.seen);
    let request = ReplyRequest { step, decision, comment, by, about, seen };
    let posted = post_reply(&**journal, run, &request, now)?;
    Ok(if posted.is_first { Decided::Accepted(posted) } else { Decided::Taken })
}

fn ask(
    plan: &Plan,
    view: &RunView,
    (step, question): (&InstanceView, &Question),
    difference: Difference,
) -> AskView {
    let last = difference.seen();
    let mut changes = difference.runs;
    changes.retain(|run| run.steps.iter().any(|step| !step.files.is_empty()));
    let before = before(plan, &step.step);
    let evidence = view.steps.iter().filter(|other| before.contains(&other.step));
    let evidence: Vec<AskEvidence> = evidence.map(AskEvidence::of).collect();
    let seen = json!({
        "question": question,
        "iteration": step.iteration,
        "attempts": step.attempts,
        "evidence": evidence,
        "changes": changes,
        "files": last.as_ref().map(|seen| &seen.files),
    });
    let place = json!([step.instance, step.iteration, step.attempts, question]);
    AskView {
        id: format!("{}.{}", view.run, &Digest::of_json(&place).to_string()[..16]),
        run: view.run.clone(),
        definition: view.definition.clone(),
        step: step.step.clone(),
        instance: step.instance.clone(),
        params: view.params.clone(),
        asked_at: step.started_at.clone(),
        question: question.clone(),
        then: step.then.clone(),
        evidence,
        changes,
        seen: last,
        digest: Digest::of_json(&seen).to_string(),
    }
}

impl AskEvidence {
    fn of(step: &InstanceView) -> AskEvidence {
        AskEvidence {
            instance: step.instance.clone(),
            status: step.status,
            iteration: step.iteration,
            attempts: step.attempts,
            verdict: step.verdict,
            checks: step.checks.clone(),
        }
    }
}

/// The ids of all steps that a step depends on.
fn before(plan: &Plan, step: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<_> = plan.find(step).into_iter().collect();
    while let Some(ix) = open.pop() {
        for dependency in plan.dependencies(ix) {
            if found.insert(plan.step(dependency.on).step.id.to_string()) {
                open.push(dependency.on);
            }
        }
    }
    found
}
