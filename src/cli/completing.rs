//! Shell completion: the words that fit at the cursor, with the ids of the project's playbooks, runs, steps,
//! specialists and triggers.
//!
//! The script of `kb completions SHELL` calls `kb` with [`VARIABLE`] set. [`COMPLETED`] is the only table of
//! which argument takes which ids.

use super::environment;
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::CompleteEnv;
use kb_serve::serve;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, Project, RunFilter};
use std::ffi::OsStr;
use std::path::PathBuf;

/// The variable with the name of the shell that asks.
pub(super) const VARIABLE: &str = "KB_COMPLETE";
/// Maximum number of runs that are offered.
const RUNS: usize = 50;

/// The words that complete an argument, given its start.
type Completer = fn(&OsStr) -> Vec<CompletionCandidate>;

/// Start of the command, name or placeholder of the argument, and what completes it. The first row that fits
/// counts.
const COMPLETED: [(&str, &str, Completer); 13] = [
    ("kb", "ID|PATH", playbooks),
    ("kb", "RUN", runs),
    ("kb", "run", runs),
    ("kb", "STEP", steps),
    ("kb", "step", steps),
    ("kb run list", "playbook", playbooks),
    ("kb specialist info", "id", specialists),
    ("kb specialist validate", "ids", specialists),
    ("kb trigger", "id", triggers),
    ("kb explain", "code", codes),
    ("kb playbook new", "template", templates),
    ("kb specialist new", "template", specialist_templates),
    ("kb playbook test", "ids", playbooks),
];

/// Answers a shell that asks for completions; whether one did. `root` gives the command with all others.
pub(super) fn answer(root: fn() -> Command) -> Result<bool, clap::Error> {
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| with_completers(root(), "")).var(VARIABLE);
    asked.try_complete(std::env::args_os(), here.as_deref())
}

/// A command and its subcommands with the completers of [`COMPLETED`]. `parents` is the command before it.
fn with_completers(command: Command, parents: &str) -> Command {
    let path = format!("{parents} {}", command.get_name()).trim_start().to_owned();
    let own = path.clone();
    command
        .mut_args(move |arg| match completer(&own, &arg) {
            Some(completer) => arg.add(ArgValueCompleter::new(completer)),
            None if arg.get_value_hint() == ValueHint::AnyPath => {
                arg.add(ArgValueCompleter::new(paths as Completer))
            }
            None => arg,
        })
        .mut_subcommands(move |sub| with_completers(sub, &path))
}

fn completer(command: &str, arg: &Arg) -> Option<Completer> {
    let value = arg.get_value_names().and_then(|names| names.first());
    let is_named = |name: &str| arg.get_id() == name || value.is_some_and(|value| value == name);
    let row =
        COMPLETED.iter().find(|(start, name, _)| command.starts_with(start) && is_named(name));
    row.map(|(_, _, completer)| *completer)
}

/// What has been typed: the folder of `-C` and the words after `kb`.
fn typed() -> (Option<PathBuf>, Vec<String>) {
    let words: Vec<String> = std::env::args().skip_while(|word| word != "--").skip(2).collect();
    let folder = words.iter().position(|word| word == "-C" || word == "--directory");
    let folder = folder.and_then(|at| words.get(at + 1)).map(PathBuf::from);
    (folder, words)
}

fn here() -> Option<Environment> {
    environment::of_process(typed().0.as_deref()).ok()
}

fn project() -> Option<Project> {
    Project::find(&here()?).ok()
}

/// Words that start with what was typed, with their descriptions.
fn fitting(
    current: &OsStr,
    all: impl IntoIterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let fits = all.into_iter().filter(|(word, _)| word.starts_with(&*current));
    fits.map(|(word, about)| {
        let about = (!about.is_empty()).then(|| super::escape::escaped(&about).into_owned());
        CompletionCandidate::new(word).help(about.map(Into::into))
    })
    .collect()
}

/// Playbooks and workflows by id; files once a path is typed.
fn playbooks(current: &OsStr) -> Vec<CompletionCandidate> {
    let is_path = current.to_string_lossy().contains(['/', '.']);
    let found = project().map(|project| service::list_playbooks(&project)).unwrap_or_default();
    let found = fitting(current, found.into_iter().map(|view| (view.id, view.name)));
    if is_path || found.is_empty() {
        harmless(PathCompleter::file().complete(current))
    } else {
        found
    }
}

fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    harmless(PathCompleter::any().complete(current))
}

/// Without names that the shell would show with characters that control the terminal or hide text.
fn harmless(mut found: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    found.retain(|candidate| {
        let word = candidate.get_value().to_string_lossy();
        !word.contains(char::is_control) && super::escape::escaped(&word) == word
    });
    found
}

fn specialists(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = project().map(|project| service::list_specialists(&project)).unwrap_or_default();
    fitting(current, found.into_iter().map(|view| (view.id, view.name)))
}

fn triggers(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = project().and_then(|project| serve::list(&project, 1).ok()).unwrap_or_default();
    fitting(current, found.into_iter().map(|view| (view.id, view.source)))
}

fn templates(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = project().map(|project| service::templates(&project)).unwrap_or_default();
    fitting(current, found.into_iter().map(|view| (view.name, view.about)))
}

fn specialist_templates(current: &OsStr) -> Vec<CompletionCandidate> {
    let found =
        project().map(|project| service::specialist_templates(&project)).unwrap_or_default();
    fitting(current, found.into_iter().map(|view| (view.name, view.about)))
}

fn codes(current: &OsStr) -> Vec<CompletionCandidate> {
    let pages = service::all_codes().into_iter();
    fitting(current, pages.map(|page| (page.code.to_string(), page.title.to_string())))
}

/// The newest runs, and `@last`.
fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let context = here().and_then(|environment| ProjectContext::find(&environment).ok());
    let filter = RunFilter { limit: RUNS, ..RunFilter::default() };
    let found = context.and_then(|context| service::list_runs(&context, &filter).ok());
    let last = ("@last".to_owned(), "the newest run that is no child run".to_owned());
    let found = found.unwrap_or_default().into_iter().map(|run| {
        let about = format!("{} {}", run.definition, run.status.as_str());
        (run.run.to_string(), about)
    });
    fitting(current, std::iter::once(last).chain(found))
}

/// The steps of the run or playbook that the line names; without one, those of the last run.
fn steps(current: &OsStr) -> Vec<CompletionCandidate> {
    let (_, words) = typed();
    let names = || words.iter().filter(|word| !word.starts_with('-'));
    let is_of_playbook =
        names().next().is_some_and(|word| word == "playbook" || word == "workflow");
    let found = if is_of_playbook { steps_of_playbook(names()) } else { steps_of_run(names()) };
    fitting(current, found.unwrap_or_default())
}

fn steps_of_playbook<'a>(words: impl Iterator<Item = &'a String>) -> Option<Vec<(String, String)>> {
    let project = project()?;
    let playbook = words.skip(2).find_map(|word| project.playbook(word).ok())?;
    let all = playbook.steps.iter().chain(&playbook.finally);
    Some(all.map(|step| (step.id.to_string(), step.kind.name().to_owned())).collect())
}

fn steps_of_run<'a>(words: impl Iterator<Item = &'a String>) -> Option<Vec<(String, String)>> {
    let context = ProjectContext::find(&here()?).ok()?;
    let named = words.skip(1).filter(|word| word.starts_with(['r', '@']));
    let view = named
        .map(String::as_str)
        .chain(["@last"])
        .find_map(|word| service::show_run(&context, word).ok())?;
    let steps = view.into_inner().steps.into_iter();
    Some(steps.map(|step| (step.instance.to_string(), step.status.as_str().to_owned())).collect())
}
