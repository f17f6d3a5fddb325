//! The commands that the runtime recorded for one step, with what their exit codes prove.

use super::shell::{CommandUse, Script};
use crate::evidence::{Invocation, InvocationStatus, ProcessEndKind, Purpose, TestCounts};
use crate::value::Json;

/// The recorded processes of a step, in order. Calls for verification and calls that started no
/// process are left out.
pub(super) struct RecordedRuns<'a>(Vec<RecordedRun<'a>>);

/// A recorded process.
pub(super) struct RecordedRun<'a> {
    pub(super) call: &'a Invocation,
    /// Position of the call in the trace.
    pub(super) at: usize,
    pub(super) script: Script,
    pub(super) tests: Option<TestCounts>,
    end: RunEnd,
}

enum RunEnd {
    Code(i64),
    /// No exit code, with the reason.
    Other(String),
    Unknown,
}

/// What a recorded process proves about one of its commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandResult {
    /// It ran and exited with 0.
    Succeeded,
    /// It ran and failed. The exit code, if it is known, and a fragment for people.
    Failed(Option<i64>, String),
    /// The process exited with 0, which proves nothing about the command.
    Masked(&'static str),
    /// The process failed, but another command may be the cause.
    FailedScript(String),
    /// The outcome of the process is unknown.
    Unknown,
}

impl<'a> RecordedRuns<'a> {
    pub(super) fn of(trace: &'a [Invocation]) -> Self {
        let executed = |(_, call): &(usize, &Invocation)| call.purpose == Purpose::Execution;
        let runs = trace.iter().enumerate().filter(executed);
        RecordedRuns(runs.filter_map(|(at, call)| RecordedRun::of(at, call)).collect())
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, RecordedRun<'a>> {
        self.0.iter()
    }
}

impl<'a> RecordedRun<'a> {
    fn of(at: usize, call: &'a Invocation) -> Option<Self> {
        let process = call.process.as_deref();
        let end = match (call.status, process.and_then(|process| process.exit_code)) {
            (InvocationStatus::Denied, _) => return None,
            (InvocationStatus::Unknown, _) => RunEnd::Unknown,
            (_, Some(code)) => RunEnd::Code(code),
            (_, None) => RunEnd::Other(end_text(process?.end?)),
        };
        let script = script(call)?;
        Some(RecordedRun {
            call,
            at,
            script,
            tests: process.and_then(|process| process.tests),
            end,
        })
    }

    /// What the exit code proves about a command of the script.
    pub(super) fn result(&self, used: &CommandUse) -> CommandResult {
        let (code, reason) = match &self.end {
            RunEnd::Unknown => return CommandResult::Unknown,
            RunEnd::Code(0) => {
                return used.masked.map_or(CommandResult::Succeeded, CommandResult::Masked);
            }
            RunEnd::Code(code) => (Some(*code), format!("exited with code {code}")),
            RunEnd::Other(reason) => (None, reason.clone()),
        };
        let main = self.script.main_commands();
        let is_cause = main.len() == 1 && main[0] == used && used.masked.is_none();
        match is_cause {
            true => CommandResult::Failed(code, reason),
            false => CommandResult::FailedScript(reason),
        }
    }

    /// The exit code of the process.
    pub(super) fn exit_code(&self) -> Option<i64> {
        match self.end {
            RunEnd::Code(code) => Some(code),
            RunEnd::Other(_) | RunEnd::Unknown => None,
        }
    }

    /// Whether a script that could not be analysed may contain a command with these words.
    pub(super) fn may_contain(&self, argv: &[String]) -> bool {
        let contains = |text: &String| {
            argv.iter().all(|word| text.contains(word.as_str())) && !argv.is_empty()
        };
        self.script.unparsed.as_ref().is_some_and(contains)
    }
}

/// How a process without an exit code ended, for a message.
fn end_text(end: ProcessEndKind) -> String {
    match end {
        ProcessEndKind::Timeout | ProcessEndKind::Idle => "timed out",
        ProcessEndKind::NotStarted => "could not be started",
        ProcessEndKind::Signal => "was killed by a signal",
        ProcessEndKind::Cancelled => "was cancelled",
        ProcessEndKind::Lost => "was killed with its namespace",
        ProcessEndKind::Exit => "ended without a recorded exit code",
    }
    .to_owned()
}

/// The commands of a call: its arguments, or those of its process. `None` if it has none.
fn script(call: &Invocation) -> Option<Script> {
    if let Some(text) = call.args.get("command").and_then(Json::as_str) {
        return Some(Script::of_text(text));
    }
    let words = |json: &Json| -> Option<Vec<String>> {
        json.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let argv = call.args.get("argv").and_then(words);
    let argv = argv.or_else(|| call.process.as_ref()?.argv.clone())?;
    Some(Script::of(&argv))
}
