//! `kb run watch`

use crate::cli::exit::{CliError, CliResult, Exit, exit_of};
use crate::cli::render::{Display, OutputMode, Renderer, RunSummary, renderer, summary};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_service::service::runs::{ActivityReceiver, Expectation, ProjectContext};
use kb_service::service::{self, Environment, LogEntry, Reader, RunStatus, ServiceError};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Show a run as it executes, like the terminal that started it
///
/// Prints what has happened, then follows the run until it ends or waits, with the text of models and the output of
/// processes as it arrives. Ctrl-C stops watching; the
/// run continues. The exit code is that of the run.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Output of steps to show
    #[arg(long, value_enum, value_name = "WHICH", default_value_t, hide_default_value = true)]
    output: OutputMode,
}

/// Interval between reads of the journal.
const PAUSE: Duration = Duration::from_millis(150);

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let mut reader = service::read_run(&context, &args.run)?;
    let run = reader.run().to_string();
    let display =
        if terminal.is_quiet() { Display::Quiet } else { Display::Auto { output: args.output } };
    let steps = reader.plan().steps().len();
    let mut renderer = renderer(display, steps, terminal, environment.clock.clone());
    let mut summary = RunSummary::default();
    let expectation = Expectation::new(
        context.journal(Default::default()).map_err(ServiceError::from)?,
        reader.plan(),
        reader.status() == RunStatus::Running,
    );
    renderer.expect(expectation.duration());
    // Runs that have ended have no activity.
    let activity = if reader.is_live()? {
        ActivityReceiver::new(&context.state_dir, reader.run())
    } else {
        None
    };
    let watched: Result<Result<Watched, CliError>, CliError> =
        runtime::block_on(Workers::One, async {
            let mut interrupts = signal(SignalKind::interrupt())?;
            loop {
                // Checked before reading, so that events up to the end of the run are not missed.
                let live = reader.is_live()?;
                show(&mut reader, &mut *renderer, &mut summary)?;
                while let Some(seen) = activity.as_ref().and_then(ActivityReceiver::next) {
                    renderer.progress(&seen.instance, &seen.progress);
                }
                renderer.flush();
                renderer.tick();
                if !live {
                    return Ok(Watched::ToTheEnd);
                }
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    _ = interrupts.recv() => return Ok(Watched::Stopped),
                }
            }
        });
    renderer.close();
    if let Watched::Stopped = watched?? {
        terminal.note(&format!("run {run} continues; `kb run watch {run}` shows it again\n"))?;
        return Ok(Exit::Interrupted);
    }
    let reader = service::read_run(&context, &run)?;
    summary.locate(|step| reader.place(step));
    if let Some(folder) = terminal.annotated_folder(&context.root) {
        terminal.workflow_commands(&summary.annotations(&folder))?;
    }
    let status = reader.status();
    summary.has_changed = service::has_changed(&context, &run);
    terminal.out(&summary::text("kb", &run, status, &summary, terminal.is_quiet()))?;
    Ok(exit_of(status, None))
}

/// How watching ended.
enum Watched {
    ToTheEnd,
    Stopped,
}

fn show(
    reader: &mut Reader,
    renderer: &mut dyn Renderer,
    summary: &mut RunSummary,
) -> Result<(), CliError> {
    while let Some(entries) = reader.next_entries()? {
        for entry in entries {
            match entry {
                LogEntry::Event(event) => {
                    summary.add(&event);
                    renderer.event(&event);
                }
                LogEntry::Text {
                    instance, channel: channel @ ("stdout" | "stderr"), text, ..
                } => {
                    summary.add_output(&instance, channel, &text);
                    renderer.output(&instance, channel, &text);
                }
                LogEntry::Text { .. } => {}
            }
        }
    }
    Ok(())
}
