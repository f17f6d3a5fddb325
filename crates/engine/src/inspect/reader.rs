//! Reads the events of one run from the journal, once or repeatedly while the run grows.

use super::log_entry::LogEntry;
use super::streams::{not_kept, stream_texts, with_process_facts};
use super::{BaseRun, Frozen, InspectError};
use crate::engine::Payloads;
use crate::journal::{Journal, JournalError, RunQuery, RunRow, StoredEvent};
use kb_base::diagnostic::Sources;
use kb_base::value::{Json, JsonMap, RunId, Timestamp};
use kb_core::evidence::{OutputPart, Payload, Record};
use kb_core::redaction::Masked;
use kb_core::run::{self, Rules, RunStatus, Session, State};
use kb_core::wire::{
    BaseView, BlobRef, Event, InstanceRef, ParentView, RunHead, RunView, Translator, WorkTime,
};
use kb_language::plan::Plan;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which runs are listed.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Maximum number of runs.
    pub limit: usize,
    /// The statuses to include; empty includes all.
    pub statuses: Vec<RunStatus>,
    /// Only runs of the definition with this id.
    pub definition: Option<String>,
    /// Only runs that started at this time or later.
    pub since: Option<Timestamp>,
    /// Only runs that are older than this one.
    pub before: Option<RunId>,
}

impl RunFilter {
    /// All runs, `limit` at most.
    pub fn newest(limit: usize) -> RunFilter {
        RunFilter { limit, ..RunFilter::default() }
    }

    fn query(&self) -> RunQuery {
        let RunFilter { limit, statuses, definition, since, before } = self.clone();
        RunQuery { statuses, definition, since, before, limit }
    }
}

/// Runs in the journal, newest first. A run that another process removes meanwhile is left out.
pub fn list_runs(
    journal: &Arc<dyn Journal>,
    filter: &RunFilter,
    now: Timestamp,
) -> Result<Vec<Masked<RunView>>, InspectError> {
    let views = list_rows(&**journal, filter)?.into_iter().map(|row| run_view(journal, row, now));
    let stays = |view: &Result<Masked<RunView>, InspectError>| {
        !matches!(view, Err(InspectError::Journal(JournalError::NoRun(_))))
    };
    views.filter(stays).collect()
}

/// The rows of runs, newest first.
pub fn list_rows(journal: &dyn Journal, filter: &RunFilter) -> Result<Vec<RunRow>, InspectError> {
    Ok(journal.select(&filter.query())?)
}

/// Reads all events of a run for its view as it is now. A run whose definitions or events cannot be read has no steps, and
/// the reason as its error.
pub fn run_view(
    journal: &Arc<dyn Journal>,
    row: RunRow,
    now: Timestamp,
) -> Result<Masked<RunView>, InspectError> {
    let damaged = |error: &dyn std::fmt::Display| RunView::damaged(&head(&row), &error.to_string());
    match Reader::of(journal.clone(), row.clone()).and_then(|mut reader| reader.view(now)) {
        Err(InspectError::Journal(
            error @ (JournalError::Broken(_) | JournalError::Damaged(_)),
        )) => Ok(damaged(&error)),
        Err(error @ InspectError::UnreadableDefinitions { .. }) => Ok(damaged(&error)),
        Err(error @ InspectError::Definitions { .. }) => {
            let run = &row.run;
            Ok(damaged(&format!("the definitions stored with run `{run}` do not load: {error}")))
        }
        view => view,
    }
}

/// The id of a run by its id, a unique prefix of it, or `@last`.
pub fn find_run(journal: &dyn Journal, name: &str) -> Result<RunId, InspectError> {
    match journal.resolve(name) {
        Ok(run) => Ok(run),
        Err(JournalError::NoRun(_)) => {
            let known = journal.list()?.into_iter().map(|row| row.run.to_string()).collect();
            Err(InspectError::UnknownRun { name: name.to_owned(), known })
        }
        Err(other) => Err(other.into()),
    }
}

/// Fails if a name is neither a step of the plan nor an item of one.
pub fn require_step(plan: &Plan, name: &str) -> Result<(), InspectError> {
    if plan.find(name.split('[').next().unwrap_or(name)).is_some() {
        return Ok(());
    }
    let known = plan.steps().iter().map(|s| s.step.id.to_string()).collect();
    Err(InspectError::UnknownStep { name: name.to_owned(), known })
}

/// Maximum number of events that one read loads into memory.
const PAGE: usize = 1024;

/// A stored event with its time and the step instance that it belongs to.
pub(super) type Placed = (Timestamp, run::Event, InstanceRef);

/// Reads the events of a run in order. Each call continues where the last one stopped.
pub struct Reader {
    journal: Arc<dyn Journal>,
    row: RunRow,
    plan: Arc<Plan>,
    sources: Sources,
    rules: Rules,
    translator: Translator,
    payloads: Payloads,
    seq: u64,
    prompts: bool,
    parent: Option<ParentView>,
    base: Option<BaseView>,
    params: JsonMap,
    /// The instances whose running attempt has recorded its output.
    logged: BTreeSet<run::InstanceIx>,
}

impl Reader {
    /// Opens a run by its id, a unique prefix of it, or `@last`.
    pub fn open(journal: Arc<dyn Journal>, name: &str) -> Result<Reader, InspectError> {
        let run = find_run(&*journal, name)?;
        let row = journal.run(&run)?;
        Reader::of(journal, row)
    }

    fn of(journal: Arc<dyn Journal>, row: RunRow) -> Result<Reader, InspectError> {
        let frozen = Frozen::of_run(&*journal, &row.run)?;
        let (catalog, plan) = frozen.load()?;
        let rules = frozen.rules(catalog.settings.undecided());
        let translator = Translator::new(row.run.clone(), plan.clone());
        let payloads = Payloads::new(journal.clone());
        let parent = frozen
            .parent
            .map(|parent| ParentView { run: parent.run.to_string(), instance: parent.instance });
        let base = frozen.base.as_ref().map(BaseRun::view);
        let (seq, prompts) = (0, false);
        let sources = catalog.sources.clone();
        Ok(Reader {
            journal,
            row,
            plan,
            sources,
            rules,
            translator,
            payloads,
            seq,
            prompts,
            parent,
            base,
            params: frozen.params,
            logged: BTreeSet::new(),
        })
    }

    /// Makes [`Reader::next_entries`] return the prompts of model calls too.
    #[must_use]
    pub fn with_prompts(self, prompts: bool) -> Reader {
        Reader { prompts, ..self }
    }

    /// The id of the run.
    pub fn run(&self) -> &RunId {
        &self.row.run
    }

    /// The step of another run that executes this one.
    pub(super) fn parent(&self) -> Option<&ParentView> {
        self.parent.as_ref()
    }

    /// The position of a step in its file when the run started: `PATH:LINE:COLUMN`.
    pub fn place(&self, step: &str) -> Option<String> {
        let span = self.plan.step(self.plan.find(step)?).step.span;
        let at = self.sources.position(span.source, span.start);
        Some(format!("{}:{}:{}", self.sources.get(span.source).path, at.line, at.column))
    }

    /// The number of the last event that was read.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The status of the run when the reader was opened.
    pub fn status(&self) -> RunStatus {
        self.row.status
    }

    /// The path and the text of the definition when the run started.
    pub fn definition(&self) -> Option<(&str, &str)> {
        let source = self.sources.get(self.plan.steps().first()?.step.span.source);
        Some((&source.path, &source.text))
    }

    /// The plan that the run executes.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Fails if the run has no such step or item.
    pub fn require_step(&self, step: &str) -> Result<(), InspectError> {
        require_step(&self.plan, step)
    }

    /// Whether a process drives the run now, so that more events may follow.
    pub fn is_live(&self) -> Result<bool, InspectError> {
        Ok(self.journal.is_leased(&self.row.run)?)
    }

    /// The next log entries; `None` at the end of what is stored now.
    pub fn next_entries(&mut self) -> Result<Option<Vec<LogEntry>>, InspectError> {
        let Some(page) = self.next_page()? else { return Ok(None) };
        let mut entries = Vec::new();
        for stored in page {
            let events = self.translate(&stored);
            entries.extend(self.prompt(&stored)?);
            let texts = self.texts(&stored)?;
            let is_end = matches!(*stored.event, run::Event::AttemptEnded { .. });
            let events = events.into_iter().map(|event| LogEntry::Event(Box::new(event)));
            // The output of a process comes before the event that its attempt ended.
            if is_end {
                entries.extend(texts.into_iter().chain(events))
            } else {
                entries.extend(events.chain(texts))
            }
        }
        Ok(Some(entries))
    }

    /// The next public events; `None` at the end of what is stored now.
    pub fn next_events(&mut self) -> Result<Option<Vec<Event>>, InspectError> {
        let Some(page) = self.next_page()? else { return Ok(None) };
        Ok(Some(page.iter().flat_map(|stored| self.translate(stored)).collect()))
    }

    /// The next stored events that belong to a step instance, each with its time and that instance; `None` at the end of
    /// what is stored now.
    pub(super) fn next_stored(&mut self) -> Result<Option<Vec<Placed>>, InspectError> {
        let Some(page) = self.next_page()? else { return Ok(None) };
        let mut placed = Vec::new();
        for stored in page {
            let StoredEvent { seq, at, event, digest, .. } = &stored;
            let public = self.translator.translate(*seq, *at, event, *digest);
            let place = public.into_iter().find_map(|event| event.place);
            placed.extend(place.map(|place| (stored.at, stored.event.into_inner(), place)));
        }
        Ok(Some(placed))
    }

    /// The state of the run with all its steps. A run that is being driven has worked until `now`.
    pub fn view(&mut self, now: Timestamp) -> Result<Masked<RunView>, InspectError> {
        let mut state = State::new(&self.plan, self.rules);
        let mut work = WorkTime::default();
        while let Some(page) = self.next_page()? {
            for stored in page {
                if let run::Event::RunResumed { lost_ms: lost @ 1.., .. } = *stored.event {
                    work.until(Timestamp(stored.at.0 - lost as i64));
                }
                work.add(stored.at, stored.epoch);
                state.apply(&self.plan, stored.at, &stored.event);
            }
        }
        if self.row.status == RunStatus::Running {
            work.until(now);
        }
        if self.row.status == RunStatus::Interrupted
            && let Some(alive) = self.journal.last_renewal(&self.row.run)
        {
            work.until(alive);
        }
        let (parent, base) = (self.parent.clone(), self.base.clone());
        let head = RunHead { parent, base, params: self.params.clone(), ..head(&self.row) };
        let view = RunView::of(&head, &self.plan, &state, work);
        Ok(RunView::with_places(view, |step| self.place(step)))
    }

    /// The state of the run, and what its specialists left behind.
    pub(super) fn session(&mut self) -> Result<(State, Session), InspectError> {
        let (mut state, mut session) = (State::new(&self.plan, self.rules), Session::default());
        while let Some(page) = self.next_page()? {
            for stored in page {
                state.apply(&self.plan, stored.at, &stored.event);
                session.apply(stored.at, &stored.event);
            }
        }
        Ok((state, session))
    }

    fn next_page(&mut self) -> Result<Option<Vec<StoredEvent>>, InspectError> {
        let stored = self.journal.read_events(&self.row.run, self.seq, PAGE)?;
        self.seq = stored.last().map_or(self.seq, |last| last.seq);
        Ok(Some(stored).filter(|stored| !stored.is_empty()))
    }

    fn translate(&mut self, stored: &StoredEvent) -> Vec<Event> {
        let event = with_process_facts(&self.payloads, &stored.event);
        self.translator.translate(stored.seq, stored.at, &event, stored.digest)
    }

    fn prompt(&self, stored: &StoredEvent) -> Result<Vec<LogEntry>, InspectError> {
        let run::Event::Recorded { instance, record, .. } = &*stored.event else {
            return Ok(Vec::new());
        };
        let Some(place) = self.translator.place(*instance).filter(|_| self.prompts) else {
            return Ok(Vec::new());
        };
        let (instance, step) = (place.instance.to_string(), place.step.as_str());
        super::prompts::texts(record, &instance, step, stored.at, |payload| self.load(payload))
    }

    fn texts(&mut self, stored: &StoredEvent) -> Result<Vec<LogEntry>, InspectError> {
        let (ix, parts) = match &*stored.event {
            run::Event::Started { instance, .. } => {
                self.logged.remove(instance);
                return Ok(Vec::new());
            }
            run::Event::AttemptEnded { instance, .. } if self.logged.remove(instance) => {
                return Ok(Vec::new());
            }
            run::Event::AttemptEnded { instance, streams: Some(streams), .. } => {
                let streams = self.load(streams)?;
                (*instance, stream_texts(&streams))
            }
            run::Event::Recorded { instance, record, .. } => {
                let texts = match &**record {
                    Record::ModelCall { text, .. } => {
                        vec![("model", self.load(text)?.as_str().unwrap_or_default().to_owned())]
                    }
                    Record::Output { parts, omitted } => {
                        self.logged.insert(*instance);
                        let omitted = Some(*omitted).filter(|bytes| *bytes > 0);
                        let note = omitted.map(|bytes| ("stdout", not_kept(bytes)));
                        let parts = OutputPart::list(&*self.load(parts)?).into_iter();
                        let parts = parts.map(|part| (part.channel(), part.into_text()));
                        note.into_iter().chain(parts).collect()
                    }
                    _ => return Ok(Vec::new()),
                };
                (*instance, texts)
            }
            _ => return Ok(Vec::new()),
        };
        let Some(place) = self.translator.place(ix) else { return Ok(Vec::new()) };
        let (instance, step) = (place.instance.to_string(), place.step.to_string());
        let entry = |(channel, text)| LogEntry::Text {
            at: stored.at,
            instance: instance.clone(),
            step: step.clone(),
            channel,
            text,
        };
        let parts = parts.into_iter().filter(|(_, text): &(_, String)| !text.trim().is_empty());
        Ok(parts.map(entry).collect())
    }

    pub(super) fn load(&self, payload: &Payload) -> Result<Arc<Json>, InspectError> {
        Ok(self.payloads.load(payload)?)
    }

    /// The value of an event's field, loaded from its blob where it is not inline.
    pub(super) fn value(
        &self,
        inline: Option<Arc<Json>>,
        blob: Option<BlobRef>,
    ) -> Result<Option<Arc<Json>>, InspectError> {
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

fn head(row: &RunRow) -> RunHead {
    RunHead {
        run: row.run.clone(),
        status: row.status,
        definition: row.definition.clone(),
        started_at: row.started_at,
        ended_at: row.ended_at,
        parent: None,
        base: None,
        params: JsonMap::new(),
    }
}
