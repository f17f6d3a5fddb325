//! Questions of a run that are asked on the terminal which drives it, and those that are answered elsewhere meanwhile.

use super::exit::{CliError, Exit, exit_of};
use super::prompting;
use super::render::{RunSummary, summary};
use super::terminal::Terminal;
use kb_base::diagnostic::Code;
use kb_core::wire::{InstanceView, QuestionKind};
use kb_service::service::runs::{self, Prepared, ProjectContext, Replied, ReplyRequest};
use kb_service::service::{self, Difference, ServiceError};
use std::time::Duration;

/// What became of a question that was asked here.
pub(super) enum InPlace {
    Answered(Box<Prepared>),
    /// There is none, or it is left open.
    LeftOpen,
    /// It was answered elsewhere, such as on the page, and another process continues the run.
    Elsewhere,
}

/// Interval between reads of a run that another process may continue.
const READ_PAUSE: Duration = Duration::from_millis(300);

/// Number of reads until a run that no process continues is left as it is, about half a minute.
const READS: usize = 100;

/// Returns when a step has no open question any more.
async fn answered_elsewhere(context: &ProjectContext, run: &str, instance: &str) {
    let is_open = || {
        let view = service::show_run(context, run);
        view.is_ok_and(|view| {
            view.steps.iter().any(|step| step.instance == instance && step.question.is_some())
        })
    };
    let Ok(mut reader) = service::read_run(context, run) else { return };
    loop {
        // Only what is new is read again, because a run can be large.
        let mut has_news = false;
        while let Ok(Some(_)) = reader.next_events() {
            has_news = true;
        }
        if has_news && !is_open() {
            return;
        }
        tokio::time::sleep(READ_PAUSE).await;
    }
}

/// Waits until the process that continues a run has left it, and shows the summary.
pub(super) async fn conclude_elsewhere(
    context: &ProjectContext,
    run: &str,
    program: &str,
    terminal: &mut Terminal,
) -> Result<Exit, CliError> {
    terminal.err(&format!("\nanswered elsewhere; run {run} continues there\n"))?;
    let mut reads = 0;
    loop {
        let mut reader = service::read_run(context, run)?;
        let asks = || -> Result<bool, ServiceError> {
            Ok(service::show_run(context, run)?.steps.iter().any(|step| step.question.is_some()))
        };
        reads += 1;
        // The process that continues it may not have started.
        let is_left = !reader.is_live().map_err(ServiceError::from)? && (reads > READS || asks()?);
        if reader.status().has_ended() || is_left {
            let mut summary = RunSummary::default();
            while let Some(events) = reader.next_events().map_err(ServiceError::from)? {
                events.iter().for_each(|event| summary.add(event));
            }
            summary.locate(|step| reader.place(step));
            let status = reader.status();
            terminal.out(&summary::text(program, run, status, &summary, terminal.is_quiet()))?;
            return Ok(exit_of(status, None));
        }
        tokio::select! {
            () = tokio::time::sleep(READ_PAUSE) => {}
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
        }
    }
}

/// Asks the first open question of a run.
pub(super) async fn ask_in_place(
    context: ProjectContext,
    run: &str,
    terminal: &mut Terminal,
) -> Result<InPlace, CliError> {
    let view = service::show_run(&context, run)?;
    let mut open = view.steps.iter().filter(|step| step.question.is_some());
    let Some(step) = open.next() else { return Ok(InPlace::LeftOpen) };
    let reply = |request| runs::reply(context.clone(), run, request);
    tokio::select! {
        replied = ask_until_it_fits((&context, run), step, terminal, reply) => match replied? {
            Some(Replied::Ready(prepared)) => Ok(InPlace::Answered(prepared)),
            Some(Replied::Delivered(_)) | None => Ok(InPlace::LeftOpen),
        },
        () = answered_elsewhere(&context, run, &step.instance) => Ok(InPlace::Elsewhere),
    }
}

/// Asks the question of a step and replies with what is typed; an answer that does not fit is asked for again. `None` where
/// the question is left open.
pub(super) async fn ask_until_it_fits<T>(
    (context, run): (&ProjectContext, &str),
    step: &InstanceView,
    terminal: &mut Terminal,
    reply: impl Fn(ReplyRequest) -> Result<T, ServiceError>,
) -> Result<Option<T>, CliError> {
    let Some(question) = &step.question else { return Ok(None) };
    let mut given = Default::default();
    loop {
        let difference = match question.kind {
            QuestionKind::Approve => Some(service::difference(context, run)?),
            QuestionKind::Ask => None,
        };
        let changes = difference.as_ref();
        let asked = prompting::ask(step, question, changes, &mut given, terminal).await?;
        let Some((decision, comment)) = asked else { return Ok(None) };
        let (step, by) = (Some(step.instance.clone()), context.environment.user());
        let about = Some(question.text.clone());
        let seen = difference.as_ref().and_then(Difference::seen);
        match reply(ReplyRequest { step, decision, comment, by, about, seen }) {
            Ok(replied) => return Ok(Some(replied)),
            Err(ServiceError::Refused(failure)) if failure.code == Code::BAD_ANSWER => {
                terminal.err(&format!("{}\n", failure.message))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
