//! The memory of a project as use cases: list, search, add, approve, reject, forget.

use super::hook_secrets::learn_secrets;
use super::index_rules::index_rules;
use super::runs::memory_limits;
use super::{Environment, Project, ResourceKind, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, Timestamp};
use kb_core::redaction::Redactor;
use kb_host::tool::{FoundEntries, check_entry, search_entries};
use kb_host::workspace::Workspace;
use kb_language::definition::load_checks;
use kb_memory::{
    Admitted, Anchor, Draft, Entry, Event, Forgotten, Kind, Limits, MemoryError, MemoryStore,
    Proposal, Query, Reader, SharedFile, State, Stats, Trust, read_folder,
};
use serde::Serialize;
use std::sync::Arc;

/// The entries of a list, and the files that are none.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryView {
    /// Those in the states that were asked for, newest changes first.
    pub entries: Vec<Entry>,
    /// Problems of files in `.kb/memory`, as `path:line:column: message`.
    pub problems: Vec<String>,
    /// Whether the settings switch memory on, so that specialists use it.
    pub enabled: bool,
}

/// One entry with its history.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryEntryView {
    /// What is stored of it now.
    #[serde(flatten)]
    pub entry: Entry,
    /// Ids of other entries about the same subject that are neither archived nor forgotten.
    pub conflicts: Vec<String>,
    /// What happened to it, the oldest first.
    pub events: Vec<Event>,
}

/// What `kb memory add` stores.
#[derive(Debug, Clone)]
pub struct MemoryAdd {
    /// The sentence.
    pub text: String,
    /// What it is about.
    pub kind: Kind,
    /// A name for the entry; `None`: one from its text.
    pub id: Option<String>,
    /// What it says something about.
    pub subject: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Files that it rests on.
    pub anchors: Vec<String>,
    /// `file` checks of a gate, as JSON.
    pub checks: Vec<String>,
    /// Whether it becomes a file of the project at once.
    pub share: bool,
}

/// An entry that a person shared.
#[derive(Debug, Clone, Serialize)]
pub struct Approved {
    /// What is stored of it now.
    pub entry: Entry,
    /// Its file, relative to the project root; nothing if it is not shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether an entry with the sentence existed.
    pub existed: bool,
    /// Ids of other entries about its subject that are neither archived nor forgotten.
    pub conflicts: Vec<String>,
}

/// The outcome of the checks and anchors of an entry.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryChecked {
    /// The entry, with the state that follows.
    pub entry: Entry,
    /// What did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The opened memory of a project.
pub(super) struct Opened {
    project: Project,
    pub(super) store: MemoryStore,
    redactor: Arc<Redactor>,
    problems: Vec<String>,
    pub(super) now: Timestamp,
}

impl Opened {
    /// Opens the memory with the files that the project has now.
    pub(super) fn of(environment: &Environment) -> Result<Opened, ServiceError> {
        let project = Project::find(environment)?;
        let store = MemoryStore::open(&project.context.state_dir).map_err(failed)?;
        let redactor = Arc::new(Redactor::default());
        learn_secrets(&project, &redactor);
        let now = project.clock().now();
        let mut opened = Opened { project, store, redactor, problems: Vec::new(), now };
        opened.take_files()?;
        opened.store.archive_old(now, opened.limits().archive_after).map_err(failed)?;
        Ok(opened)
    }

    /// Finds entries as a person sees them.
    pub(super) fn search(
        &self,
        environment: &Environment,
        query: &Query<'_>,
    ) -> Result<FoundEntries, ServiceError> {
        let rules = index_rules(&self.project.catalog.settings, environment, &self.redactor);
        let by_meaning = (rules.embedder.as_deref(), &*self.redactor);
        search_entries(&self.store, query, Reader::Person, by_meaning).map_err(failed)
    }

    fn limits(&self) -> Limits {
        memory_limits(&self.project.catalog.settings.memory)
    }

    fn take_files(&mut self) -> Result<(), ServiceError> {
        let (files, problems) = read_folder(&self.project.context.root, &self.redactor);
        let kept: Vec<String> = problems.iter().map(|problem| problem.id().to_owned()).collect();
        self.problems = problems.iter().map(ToString::to_string).collect();
        self.store.sync_files(&files, &kept, self.now).map_err(failed)?;
        Ok(())
    }

    fn files(&self) -> Result<Workspace, ServiceError> {
        self.project.context.workspace(None).map_err(|error| {
            let message = format!("the project folder cannot be opened: {error}");
            ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
        })
    }

    /// An anchor of a file as it is now.
    fn anchor(&self, path: String) -> Result<Anchor, ServiceError> {
        let bytes = self.files()?.read_file(&path);
        let bytes = bytes.map_err(|error| ServiceError::refused(error.failure()))?;
        Ok(Anchor { path, sha256: Some(Digest::of(bytes)), excerpt: None })
    }

    fn find(&self, name: &str) -> Result<Entry, ServiceError> {
        self.store.find(name).map_err(|error| match error {
            MemoryError::Unknown(name) => {
                let known = self.store.list(&[]).unwrap_or_default();
                let known = known.into_iter().map(|entry| entry.id);
                ServiceError::unknown(ResourceKind::MemoryEntry, name, known)
            }
            other => failed(other),
        })
    }

    /// An entry as a person has it after a change.
    fn approved(&self, id: &str, existed: bool) -> Result<Approved, ServiceError> {
        let entry = self.find(id)?;
        let file = (entry.state == State::Shared).then(|| SharedFile::path_of(id));
        let conflicts = self.store.conflicts(id).map_err(failed)?;
        Ok(Approved { entry, file, existed, conflicts })
    }

    /// Writes the file of an entry, which makes it a shared one.
    fn share(&mut self, id: &str) -> Result<(), ServiceError> {
        let entry = self.store.approvable(id).map_err(failed)?;
        let by = self.project.context.environment.user();
        let text = SharedFile::text_of(&entry, &self.redactor.mask_text(&by));
        let (root, path) = (&self.project.context.root, SharedFile::path_of(id));
        let written = crate::project::write_new_files(root, &[(path.as_str(), text.as_str())]);
        let written = written.map_err(|(file, error)| {
            let message = format!("cannot write `{}`: {error}", file.display());
            ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
        })?;
        if written.created.is_empty() {
            let failure =
                Failure::new(Code::MEMORY_FILE, format!("`{path}` exists and is no entry"));
            let help = "`kb memory list` shows what is wrong with it; correct it or remove it";
            return Err(ServiceError::refused(failure.help(help)));
        }
        self.take_files()
    }
}

/// The error of a use case.
pub(super) fn failed(error: MemoryError) -> ServiceError {
    match error {
        MemoryError::Refused { message, help } => {
            ServiceError::refused(Failure::new(Code::MEMORY_REFUSED, message).help(help))
        }
        MemoryError::Unknown(name) => {
            ServiceError::unknown(ResourceKind::MemoryEntry, name, Vec::<String>::new())
        }
        MemoryError::Database(_) => {
            let help =
                "move `memory.sqlite3` in the state folder away; `kb doctor` names the folder";
            let failure = Failure::new(Code::MEMORY_UNUSABLE, error.to_string());
            ServiceError::environment(failure.help(help))
        }
    }
}

/// The entries in these states; all but forgotten ones without any.
pub fn list_memory(
    environment: &Environment,
    states: &[State],
) -> Result<MemoryView, ServiceError> {
    let opened = Opened::of(environment)?;
    let entries = opened.store.list(states).map_err(failed)?;
    let enabled = opened.project.catalog.settings.memory.enabled;
    Ok(MemoryView { entries, problems: opened.problems, enabled })
}

/// What waits for a person: candidates, stale and conflicted entries.
pub fn review_memory(environment: &Environment) -> Result<MemoryView, ServiceError> {
    list_memory(environment, &[State::Candidate, State::Verified, State::Stale, State::Conflicted])
}

/// One entry with what happened to it.
pub fn show_memory(environment: &Environment, name: &str) -> Result<MemoryEntryView, ServiceError> {
    let opened = Opened::of(environment)?;
    let entry = opened.find(name)?;
    let events = opened.store.events(&entry.id).map_err(failed)?;
    let conflicts = opened.store.conflicts(&entry.id).map_err(failed)?;
    Ok(MemoryEntryView { entry, conflicts, events })
}

/// The entries with one of the words, and those with a similar meaning if the settings name a server for vectors, best first.
pub fn search_memory(
    environment: &Environment,
    query: &Query<'_>,
) -> Result<FoundEntries, ServiceError> {
    Opened::of(environment)?.search(environment, query)
}

/// Stores a sentence of a person.
pub fn add_memory(environment: &Environment, add: MemoryAdd) -> Result<Approved, ServiceError> {
    let mut opened = Opened::of(environment)?;
    let checks: Result<Vec<Json>, String> = add.checks.iter().map(|text| check(text)).collect();
    let checks = checks.map_err(|why| {
        let help = "write a `file` check as JSON, such as `{\"file\": \"src/server.rs\"}`";
        ServiceError::refused(Failure::new(Code::MEMORY_REFUSED, why).help(help))
    })?;
    let anchors = add.anchors.into_iter().map(|path| opened.anchor(path));
    let proposal = Proposal {
        id: add.id,
        kind: add.kind,
        subject: add.subject,
        text: add.text,
        tags: add.tags,
        anchors: anchors.collect::<Result<_, _>>()?,
        checks,
        trust: Trust::Person,
        author: environment.user(),
        run: None,
        step: None,
    };
    let draft = Draft::admit(proposal, &opened.redactor).map_err(failed)?;
    let admitted = opened.store.propose(&draft, opened.now, &opened.limits()).map_err(failed)?;
    let existed = matches!(admitted, Admitted::Duplicate(_));
    let id = admitted.entry().id.clone();
    if add.share && admitted.entry().state != State::Shared {
        opened.share(&id)?;
    }
    opened.approved(&id, existed)
}

/// A check of the memory from its JSON.
fn check(text: &str) -> Result<Json, String> {
    let check: Json = serde_json::from_str(text)
        .map_err(|error| format!("`{text}` is no check as JSON: {error}"))?;
    load_checks(std::slice::from_ref(&check))?;
    Ok(check)
}

/// Shares an entry: a person has read it and writes it into the project.
pub fn approve_memory(environment: &Environment, name: &str) -> Result<Approved, ServiceError> {
    let mut opened = Opened::of(environment)?;
    let id = opened.find(name)?.id;
    opened.share(&id)?;
    opened.approved(&id, true)
}

/// Rejects an entry. Its sentence is not proposed again.
pub fn reject_memory(
    environment: &Environment,
    name: &str,
    why: Option<String>,
) -> Result<Entry, ServiceError> {
    let opened = Opened::of(environment)?;
    let entry = opened.find(name)?;
    if entry.state == State::Shared {
        let failure = Failure::new(Code::MEMORY_REFUSED, format!("`{}` is shared", entry.id));
        let help = format!("`kb memory forget {}` removes its file", entry.id);
        return Err(ServiceError::refused(failure.help(help)));
    }
    let why = why.map(|why| opened.redactor.mask_text(&why).into_owned());
    let event = Event::rejected(&environment.user(), why, opened.now);
    opened.store.reject(&entry.id, &event).map_err(failed)
}

/// Forgets an entry and removes its file. With `purge` its texts are deleted too.
pub fn forget_memory(
    environment: &Environment,
    name: &str,
    purge: bool,
) -> Result<Forgotten, ServiceError> {
    let opened = Opened::of(environment)?;
    let entry = opened.find(name)?;
    let file = opened.project.context.root.join(SharedFile::path_of(&entry.id));
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let message = format!("cannot remove `{}`: {error}", file.display());
            return Err(ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message)));
        }
        _ => {}
    }
    opened.store.forget(&entry.id, &environment.user(), purge, opened.now).map_err(failed)
}

/// Evaluates the checks and anchors of entries again: of these, or of all that have some.
pub fn check_memory(
    environment: &Environment,
    names: &[String],
) -> Result<Vec<MemoryChecked>, ServiceError> {
    let opened = Opened::of(environment)?;
    let files = opened.files()?;
    let entries = if names.is_empty() {
        let all = opened.store.list(&[]).map_err(failed)?;
        let has_some = |entry: &Entry| !entry.anchors.is_empty() || !entry.checks.is_empty();
        all.into_iter().filter(|entry| entry.state.is_live() && has_some(entry)).collect()
    } else {
        names.iter().map(|name| opened.find(name)).collect::<Result<Vec<Entry>, _>>()?
    };
    let checked = entries.into_iter().map(|entry| {
        let outcome = check_entry(&files, &entry, &environment.user());
        let failure = outcome.failed.clone();
        let entry = opened.store.record_check(&entry.id, &outcome, opened.now).map_err(failed)?;
        Ok(MemoryChecked { entry, failed: failure })
    });
    checked.collect()
}

/// All entries with their history, also forgotten ones.
pub fn export_memory(environment: &Environment) -> Result<Vec<MemoryEntryView>, ServiceError> {
    let opened = Opened::of(environment)?;
    let all = opened.store.list(&State::ALL).map_err(failed)?;
    let view = |entry: Entry| {
        let events = opened.store.events(&entry.id).map_err(failed)?;
        let conflicts = opened.store.conflicts(&entry.id).map_err(failed)?;
        Ok(MemoryEntryView { entry, conflicts, events })
    };
    all.into_iter().map(view).collect()
}

/// Numbers about the memory.
pub fn memory_stats(environment: &Environment) -> Result<Stats, ServiceError> {
    Opened::of(environment)?.store.stats().map_err(failed)
}
