//! Hints for commands and options that do not exist here and have another name.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands of `kb playbook`.
const OF_PLAYBOOK: [&str; 8] =
    ["list", "validate", "graph", "plan", "new", "match", "import", "check"];
/// Commands of `kb run`.
const OF_RUN: [&str; 13] = [
    "logs", "watch", "events", "output", "diff", "verify", "resume", "retry", "cancel", "answer",
    "approve", "reject", "prune",
];

/// The command for a mistyped one. `words` are the first arguments.
pub(super) fn usage_hint(error: &clap::Error, words: &[String]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(&words),
        ErrorKind::UnknownArgument => unknown_option(error, &words),
        _ => None,
    }
}

fn unknown_command(words: &[&str]) -> Option<String> {
    Some(match words {
        ["ls" | "list", ..] => {
            "`kb playbook list` lists playbooks, `kb run list` lists runs".into()
        }
        ["ps" | "status" | "history", ..] => "`kb run list` lists runs".into(),
        ["show" | "info", ..] => {
            "`kb playbook show ID` shows a playbook, `kb run show RUN` shows a run".into()
        }
        ["test" | "lint" | "check", ..] => "`kb playbook validate` checks playbooks".into(),
        [name, ..] if OF_PLAYBOOK.contains(name) => format!("use `kb playbook {name}`"),
        [name, ..] if OF_RUN.contains(name) => format!("use `kb run {name}`"),
        ["run" | "runs", "ls" | "ps"] => "use `kb run list`".into(),
        ["run" | "runs", "start", ..] => "use `kb playbook run ID`".into(),
        ["run" | "runs", name, ..] => {
            format!("`kb run` is for existing runs; to start one, use `kb playbook run {name}`")
        }
        _ => return None,
    })
}

fn unknown_option(error: &clap::Error, words: &[&str]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_run = matches!(words, ["playbook" | "workflow", "run", ..]);
    match (option.trim_start_matches('-'), is_run) {
        ("dry-run" | "dryrun" | "plan", true) => {
            let id = words.get(2).filter(|word| !word.starts_with('-')).unwrap_or(&"ID");
            Some(format!("`kb playbook plan {id}` shows what a run would do; nothing is executed"))
        }
        _ => None,
    }
}
