//! Executes the commands of checks before a step, on the files as they are then.

use super::command_record::record;
use super::observer::Observer;
use crate::executor::host_access::HostAccess;
use kb_attempt::{Context, Request, Stopped};
use kb_clock as clock;
use kb_core::verify::RUN_BEFORE;

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
        recorder: None,
    };
    for (number, (argv, timeout)) in before.commands.iter().enumerate() {
        let at = host.clock.now();
        let (run, changes) = observer.watched(argv, *timeout).await;
        if context.cancel.is_cancelled() {
            return Ok(());
        }
        let record =
            record((format!("before-{}", number + 1), RUN_BEFORE), argv, at, &run, changes);
        context.recorder.record(record).await?;
    }
    Ok(())
}
