//! Claims that a command ran: what an output states, and whether a recorded process proves it.

use super::claim_entry::{is_denied, says_failure, tells_failure};
use super::claimed_result::{ClaimedResult, annotated};
use super::command_note;
use super::command_text::{has_program, is_question, plain};
use super::finding::Finding;
use super::keys::{entries, field, is_key, sources};
use super::named_commands::{behind_target, target_finding};
use super::normalized_path::normalized;
use super::recorded_runs::{CommandRecord, CommandResult, RecordedRun};
use super::runner::{canonical, decides, may_be_same};
use super::shell::{CommandUse, Script};
use crate::evidence::Verdict;
use kb_base::value::Json;
use serde_json::json;

/// A statement of an output that a command ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandClaim {
    /// The command as it is written.
    pub(super) text: String,
    /// The claimed result.
    result: ClaimedResult,
    /// Whether its entry, or a note behind the command, says that it did not run.
    denied: bool,
    /// Whether a field of its entry does not say that it ran.
    pub(super) open: bool,
    /// Whether a note beside it tells of a failure, in words that name no exit code.
    tells_failure: bool,
    script: Script,
}

const KEYS: [&str; 5] =
    ["commands", "commandsrun", "commandsexecuted", "executedcommands", "commandresults"];

/// Keys of an entry with the folder in which its command ran.
const FOLDERS: [&str; 4] = ["cwd", "dir", "directory", "workingdirectory"];

/// Whether the values of a key are read as commands.
pub(super) fn is_read(key: &str) -> bool {
    is_key(key, &KEYS)
}

/// The entries of each list of commands. `reports_failure` tells whether the output reports that a command failed.
pub(super) fn command_lists(
    output: &Json,
    reports_failure: impl Fn(&Script) -> bool,
) -> Vec<Vec<CommandClaim>> {
    let claim = |entry: &Json| {
        let claim = CommandClaim::of(entry)?;
        let claim = CommandClaim {
            denied: claim.denied || is_denied(entry),
            open: claim.open || command_note::is_left_open(entry),
            tells_failure: claim.tells_failure || tells_failure(entry),
            ..claim
        };
        let any = claim.result == ClaimedResult::Succeeded && reports_failure(&claim.script);
        let result = if any { ClaimedResult::Any } else { claim.result };
        Some(CommandClaim { result, ..claim })
    };
    let is_command = |entry: &&Json| {
        let kind = field(entry, &["kind", "type"]).and_then(Json::as_str);
        kind.is_some_and(|kind| is_key(kind, &["commandexecuted", "command"]))
    };
    let list = |(key, value): (&String, &Json)| -> Vec<CommandClaim> {
        if is_read(key) {
            entries(value).filter_map(claim).collect()
        } else if is_key(key, &["claims"]) {
            entries(value).filter(is_command).filter_map(claim).collect()
        } else {
            Vec::new()
        }
    };
    sources(output).flatten().map(list).collect()
}

impl CommandClaim {
    fn of(entry: &Json) -> Option<CommandClaim> {
        if let Some(text) = entry.as_str() {
            let (text, result) = annotated(text);
            return Self::from_text(text, result);
        }
        // `["npm test", "exit 0"]` is a command with its result, and no list of arguments.
        if let Some([Json::String(command), note]) = entry.as_array().map(Vec::as_slice)
            && command.contains(' ')
            && (note.is_string() || note.is_number())
        {
            let note = note.as_str().map_or_else(|| note.to_string(), str::to_owned);
            return Self::of(&Json::String(format!("{command} → {note}")));
        }
        let argv = |words: &Json| -> Option<Vec<String>> {
            words.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let own = entry.is_array().then_some(entry);
        let command = own.or_else(|| field(entry, &["command", "cmd", "argv", "run"]))?;
        let result = ClaimedResult::of_entry(entry);
        let folder = field(entry, &FOLDERS).and_then(Json::as_str);
        let folder = folder.filter(|folder| !["", "."].contains(folder) && !folder.contains(' '));
        match command {
            Json::String(text) => match folder {
                Some(folder) => Self::from_text(&format!("cd {folder} && {text}"), result),
                None => Self::from_text(text, result),
            },
            words => {
                let words = argv(words).filter(|words| !words.is_empty())?;
                let (text, script) = (words.join(" "), Script::of(&words));
                let (denied, open, tells_failure) = (false, false, false);
                Some(CommandClaim { text, result, denied, open, tells_failure, script })
            }
        }
    }

    fn from_text(text: &str, result: ClaimedResult) -> Option<CommandClaim> {
        let text = text.trim().trim_matches('`').trim();
        let quoted = |mark| text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
        let text =
            quoted('\'').or(quoted('"')).filter(|text| !text.contains(['\'', '"'])).unwrap_or(text);
        let text = text.strip_prefix("$ ").unwrap_or(text);
        let script = Script::of_text(text);
        let denied = command_note::is_denied(text);
        let comment = text.split_once(" #").map(|(_, comment)| comment);
        let tells_failure = comment.is_some_and(says_failure);
        let text = text.to_owned();
        let open = false;
        (!text.is_empty()).then_some(CommandClaim {
            text,
            result,
            denied,
            open,
            tells_failure,
            script,
        })
    }

    /// Whether another claim says the same.
    pub(super) fn is_same(&self, other: &CommandClaim) -> bool {
        self.text == other.text && self.result == other.result
    }

    /// Program and arguments of its commands.
    pub(super) fn commands(&self) -> impl Iterator<Item = &[String]> {
        self.script.commands.iter().map(|used| used.argv.as_slice())
    }

    /// The command of a claim about one command alone.
    pub(super) fn only_command(&self) -> Option<&[String]> {
        match self.script.main_commands().as_slice() {
            [one] => Some(&one.argv),
            _ => None,
        }
    }

    /// The verdict over the claim, with the evidence.
    pub(super) fn check(&self, record: &CommandRecord<'_>) -> (Finding, Json) {
        let mut calls: Vec<&str> = Vec::new();
        let mut code = None;
        let mut worst = Finding::passed();
        let parts = self.script.main_commands();
        for part in &parts {
            let (finding, run) = self.part(part, parts.len(), record);
            if let Some(run) = run {
                calls.push(&run.call.id);
                code = run.exit_code().or(code);
            }
            if finding.verdict > worst.verdict {
                worst = finding;
            }
        }
        if parts.is_empty() {
            worst = self.unparsed(record);
        }
        if worst.verdict == Verdict::Passed
            && let Some(finding) = self.beyond_the_record(record)
        {
            worst = finding;
        }
        calls.dedup();
        let says_success = self.result == ClaimedResult::SaidSucceeded;
        if self.tells_failure && !says_success && worst.verdict == Verdict::Failed {
            let reason = worst.reason.unwrap_or_default();
            worst = Finding::inconclusive(format!("{reason}; a note beside it tells of a failure"));
        }
        if self.denied {
            worst = worst.doubted_as("did not run");
        }
        (worst, json!({"calls": calls, "exitCode": code}))
    }

    /// The doubt about what the claim says besides its commands: folders, variables, redirections and wrappers that no
    /// recorded text has.
    fn beyond_the_record(&self, record: &CommandRecord<'_>) -> Option<Finding> {
        let runs = record.runs;
        let claimed = plain(&self.text);
        let has_text = |run: &&RecordedRun<'_>| plain(&run.text()).contains(&claimed);
        let text = &self.text;
        let commands = || self.script.commands.iter().map(|used| plain(&used.argv.join(" ")));
        if runs.iter().any(|run| has_text(&run)) || self.script.commands.is_empty() {
            return None;
        }
        let is_in = |used: &CommandUse| {
            let wanted = canonical(&used.argv);
            let folder = used.argv.get(1).filter(|_| used.argv[0] == "cd");
            runs.iter().any(|run| {
                let cwd = run.call.args.get("cwd").and_then(Json::as_str);
                folder.is_some_and(|folder| cwd == Some(folder.trim_end_matches('/')))
                    || run.script.commands.iter().any(|own| {
                        canonical(&own.argv) == wanted && has_program(&own.argv, &used.argv[0])
                    })
            }) || behind_target(&used.argv, record).is_some()
        };
        let is_bare = commands().collect::<Vec<_>>().join(" && ") == claimed;
        (!is_bare || !self.script.commands.iter().all(is_in)).then(|| {
            Finding::inconclusive(format!(
                "`{text}` is claimed to have run, and only its command was recorded, without the rest"
            ))
        })
    }

    /// The verdict over one command of the claim. `parts` is the number of its commands.
    fn part<'r>(
        &self,
        part: &CommandUse,
        parts: usize,
        record: &CommandRecord<'r>,
    ) -> (Finding, Option<&'r RecordedRun<'r>>) {
        let (runs, argv) = (record.runs, &part.argv);
        let name = argv.join(" ");
        let all = || runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
        let wanted = canonical(argv);
        let mut same: Vec<_> = all().filter(|(_, used)| canonical(&used.argv) == wanted).collect();
        let folder = |run: &RecordedRun<'_>, used: &CommandUse| run.folder_of(used, record.root);
        let claimed = part.cwd.as_deref().map(|cwd| normalized(cwd, record.root));
        let is_there = |(run, used): &(&RecordedRun<'_>, &CommandUse)| {
            folder(run, used).is_none_or(|own| Some(own) == claimed)
        };
        let elsewhere = same.iter().rev().find(|own| !is_there(own)).copied();
        if same.iter().any(is_there) {
            same.retain(is_there);
        }
        let Some((run, used)) = self.decisive(&same) else {
            let is_success =
                [ClaimedResult::Succeeded, ClaimedResult::SaidSucceeded].contains(&self.result);
            if is_success && let Some((finding, run)) = target_finding(argv, record) {
                return (finding, Some(run));
            }
            if let Some(run) = runs.iter().rev().find(|run| run.may_contain(argv)) {
                let finding = Finding::inconclusive(format!(
                    "`{name}` is claimed to have run, but the script of call `{}` could not be analysed",
                    run.call.id
                ));
                return (finding, Some(run));
            }
            let is_like = |used: &CommandUse| {
                canonical(&used.argv).starts_with(&wanted) || may_be_same(argv, &used.argv)
            };
            let longer = all().rev().find(|(_, used)| is_like(used));
            let finding = match longer {
                Some((run, used)) => Finding::inconclusive(format!(
                    "`{name}` is claimed to have run, but call `{}` ran `{}`",
                    run.call.id,
                    used.argv.join(" ")
                )),
                None => self.unrecorded(&name, record),
            };
            return (finding, longer.map(|(run, _)| run));
        };
        let whole = parts > 1 && parts == run.script.main_commands().len();
        let finding = self.verdict(&name, run, run.result(used), whole);
        if finding.verdict == Verdict::Passed && !is_there(&(run, used)) {
            let ran = elsewhere.and_then(|(run, used)| folder(run, used)).unwrap_or_default();
            let place = |folder: &str| match folder.is_empty() {
                true => "the folder of the step".to_owned(),
                false => format!("`{folder}`"),
            };
            let doubt = Finding::inconclusive(format!(
                "`{name}` is claimed to have run in {}, and it ran in {} (call `{}`); write `cd FOLDER && {name}`",
                place(&claimed.unwrap_or_default()),
                place(&ran),
                run.call.id
            ));
            return (doubt, Some(run));
        }
        if finding.verdict == Verdict::Passed
            && let Some(reason) = record.other_program(argv, run, used)
        {
            let doubt = Finding::inconclusive(format!(
                "`{name}` is claimed to have run, and call `{}` ran `{}`, but {reason}",
                run.call.id,
                used.argv.join(" ")
            ));
            return (doubt, Some(run));
        }
        let set = run.script.assigned.iter().find(|word| decides(word));
        if let Some(set) = set.filter(|set| !self.script.assigned.contains(set))
            && finding.verdict == Verdict::Passed
        {
            let doubt = Finding::inconclusive(format!(
                "`{name}` is claimed to have run, and call `{}` ran it with `{set}`, which can decide what it does",
                run.call.id
            ));
            return (doubt, Some(run));
        }
        (finding, Some(run))
    }

    /// The run that decides: the last one, or the last that fits a claimed failure.
    fn decisive<'r>(
        &self,
        same: &[(&'r RecordedRun<'r>, &'r CommandUse)],
    ) -> Option<(&'r RecordedRun<'r>, &'r CommandUse)> {
        let fits = |(run, used): &&(&'r RecordedRun<'r>, &'r CommandUse)| match self.result {
            ClaimedResult::Failed(claimed) => {
                let CommandResult::Failed(code, _) = run.result(used) else { return false };
                claimed.is_none() || claimed == code
            }
            ClaimedResult::Number(number) => run.exit_code() == Some(number),
            ClaimedResult::Succeeded | ClaimedResult::SaidSucceeded | ClaimedResult::Any => false,
        };
        // A run whose exit code is not known can be the one that is claimed to have failed.
        let may_fit = |(run, used): &&(&'r RecordedRun<'r>, &'r CommandUse)| {
            matches!(self.result, ClaimedResult::Failed(_))
                && matches!(
                    run.result(used),
                    CommandResult::Masked(_)
                        | CommandResult::FailedScript(_)
                        | CommandResult::Unknown
                )
        };
        let found = same.iter().rev().find(fits).or_else(|| same.iter().rev().find(may_fit));
        found.or(same.last()).copied()
    }

    /// The verdict over a recorded run of the command.
    pub(super) fn verdict(
        &self,
        name: &str,
        run: &RecordedRun<'_>,
        result: CommandResult,
        whole: bool,
    ) -> Finding {
        let call = &run.call.id;
        match (self.result, result) {
            (_, CommandResult::Unknown) => {
                Finding::inconclusive(format!("the outcome of `{name}` (call `{call}`) is unknown"))
            }
            (ClaimedResult::Any, _) => Finding::passed(),
            (ClaimedResult::Number(number), result) => match result {
                CommandResult::Failed(Some(code), _) if code == number => Finding::passed(),
                _ => Finding::inconclusive(format!(
                    "`{name}` is claimed with the number {number}, which is not its exit code (call `{call}`); what it \
                     printed is not compared"
                )),
            },
            (ClaimedResult::Succeeded | ClaimedResult::SaidSucceeded, CommandResult::Succeeded) => {
                Finding::passed()
            }
            (ClaimedResult::Succeeded, CommandResult::Failed(Some(1), _)) if is_question(name) => {
                Finding::inconclusive(format!(
                    "`{name}` exited with code 1 (call `{call}`), which the claim does not say"
                ))
            }
            (
                ClaimedResult::Succeeded | ClaimedResult::SaidSucceeded,
                CommandResult::Failed(_, reason),
            ) => Finding::failed(format!(
                "`{name}` is claimed to have run, but it {reason} (call `{call}`); report a failure as `{name} (exit CODE)`"
            )),
            (
                ClaimedResult::Succeeded | ClaimedResult::SaidSucceeded,
                CommandResult::FailedScript(reason),
            ) if whole => Finding::failed(format!(
                "`{}` is claimed to have run, but it {reason} (call `{call}`)",
                self.text
            )),
            (_, CommandResult::FailedScript(reason)) => Finding::inconclusive(format!(
                "`{name}` is part of a script that {reason} (call `{call}`)"
            )),
            (_, CommandResult::Masked(why)) => Finding::inconclusive(format!(
                "`{name}` ran in call `{call}`, but its exit code is not known: {why}"
            )),
            (ClaimedResult::Failed(_), CommandResult::Succeeded) => Finding::failed(format!(
                "`{name}` is claimed to have failed, but it exited with code 0 (call `{call}`)"
            )),
            (ClaimedResult::Failed(claimed), CommandResult::Failed(code, reason)) => {
                if claimed.is_none() || claimed == code {
                    Finding::passed()
                } else {
                    Finding::failed(format!(
                        "`{name}` is claimed to have exited with code {}, but it {reason} (call \
                         `{call}`)",
                        claimed.unwrap_or_default()
                    ))
                }
            }
        }
    }
}
