//! Executes the commands of checks before a step, on the files as they are then.

use super::observer::Observer;
use crate::executor::host_access::HostAccess;
use kb_attempt::{Context, Request, Stopped};
use kb_base::value::{Digest, Json};
use kb_clock as clock;
use kb_core::evidence::{
    Invocation, InvocationStatus, Payload, ProcessEndKind, ProcessEvidence, Purpose, Record,
};
use kb_core::verify::{CommandEnd, CommandRun, RUN_BEFORE, run_before_args};

/// Executes and records the commands that the checks of the step compare with later.
pub(in crate::executor) async fn run_before(
    host: &HostAccess,
    request: &Request,
    context: &Context,
) -> Result<(), Stopped> {
    let Some(before) = &request.before else { return Ok(()) };
    let observer = Observer {
        host,
        env: &request.env,
        cwd: &request.cwd,
        sandboxed: before.sandboxed,
        confined: &request.confined,
        received: None,
        trace: &[],
        deadline: request.timeout.map(|timeout| clock::instant() + timeout),
        cancel: &context.cancel,
    };
    for (number, (argv, timeout)) in before.commands.iter().enumerate() {
        let at = host.clock.now();
        let run = observer.run(argv, *timeout).await;
        if context.cancel.is_cancelled() {
            return Ok(());
        }
        let args = run_before_args(argv);
        let invocation = Invocation {
            id: format!("before-{}", number + 1),
            tool: RUN_BEFORE.to_owned(),
            args_hash: Digest::of_json(&args),
            args,
            at,
            duration_ms: run.duration_ms,
            purpose: Purpose::Verification,
            status: status(&run.ended),
            changes: Vec::new(),
            evidence: Vec::new(),
            process: Some(process(run)),
            output: None,
            bytes: 0,
        };
        let result = Payload::inline(Json::Null);
        context.recorder.record(Record::ToolResult { turn: 0, invocation, result }).await?;
    }
    Ok(())
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

fn process(run: CommandRun) -> Box<ProcessEvidence> {
    run.process.unwrap_or_else(|| {
        Box::new(ProcessEvidence {
            end: Some(ProcessEndKind::NotStarted),
            ..ProcessEvidence::default()
        })
    })
}
