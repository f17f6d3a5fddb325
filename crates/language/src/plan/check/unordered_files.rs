//! Files that a step names while another step writes them: nothing orders the two.

use super::script_files::ScriptFiles;
use super::subject::Subject;
use crate::definition::{Check, RunCommand, Step, StepKind};
use crate::expression::ValueTemplate;
use crate::plan::{PlanStep, StepIx};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::{BTreeMap, BTreeSet};

/// One warning for each pair of steps without an order, of which one visibly writes a file that the other names. Only
/// literal paths are compared.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let steps: Vec<(StepIx, &PlanStep, Files<'_>)> =
        subject.plan.iter().map(|(ix, step)| (ix, step, Files::of(&step.step))).collect();
    let mut writers: BTreeMap<&str, Vec<(StepIx, &PlanStep)>> = BTreeMap::new();
    for (ix, step, files) in &steps {
        for file in &files.written {
            writers.entry(file).or_default().push((*ix, step));
        }
    }
    let mut problems = Vec::new();
    for (reader, step, files) in &steps {
        let mut warned = BTreeSet::new();
        for file in files.read.difference(&files.written) {
            for (writer, other) in writers.get(file).into_iter().flatten() {
                let ordered = writer == reader
                    || other.is_finally() != step.is_finally()
                    || folder(other) != folder(step)
                    || other.isolation().is_some()
                    || step.isolation().is_some()
                    || subject.is_above(*writer, *reader)
                    || subject.is_above(*reader, *writer);
                if !ordered && warned.insert(writer) {
                    problems.push(unordered(step, file, other));
                }
            }
        }
    }
    problems
}

/// The literal paths of a step.
#[derive(Default)]
struct Files<'a> {
    written: BTreeSet<&'a str>,
    read: BTreeSet<&'a str>,
}

impl<'a> Files<'a> {
    fn of(step: &'a Step) -> Files<'a> {
        let mut files = Files::default();
        let checks = step.kind.checks().unwrap_or_default();
        let checked = checks.iter().filter_map(|check| {
            let Check::File(file) = check else { return None };
            file.path.as_literal().filter(|_| !file.absent).map(plain)
        });
        files.read.extend(checked);
        if let StepKind::Run(run) = &step.kind {
            match &run.command {
                RunCommand::Shell(script) => {
                    let script = ScriptFiles::of(script);
                    files.written.extend(script.written.into_iter().filter(|word| is_file(word)));
                    files.read.extend(script.named.into_iter().filter(|word| is_file(word)));
                }
                RunCommand::Argv(words) => {
                    let words = words.iter().filter_map(|word| word.as_literal()).map(plain);
                    files.read.extend(words.filter(|word| is_file(word)));
                }
            }
        }
        if let StepKind::Tool(_) = &step.kind {
            let writes = step.kind.effects().writes;
            let paths = if writes { &mut files.written } else { &mut files.read };
            paths.extend(path_of(step).map(plain));
        }
        files
    }
}

/// The `cwd` of a step as far as it is literal.
fn folder(step: &PlanStep) -> Option<Option<&str>> {
    step.step.details().cwd.as_ref().map(|cwd| cwd.as_literal())
}

/// The `path` of a tool.
fn path_of(step: &Step) -> Option<&str> {
    match step.details().input.as_ref()? {
        ValueTemplate::Literal(input) => input.get("path")?.as_str(),
        ValueTemplate::Map(input) => {
            let (_, path) = input.iter().find(|(name, _)| name == "path")?;
            let ValueTemplate::Literal(path) = path else { return None };
            path.as_str()
        }
        ValueTemplate::Text(_) | ValueTemplate::List(_) => None,
    }
}

/// Whether a word of a command looks like a file of the project.
fn is_file(word: &str) -> bool {
    word.contains(['.', '/']) && !word.starts_with(['-', '/', '~']) && !word.contains("://")
}

fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}

fn unordered(reader: &PlanStep, file: &str, writer: &PlanStep) -> Diagnostic {
    let (reader_id, id) = (&reader.step.id, &writer.step.id);
    let reads = if reader.step.kind.checks().is_some() { "checks" } else { "names" };
    let message =
        format!("`{reader_id}` {reads} `{file}`, which `{id}` writes, and nothing orders them");
    Diagnostic::warning(Code::FILE_UNORDERED, reader.step.span, message)
        .caption(format!("does not wait for `{id}`"))
        .label(writer.step.span, format!("writes `{file}`"))
        .help(format!("add `dependsOn: [{id}]` to `{reader_id}`"))
}
