//! [`RunMemory`]: the memory of the project as one run uses it, and [`AttemptMemory`], as one attempt does.

use super::entry_check::{anchors_hold, check_entry};
use super::entry_search::{FoundEntries, search_entries, with_meaning};
use crate::workspace::Workspace;
use kb_base::value::RunId;
use kb_clock::RunClock;
use kb_core::redaction::Redactor;
use kb_memory::{
    Admitted, CheckOutcome, Draft, Entry, Feedback, Kind, Limits, MemoryError, MemoryStore,
    Proposal, Query, Reader, Recall, State, Trust, read_folder,
};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The memory of a project as one run uses it.
pub struct RunMemory {
    store: MemoryStore,
    /// The outermost run above, or the run that this one continues; `None` if this is the first.
    root: Option<RunId>,
    limits: Limits,
    max_tokens: usize,
    redactor: Arc<Redactor>,
    clock: RunClock,
}

impl RunMemory {
    /// Opens the memory with the files that the project has now.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Database`] if the database cannot be used.
    pub fn open(
        (state_dir, project): (&Path, &Path),
        root: Option<RunId>,
        (limits, max_tokens): (Limits, usize),
        redactor: Arc<Redactor>,
        clock: RunClock,
    ) -> Result<RunMemory, MemoryError> {
        let store = MemoryStore::open(state_dir)?;
        let (files, problems) = read_folder(project, &redactor);
        let kept: Vec<String> = problems.iter().map(|problem| problem.id().to_owned()).collect();
        let now = clock.now();
        store.sync_files(&files, &kept, now)?;
        store.archive_old(now, limits.archive_after)?;
        Ok(RunMemory { store, root, limits, max_tokens, redactor, clock })
    }
}

/// Where an attempt stands, for what it proposes.
#[derive(Debug, Clone)]
pub struct MemoryOrigin {
    /// The run of the attempt; a child run is one of its own.
    pub run: RunId,
    /// The step or item.
    pub step: String,
    /// The specialist.
    pub author: String,
    /// The trust of the prompt: [`Trust::External`] if it has values of other steps.
    pub trust: Trust,
    /// The file of the project that the task was read from.
    pub task_file: Option<Box<str>>,
}

/// The memory as one attempt of a specialist uses it. Clones share what the attempt has heard and proposed.
#[derive(Clone, Default)]
pub(crate) struct AttemptMemory {
    run: Option<Arc<RunMemory>>,
    state: Arc<Mutex<AttemptState>>,
}

#[derive(Default)]
struct AttemptState {
    origin: Option<MemoryOrigin>,
    /// The least trusted text that the attempt has received; `None` if it received none.
    heard: Option<Trust>,
    /// Ids of what it proposed.
    proposed: Vec<String>,
}

/// What a call proposes.
pub(super) struct Proposed {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) subject: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) anchors: Vec<kb_memory::Anchor>,
    pub(super) checks: Vec<kb_base::value::Json>,
}

impl AttemptMemory {
    /// That of an attempt that has heard nothing yet. Without `run`, memory is off.
    pub(super) fn new(run: Option<Arc<RunMemory>>) -> AttemptMemory {
        AttemptMemory { run, state: Arc::default() }
    }

    /// Whether the settings switch memory on, and its database can be used.
    pub(super) fn is_on(&self) -> bool {
        self.run.is_some()
    }

    /// Says whose attempt it is. A step of the author proposes as the lowest trust.
    pub(super) fn begin(&self, origin: MemoryOrigin) {
        self.change(|state| state.origin = Some(origin));
    }

    /// Notes that the attempt received a text of this trust.
    pub(super) fn hear(&self, trust: Trust) {
        self.change(|state| {
            state.heard = Some(state.heard.map_or(trust, |heard| heard.min(trust)));
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut AttemptState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The runs whose proposals the attempt sees as its own.
    fn lineage(&self, memory: &RunMemory) -> Vec<RunId> {
        let own = self.change(|state| state.origin.as_ref().map(|origin| origin.run.clone()));
        memory.root.iter().cloned().chain(own).collect()
    }

    /// What is shown to the specialist before its first turn. Entries whose files changed are left out.
    pub(super) fn recall(&self, files: &Workspace, text: &str, kinds: &[Kind]) -> Option<Recall> {
        let memory = self.run.as_ref()?;
        let (lineage, now) = (self.lineage(memory), memory.clock.now());
        let (all, _) =
            with_meaning(&memory.store, text, (files.embedder(), &memory.redactor), |meaning| {
                memory.store.relevant(text, meaning, kinds, &lineage)
            })
            .ok()?;
        let fresh: Vec<Entry> =
            all.into_iter().filter(|entry| memory.is_fresh(files, entry)).collect();
        let recall = Recall::of(&fresh, &lineage, now, memory.max_tokens)?;
        self.note_shown(memory, &recall.entries);
        self.hear(recall.trust);
        Some(recall)
    }

    /// Finds entries for a call.
    pub(super) fn search(
        &self,
        files: &Workspace,
        query: &Query<'_>,
    ) -> Option<Result<FoundEntries, MemoryError>> {
        let memory = self.run.as_ref()?;
        let lineage = self.lineage(memory);
        let reader = Reader::Specialist(&lineage);
        let found =
            search_entries(&memory.store, query, reader, (files.embedder(), &memory.redactor));
        Some(found.map(|mut found| {
            let hits = &mut found.hits;
            hits.retain(|hit| memory.is_fresh(files, &hit.entry));
            let ids: Vec<String> = hits.iter().map(|hit| hit.entry.id.clone()).collect();
            self.note_shown(memory, &ids);
            hits.iter().for_each(|hit| self.hear(hit.entry.trust));
            found
        }))
    }

    /// Counts what was shown. That it could not be counted is no reason not to show it.
    fn note_shown(&self, memory: &RunMemory, ids: &[String]) {
        let run = self.change(|state| state.origin.as_ref().map(|origin| origin.run.clone()));
        let _ = memory.store.note_access(ids, run.as_ref(), memory.clock.now());
    }

    /// Stores what a call proposes, with the least trusted text that the attempt has received.
    pub(super) fn propose(&self, proposed: Proposed) -> Option<Result<Admitted, MemoryError>> {
        let memory = self.run.as_ref()?;
        let (origin, heard) = self.change(|state| (state.origin.clone(), state.heard));
        let lowest = origin.as_ref().map_or(Trust::External, |origin| origin.trust);
        let proposal = Proposal {
            id: None,
            kind: proposed.kind,
            subject: proposed.subject,
            text: proposed.text,
            tags: proposed.tags,
            anchors: proposed.anchors,
            checks: proposed.checks,
            trust: heard.unwrap_or(Trust::Model).min(Trust::Model).min(lowest),
            author: origin.as_ref().map_or("a step", |origin| &origin.author).to_owned(),
            run: memory.root.clone().or_else(|| origin.as_ref().map(|origin| origin.run.clone())),
            step: origin.map(|origin| origin.step),
        };
        let admitted = Draft::admit(proposal, &memory.redactor)
            .and_then(|draft| memory.store.propose(&draft, memory.clock.now(), &memory.limits));
        if let Ok(Admitted::New(entry) | Admitted::Conflict(entry, _)) = &admitted {
            self.change(|state| state.proposed.push(entry.id.clone()));
        }
        Some(admitted)
    }

    /// Records how an entry helped the run.
    pub(super) fn feedback(&self, id: &str, feedback: Feedback) -> Option<Result<(), MemoryError>> {
        let memory = self.run.as_ref()?;
        let run = self.change(|state| state.origin.as_ref().map(|origin| origin.run.clone()))?;
        Some(memory.store.feedback(id, &run, feedback, memory.clock.now()))
    }

    /// Records how an entry of the FAQ helped the run.
    pub(super) fn faq_feedback(
        &self,
        id: &str,
        feedback: Feedback,
    ) -> Option<Result<bool, MemoryError>> {
        let memory = self.run.as_ref()?;
        let run = self.change(|state| state.origin.as_ref().map(|origin| origin.run.clone()))?;
        Some(memory.store.faq_feedback(id, run.as_str(), feedback, memory.clock.now()))
    }

    /// Forgets an entry that this run, or one above it, proposed; `false` if it is of another origin.
    pub(super) fn forget_own(&self, id: &str) -> Option<Result<bool, MemoryError>> {
        let memory = self.run.as_ref()?;
        let lineage = self.lineage(memory);
        let forgotten = memory.store.find(id).and_then(|entry| {
            let is_own = entry.run.as_ref().is_some_and(|run| lineage.contains(run));
            if !is_own || entry.state == State::Shared {
                return Ok(false);
            }
            memory.store.forget(&entry.id, &entry.author, false, memory.clock.now())?;
            Ok(true)
        });
        Some(forgotten)
    }

    /// Evaluates the checks of what the attempt proposed, after its output was accepted.
    pub(super) fn confirm(&self, files: &Workspace) {
        let Some(memory) = &self.run else { return };
        let (proposed, origin) =
            self.change(|state| (std::mem::take(&mut state.proposed), state.origin.clone()));
        let by = origin.map_or_else(String::new, |o| format!("run {}, step {}", o.run, o.step));
        for id in proposed {
            let Ok(entry) = memory.store.find(&id) else { continue };
            if !entry.checks.is_empty() {
                let outcome = check_entry(files, &entry, &by);
                let _ = memory.store.record_check(&id, &outcome, memory.clock.now());
            }
        }
    }
}

impl RunMemory {
    /// Whether the files that an entry rests on are as they were. If they are not, its checks are evaluated again; without
    /// checks, or if one fails, the entry is stale.
    fn is_fresh(&self, files: &Workspace, entry: &Entry) -> bool {
        if anchors_hold(files, &entry.anchors).is_ok() {
            return true;
        }
        let outcome: CheckOutcome = check_entry(files, entry, "kb");
        let checked = self.store.record_check(&entry.id, &outcome, self.clock.now());
        checked.is_ok_and(|entry| matches!(entry.state, State::Verified | State::Shared))
    }
}
