//! Files that a step names while another step writes them: nothing orders the two.

use super::script_files::ScriptFiles;
use super::subject::Subject;
use crate::definition::{Check, RunCommand, Step, StepKind};
use crate::expression::ValueTemplate;
use crate::plan::{PlanStep, StepIx};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::{BTreeMap, BTreeSet};

/// Most writers that a warning names.
const SHOWN: usize = 4;

/// One warning for each step and file that it names, if steps without an order to it visibly write the file. A writer is
/// named for one of its files. Only literal paths are compared.
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
    for (reader, step, files) in steps.iter().filter(|(_, step, _)| step.isolation().is_none()) {
        let read = files.read.difference(&files.written);
        let mut read = read.filter_map(|file| Some((*file, writers.get(file)?))).peekable();
        if read.peek().is_none() {
            continue;
        }
        // Each writer is named once, and an ordered one never.
        let mut named = subject.ordered_with(*reader);
        for (file, writers) in read {
            let beside = writers.iter().filter(|(writer, other)| {
                other.is_finally() == step.is_finally()
                    && folder(other) == folder(step)
                    && other.isolation().is_none()
                    && named.insert(*writer)
            });
            let beside: Vec<&PlanStep> = beside.map(|(_, other)| *other).collect();
            if !beside.is_empty() {
                problems.push(unordered(step, file, &beside));
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

fn unordered(reader: &PlanStep, file: &str, writers: &[&PlanStep]) -> Diagnostic {
    let reader_id = &reader.step.id;
    let reads = if reader.step.kind.checks().is_some() { "checks" } else { "names" };
    let shown = &writers[..writers.len().min(SHOWN)];
    let ids: Vec<&str> = shown.iter().map(|writer| writer.step.id.as_str()).collect();
    let (more, etc) = match writers.len() - shown.len() {
        0 => (String::new(), ""),
        more => (format!(" and {more} more"), ", …"),
    };
    let named = format!("`{}`{more}", ids.join("`, `"));
    let verb = if writers.len() == 1 { "writes" } else { "write" };
    let message =
        format!("`{reader_id}` {reads} `{file}`, which {named} {verb}, and nothing orders them");
    let warning = Diagnostic::warning(Code::FILE_UNORDERED, reader.step.span, message)
        .caption(format!("does not wait for {named}"))
        .help(format!("add `dependsOn: [{}{etc}]` to `{reader_id}`", ids.join(", ")));
    shown.iter().fold(warning, |warning, writer| {
        warning.label(writer.step.span, format!("writes `{file}`"))
    })
}
