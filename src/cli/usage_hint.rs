//! Hints for commands and options that do not exist here and have another name.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use kb_base::diagnostic::foreign_word;

/// Commands of `kb playbook` that are typed without `playbook`.
const OF_PLAYBOOK: [&str; 7] = ["validate", "graph", "plan", "new", "match", "import", "test"];
/// Commands of `kb run` that are typed without `run`.
const OF_RUN: [&str; 14] = [
    "logs", "watch", "events", "output", "diff", "verify", "resume", "retry", "cancel", "answer",
    "approve", "reject", "prune", "audit",
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
    let (above, rest) = match words {
        ["run" | "runs", rest @ ..] => ("kb run", rest),
        ["playbook" | "workflow", rest @ ..] => ("kb playbook", rest),
        all => ("kb", all),
    };
    let [name, ..] = rest else { return None };
    foreign_word(above, name).map(str::to_owned).or_else(|| match above {
        "kb run" if is_near => None,
        "kb run" => Some(format!(
            "`kb run` is for existing runs: `kb run show {name}` shows one; to start one, use `kb playbook run {name}`"
        )),
        "kb playbook" => OF_RUN.contains(name).then(|| format!("use `kb run {name} RUN`")),
        _ if OF_PLAYBOOK.contains(name) => Some(format!("use `kb playbook {name}`")),
        _ => OF_RUN.contains(name).then(|| format!("use `kb run {name}`")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Kb;
    use clap::{Command, CommandFactory as _};
    use kb_base::diagnostic::foreign_words;

    fn all<'c>(command: &'c Command, found: &mut Vec<(String, &'c Command)>, path: &str) {
        for own in command.get_subcommands() {
            let path = format!("{path} {}", own.get_name());
            found.push((path.trim().to_owned(), own));
            all(own, found, &path);
        }
    }

    #[test]
    fn hints_name_commands_that_exist_and_words_that_do_not() {
        let kb = Kb::command();
        let named = |names: &[&str]| {
            let below = |above: &'_ Command, name: &&str| above.find_subcommand(name).cloned();
            names.iter().try_fold(kb.clone(), |above, name| below(&above, name)).is_some()
        };
        let of_commands = |place: &str| place == "kb" || place.starts_with("kb ");
        for (above, words, hint) in foreign_words().filter(|(place, _, _)| of_commands(place)) {
            for word in words.split(' ') {
                let path: Vec<&str> = above.split(' ').skip(1).chain([word]).collect();
                assert!(!named(&path), "`{above} {word}` is a command");
            }
            let commands =
                hint.split('`').skip(1).step_by(2).filter_map(|text| text.strip_prefix("kb "));
            for command in commands {
                let is_name = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase());
                let words: Vec<&str> = command.split(' ').take_while(is_name).collect();
                assert!(named(&words), "`{command}` of a hint is no command");
            }
        }
        let known = |group: &str, name: &str| named(&[group, name]);
        assert!(OF_PLAYBOOK.iter().all(|name| known("playbook", name)));
        assert!(OF_RUN.iter().all(|name| known("run", name)));
    }

    #[test]
    fn show_and_info_are_one_command_and_quiet_is_an_option_of_all() {
        let mut kb = Kb::command();
        kb.build();
        let mut found = Vec::new();
        all(&kb, &mut found, "");
        assert!(found.len() > 50, "{}", found.len());
        for (path, command) in &found {
            if path.split(' ').any(|name| name == "help") {
                continue;
            }
            let quiet = command.get_arguments().find(|own| own.get_short() == Some('q'));
            assert!(quiet.is_some_and(|own| own.get_id() == "quiet"), "`kb {path}` has no `-q`");
            let is_show = ["show", "info"].contains(&command.get_name());
            let also = command.get_visible_aliases().any(|name| ["show", "info"].contains(&name));
            assert!(!is_show || also, "`kb {path}` has one of the names `show` and `info` only");
        }
    }
}
