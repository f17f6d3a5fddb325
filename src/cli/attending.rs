//! Questions with a timeout, which are open while a process drives the run.
//!
//! A question without one ends the process that drives the run, and is asked afterwards. One with a timeout keeps it,
//! because the step says what follows when the time is up. It is asked here as soon as nothing else runs; without a
//! terminal, a message says what the run waits for.

use super::ask_in_place::ask_until_it_fits;
use super::exit::CliError;
use super::prompting::forget_typed;
use super::render::table::plain;
use super::render::{Renderer, RunCounts, RunSummary, message_text};
use super::terminal::Terminal;
use kb_service::service::runs::{ProjectContext, ReplyRequest, post_reply, require_shown};
use kb_service::service::{self, ServiceError};
use std::collections::BTreeSet;
use std::future::pending;
use std::pin::Pin;

/// Redraws, about three seconds, after which a question without a timeout is asked here too: something else keeps the
/// process, such as the pause before a retry. Before that, the process may be about to leave the run, and ask afterwards.
const PATIENCE: u32 = 25;

type Asking = Pin<Box<dyn Future<Output = Result<(), CliError>>>>;

/// Asks the questions of a run while it is driven.
pub(super) struct Attending<'t> {
    context: ProjectContext,
    run: String,
    is_interactive: bool,
    terminal: &'t Terminal,
    /// The question that has the screen: the step, and what asks.
    asking: Option<(String, Asking)>,
    /// The steps whose questions were asked, answered or left open.
    done: BTreeSet<String>,
    /// What was refused.
    refused: Option<CliError>,
    /// Redraws since something else than a wait ran.
    idle: u32,
}

impl<'t> Attending<'t> {
    /// `is_interactive` is whether questions are asked on the terminal.
    pub(super) fn new(
        context: ProjectContext,
        run: &str,
        is_interactive: bool,
        terminal: &'t Terminal,
    ) -> Self {
        let (asking, done, refused, idle) = Default::default();
        let run = run.to_owned();
        Attending { context, run, is_interactive, terminal, asking, done, refused, idle }
    }

    /// Whether a question has the screen.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// Ends when the question was answered or is left open.
    pub(super) async fn asked(&mut self) {
        match &mut self.asking {
            Some((_, asking)) => self.refused = asking.await.err(),
            None => pending().await,
        }
    }

    /// Gives the screen back to the display after [`Attending::asked`].
    pub(super) fn take_back(&mut self, renderer: &mut dyn Renderer) {
        self.asking = None;
        renderer.pause(false);
        if let Some(refused) = self.refused.take() {
            renderer.note(&message_text(&refused.to_string()));
        }
    }

    /// Takes the screen from a question, because there is something to show. It is asked again if it is still open then.
    pub(super) fn interrupt(&mut self, renderer: &mut dyn Renderer) {
        if let Some((step, _)) = self.asking.take() {
            self.done.remove(&step);
            let _ = self.terminal.for_display().err("\n");
            forget_typed();
            renderer.pause(false);
        }
    }

    /// Takes the screen from a question that is left open, because the run is to stop.
    pub(super) fn leave(&mut self, renderer: &mut dyn Renderer) {
        let step = self.asking.as_ref().map(|(step, _)| step.clone());
        self.interrupt(renderer);
        self.is_interactive = false;
        self.done.extend(step);
    }

    /// Whether the run only waits for persons, and no question is asked here.
    pub(super) fn has_left_all(&self, counts: &RunCounts, summary: &RunSummary) -> bool {
        let is_left = |step: &String| self.done.contains(step) || !self.is_interactive;
        !self.is_asking()
            && counts.only_waits_for(|step| summary.waiting.contains_key(step))
            && summary.waiting.keys().all(is_left)
    }

    /// Asks a question that became open, or says what the run waits for, once nothing else runs.
    pub(super) fn tick(
        &mut self,
        counts: &RunCounts,
        summary: &RunSummary,
        renderer: &mut dyn Renderer,
    ) {
        self.done.retain(|step| summary.waiting.contains_key(step));
        self.idle = if counts.only_waits() { self.idle.saturating_add(1) } else { 0 };
        let is_left_open = counts.waits_for_time() || self.idle >= PATIENCE;
        if self.is_asking() || !counts.only_waits() || !is_left_open {
            return;
        }
        let mut open = summary.waiting.iter().filter(|(step, _)| !self.done.contains(*step));
        let Some((step, question)) = open.next() else { return };
        self.done.insert(step.clone());
        if self.is_interactive {
            renderer.pause(true);
            let asking = ask(
                self.context.clone(),
                self.run.clone(),
                step.clone(),
                self.terminal.for_display(),
            );
            self.asking = Some((step.clone(), Box::pin(asking)));
        } else {
            let (step, question, run) = (plain(step), plain(question), &self.run);
            renderer.note(&format!(
                "the run waits only for a person: {step}: {question}; Ctrl-C leaves it, `kb run resume {run}` \
                 continues it; a reply from another terminal reaches it here"
            ));
        }
    }
}

/// Asks the question of a step and delivers the reply to the run.
async fn ask(
    context: ProjectContext,
    run: String,
    instance: String,
    mut terminal: Terminal,
) -> Result<(), CliError> {
    let view = service::show_run(&context, &run)?;
    let Some(step) = view.steps.iter().find(|step| step.instance == instance) else {
        return Ok(());
    };
    let journal = context.journal(Default::default()).map_err(ServiceError::from)?;
    let post = |request: ReplyRequest| {
        let now = context.clock().wall();
        require_shown((&journal, &context.root), &run, &request, now)?;
        post_reply(&*journal, &run, &request, now)
    };
    ask_until_it_fits((&context, &run), step, &mut terminal, post).await?;
    Ok(())
}
