//! Hints for commands and options that do not exist here and have another name.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use kb_base::diagnostic::foreign_word;

/// Options that other programs call a trial run.
const TRIAL: [&str; 5] = ["dry-run", "dryrun", "plan", "check", "noop"];

/// The command for a mistyped one. `words` are the first arguments.
/// `params_of` reads the parameters of a playbook, if there is one with that id.
pub(super) fn usage_hint(
    error: &clap::Error,
    words: &[String],
    kb: &Command,
    params_of: impl Fn(&str) -> Option<Vec<String>>,
) -> Option<String> {
    let words = without_global_options(words);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            // A playbook with that very id is nearer than a command with a similar name.
            let is_near = error.get(ContextKind::SuggestedSubcommand).is_some()
                && words.get(1).is_none_or(|id| params_of(id).is_none());
            unknown_command(&words, is_near, kb)
        }
        ErrorKind::UnknownArgument => {
            let id = words.get(2).filter(|id| !id.starts_with('-'));
            unknown_option(error, &words, &id.and_then(|id| params_of(id)).unwrap_or_default())
        }
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
fn unknown_command(words: &[&str], is_near: bool, kb: &Command) -> Option<String> {
    let group = words.first().and_then(|word| kb.find_subcommand(word));
    let group = group.filter(|own| own.has_subcommands());
    let name = *words.get(usize::from(group.is_some()))?;
    let above = group.map_or("kb".to_owned(), |own| format!("kb {}", own.get_name()));
    if let Some(known) = foreign_word(&above, name) {
        return Some(known.to_owned());
    }
    if let Some(own) = with_letters_of(group.unwrap_or(kb), name) {
        return Some(format!("did you mean `{above} {own}`?"));
    }
    let mut groups = kb.get_subcommands().filter(|own| own.has_subcommands());
    if let Some(other) = groups.find(|other| other.find_subcommand(name).is_some()) {
        return Some(format!("use `kb {} {name}`", other.get_name()));
    }
    // The name of another group, as in `kb run playbook ID`: the words in their order.
    let (inner, outer) = (kb.find_subcommand(name), group?.get_name());
    if let Some(other) = inner.filter(|other| other.find_subcommand(outer).is_some()) {
        let rest: Vec<&str> = words.iter().skip(2).copied().collect();
        let line = format!("kb {} {outer} {}", other.get_name(), rest.join(" "));
        return Some(format!("did you mean `{}`?", line.trim_end()));
    }
    match above.as_str() {
        _ if is_near => None,
        "kb run" => Some(format!(
            "`kb run` is for existing runs: `kb run show {name}` shows one; to start one, use `kb playbook run {name}`"
        )),
        "kb playbook" => Some(format!(
            "`kb playbook run {name}` runs a playbook, `kb playbook show {name}` shows it"
        )),
        _ => None,
    }
}

/// The subcommand with the letters of a word in another order: `rnu` is nearer to `run` than the parser thinks.
fn with_letters_of<'c>(command: &'c Command, word: &str) -> Option<&'c str> {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let mut names = command.get_subcommands().map(Command::get_name);
    names.find(|name| sorted(name) == sorted(word))
}

/// `params` are the parameters of the playbook that the words name.
fn unknown_option(error: &clap::Error, words: &[&str], params: &[String]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_run = matches!(words, ["playbook" | "workflow", "run" | "plan", ..]);
    if is_run && !option.starts_with('-') && is_assignment(option) {
        return Some(format!("parameters have an option: `--param {option}`"));
    }
    let name = option.strip_prefix("--").unwrap_or_default();
    if is_run && params.iter().any(|param| param == name) {
        let after = words.iter().skip_while(|word| *word != option).nth(1);
        let value = after.filter(|word| !word.starts_with('-')).unwrap_or(&"VALUE");
        return Some(format!("parameters have an option: `--param {name}={value}`"));
    }
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

/// Whether a word is `NAME=VALUE`.
fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Kb;
    use clap::CommandFactory as _;
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
    }

    #[test]
    fn a_command_of_a_group_is_found_without_the_group() {
        for (line, hint) in [
            ("validate", "use `kb playbook validate`"),
            ("cancel x", "use `kb run cancel`"),
            ("backfill x", "use `kb trigger backfill`"),
            ("workflow logs x", "use `kb run logs`"),
            ("run validate", "use `kb playbook validate`"),
            ("playbook rnu x", "did you mean `kb playbook run`?"),
            ("run playbook hello", "did you mean `kb playbook run hello`?"),
            ("list", "`kb playbook list` lists playbooks, `kb run list` lists runs"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(
                unknown_command(&words, true, &Kb::command()).as_deref(),
                Some(hint),
                "{line}"
            );
        }
        assert_eq!(unknown_command(&["serv"], true, &Kb::command()), None);
        let hint = unknown_command(&["playbook", "hello"], false, &Kb::command());
        assert!(hint.is_some_and(|hint| hint.contains("`kb playbook run hello` runs a playbook")));
    }

    #[test]
    fn a_parameter_without_its_option_is_named() {
        let words = ["playbook", "run", "x", "w=1"].map(str::to_owned);
        let parsed = Kb::command()
            .try_get_matches_from(["kb"].into_iter().chain(words.iter().map(String::as_str)));
        let params = |_: &str| Some(vec!["stage".to_owned()]);
        let hint = usage_hint(&parsed.unwrap_err(), &words, &Kb::command(), params);
        assert_eq!(hint.as_deref(), Some("parameters have an option: `--param w=1`"));
        for (option, expected) in [
            ("--stage", Some("parameters have an option: `--param stage=prod`")),
            ("--other", None),
        ] {
            let words = ["playbook", "run", "x", option, "prod"].map(str::to_owned);
            let parsed = Kb::command()
                .try_get_matches_from(["kb"].into_iter().chain(words.iter().map(String::as_str)));
            let hint = usage_hint(&parsed.unwrap_err(), &words, &Kb::command(), params);
            assert_eq!(hint.as_deref(), expected);
        }
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
