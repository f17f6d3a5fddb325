//! Observes what the checks of a gate query: files through the path guard, commands through the supervisor.

use super::command_record::recorded;
use super::committed;
use super::definitions;
use super::ignored_changes;
use super::names::{self, Material};
use crate::executor::host_access::HostAccess;
use crate::executor::last_line::{ends, last_line};
use crate::tool::{MissingAccess, Origin, Ran, Records, WatchedProcess};
use crate::workspace::{PathError, Workspace, matched_files, not_observed};
use futures::FutureExt;
use futures::stream::{self, StreamExt};
use kb_attempt::{Live, Received, Recorder, run_blocking};
use kb_base::diagnostic::Code;
use kb_base::value::limits;
use kb_clock as clock;
use kb_core::evidence::{Change, FileKind, Invocation, ProcessEvidence};
use kb_core::redaction::{MASK, Redactor};
use kb_core::verify::{
    CommandEnd, CommandRun, Location, MatchedFile, Observation, ObservationError, ObservationQuery,
    Observations,
};
use kb_language::definition::NetworkAccess;
use kb_language::plan::Confined;
use kb_process::{ProcessEnd, ProcessResult, Spawn};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The variable with the folder of compiled files of Python. In a folder that cannot exist there are none.
const PYTHON_CACHE: &str = "PYTHONPYCACHEPREFIX";
/// Number of files that are observed in parallel.
const AT_ONCE: usize = 4;

/// Observes the workspace for one gate.
pub(super) struct Observer<'a> {
    pub(super) host: &'a HostAccess,
    /// Environment of command checks.
    pub(super) env: &'a [(String, String)],
    /// Working directory of command checks, relative to the workspace root.
    pub(super) cwd: &'a str,
    /// Whether command checks run in the sandbox.
    pub(super) sandboxed: Option<NetworkAccess>,
    /// Why command checks of the author run in the sandbox.
    pub(super) confined: &'a Live<Option<Confined>>,
    /// What the specialist received.
    pub(super) received: Option<Arc<Received>>,
    /// The recorded calls.
    pub(super) trace: &'a [Invocation],
    /// When the timeout of the gate expires.
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: &'a CancellationToken,
    /// Stores what commands changed; `None` if nothing is stored.
    pub(super) recorder: Option<&'a dyn Recorder>,
}

impl Observer<'_> {
    /// Answers the queries in order. Files between two commands are observed in parallel, because
    /// reading and hashing them takes most of the time of a gate.
    pub(super) async fn observe(&self, asks: Vec<ObservationQuery>) -> Observations {
        let mut seen = Observations::new();
        for group in asks.chunk_by(|a, b| !is_command(a) && !is_command(b)) {
            let looks: Vec<_> = group.iter().map(|ask| self.unless_stopped(ask).boxed()).collect();
            let found: Vec<Observation> = stream::iter(looks).buffered(AT_ONCE).collect().await;
            seen.extend(group.iter().cloned().zip(found));
        }
        seen
    }

    async fn unless_stopped(&self, ask: &ObservationQuery) -> Observation {
        if self.cancel.is_cancelled() { Observation::Stopped } else { self.look(ask).await }
    }

    async fn look(&self, ask: &ObservationQuery) -> Observation {
        if let ObservationQuery::Command { argv, timeout } = ask {
            return Observation::Command(self.run(argv, *timeout).await);
        }
        if let ObservationQuery::Names(names) = ask {
            return self.look_up(names).await;
        }
        if let ObservationQuery::Definitions { files, names } = ask {
            return self.definitions(files, names).await;
        }
        if let ObservationQuery::Committed(paths) = ask {
            return Observation::Committed(committed::as_on_disk(paths, self.host).await);
        }
        let (ask, workspace) = (ask.clone(), self.host.workspace.clone());
        let redactor = self.host.redactor.clone();
        let work = tokio::task::spawn_blocking(move || {
            look_at_files(&workspace, &with_real_names(&ask, &workspace, &redactor))
        });
        let seen = tokio::select! {
            seen = work => seen.unwrap_or(Observation::Stopped),
            () = self.cancel.cancelled() => Observation::Stopped,
        };
        with_masked_names(seen, &self.host.redactor)
    }

    /// Looks up names in the workspace and in what the specialist received.
    async fn look_up(&self, names: &[String]) -> Observation {
        let Some(received) = self.received.clone() else { return Observation::Stopped };
        let (names, workspace) = (names.to_vec(), self.host.workspace.clone());
        let material = Material::of(&received, self.trace);
        let work =
            tokio::task::spawn_blocking(move || names::look_up(&names, &material, &workspace));
        tokio::select! {
            seen = work => seen.map_or(Observation::Stopped, Observation::Names),
            () = self.cancel.cancelled() => Observation::Stopped,
        }
    }

    /// Looks up what files define under names.
    async fn definitions(&self, files: &[String], names: &[String]) -> Observation {
        let (files, names, workspace) =
            (files.to_vec(), names.to_vec(), self.host.workspace.clone());
        let (redactor, cancel) = (self.host.redactor.clone(), self.cancel.clone());
        let work = tokio::task::spawn_blocking(move || {
            definitions::look_up(&files, &names, &workspace, &redactor, &cancel)
        });
        work.await.unwrap_or(Observation::Stopped)
    }

    /// Executes a command.
    pub(super) async fn run(&self, argv: &[String], timeout: Option<Duration>) -> CommandRun {
        let at = self.host.clock.now();
        let (run, changes) = self.watched(argv, timeout).await;
        let incomplete = run.process.as_ref().is_some_and(|process| process.manifest_truncated);
        if !changes.is_empty() || incomplete {
            let record = recorded(argv, at, &run, changes);
            // Without the lease the verdict is not read.
            if let Some(recorder) = self.recorder {
                let _ = recorder.record(record).await;
            }
        }
        run
    }

    /// Executes a command, and returns the changes of files that a person has to see.
    pub(super) async fn watched(
        &self,
        argv: &[String],
        timeout: Option<Duration>,
    ) -> (CommandRun, Vec<Change>) {
        let left = self.deadline.map(|end| end.saturating_duration_since(clock::instant()));
        let not_run = |ended: CommandEnd| CommandRun {
            ended,
            last_words: String::new(),
            lacked: String::new(),
            duration_ms: 0,
            process: None,
        };
        let unchanged = |run: CommandRun| (run, Vec::new());
        let cwd = match self.host.workspace.cwd(self.cwd) {
            Ok(cwd) => cwd,
            Err(error) => return unchanged(not_run(CommandEnd::NotStarted(error.to_string()))),
        };
        if argv.is_empty() {
            return unchanged(not_run(CommandEnd::NotStarted("the command is empty".to_owned())));
        }
        let spawn = Spawn {
            argv: argv.to_vec(),
            own_program: Spawn::is_script(argv),
            cwd,
            env: without_caches(self.env),
            stdin: Vec::new(),
            timeout: [timeout, left].into_iter().flatten().min(),
            idle: None,
            max_stream: limits::STREAM_BYTES,
        };
        let network = self.sandboxed.unwrap_or_default();
        let of_specialist = |nested| self.host.processes.confined(&network.into(), nested);
        let (origin, records) = match self.sandboxed {
            Some(_) => (Origin::Others(&of_specialist), Records::All),
            None => (Origin::Author(self.confined), Records::Confined(self.confined)),
        };
        let working = spawn.cwd.clone();
        let watched = match self.host.start(records).run(spawn, origin, self.cancel, None).await {
            Ok(watched) => watched,
            Err(refused) => {
                let reason = match refused.code {
                    Code::NEEDS_APPROVAL => format!("{}; `--yes` approves it", refused.message),
                    _ => refused.to_string(),
                };
                return unchanged(not_run(CommandEnd::Unknown(reason)));
            }
        };
        let WatchedProcess { exited, process, changes, failure, supervisor, confined } = watched;
        if let Some(failure) = failure {
            let process = Some(Box::new(process));
            let run = not_run(CommandEnd::Forbidden(failure.to_string()));
            return (CommandRun { process, ..run }, changes);
        }
        let network = self.sandboxed.or(confined.map(|confined| confined.opening().network));
        let missing = network.map(|network| {
            let root = self.host.workspace.root();
            let ran = Ran { argv, cwd: &working, root, network };
            run_blocking(|| MissingAccess::of(&supervisor, &ran, &exited))
        });
        let lacked = missing.and_then(|missing| match self.sandboxed {
            None => missing.help_for_author(),
            Some(_) => missing.note_for_gate(),
        });
        let lacked = self.host.redactor.mask_text(&lacked.unwrap_or_default()).into_owned();
        (CommandRun { lacked, ..ran(&self.host.redactor, exited, process) }, changes)
    }
}

/// The environment of a check, in which Python reads and writes no compiled files: the step can have written them.
fn without_caches(env: &[(String, String)]) -> Vec<(String, String)> {
    let mut env = env.to_vec();
    if !env.iter().any(|(name, _)| name == PYTHON_CACHE) {
        env.push((PYTHON_CACHE.to_owned(), "/dev/null".to_owned()));
    }
    env
}

fn is_command(ask: &ObservationQuery) -> bool {
    matches!(ask, ObservationQuery::Command { .. })
}

fn ran(redactor: &Redactor, exited: ProcessResult, process: ProcessEvidence) -> CommandRun {
    CommandRun {
        last_words: last_line(redactor, &ends(&exited)).unwrap_or_default(),
        lacked: String::new(),
        duration_ms: exited.duration.as_millis() as u64,
        process: Some(Box::new(process)),
        ended: match exited.end {
            ProcessEnd::Code(code) => CommandEnd::Code(code),
            ProcessEnd::Signal(signal) => CommandEnd::Signal(signal),
            ProcessEnd::TimedOut | ProcessEnd::Idle => CommandEnd::TimedOut,
            ProcessEnd::Cancelled => CommandEnd::Stopped,
            ProcessEnd::Lost => CommandEnd::Unknown(ProcessEnd::LOST.to_owned()),
            ProcessEnd::NotStarted(reason) => CommandEnd::NotStarted(reason),
        },
    }
}

/// Replaces masked file names in a query by real ones: a name is that of the file whose masked name is equal.
fn with_real_names(
    ask: &ObservationQuery,
    workspace: &Workspace,
    redactor: &Redactor,
) -> ObservationQuery {
    let real = |path: &str| {
        if path.contains(MASK) {
            real_name(workspace.root(), path, redactor).unwrap_or_else(|| path.to_owned())
        } else {
            path.to_owned()
        }
    };
    match ask {
        ObservationQuery::Location(path) => ObservationQuery::Location(real(path)),
        ObservationQuery::Files { pattern, count } => {
            ObservationQuery::Files { pattern: real(pattern), count: count.clone() }
        }
        ObservationQuery::Ignored(path) => ObservationQuery::Ignored(real(path)),
        ObservationQuery::Command { .. }
        | ObservationQuery::Names(_)
        | ObservationQuery::Definitions { .. }
        | ObservationQuery::Committed(_)
        | ObservationQuery::IgnoredChanges(_)
        | ObservationQuery::Judge => ask.clone(),
    }
}

fn real_name(root: &Path, path: &str, redactor: &Redactor) -> Option<String> {
    let mut real = String::new();
    for part in path.split('/') {
        let mut found = part.to_owned();
        if part.contains(MASK) {
            let names = std::fs::read_dir(root.join(&real)).ok()?;
            let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let mut alike = names.filter(|name| redactor.mask_text(name) == part);
            found = alike.next()?;
            // Two files have the same masked name, so the name is ambiguous.
            if alike.next().is_some() {
                return None;
            }
        }
        real = if real.is_empty() { found } else { format!("{real}/{found}") };
    }
    Some(real)
}

fn with_masked_names(seen: Observation, redactor: &Redactor) -> Observation {
    let masked = |file: MatchedFile| MatchedFile {
        path: redactor.mask_text(&file.path).into_owned(),
        ..file
    };
    match seen {
        Observation::Files(Ok(files)) => {
            Observation::Files(Ok(files.into_iter().map(masked).collect()))
        }
        Observation::Location(Ok(location)) => {
            let mask = |path: &str| redactor.mask_text(path).into_owned();
            Observation::Location(Ok(Location {
                entry: mask(&location.entry),
                target: location.target.map(|(path, state)| (mask(&path), state)),
                ..location
            }))
        }
        Observation::IgnoredChanges(Some(mut found)) => {
            for file in &mut found {
                file.path = redactor.mask_text(&file.path).into_owned();
            }
            Observation::IgnoredChanges(Some(found))
        }
        other => other,
    }
}

fn look_at_files(workspace: &Workspace, ask: &ObservationQuery) -> Observation {
    match ask {
        ObservationQuery::Location(path) => Observation::Location(location(workspace, path)),
        ObservationQuery::Ignored(path) => Observation::Ignored(workspace.ignores(path)),
        ObservationQuery::IgnoredChanges(asked) => {
            Observation::IgnoredChanges(ignored_changes::changed(workspace, asked))
        }
        ObservationQuery::Files { pattern, count } => {
            Observation::Files(matched_files(workspace, pattern, count.as_deref()))
        }
        ObservationQuery::Command { .. }
        | ObservationQuery::Names(_)
        | ObservationQuery::Definitions { .. }
        | ObservationQuery::Committed(_)
        | ObservationQuery::Judge => Observation::Stopped,
    }
}

fn location(workspace: &Workspace, path: &str) -> Result<Location, ObservationError> {
    let resolved = match workspace.resolved(path) {
        Ok(resolved) => resolved,
        Err(error @ PathError::WrongKind { .. }) => {
            let impossible = Some(error.to_string());
            return Ok(Location { entry: path.to_owned(), impossible, ..Location::default() });
        }
        Err(error) => return Err(not_observed(error)),
    };
    if resolved.state.is_none() && has_unreadable_name(workspace.root(), &resolved.entry) {
        let reason =
            "a name in the path is not valid UTF-8 on disk, so the file is not known".to_owned();
        return Err(ObservationError { denied: false, reason });
    }
    let full = workspace.root().join(&resolved.entry);
    let is_folder = resolved.state.as_ref().is_some_and(|s| s.kind == FileKind::Directory);
    let empty = is_folder && contains_only_folders(&full, 16);
    Ok(Location {
        ignored: workspace.ignores(&resolved.entry),
        entry: resolved.entry,
        state: resolved.state,
        target: resolved.target,
        empty,
        impossible: None,
    })
}

/// Whether a file has this path if bytes of names that are not UTF-8 are replaced by U+FFFD, as in evidence
/// and claims.
fn has_unreadable_name(root: &Path, path: &str) -> bool {
    if !path.contains(char::REPLACEMENT_CHARACTER) {
        return false;
    }
    let mut real = root.to_owned();
    path.split('/').all(|part| {
        let names = std::fs::read_dir(&real).into_iter().flatten().flatten();
        let found =
            names.map(|entry| entry.file_name()).find(|name| name.to_string_lossy() == part);
        found.map(|name| real.push(name)).is_some()
    })
}

/// Whether a folder contains no files, up to this depth.
fn contains_only_folders(folder: &Path, depth: usize) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        let is_folder =
            |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        entry.is_ok_and(|entry| {
            depth > 0 && is_folder(&entry) && contains_only_folders(&entry.path(), depth - 1)
        })
    })
}
