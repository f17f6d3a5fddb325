//! Hints for commands and options that do not exist here and have another name.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands of `kb playbook` that are typed without `playbook`.
const OF_PLAYBOOK: [&str; 7] = ["validate", "graph", "plan", "new", "match", "import", "test"];
/// Commands of `kb run` that are typed without `run`.
const OF_RUN: [&str; 14] = [
    "logs", "watch", "events", "output", "diff", "verify", "resume", "retry", "cancel", "answer",
    "approve", "reject", "prune", "audit",
];
/// Commands of other programs, and the command here.
const ELSEWHERE: [(&[&str], &str); 10] = [
    (&["ls", "list"], "`kb playbook list` lists playbooks, `kb run list` lists runs"),
    (
        &["ps", "status", "history"],
        "`kb run list` lists runs; `--status running` only those that execute",
    ),
    (
        &["show", "info", "describe", "inspect"],
        "`kb playbook show ID` shows a playbook, `kb run show RUN` a run, `kb specialist show ID` a specialist",
    ),
    (&["lint", "check"], "`kb playbook validate` checks playbooks"),
    (&["log", "tail"], "`kb run logs RUN` shows what a run did; `--follow` waits for more"),
    (&["stop", "kill", "abort"], "`kb run cancel RUN` stops a run"),
    (
        &["continue", "restart", "rerun"],
        "`kb run resume RUN` continues a run, `kb run retry RUN` repeats what failed",
    ),
    (&["start", "exec", "execute"], "`kb playbook run ID` starts a run"),
    (
        &["daemon", "scheduler", "schedule"],
        "`kb serve` starts runs by their triggers; `kb trigger list` lists them",
    ),
    (&["format"], "`kb fmt` formats definition files"),
];
/// Options that other programs call a trial run.
const TRIAL: [&str; 5] = ["dry-run", "dryrun", "plan", "check", "noop"];

/// The command for a mistyped one. `words` are the first arguments.
pub(super) fn usage_hint(error: &clap::Error, words: &[String]) -> Option<String> {
    let words = without_global_options(words);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            unknown_command(&words, error.get(ContextKind::SuggestedSubcommand).is_some())
        }
        ErrorKind::UnknownArgument => unknown_option(error, &words),
        _ => None,
    }
}

/// The words without `-q` and `-C DIR`, which can stand anywhere.
fn without_global_options(words: &[String]) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-q" | "--quiet" => {}
            "-C" | "--directory" => drop(words.next()),
            _ => kept.push(word),
        }
    }
    kept
}

/// `is_near` says that a similar command was named already.
fn unknown_command(words: &[&str], is_near: bool) -> Option<String> {
    let elsewhere = |name: &str| {
        ELSEWHERE
            .iter()
            .find(|(names, _)| names.contains(&name))
            .map(|(_, hint)| (*hint).to_owned())
    };
    Some(match words {
        ["run" | "runs", "ls" | "ps"] => "use `kb run list`".into(),
        ["run" | "runs", "start", ..] => "use `kb playbook run ID`".into(),
        ["run" | "runs", "log", ..] => "use `kb run logs RUN`".into(),
        ["run" | "runs", ..] if is_near => return None,
        ["run" | "runs", name, ..] => {
            format!(
                "`kb run` is for existing runs: `kb run show {name}` shows one; to start one, use `kb playbook run {name}`"
            )
        }
        ["playbook" | "workflow", name, ..] if OF_RUN.contains(name) => {
            format!("use `kb run {name} RUN`")
        }
        ["playbook" | "workflow", "ls"] => "use `kb playbook list`".into(),
        ["playbook" | "workflow", "lint" | "check", ..] => "use `kb playbook validate`".into(),
        [name, ..] if OF_PLAYBOOK.contains(name) => format!("use `kb playbook {name}`"),
        [name, ..] if OF_RUN.contains(name) => format!("use `kb run {name}`"),
        [name, ..] => return elsewhere(name),
        [] => return None,
    })
}

fn unknown_option(error: &clap::Error, words: &[&str]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if !TRIAL.contains(&option.trim_start_matches('-')) {
        return None;
    }
    let id = words.get(2).filter(|word| !word.starts_with('-')).unwrap_or(&"ID");
    match words {
        ["playbook" | "workflow", "run", ..] => {
            Some(format!("`kb playbook plan {id}` shows what a run would do; nothing is executed"))
        }
        ["run" | "runs", "retry" | "resume", ..] => Some(
            "`kb run show RUN` lists the steps that have not succeeded; those would run".into(),
        ),
        ["trigger" | "triggers", ..] => {
            Some("`kb trigger test ID` shows what a payload would start".into())
        }
        _ => None,
    }
}
