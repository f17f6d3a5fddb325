//! Looking back at runs: everything from the journal, through the same public events as live.

use super::cuts::with_cuts;
use super::runs::Frozen;
use super::{Project, ResourceKind, ServiceError};
use crate::definition::InconclusivePolicy;
use crate::diagnostic::Code;
use crate::engine::Payloads;
use crate::evidence::{Payload, Record};
use crate::journal::{Journal, RunRow, StoredEvent};
use crate::plan::Plan;
use crate::run::{self, Rules, RunStatus, State};
use crate::value::{Failure, Json, RunId};
use crate::wire::{Body, Event, InstanceRef, RunHead, RunView, Translator};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs of the project, newest first.
pub fn list_runs(project: &Project, limit: usize) -> Result<Vec<RunView>, ServiceError> {
    let journal = project.context.journal(Default::default())?;
    let rows = journal.list()?;
    let view = |row: &RunRow| match Reader::of(journal.clone(), row.clone()) {
        Ok(mut reader) => reader.view(),
        // A run that cannot be read back in full still has its line.
        Err(_) => Ok(RunView::head(&head(row))),
    };
    rows.iter().take(limit).map(view).collect()
}

/// One run with its steps.
pub fn show_run(project: &Project, name: &str) -> Result<RunView, ServiceError> {
    Reader::open(project, name)?.view()
}

/// What a run hands out, or what one of its steps or items does, in its last iteration; with where the
/// run stands.
pub fn run_output(
    project: &Project,
    name: &str,
    step: Option<&str>,
) -> Result<(Arc<Json>, RunStatus), ServiceError> {
    let mut reader = Reader::open(project, name)?;
    let mut last = (None, None);
    let mut names = Vec::new();
    while let Some(stored) = reader.unread()? {
        for event in reader.translate_all(&stored) {
            let instance = event.place.as_ref().map(|place| place.instance.to_string());
            match (&event.body, step) {
                (Body::RunEnd { outputs, outputs_blob, .. }, None) => {
                    last = (outputs.clone(), outputs_blob.clone());
                }
                (Body::StepEnd { output, output_blob, .. }, Some(step)) => {
                    if instance.as_deref() == Some(step) {
                        last = (output.clone(), output_blob.clone());
                    }
                    names.extend(instance);
                }
                _ => {}
            }
        }
    }
    let found = reader.value(last.0, last.1)?;
    let found = found.ok_or_else(|| no_output(&reader, step, names))?;
    Ok((found, reader.row.status))
}

fn no_output(reader: &Reader, step: Option<&str>, names: Vec<String>) -> ServiceError {
    let (run, status) = (reader.run(), reader.row.status);
    match step {
        Some(step) if !names.iter().any(|name| name == step) => {
            let plan = reader.plan.steps().iter().map(|s| s.step.id.to_string());
            if reader.plan.find(step).is_some() {
                let message = format!("step `{step}` of run `{run}` has not ended");
                return ServiceError::refused(Failure::new(Code::NOT_RESUMABLE.as_str(), message));
            }
            let known: BTreeSet<String> = plan.chain(names).collect();
            ServiceError::unknown(ResourceKind::Step, step, known)
        }
        Some(step) => {
            let message = format!("step `{step}` of run `{run}` handed out nothing");
            let failure = Failure::new(Code::NOT_RESUMABLE.as_str(), message);
            ServiceError::refused(failure.help(format!("`kb run logs {run} {step}` says why")))
        }
        None => {
            let message = format!("run `{run}` is {status} and has handed out nothing");
            let failure = Failure::new(Code::NOT_RESUMABLE.as_str(), message);
            ServiceError::refused(
                failure.help(format!("`kb run output {run} STEP` prints one step's")),
            )
        }
    }
}

/// One thing of a run's log.
#[derive(Debug, Clone)]
pub enum LogEntry {
    /// A public event.
    Event(Box<Event>),
    /// Text that belongs to an instance: what a process wrote, what a model said.
    Text {
        /// Whose.
        instance: String,
        /// The step's id.
        step: String,
        /// `stdout`, `stderr` or `model`; for a prompt `prompt`, `tools`, `schema` or the role of a
        /// message.
        channel: &'static str,
        /// The text itself.
        text: String,
    },
}

/// Events of a run that are held at once by who reads it, however long it is.
const AT_ONCE: usize = 1024;

/// Reads a run's journal, once or as it grows.
pub struct Reader {
    journal: Arc<dyn Journal>,
    row: RunRow,
    plan: Arc<Plan>,
    rules: Rules,
    translator: Translator,
    payloads: Payloads,
    seq: u64,
    prompts: bool,
}

impl Reader {
    /// For a run by its id, a unique prefix, or `@last`.
    pub fn open(project: &Project, name: &str) -> Result<Reader, ServiceError> {
        let journal = project.context.journal(Default::default())?;
        let run = find_run(&*journal, name)?;
        let row = journal.run(&run)?;
        Reader::of(journal, row)
    }

    fn of(journal: Arc<dyn Journal>, row: RunRow) -> Result<Reader, ServiceError> {
        let frozen = Frozen::of_run(&*journal, &row.run)?;
        let (catalog, plan) = frozen.thaw()?;
        let inconclusive = catalog.settings.inconclusive.unwrap_or(InconclusivePolicy::Warn);
        let rules = Rules { max_parallel: frozen.max_parallel.max(1), inconclusive };
        let translator = Translator::new(row.run.clone(), plan.clone());
        let payloads = Payloads::new(journal.clone());
        Ok(Reader { journal, row, plan, rules, translator, payloads, seq: 0, prompts: false })
    }

    /// Makes [`Reader::poll`] return the prompts of model calls too.
    #[must_use]
    pub fn with_prompts(self, prompts: bool) -> Reader {
        Reader { prompts, ..self }
    }

    /// The run's id.
    pub fn run(&self) -> &RunId {
        &self.row.run
    }

    /// Refuses a step that the run does not have.
    pub fn has_step(&self, step: &str) -> Result<(), ServiceError> {
        known_step(&self.plan, step)
    }

    /// Whether somebody is at work on the run, so that more may follow.
    pub fn is_live(&self) -> Result<bool, ServiceError> {
        Ok(self.journal.is_leased(&self.row.run)?)
    }

    /// The next of what was stored since the last time, so much as is read at once; `None` where
    /// nothing is left.
    pub fn poll(&mut self) -> Result<Option<Vec<LogEntry>>, ServiceError> {
        let Some(unread) = self.unread()? else { return Ok(None) };
        let mut entries = Vec::new();
        for stored in unread {
            let events = self.translate(&stored);
            let texts = self.texts(&stored)?;
            entries.extend(self.prompt(&stored)?);
            let said_first = matches!(stored.event, run::Event::AttemptEnded { .. });
            let events = events.into_iter().map(|event| LogEntry::Event(Box::new(event)));
            match said_first {
                true => entries.extend(texts.into_iter().chain(events)),
                false => entries.extend(events.chain(texts)),
            }
        }
        Ok(Some(entries))
    }

    fn unread(&mut self) -> Result<Option<Vec<StoredEvent>>, ServiceError> {
        let stored = self.journal.read_events(&self.row.run, self.seq, AT_ONCE)?;
        self.seq = stored.last().map_or(self.seq, |last| last.seq);
        Ok(Some(stored).filter(|stored| !stored.is_empty()))
    }

    fn translate(&mut self, stored: &StoredEvent) -> Vec<Event> {
        let event = with_cuts(&self.payloads, &stored.event);
        self.translator.translate(stored.seq, stored.at, &event, stored.digest)
    }

    fn translate_all(&mut self, stored: &[StoredEvent]) -> Vec<Event> {
        stored.iter().flat_map(|stored| self.translate(stored)).collect()
    }

    /// The next events that are not read yet, those about an instance, as stored, with where that
    /// was.
    pub(super) fn placed(
        &mut self,
    ) -> Result<Option<Vec<(run::Event, InstanceRef)>>, ServiceError> {
        let Some(unread) = self.unread()? else { return Ok(None) };
        let mut placed = Vec::new();
        for stored in unread {
            let StoredEvent { seq, at, event, digest, .. } = &stored;
            let public = self.translator.translate(*seq, *at, event, *digest);
            let place = public.into_iter().find_map(|event| event.place);
            placed.extend(place.map(|place| (stored.event, place)));
        }
        Ok(Some(placed))
    }

    fn view(&mut self) -> Result<RunView, ServiceError> {
        let mut state = State::new(&self.plan, self.rules);
        while let Some(unread) = self.unread()? {
            for stored in unread {
                state.apply(&self.plan, stored.at, &stored.event);
            }
        }
        Ok(RunView::of(&head(&self.row), &self.plan, &state))
    }

    fn texts(&self, stored: &StoredEvent) -> Result<Vec<LogEntry>, ServiceError> {
        let (ix, parts) = match &stored.event {
            run::Event::AttemptEnded { instance, streams: Some(streams), .. } => {
                let streams = self.load(streams)?;
                (*instance, vec![stream(&streams, "stdout"), stream(&streams, "stderr")])
            }
            run::Event::Recorded { instance, record, .. } => {
                let Record::ModelCall { text, .. } = &**record else { return Ok(Vec::new()) };
                let text = self.load(text)?;
                (*instance, vec![("model", text.as_str().unwrap_or_default().to_owned())])
            }
            _ => return Ok(Vec::new()),
        };
        let Some(place) = self.translator.place(ix) else { return Ok(Vec::new()) };
        let (instance, step) = (place.instance.to_string(), place.step.to_string());
        let entry = |(channel, text)| LogEntry::Text {
            instance: instance.clone(),
            step: step.clone(),
            channel,
            text,
        };
        let parts = parts.into_iter().filter(|(_, text): &(_, String)| !text.trim().is_empty());
        Ok(parts.map(entry).collect())
    }

    fn prompt(&self, stored: &StoredEvent) -> Result<Vec<LogEntry>, ServiceError> {
        let run::Event::Recorded { instance, record, .. } = &stored.event else {
            return Ok(Vec::new());
        };
        let Some(place) = self.translator.place(*instance).filter(|_| self.prompts) else {
            return Ok(Vec::new());
        };
        super::prompts::texts(record, &place.instance.to_string(), place.step.as_str(), |payload| {
            self.load(payload)
        })
    }

    fn load(&self, payload: &Payload) -> Result<Arc<Json>, ServiceError> {
        Ok(self.payloads.load(payload)?)
    }

    fn value(
        &self,
        inline: Option<Arc<Json>>,
        blob: Option<crate::wire::BlobRef>,
    ) -> Result<Option<Arc<Json>>, ServiceError> {
        match (inline, blob) {
            (Some(value), _) => Ok(Some(value)),
            (None, Some(blob)) => {
                let payload = Payload::Blob { digest: blob.sha256, bytes: blob.bytes };
                self.load(&payload).map(Some)
            }
            (None, None) => Ok(None),
        }
    }
}

/// Refuses what is neither a step of the plan nor an item of one.
pub(super) fn known_step(plan: &Plan, step: &str) -> Result<(), ServiceError> {
    if plan.find(step.split('[').next().unwrap_or(step)).is_some() {
        return Ok(());
    }
    let known = plan.steps().iter().map(|s| s.step.id.to_string());
    Err(ServiceError::unknown(ResourceKind::Step, step, known))
}

pub(super) fn find_run(journal: &dyn Journal, name: &str) -> Result<RunId, ServiceError> {
    use crate::journal::JournalError;
    match journal.resolve(name) {
        Ok(run) => Ok(run),
        Err(JournalError::NoRun(_)) => {
            let known = journal.list()?.into_iter().map(|row| row.run.to_string());
            Err(ServiceError::unknown(ResourceKind::Run, name, known))
        }
        Err(other) => Err(other.into()),
    }
}

fn head(row: &RunRow) -> RunHead {
    RunHead {
        run: row.run.clone(),
        status: row.status,
        definition: row.definition.clone(),
        started_at: row.started_at,
        ended_at: row.ended_at,
    }
}

/// What a process wrote on one of its streams, and how much of it was not kept.
fn stream(streams: &Json, channel: &'static str) -> (&'static str, String) {
    let mut text = streams[channel].as_str().unwrap_or_default().to_owned();
    if let Some(bytes) = streams[format!("{channel}Cut")].as_u64() {
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!(
            "{newline}[{bytes} more bytes were cut; write large output to a file]\n"
        ));
    }
    (channel, text)
}
