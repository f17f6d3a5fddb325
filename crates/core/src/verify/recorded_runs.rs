//! The commands that the runtime recorded for one step, with what their exit codes prove.

use super::normalized_path::normalized;
use super::observation::Observations;
use super::shell::{CommandLine, CommandUse, Script};
use super::sourced_files::SourcedFiles;
use crate::evidence::{
    AGENT_PROCESS, Invocation, InvocationStatus, ProcessEndKind, Purpose, TestCounts,
};
use kb_base::value::Json;
use kb_language::toolspec::ToolCatalog;

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
    /// How many files the script sourced before one that the step may have changed, itself included;
    /// `None` if there is none.
    changed_source: Option<usize>,
}

/// What claims about commands are compared with.
pub(super) struct CommandRecord<'r> {
    pub(super) runs: &'r RecordedRuns<'r>,
    pub(super) trace: &'r [Invocation],
    pub(super) tools: &'r ToolCatalog,
    /// The absolute path of the workspace.
    pub(super) root: &'r str,
    pub(super) observations: &'r Observations,
}

const CHANGED_SOURCE: &str = "the script sources a file that the step changed";

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
    pub(super) fn of(trace: &'a [Invocation], sources: &SourcedFiles<'_>) -> Self {
        let executed = |(_, call): &(usize, &Invocation)| {
            call.purpose == Purpose::Execution && call.tool != AGENT_PROCESS
        };
        let runs = trace.iter().enumerate().filter(executed);
        RecordedRuns(runs.filter_map(|(at, call)| RecordedRun::of(at, call, sources)).collect())
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, RecordedRun<'a>> {
        self.0.iter()
    }
}

impl<'a> RecordedRun<'a> {
    /// The folder in which a command ran, below the one of the step; `None` if it is not known.
    pub(super) fn folder_of(&self, used: &CommandUse, root: &str) -> Option<String> {
        let given = self.call.args.get("cwd").and_then(Json::as_str).unwrap_or_default();
        let moved = used.cwd.as_deref()?;
        if moved.starts_with('/') {
            let own = self.call.process.as_ref().map_or("", |process| process.cwd.as_str());
            let moved = normalized(moved, root);
            let is_own = moved == normalized(own, root);
            return Some(if is_own { normalized(given, root) } else { moved });
        }
        let folder = normalized(&format!("{}/{moved}", normalized(given, root)), root);
        Some(folder.trim_start_matches('/').to_owned())
    }

    fn of(at: usize, call: &'a Invocation, sources: &SourcedFiles<'_>) -> Option<Self> {
        let process = call.process.as_deref();
        let end = match (call.status, process.and_then(|process| process.exit_code)) {
            (InvocationStatus::Denied, _) => return None,
            (InvocationStatus::Unknown, _) => RunEnd::Unknown,
            (_, Some(code)) => RunEnd::Code(code),
            (_, None) => RunEnd::Other(end_text(process?.end?)),
        };
        let script = Script::of_call(call)?;
        let is_changed = |file| sources.may_be_changed(call, at, file);
        Some(RecordedRun {
            call,
            at,
            changed_source: script.sourced.iter().position(is_changed).map(|place| place + 1),
            script,
            tests: process.and_then(|process| process.tests),
            end,
        })
    }

    /// What the exit code proves about a command of the script.
    pub(super) fn result(&self, used: &CommandUse) -> CommandResult {
        let by_source = self.changed_source.filter(|place| used.sourced >= *place);
        let masked = used.masked.or(by_source.map(|_| CHANGED_SOURCE));
        let (code, reason) = match &self.end {
            RunEnd::Unknown => return CommandResult::Unknown,
            RunEnd::Code(0) => {
                return masked.map_or(CommandResult::Succeeded, CommandResult::Masked);
            }
            RunEnd::Code(code) => (Some(*code), format!("exited with code {code}")),
            RunEnd::Other(reason) => (None, reason.clone()),
        };
        let main = self.script.main_commands();
        let is_cause = main.len() == 1 && main[0] == used && masked.is_none();
        if is_cause {
            CommandResult::Failed(code, reason)
        } else {
            CommandResult::FailedScript(reason)
        }
    }

    /// The command line as the call has it.
    pub(super) fn text(&self) -> String {
        match CommandLine::of(self.call) {
            Some(CommandLine::Text(text)) => text,
            Some(CommandLine::Words(words)) => words.join(" "),
            None => String::new(),
        }
    }

    /// How the process failed; `None` if it did not, or that is unknown.
    pub(super) fn failure(&self) -> Option<String> {
        match &self.end {
            RunEnd::Code(0) | RunEnd::Unknown => None,
            RunEnd::Code(code) => Some(format!("exited with code {code}")),
            RunEnd::Other(reason) => Some(reason.clone()),
        }
    }

    /// The exit code of the process.
    pub(super) fn exit_code(&self) -> Option<i64> {
        match self.end {
            RunEnd::Code(code) => Some(code),
            RunEnd::Other(_) | RunEnd::Unknown => None,
        }
    }

    /// Whether a script that could not be analysed may contain a command with these words. What it expands can have become
    /// any operand, such as `$f` in a loop.
    pub(super) fn may_contain(&self, argv: &[String]) -> bool {
        let contains = |text: &String| {
            let expands = text.contains(['$', '*', '`']);
            let is_in = |(at, word): (usize, &String)| {
                text.contains(word.as_str()) || at > 0 && expands && !word.starts_with('-')
            };
            argv.iter().enumerate().all(is_in) && !argv.is_empty()
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
