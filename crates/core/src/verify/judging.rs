//! What a judge is asked about a gate.

use super::answer::{answer, is_judged};
use super::check::{Criterion, JudgeCriterion};
use super::evaluate::evaluate;
use super::gate::Gate;
use super::observation::Observations;
use crate::evidence::{Invocation, InvocationStatus, Purpose, Verdict};
use kb_base::value::{Json, json_text};
use kb_language::toolspec;

/// Limits of the question, in characters and lines.
const ANSWER: usize = 16_000;
const CALLS: usize = 200;

/// The question to a judge, except for the task.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeQuestion {
    /// The thresholds, and which model is asked.
    pub criterion: JudgeCriterion,
    /// The answer of the specialist.
    pub answer: String,
    /// One line for each tool call: what was read, written, executed and searched.
    pub calls: Vec<String>,
    /// Files that were read.
    pub files_read: Vec<String>,
    /// One line for each finding of the other checks.
    pub findings: Vec<String>,
}

/// The question to the judge of a gate. `None` if the gate has no judge, the answer is too short, or the
/// observations refute it already.
pub fn judge_question(gate: &Gate, seen: &Observations) -> Option<JudgeQuestion> {
    let criterion = gate.criteria.iter().find_map(|criterion| {
        let Criterion::Judge(judge) = criterion else { return None };
        Some(judge.clone())
    })?;
    let answer = answer(&gate.output);
    let verification = evaluate(gate, seen);
    if !is_judged(&answer) || verification.verdict == Verdict::Failed {
        return None;
    }
    let others = verification.checks.iter().filter(|check| check.check != "judge");
    let findings = others.map(|check| {
        let reason = check.reason.as_deref().map(|reason| format!(": {reason}"));
        format!("{} {}{}", check.check, check.verdict, reason.unwrap_or_default())
    });
    let executed = || gate.trace.iter().filter(|call| call.purpose == Purpose::Execution);
    let mut files_read: Vec<String> = executed()
        .filter(|call| call.status == InvocationStatus::Success)
        .filter(|call| toolspec::assumed(&call.tool).reads_a_file())
        .filter_map(|call| call.args.get("path").and_then(Json::as_str).map(str::to_owned))
        .collect();
    files_read.sort();
    files_read.dedup();
    files_read.truncate(CALLS);
    Some(JudgeQuestion {
        criterion,
        answer: answer.chars().take(ANSWER).collect(),
        calls: executed().take(CALLS).map(line).collect(),
        files_read,
        findings: findings.take(CALLS).collect(),
    })
}

/// A tool call in one line.
fn line(call: &Invocation) -> String {
    let arg = |names: &[&str]| {
        let text = names.iter().find_map(|name| call.args.get(name))?;
        Some(json_text(text).chars().take(200).collect::<String>())
    };
    let failed = match call.status {
        InvocationStatus::Success => String::new(),
        InvocationStatus::Failed
        | InvocationStatus::Timeout
        | InvocationStatus::Denied
        | InvocationStatus::Unknown => {
            match call.process.as_ref().and_then(|process| process.exit_code) {
                Some(code) => format!(" (exit code {code})"),
                None => " (failed)".to_owned(),
            }
        }
    };
    let spec = toolspec::assumed(&call.tool);
    let changed: Vec<&str> =
        call.changes.iter().take(10).map(|change| change.path.as_str()).collect();
    let changed = match spec.runs_processes && !changed.is_empty() {
        true => format!("; it changed {}", changed.join(", ")),
        false => String::new(),
    };
    format!("{}: {}{failed}{changed}", spec.done, arg(spec.subject).unwrap_or_default())
}
