//! Files that a `gate` step checks while another step writes them: nothing orders the two.

use super::subject::Subject;
use crate::definition::{Check, RunCommand, Step, StepKind};
use crate::expression::ValueTemplate;
use crate::plan::{PlanStep, StepIx};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

/// One warning per gate and step that visibly writes a file of it. Only literal paths are compared.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let gates: Vec<(StepIx, &PlanStep, Vec<&str>)> = subject
        .plan
        .iter()
        .map(|(ix, step)| (ix, step, checked_files(&step.step)))
        .filter(|(_, _, files)| !files.is_empty())
        .collect();
    if gates.is_empty() {
        return Vec::new();
    }
    let written: BTreeMap<StepIx, Written<'_>> =
        subject.plan.iter().filter_map(|(ix, step)| Some((ix, Written::of(&step.step)?))).collect();
    let mut problems = Vec::new();
    for (gate, step, files) in gates {
        for (&ix, written) in &written {
            let other = subject.plan.step(ix);
            let Some(file) = files.iter().find(|file| written.contains(file)) else { continue };
            let ordered = other.is_finally() != step.is_finally()
                || subject.is_above(ix, gate)
                || subject.is_above(gate, ix);
            if !ordered {
                problems.push(unordered(step, file, other));
            }
        }
    }
    problems
}

/// The literal paths of files that must exist for a `gate` step.
fn checked_files(step: &Step) -> Vec<&str> {
    let checks = step.kind.checks().unwrap_or_default();
    checks
        .iter()
        .filter_map(|check| {
            let Check::File(file) = check else { return None };
            file.path.as_literal().filter(|_| !file.absent).map(plain)
        })
        .collect()
}

/// What a step writes, as far as its text shows.
enum Written<'a> {
    /// The `path` of a tool that writes.
    File(&'a str),
    /// The text of a shell script.
    Script(&'a str),
}

impl<'a> Written<'a> {
    fn of(step: &'a Step) -> Option<Written<'a>> {
        if let StepKind::Run(run) = &step.kind
            && let RunCommand::Shell(script) = &run.command
        {
            return Some(Written::Script(script));
        }
        let StepKind::Tool(_) = &step.kind else { return None };
        let input = step.details().input.as_ref().filter(|_| step.kind.effects().writes)?;
        let path = match input {
            ValueTemplate::Literal(input) => input.get("path")?.as_str()?,
            ValueTemplate::Map(input) => {
                let (_, path) = input.iter().find(|(name, _)| name == "path")?;
                let ValueTemplate::Literal(path) = path else { return None };
                path.as_str()?
            }
            ValueTemplate::Text(_) | ValueTemplate::List(_) => return None,
        };
        Some(Written::File(plain(path)))
    }

    fn contains(&self, file: &str) -> bool {
        match self {
            Written::File(path) => *path == file,
            Written::Script(script) => redirects_to(script, file),
        }
    }
}

/// Whether a script redirects output to this file, or names it after `tee` or `touch`.
fn redirects_to(script: &str, file: &str) -> bool {
    script.match_indices(file).any(|(at, _)| {
        let after = script[at + file.len()..].chars().next();
        let ends = after.is_none_or(|c| c.is_whitespace() || "\"';|&)<>".contains(c));
        let before = script[..at].trim_end_matches("./").trim_end_matches(['"', '\'']);
        let command = before.trim_end_matches([' ', '\t']);
        let has_space = command.len() < before.len();
        let word = command.rsplit([' ', '\t', '\n', ';', '|', '&', '(']).find(|word| *word != "-a");
        ends && (command.ends_with('>') || has_space && matches!(word, Some("tee" | "touch")))
    })
}

fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}

fn unordered(gate: &PlanStep, file: &str, writer: &PlanStep) -> Diagnostic {
    let (gate_id, id) = (&gate.step.id, &writer.step.id);
    let message =
        format!("`{gate_id}` checks `{file}`, which `{id}` writes, and nothing orders them");
    Diagnostic::warning(Code::GATE_FILE_UNORDERED, gate.step.span, message)
        .caption(format!("does not wait for `{id}`"))
        .label(writer.step.span, format!("writes `{file}`"))
        .help(format!("add `dependsOn: [{id}]` to `{gate_id}`"))
}

#[cfg(test)]
mod tests {
    use super::redirects_to;

    #[test]
    fn a_script_writes_what_it_redirects_to() {
        let writes = [
            "echo a > out.txt",
            "echo >>out.txt",
            "x | tee -a 'out.txt'",
            "touch out.txt\n",
            "date >\"./out.txt\"; ls",
        ];
        writes.iter().for_each(|script| assert!(redirects_to(script, "out.txt"), "{script}"));
        let reads = [
            "cat out.txt",
            "wc -l < out.txt",
            "echo > out.txt2",
            "echo > a/out.txt",
            "grep tee out.txt.x",
        ];
        reads.iter().for_each(|script| assert!(!redirects_to(script, "out.txt"), "{script}"));
    }
}
