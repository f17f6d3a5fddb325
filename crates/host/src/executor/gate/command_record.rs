//! The record of what the command of a check changed.

use kb_base::value::{Digest, Json, Timestamp};
use kb_core::evidence::{
    Change, Invocation, InvocationStatus, Payload, ProcessEndKind, ProcessEvidence, Purpose,
    RUN_CHECK, Record,
};
use kb_core::verify::{CommandEnd, CommandRun, check_args};

/// The changes of the command of a check, which a person sees before an approval.
pub(super) fn recorded(
    argv: &[String],
    at: Timestamp,
    run: &CommandRun,
    changes: Vec<Change>,
) -> Record {
    record((RUN_CHECK.to_owned(), RUN_CHECK), argv, at, run, changes)
}

/// The record of a command that ran for a check.
pub(super) fn record(
    (id, tool): (String, &str),
    argv: &[String],
    at: Timestamp,
    run: &CommandRun,
    changes: Vec<Change>,
) -> Record {
    let args = check_args(argv);
    let invocation = Invocation {
        id,
        tool: tool.to_owned(),
        args_hash: Digest::of_json(&args),
        args,
        at,
        duration_ms: run.duration_ms,
        purpose: Purpose::Verification,
        status: status(&run.ended),
        changes,
        evidence: Vec::new(),
        process: Some(process(run)),
        output: None,
        bytes: 0,
    };
    Record::ToolResult { turn: 0, invocation, result: Payload::inline(Json::Null) }
}

fn status(ended: &CommandEnd) -> InvocationStatus {
    match ended {
        CommandEnd::Code(0) => InvocationStatus::Success,
        CommandEnd::TimedOut => InvocationStatus::Timeout,
        CommandEnd::Code(_)
        | CommandEnd::Signal(_)
        | CommandEnd::Stopped
        | CommandEnd::NotStarted(_)
        | CommandEnd::Unknown(_)
        | CommandEnd::Forbidden(_) => InvocationStatus::Failed,
    }
}

fn process(run: &CommandRun) -> Box<ProcessEvidence> {
    run.process.clone().unwrap_or_else(|| {
        Box::new(ProcessEvidence {
            end: Some(ProcessEndKind::NotStarted),
            ..ProcessEvidence::default()
        })
    })
}
