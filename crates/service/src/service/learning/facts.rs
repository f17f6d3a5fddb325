//! The attempts of recorded runs, and what they suggest.

use crate::service::runs::ProjectContext;
use crate::service::{Environment, ServiceError};
use kb_base::value::{Digest, Json, Money, OutcomeKind, one_line};
use kb_core::evidence::{Payload, SessionLine, Verdict};
use kb_core::run::{Event, RunStatus};
use kb_engine::inspect::{
    Frozen, FrozenFile, Reader, RecordedSession, RunFilter, SessionView, SpecialistAttempt, audit,
    list_rows, specialist_attempts,
};
use kb_engine::journal::{Journal, RunRow};
use kb_learning::{
    Advice, AttemptFact, NoteKind, Recurring, Row, RunNote, TaskKind, recurring, suggestions, table,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The folder of the plans of `kb do`.
const PLANS: &str = ".kb/plans/";
/// What the ids of suggestions for the FAQ begin with.
pub(super) const SOLUTION: &str = "faq-";
/// Notes that are suggested at most.
const NOTES: usize = 20;

/// What recorded runs say.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Learned {
    /// Runs that count: they ended, and their journals verify.
    pub runs: usize,
    /// Runs whose record does not verify; they do not count.
    pub unverified: usize,
    /// Runs with a script in place of a model; they do not count.
    pub scripted: usize,
    /// By specialist, kind of task and tier.
    pub rows: Vec<Row>,
    /// What follows from it.
    pub suggestions: Vec<Suggestion>,
}

/// Something that a person can apply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// The id for `kb learn apply`, the same as long as it suggests the same.
    pub id: String,
    /// What to do, in one sentence.
    pub text: String,
    /// What it rests on; null for a plan and for a note.
    pub advice: Option<Advice>,
    /// What several runs found, corrected or were hindered by; null for other suggestions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Recurring>,
    /// The runs of a plan that reached their goal, or that have the note; empty for other suggestions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// The text of a plan, as the newest run that reached its goal with it had it; `None` for other suggestions.
    #[serde(skip)]
    pub plan: Option<String>,
}

/// Reads the newest runs of the project, `limit` at most.
///
/// # Errors
///
/// The project or its journal cannot be read. A single run that cannot be read does not count.
pub fn learned(environment: &Environment, limit: usize) -> Result<Learned, ServiceError> {
    let context = ProjectContext::find(environment)?;
    let journal = context.journal(Default::default())?;
    let statuses = vec![RunStatus::Succeeded, RunStatus::Failed];
    let rows = list_rows(&*journal, &RunFilter { statuses, ..RunFilter::newest(limit) })?;
    let mut learned = Learned::default();
    let (mut facts, mut plans, mut notes) = (Vec::new(), BTreeMap::new(), Vec::new());
    for row in rows {
        if !verifies(&journal, &row) {
            learned.unverified += 1;
            continue;
        }
        let Ok(frozen) = Frozen::of_run(&*journal, &row.run) else {
            learned.unverified += 1;
            continue;
        };
        if frozen.script.is_some() {
            learned.scripted += 1;
            continue;
        }
        learned.runs += 1;
        let attempts = specialist_attempts(&journal, &row.run).unwrap_or_default();
        facts.extend(attempts.iter().map(|attempt| fact(&row, attempt)));
        notes.extend(notes_of(&journal, &row));
        if let Some(FrozenFile { path, text, .. }) = reached_goal(&*journal, &row, &frozen) {
            let (_, runs) = plans.entry(path.clone()).or_insert_with(|| (text.clone(), Vec::new()));
            runs.push(row.run.to_string());
        }
    }
    learned.rows = table(&facts);
    let advice = suggestions(&learned.rows).into_iter().map(suggestion);
    let is_there = |path: &String| context.root.join(path).is_file();
    let plans = plans.into_iter().filter(|(path, _)| is_there(path));
    let plans = plans.flat_map(|own| [plan(own.clone()), solution(own)]);
    let notes = recurring(&notes).into_iter().take(NOTES).map(note);
    learned.suggestions = advice.chain(plans).chain(notes).collect();
    Ok(learned)
}

/// Whether the record of a run is as it was written: chain, blobs and verdicts.
fn verifies(journal: &Arc<dyn Journal>, row: &RunRow) -> bool {
    audit(journal, row.run.as_str(), None).is_ok_and(|audit| audit.holds)
}

fn fact(row: &RunRow, attempt: &SpecialistAttempt) -> AttemptFact {
    AttemptFact {
        specialist: attempt.specialist.clone(),
        kind: TaskKind::of(&attempt.task),
        tier: attempt.tier,
        run: row.run.to_string(),
        attempt: attempt.attempt,
        accepted: accepted(attempt.outcome, attempt.verdict),
        cost_usd: attempt.usage.cost_usd.map(Money::usd),
        ms: attempt.ms,
    }
}

/// Whether the work was accepted by a gate or failed by the fault of the specialist; `None` if neither is known.
fn accepted(outcome: OutcomeKind, verdict: Option<Verdict>) -> Option<bool> {
    match outcome {
        OutcomeKind::Ok => match verdict? {
            Verdict::Passed => Some(true),
            Verdict::Failed => Some(false),
            Verdict::Inconclusive | Verdict::Unchecked => None,
        },
        OutcomeKind::ValidationFailed | OutcomeKind::GateFailed | OutcomeKind::Stuck => Some(false),
        OutcomeKind::Transient
        | OutcomeKind::Exit(_)
        | OutcomeKind::Timeout
        | OutcomeKind::ToolError
        | OutcomeKind::GateInconclusive
        | OutcomeKind::GateUnchecked
        | OutcomeKind::PolicyDenied
        | OutcomeKind::Cancelled
        | OutcomeKind::Unknown => None,
    }
}

/// What the session state of a run says. A run whose state cannot be read says nothing.
fn notes_of(journal: &Arc<dyn Journal>, row: &RunRow) -> Vec<RunNote> {
    let reader = Reader::open(journal.clone(), row.run.as_str());
    let session = reader.and_then(RecordedSession::read).and_then(|session| session.view(None));
    let Ok(SessionView { state, .. }) = session else { return Vec::new() };
    let lines = [
        (NoteKind::Finding, state.verified_facts),
        (NoteKind::Correction, state.known_hallucinations),
        (NoteKind::Blocker, [state.blockers, state.known_gaps].concat()),
    ];
    let run = row.run.to_string();
    let note = |kind, line: SessionLine| RunNote {
        kind,
        run: run.clone(),
        text: one_line(&line.text, 300),
    };
    let all =
        lines.into_iter().flat_map(|(kind, lines)| lines.into_iter().map(move |own| (kind, own)));
    all.map(|(kind, line)| note(kind, line)).collect()
}

/// The plan of a run that reached its goal, as its checks decided.
fn reached_goal<'f>(
    journal: &dyn Journal,
    row: &RunRow,
    frozen: &'f Frozen,
) -> Option<&'f FrozenFile> {
    let plan = frozen.files.iter().find(|file| file.path.starts_with(PLANS))?;
    if row.status != RunStatus::Succeeded {
        return None;
    }
    let events = journal.events(&row.run, 0).ok()?;
    let outputs = events.iter().rev().find_map(|stored| match &*stored.event {
        Event::RunEnded { outputs: Payload::Inline(outputs), .. } => Some(outputs.clone()),
        _ => None,
    })?;
    (outputs.get("goal").and_then(Json::as_str) == Some("complete")).then_some(plan)
}

fn suggestion(advice: Advice) -> Suggestion {
    let (id, text) = match &advice {
        Advice::Tier { specialist, kind, from, to, .. } => {
            let kind = kind.as_str();
            (
                format!("tier-{specialist}-{kind}-{to}"),
                format!(
                    "start `{specialist}` with the tier `{to}` in place of `{from}`: its {kind} tasks"
                ),
            )
        }
        Advice::Route { kind, to, from, .. } => {
            let kind = kind.as_str();
            (
                format!("route-{kind}-{to}-{from}"),
                format!("give {kind} tasks to `{to}` rather than to `{from}`"),
            )
        }
    };
    Suggestion { id, text, advice: Some(advice), note: None, runs: Vec::new(), plan: None }
}

fn plan((path, (content, runs)): (String, (String, Vec<String>))) -> Suggestion {
    let name = path.trim_start_matches(PLANS).trim_end_matches(".yml");
    let text = format!("make a playbook of `{path}`, which reached its goal");
    let (id, plan) = (format!("playbook-{name}"), Some(content));
    Suggestion { id, text, advice: None, note: None, runs, plan }
}

fn solution((path, (_, runs)): (String, (String, Vec<String>))) -> Suggestion {
    let name = path.trim_start_matches(PLANS).trim_end_matches(".yml");
    let text = format!("put into the FAQ how `{path}` reached its goal");
    Suggestion { id: format!("{SOLUTION}{name}"), text, advice: None, note: None, runs, plan: None }
}

fn note(note: Recurring) -> Suggestion {
    let kind = note.kind.as_str();
    let digest = Digest::of(format!("{kind} {}", note.text)).to_string();
    let text = format!("remember a {kind} of {} runs: {}", note.runs.len(), note.text);
    let (id, runs) = (format!("memory-{kind}-{}", &digest[..8]), note.runs.clone());
    Suggestion { id, text, advice: None, note: Some(note), runs, plan: None }
}
