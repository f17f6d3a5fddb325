//! Claims that a command ran: what an output states, and whether a recorded process proves it.

use super::command_text::{is_question, plain};
use super::finding::Finding;
use super::keys::{entries, field, is_key, sources};
use super::recorded_runs::{CommandResult, RecordedRun, RecordedRuns};
use super::runner::{canonical, may_be_same};
use super::shell::{CommandUse, Script};
use super::statement::{Meaning, means};
use crate::evidence::Verdict;
use kb_base::value::{Json, counted};
use serde_json::json;

/// A statement of an output that a command ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandClaim {
    /// The command as it is written.
    pub(super) text: String,
    /// The claimed result.
    result: ClaimedResult,
    script: Script,
    /// How often it is listed.
    times: usize,
}

/// The claimed result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimedResult {
    /// Exit code 0, also if the claim says nothing.
    Succeeded,
    /// Exit code 0, as the claim says.
    SaidSucceeded,
    /// A failure, with the exit code if the claim has one.
    Failed(Option<i64>),
    /// The output reports a failure elsewhere, such as failed tests: any result fits.
    Any,
}

const KEYS: [&str; 5] =
    ["commands", "commandsrun", "commandsexecuted", "executedcommands", "commandresults"];

/// Whether the values of a key are read as commands.
pub(super) fn is_read(key: &str) -> bool {
    is_key(key, &KEYS)
}

/// The claims of an output about commands, in order. `reports_failure` tells whether the output
/// reports that a command failed.
pub(super) fn command_claims(
    output: &Json,
    reports_failure: impl Fn(&Script) -> bool,
) -> Vec<CommandClaim> {
    let mut claims: Vec<CommandClaim> = Vec::new();
    let mut add = |entry: &Json| {
        let Some(claim) = CommandClaim::of(entry) else { return };
        let any = claim.result == ClaimedResult::Succeeded && reports_failure(&claim.script);
        let result = if any { ClaimedResult::Any } else { claim.result };
        let claim = CommandClaim { result, ..claim };
        match claims.iter_mut().find(|known| known.is_same(&claim)) {
            Some(known) => known.times += 1,
            None => claims.push(claim),
        }
    };
    for source in sources(output) {
        for (key, value) in source {
            if is_key(key, &KEYS) {
                entries(value).for_each(&mut add);
            } else if is_key(key, &["claims"]) {
                let is_command = |entry: &&Json| {
                    let kind = field(entry, &["kind", "type"]).and_then(Json::as_str);
                    kind.is_some_and(|kind| is_key(kind, &["commandexecuted", "command"]))
                };
                entries(value).filter(is_command).for_each(&mut add);
            }
        }
    }
    claims
}

impl CommandClaim {
    fn of(entry: &Json) -> Option<CommandClaim> {
        if let Some(text) = entry.as_str() {
            let (text, result) = annotated(text);
            return Self::from_text(text, result);
        }
        let argv = |words: &Json| -> Option<Vec<String>> {
            words.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let own = entry.is_array().then_some(entry);
        let command = own.or_else(|| field(entry, &["command", "cmd", "argv", "run"]))?;
        let code = field(entry, &["exitcode", "exit", "code"]).and_then(Json::as_i64);
        let status = field(entry, &["status", "result", "success", "ok"]);
        let failed = match status {
            Some(Json::Bool(success)) => !success,
            Some(Json::String(text)) => text.to_ascii_lowercase().contains("fail"),
            _ => false,
        };
        let result = match code {
            Some(code) => ClaimedResult::of_code(code),
            None if failed => ClaimedResult::Failed(None),
            None if status.is_some() => ClaimedResult::SaidSucceeded,
            None => ClaimedResult::Succeeded,
        };
        match command {
            Json::String(text) => Self::from_text(text, result),
            words => {
                let words = argv(words).filter(|words| !words.is_empty())?;
                let (text, script) = (words.join(" "), Script::of(&words));
                Some(CommandClaim { text, result, script, times: 1 })
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
        let text = text.to_owned();
        (!text.is_empty()).then_some(CommandClaim { text, result, script, times: 1 })
    }

    /// Whether another claim says the same, however often.
    pub(super) fn is_same(&self, other: &CommandClaim) -> bool {
        self.text == other.text && self.result == other.result
    }

    /// The command of a claim about one command alone.
    pub(super) fn only_command(&self) -> Option<&[String]> {
        match self.script.main_commands().as_slice() {
            [one] => Some(&one.argv),
            _ => None,
        }
    }

    /// The verdict over the claim, with the evidence.
    pub(super) fn check(&self, runs: &RecordedRuns<'_>) -> (Finding, Json) {
        let mut calls: Vec<&str> = Vec::new();
        let mut code = None;
        let mut worst = Finding::passed();
        let parts = self.script.main_commands();
        for part in &parts {
            let (finding, run) = self.part(&part.argv, parts.len(), runs);
            if let Some(run) = run {
                calls.push(&run.call.id);
                code = run.exit_code().or(code);
            }
            if finding.verdict > worst.verdict {
                worst = finding;
            }
        }
        if parts.is_empty() {
            worst = self.unparsed(runs);
        }
        if worst.verdict == Verdict::Passed
            && let Some(finding) = self.beyond_the_record(runs)
        {
            worst = finding;
        }
        calls.dedup();
        (worst, json!({"calls": calls, "exitCode": code}))
    }

    /// The doubt about what the claim says besides its commands: folders, variables, redirections and wrappers that no
    /// recorded text has, and more runs than were recorded.
    fn beyond_the_record(&self, runs: &RecordedRuns<'_>) -> Option<Finding> {
        let claimed = plain(&self.text);
        let has_text = |run: &&RecordedRun<'_>| plain(&run.text()).contains(&claimed);
        let times = runs.iter().filter(has_text).count();
        let text = &self.text;
        if self.times > 1 && times < self.times {
            return Some(Finding::inconclusive(format!(
                "`{text}` is listed {} times, and was recorded {}",
                self.times,
                counted(times, "time")
            )));
        }
        let commands = || self.script.commands.iter().map(|used| plain(&used.argv.join(" ")));
        if times > 0 || self.script.commands.is_empty() {
            return None;
        }
        let is_in = |used: &CommandUse| {
            let wanted = canonical(&used.argv);
            let folder = used.argv.get(1).filter(|_| used.argv[0] == "cd");
            runs.iter().any(|run| {
                let cwd = run.call.args.get("cwd").and_then(Json::as_str);
                folder.is_some_and(|folder| cwd == Some(folder.trim_end_matches('/')))
                    || run.script.commands.iter().any(|own| canonical(&own.argv) == wanted)
            })
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
        argv: &[String],
        parts: usize,
        runs: &'r RecordedRuns<'r>,
    ) -> (Finding, Option<&'r RecordedRun<'r>>) {
        let name = argv.join(" ");
        let all = || runs.iter().flat_map(|run| run.script.commands.iter().map(move |u| (run, u)));
        let wanted = canonical(argv);
        let same: Vec<_> = all().filter(|(_, used)| canonical(&used.argv) == wanted).collect();
        let Some((run, used)) = self.decisive(&same) else {
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
                None => self.unrecorded(&name, runs),
            };
            return (finding, longer.map(|(run, _)| run));
        };
        let whole = parts > 1 && parts == run.script.main_commands().len();
        (self.verdict(&name, run, run.result(used), whole), Some(run))
    }

    /// The verdict over a command that no call ran. A text with more than the command, or with no command, refutes nothing.
    fn unrecorded(&self, name: &str, runs: &RecordedRuns<'_>) -> Finding {
        let reason = format!("`{name}` is claimed to have run, but no recorded call ran it");
        let claimed = plain(&self.text);
        // Words before the command, a note behind it, or its last words alone.
        let is_part = |run: &RecordedRun<'_>| {
            run.script.commands.iter().filter(|used| !used.is_neutral()).any(|used| {
                let used = plain(&used.argv.join(" "));
                claimed.ends_with(&format!(" {used}"))
                    || claimed.starts_with(&format!("{used} ("))
                    || used.ends_with(&format!(" {claimed}"))
            })
        };
        let first = name.split(' ').next().unwrap_or_default().to_lowercase();
        if let Some(run) = runs.iter().rev().find(|run| is_part(run)) {
            return Finding::inconclusive(format!("{reason}; it may mean call `{}`", run.call.id));
        }
        let has_note = self.text.ends_with(')') && self.text.contains(" (");
        if means(&first, Meaning::Nothing) || has_note {
            return Finding::inconclusive(format!("{reason}; `{name}` may be no command"));
        }
        Finding::failed(reason)
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
            ClaimedResult::Succeeded | ClaimedResult::SaidSucceeded | ClaimedResult::Any => false,
        };
        same.iter().rev().find(fits).or(same.last()).copied()
    }

    fn verdict(
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

    /// The verdict over a claim whose text could not be analysed.
    fn unparsed(&self, runs: &RecordedRuns<'_>) -> Finding {
        let words: Vec<String> = self.text.split_whitespace().map(str::to_owned).collect();
        if runs.iter().any(|run| run.may_contain(&words)) {
            Finding::inconclusive(format!(
                "`{}` is claimed to have run, but its script could not be analysed",
                self.text
            ))
        } else {
            Finding::failed(format!(
                "`{}` is claimed to have run, but no recorded call ran it",
                self.text
            ))
        }
    }
}

/// Splits `npm test (exit 1)` into the command and the claimed result: after an arrow, in brackets, or after a verb.
fn annotated(text: &str) -> (&str, ClaimedResult) {
    let verbs = [" exited with ", " exits with "];
    let verbs = verbs.iter().filter_map(|verb| text.rsplit_once(verb)).map(|(command, code)| {
        let code = code.trim_end_matches('.').rsplit(' ').next().unwrap_or_default();
        (command, code.parse().ok().map(ClaimedResult::of_code))
    });
    let arrows = ["→", "->", "=>"].iter().filter_map(|arrow| text.rsplit_once(arrow));
    let brackets = text.trim().strip_suffix(')').and_then(|text| text.rsplit_once('('));
    let notes =
        arrows.chain(brackets).map(|(command, note)| (command, ClaimedResult::of_note(note)));
    let mut results = verbs.chain(notes).filter_map(|(command, result)| Some((command, result?)));
    results.next().unwrap_or((text, ClaimedResult::Succeeded))
}

impl ClaimedResult {
    fn of_code(code: i64) -> ClaimedResult {
        match code {
            0 => ClaimedResult::SaidSucceeded,
            code => ClaimedResult::Failed(Some(code)),
        }
    }

    /// The result that a note behind a command says: `exit 1`, `exit code: 1`, `1`, `failed`, `ok`.
    fn of_note(note: &str) -> Option<ClaimedResult> {
        let note = note.trim().to_ascii_lowercase();
        let code = note.rsplit([' ', ':', '=']).next().and_then(|last| last.parse::<i64>().ok());
        match code {
            Some(code) if note.starts_with("exit") || note == code.to_string() => {
                Some(ClaimedResult::of_code(code))
            }
            _ if note.starts_with("fail") => Some(ClaimedResult::Failed(None)),
            _ if ["ok", "passed", "success"].contains(&note.as_str()) => {
                Some(ClaimedResult::Succeeded)
            }
            _ => None,
        }
    }
}
