//! What a judge is asked about a gate.

use super::answer::{JUDGED_CHARS, answer, is_judged};
use super::check::{Criterion, JUDGE, JudgeCriterion};
use super::evaluate::ParsedGate;
use super::examined::Examined;
use crate::evidence::{Invocation, InvocationStatus, Purpose, Verdict};
use kb_base::value::{Json, json_text};
use kb_language::toolspec::ToolCatalog;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limits of the question, in characters and lines.
const CALLS: usize = 200;
/// Characters of all results together, and of one: fewer if there are many.
const RESULTS: usize = 24_000;
const RESULT_MIN: usize = 120;
const RESULT_MAX: usize = 600;

/// The question to a judge, except for the task.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeQuestion {
    /// The thresholds, and which model is asked.
    pub criterion: JudgeCriterion,
    /// The answer of the specialist.
    pub answer: String,
    /// Each tool call in one line: what was read, written, executed and searched; below it the start of its result.
    pub calls: Vec<String>,
    /// Files that were read.
    pub files_read: Vec<String>,
    /// One line for each finding of the other checks.
    pub findings: Vec<String>,
}

/// The question to the judge of a gate. `None` if the gate has no judge, the answer is too short, or the
/// other checks refute it already.
///
/// `results` are the results of the calls by their ids.
pub fn judge_question(
    gate: &ParsedGate,
    examined: &Examined,
    results: &BTreeMap<String, Arc<Json>>,
) -> Option<JudgeQuestion> {
    let gate = gate.gate();
    let criterion = gate.criteria.iter().find_map(|criterion| {
        let Criterion::Judge(judge) = criterion else { return None };
        Some(judge.clone())
    })?;
    let answer = answer(&gate.output);
    if !is_judged(&answer) || examined.checks().any(|check| check.verdict == Verdict::Failed) {
        return None;
    }
    let others = examined.checks().filter(|check| check.check != JUDGE);
    let findings = others.map(|check| {
        let reason = check.reason.as_deref().map(|reason| format!(": {reason}"));
        format!("{} {}{}", check.check, check.verdict, reason.unwrap_or_default())
    });
    let executed = || gate.trace.iter().filter(|call| call.purpose == Purpose::Execution);
    let mut files_read: Vec<String> = executed()
        .filter(|call| call.status == InvocationStatus::Success)
        .filter(|call| gate.tools.entry(&call.tool).reads_a_file())
        .filter_map(|call| call.args.get("path").and_then(Json::as_str).map(str::to_owned))
        .collect();
    files_read.sort();
    files_read.dedup();
    files_read.truncate(CALLS);
    Some(JudgeQuestion {
        criterion,
        answer: answer.chars().take(JUDGED_CHARS).collect(),
        calls: calls(&executed().take(CALLS).collect::<Vec<_>>(), results, &gate.tools),
        files_read,
        findings: findings.take(CALLS).collect(),
    })
}

/// The calls with the starts of their results. What files were written with is in the diff of the project, and many
/// results share the space that there is.
fn calls(
    executed: &[&Invocation],
    results: &BTreeMap<String, Arc<Json>>,
    tools: &ToolCatalog,
) -> Vec<String> {
    let each = (RESULTS / executed.len().max(1)).clamp(RESULT_MIN, RESULT_MAX);
    let mut left = RESULTS;
    let mut described = |call: &&Invocation| {
        let text = results.get(&call.id).map(|result| json_text(result)).unwrap_or_default();
        let start: String = text.trim().chars().take(each.min(left)).collect();
        left -= start.chars().count();
        if start.is_empty() {
            line(call, tools)
        } else {
            format!("{}\n  {}", line(call, tools), start.replace('\n', "\n  "))
        }
    };
    executed.iter().map(&mut described).collect()
}

/// A tool call in one line.
fn line(call: &Invocation, tools: &ToolCatalog) -> String {
    let spec = tools.entry(&call.tool);
    let arg = || {
        let text = spec.subject.iter().find_map(|name| call.args.get(&**name))?;
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
    let changed: Vec<&str> =
        call.changes.iter().take(10).map(|change| change.path.as_str()).collect();
    let changed = if spec.runs_processes && !changed.is_empty() {
        format!("; it changed {}", changed.join(", "))
    } else {
        String::new()
    };
    format!("{}: {}{failed}{changed}", spec.done, arg().unwrap_or_default())
}
