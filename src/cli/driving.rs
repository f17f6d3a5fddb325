//! Drives a run and displays it: events go to a renderer, signals go to the engine.

use super::ask_in_place::{InPlace, ask_in_place, conclude_elsewhere};
use super::attending::Attending;
use super::exit::{CliError, CliResult, Exit, exit_of};
use super::leaving::Leaving;
use super::render::next::next_command;
use super::render::table::plain;
use super::render::{Display, OutputMode, Renderer, RunCounts, RunSummary, renderer, summary};
use super::terminal::{ERROR, Terminal, paint};
use kb_service::service::runs::{self, ActivitySender, Expectation, Prepared};
use kb_service::service::{
    self, EventReceiver, LiveReader, LiveUpdate, RunControl, RunStatus, Summary, Update,
    event_channel,
};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::MissedTickBehavior;

/// Options of the display of a run.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct DisplayArgs {
    /// Print events as JSON lines to stdout
    #[arg(long)]
    pub(super) json: bool,
    /// With `--json`, print model text as it arrives
    #[arg(long, requires = "json")]
    tokens: bool,
    /// Output of steps to show
    #[arg(long, value_enum, value_name = "WHICH", default_value_t, hide_default_value = true)]
    #[arg(conflicts_with = "json")]
    output: OutputMode,
    /// Exit with code 1 if a step succeeded although its gate did not pass
    #[arg(long)]
    strict: bool,
    /// Whether the run is a part of a command that continues after it: no summary of one that succeeded.
    #[arg(skip)]
    pub(super) is_part: bool,
    /// Whether the command leaves the run when it only waits for persons, also if that has a timeout.
    #[arg(skip)]
    leaves_questions: bool,
}

impl DisplayArgs {
    fn display(self, terminal: &Terminal) -> Display {
        match (self.json, terminal.is_quiet()) {
            (true, _) => Display::Json { tokens: self.tokens },
            (_, true) => Display::Quiet,
            _ => Display::Auto { output: self.output },
        }
    }

    /// As these, for a command that leaves the run when it only waits for persons.
    pub(super) fn leaving_questions(self) -> DisplayArgs {
        DisplayArgs { leaves_questions: true, ..self }
    }

    /// Whether questions are asked on this terminal: neither with `--json` nor with `--quiet`.
    fn is_interactive(self, terminal: &Terminal) -> bool {
        !self.json && !terminal.is_quiet() && terminal.can_ask()
    }

    /// Prints the result of a command that was delivered to another process. With `--json`, stdout
    /// is for events, and there are none.
    pub(super) fn report(self, text: &str, terminal: &mut Terminal) -> std::io::Result<()> {
        if self.json { terminal.err(text) } else { terminal.out(text) }
    }
}

/// Interval between redraws of a live display.
const TICK: Duration = Duration::from_millis(120);
/// Number of redraws after which the expected time is read and watchers are looked for, about a second.
const TICKS_A_SECOND: u32 = 8;
/// Minimum interval between two updates of a display. Waking it for every event would slow down the
/// run.
const REST: Duration = Duration::from_millis(10);

/// Drives a run until it ends or waits, and displays it. On a terminal, its questions are asked here
/// and the run continues with the answers. `program` is the command for this `kb` in the commands
/// that the summary suggests.
pub(super) async fn drive(
    prepared: Prepared,
    display: DisplayArgs,
    program: &str,
    terminal: &mut Terminal,
) -> Result<Exit, CliError> {
    let mut prepared = prepared;
    loop {
        let (run, context) = (prepared.run().to_string(), prepared.context().clone());
        let mut ended = drive_once(prepared, display, program, terminal).await?;
        // Without the positions, the summary still says what failed.
        let has_failed = !ended.summary.failures.is_empty() && !display.json;
        if has_failed && let Ok(reader) = service::read_run(&context, &run) {
            ended.summary.locate(|step| reader.place(step));
        }
        if has_failed && let Some(folder) = terminal.annotated_folder(&context.root) {
            terminal.workflow_commands(&ended.summary.annotations(&folder))?;
        }
        let waits = ended.left.status == RunStatus::Waiting;
        // While questions are asked here, the summary is printed once, at the end.
        if waits && display.is_interactive(terminal) {
            match ask_in_place(context.clone(), &run, terminal).await? {
                InPlace::Answered(answered) => {
                    prepared = *answered;
                    continue;
                }
                InPlace::LeftOpen => return ended.conclude(display, program, terminal),
                InPlace::Elsewhere => {
                    return conclude_elsewhere(&context, &run, program, terminal).await;
                }
            }
        }
        let ended_run = ended.left.status.has_ended().then(|| ended.left.run.clone());
        let exit = ended.conclude(display, program, terminal)?;
        // A command that was killed and that no step continues is noticed here.
        ended_run.map(|run| runs::require_none_of(&context, &run)).transpose()?;
        return Ok(exit);
    }
}

async fn drive_once(
    prepared: Prepared,
    display: DisplayArgs,
    program: &str,
    terminal: &mut Terminal,
) -> Result<Ended, CliError> {
    let run = prepared.run().to_string();
    let context = prepared.context().clone();
    let strict = display.strict || prepared.is_strict();
    for path in prepared.changed_files() {
        let name = prepared.definition_name();
        terminal.note(&format!(
            "note: `{path}` has changed since run {run} started; the run uses the old text; \
             `{program} run retry {run} --with-current` starts a run with the new one that keeps \
             finished steps, `{program} playbook run {name}` one that keeps nothing\n"
        ))?;
    }
    let mut summary = RunSummary::default();
    let steps = prepared.plan().steps().len();
    let mut renderer =
        renderer(display.display(terminal), steps, terminal, prepared.clock().clone());
    let watcher = prepared.live_reader(&mut |event| {
        summary.add(event);
        renderer.replayed(event);
    });
    summary.next_process();
    let activity = ActivitySender::new(&prepared.context().state_dir, prepared.run());
    let expectation = prepared.expectation();
    let counts = RunCounts::default();
    let mut show = Show { watcher, summary, counts, renderer, activity, expectation, ticks: 0 };
    let is_interactive = display.is_interactive(terminal);
    let mut attending = Attending::new(context.clone(), &run, is_interactive, terminal);
    let (sender, mut events) = event_channel();
    let (orders, commands) = unbounded_channel();
    let mut leaving = display.leaves_questions.then(|| Leaving::new(orders.clone()));
    let mut signals = Signals::listen(orders)?;
    let mut driving = tokio::spawn(prepared.drive(Some(sender), commands));
    let mut ticks = tokio::time::interval(TICK);
    let mut rested = tokio::time::interval(REST);
    rested.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut rests = false;
    let ended = loop {
        tokio::select! {
            ended = &mut driving => break ended,
            () = events.nearly_full() => {
                attending.interrupt(&mut *show.renderer);
                show.catch_up(&mut events);
            }
            Some(update) = events.recv(), if !rests => {
                attending.interrupt(&mut *show.renderer);
                show.see(update);
                show.catch_up(&mut events);
                rested.reset();
                rests = true;
            }
            _ = rested.tick(), if rests => rests = show.catch_up(&mut events),
            text = signals.next(&run) => {
                attending.leave(&mut *show.renderer);
                show.renderer.note(&text);
            }
            () = attending.asked(), if attending.is_asking() => attending.take_back(&mut *show.renderer),
            _ = ticks.tick() => {
                show.tick();
                attending.tick(&show.counts, &show.summary, &mut *show.renderer);
                if let Some(leaving) = &mut leaving {
                    leaving.tick(attending.has_left_all(&show.counts, &show.summary));
                }
            }
        }
    };
    attending.interrupt(&mut *show.renderer);
    show.catch_up(&mut events);
    let ended = match ended {
        Ok(ended) => ended,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    };
    if ended.as_ref().is_ok_and(|left| left.status == RunStatus::Waiting) {
        show.watcher.waiting().iter().for_each(|event| show.renderer.event(event));
    }
    show.renderer.close();
    if ended.is_err() {
        // The error itself is printed after this line.
        terminal.err(&format!("run {run} stopped; continue with: {program} run resume {run}\n"))?;
    }
    let left = ended?;
    // It reads all definitions of the run again, and only a retry is worth that.
    let is_done = left.status == RunStatus::Succeeded;
    show.summary.has_changed = !is_done && service::has_changed(&context, &run);
    let has_left = leaving.is_some_and(|leaving| leaving.has_left());
    let signalled = signals.exit().or(has_left.then_some(Exit::Waiting));
    Ok(Ended { left, summary: show.summary, signalled, strict })
}

/// A run that this process no longer drives.
struct Ended {
    left: Summary,
    summary: RunSummary,
    /// The exit code of the signal that stopped the run, or of leaving a run that waits.
    signalled: Option<Exit>,
    /// Whether a step that succeeded although its gate did not pass fails the command.
    strict: bool,
}

impl Ended {
    /// Prints the summary and returns the exit code.
    fn conclude(self, display: DisplayArgs, program: &str, terminal: &mut Terminal) -> CliResult {
        let (run, status) = (self.left.run.as_str(), self.left.status);
        if display.json {
            let question = self.summary.questions.values().next();
            let budget = self.summary.waits_for_budget();
            let command =
                next_command(program, run, status, question, budget, self.summary.has_changed);
            command.map(|command| terminal.err(&format!("next: {command}\n"))).transpose()?;
        } else if !(display.is_part && status == RunStatus::Succeeded) {
            let text = summary::text(program, run, status, &self.summary, terminal.is_quiet());
            terminal.out(&text)?;
        }
        if self.report_unproven(terminal)? {
            Ok(Exit::RunFailed)
        } else {
            Ok(exit_of(status, self.signalled))
        }
    }

    /// Reports the steps that succeeded although their gate did not pass, with `--strict`; returns
    /// whether there are any.
    fn report_unproven(&self, terminal: &mut Terminal) -> std::io::Result<bool> {
        let unproven = self.summary.unproven_steps();
        if self.left.status != RunStatus::Succeeded || !self.strict || unproven.is_empty() {
            return Ok(false);
        }
        let steps = unproven.iter().map(|step| format!("`{}`", plain(step)));
        let (count, steps) = (self.summary.count_unproven(), steps.collect::<Vec<_>>().join(", "));
        terminal.err(&format!(
            "{}: {count} unproven: the gate of {steps} did not pass (`--strict`, `verifier.strict`)\n",
            paint(ERROR, "error")
        ))?;
        Ok(true)
    }
}

struct Show {
    watcher: LiveReader,
    summary: RunSummary,
    counts: RunCounts,
    renderer: Box<dyn Renderer>,
    activity: ActivitySender,
    expectation: Expectation,
    ticks: u32,
}

impl Show {
    /// Redraws, and once a second looks for processes that watch the run.
    fn tick(&mut self) {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks == TICKS_A_SECOND && self.renderer.wants_expectation() {
            self.renderer.expect(self.expectation.duration());
        }
        if self.ticks.is_multiple_of(TICKS_A_SECOND) {
            self.activity.find_watchers();
        }
        self.renderer.tick();
    }

    /// Shows all updates in the channel; returns whether there were any.
    fn catch_up(&mut self, events: &mut EventReceiver) -> bool {
        let mut some = false;
        while let Some(update) = events.try_recv() {
            self.see(update);
            some = true;
        }
        let Show { watcher, summary, counts, renderer, activity, .. } = self;
        watcher.read_up_to(events.missed(), &mut |watcher, seen| {
            shown(&mut **renderer, (summary, counts), activity, watcher, seen);
        });
        self.renderer.flush();
        some
    }

    fn see(&mut self, update: Update) {
        let Show { watcher, summary, counts, renderer, activity, .. } = self;
        watcher.see(update, &mut |watcher, seen| {
            shown(&mut **renderer, (summary, counts), activity, watcher, seen);
        });
    }
}

fn shown(
    renderer: &mut dyn Renderer,
    (summary, counts): (&mut RunSummary, &mut RunCounts),
    activity: &mut ActivitySender,
    watcher: &LiveReader,
    seen: LiveUpdate<'_>,
) {
    match seen {
        LiveUpdate::Event(event) => {
            summary.add(event);
            counts.add(event);
            renderer.event(event);
        }
        LiveUpdate::Progress { instance, progress } => {
            if renderer.wants_tokens() {
                watcher.token(instance, progress).iter().for_each(|event| renderer.event(event));
            }
            let name = instance.to_string();
            activity.send(&name, progress);
            renderer.progress(&name, progress);
        }
        LiveUpdate::Output { instance, channel, text } => {
            summary.add_output(instance, channel, text);
            renderer.output(instance, channel, text);
        }
    }
}

/// SIGINT and SIGTERM: the first signal starts no new steps, the second kills the running ones.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    orders: UnboundedSender<RunControl>,
    first: Option<Exit>,
    count: u32,
}

impl Signals {
    fn listen(orders: UnboundedSender<RunControl>) -> std::io::Result<Signals> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { interrupt, terminate, orders, first: None, count: 0 })
    }

    /// Waits for the next signal, forwards it to the engine and returns the message for the user.
    async fn next(&mut self, run: &str) -> String {
        let (exit, name) = tokio::select! {
            _ = self.interrupt.recv() => (Exit::Interrupted, "SIGINT"),
            _ = self.terminate.recv() => (Exit::Terminated, "SIGTERM"),
        };
        self.first.get_or_insert(exit);
        self.count += 1;
        let (order, text) = match self.count {
            1 => (
                RunControl::Drain(format!("stopped by {name}")),
                "stopping: waiting for running steps; press again to kill them".to_owned(),
            ),
            _ => (RunControl::Abandon, format!("killing running steps; run {run} can be resumed")),
        };
        // If the receiver is closed, the run has ended.
        let _ = self.orders.send(order);
        text
    }

    fn exit(&self) -> Option<Exit> {
        self.first
    }
}
