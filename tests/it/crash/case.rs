//! One crash case: a project, its kills, and what must hold afterwards.

use super::law::{Count, Life, hold, lost_sight_of_a_call};
use super::ledger::{self, Line};
use super::orphans;
use super::project::{self, LEDGER};
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use kb::inspect::Frozen;
use kb::journal::{RunRow, StoredEvent};
use kb::plan::Plan;
use kb::run::RunStatus;
use kb::value::{Json, RunId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A lease owner that does not end by itself within this time hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// One run of the real binary in a project of its own, through all its lease owners.
pub(super) struct Case {
    pub(super) scratch: Scratch,
    pub(super) lives: Vec<Life>,
    /// How often what keeps the steps was killed while `kb` lived on: a step may have failed of it.
    pub(super) inits_killed: u64,
    run: Option<(RunId, Arc<Plan>)>,
}

/// What a user does next.
pub(super) enum Next {
    Begin,
    Resume(RunId),
    Approve(RunId),
    Retry(RunId),
    Nothing(RunStatus),
}

/// How a lease owner left.
pub(super) enum Left {
    Killed,
    Exit(i32),
}

/// What a run ends with; the same however often it was killed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Product {
    pub(super) files: BTreeMap<String, String>,
    pub(super) outputs: Value,
}

impl Case {
    pub(super) fn new() -> Case {
        Case { scratch: project::scratch(), lives: Vec::new(), inits_killed: 0, run: None }
    }

    /// The folder that holds everything of the case.
    pub(super) fn folder(&self) -> PathBuf {
        self.scratch.root().parent().unwrap().canonicalize().unwrap()
    }

    /// The journal's folder, once there is one.
    pub(super) fn state(&self) -> Option<PathBuf> {
        let mut found = std::fs::read_dir(self.folder().join("state/kb")).ok()?.flatten();
        found.next().map(|entry| entry.path())
    }

    /// A copy of the journal as it lies on the disk: what recovers it is the next `kb`, not this.
    fn copied(&self) -> Option<(tempfile::TempDir, PathBuf)> {
        let state = self.state()?;
        let copy = tempfile::tempdir_in(self.folder()).unwrap();
        for name in ["journal.sqlite3", "journal.sqlite3-wal"] {
            match std::fs::copy(state.join(name), copy.path().join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
        }
        let path = copy.path().to_owned();
        path.join("journal.sqlite3").exists().then_some((copy, path))
    }

    /// The run's row and its events, as they lie on the disk.
    fn stored(&self) -> Result<Option<(RunRow, Json, Vec<StoredEvent>)>, String> {
        let Some((_keep, path)) = self.copied() else { return Ok(None) };
        let broken = |error: &dyn std::fmt::Display| format!("the journal: {error}");
        let connection =
            rusqlite::Connection::open(path.join("journal.sqlite3")).map_err(|e| broken(&e))?;
        let check: String = connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .map_err(|e| broken(&e))?;
        if check != "ok" {
            return Err(format!("integrity_check says {check}"));
        }
        drop(connection);
        let journal = kb::journal::open(&path, Default::default()).map_err(|e| broken(&e))?;
        let rows = journal.list().map_err(|e| broken(&e))?;
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let events = journal.events(&row.run, 0).map_err(|e| broken(&e))?;
        let frozen = journal.frozen(&row.run).map_err(|e| broken(&e))?;
        Ok(Some((row, frozen, events)))
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        ledger::read(&self.scratch.root().join(LEDGER))
    }

    /// Writes down where journal and ledger stand now that a lease owner is gone, and says what a user
    /// would do.
    pub(super) fn note(&mut self, left: &Left, said: &Path) -> Result<Next, String> {
        let lines = self.lines().len();
        let stored = self.stored()?;
        let killed = matches!(left, Left::Killed);
        let Some((row, frozen, events)) = stored else {
            return if killed { Ok(Next::Begin) } else { Err(self.complaint("no run", said)) };
        };
        if self.run.is_none() {
            let frozen: Frozen = serde_json::from_value(frozen).unwrap();
            let (_, plan) = frozen.load().map_err(|error| error.to_string())?;
            self.run = Some((row.run.clone(), plan));
        }
        said_only_what_is_stored(said, &events)?;
        let fails_of_kills = self.inits_killed > 0 || lost_sight_of_a_call(&events);
        self.lives.push(Life { events, lines, killed });
        match (left, row.status) {
            (Left::Exit(0), RunStatus::Succeeded) | (Left::Killed, RunStatus::Succeeded) => {
                Ok(Next::Nothing(row.status))
            }
            (Left::Exit(3) | Left::Killed, RunStatus::Waiting) => Ok(Next::Approve(row.run)),
            (Left::Killed, RunStatus::Running | RunStatus::Interrupted) => {
                Ok(Next::Resume(row.run))
            }
            (Left::Exit(1) | Left::Killed, RunStatus::Failed) if fails_of_kills => {
                Ok(Next::Retry(row.run))
            }
            (Left::Exit(code), status) => {
                Err(self.complaint(&format!("exit {code}, and the run is {status}"), said))
            }
            (_, status) => Err(self.complaint(&format!("the run is {status}"), said)),
        }
    }

    fn complaint(&self, what: &str, said: &Path) -> String {
        let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let (out, err) = (text(said), text(&said.with_extension("err")));
        format!("{what} after {} owners\n{out}\n{err}", self.lives.len())
    }

    /// Calls the binary as a user would; what it says goes to files, so that nobody has to read on.
    pub(super) fn start(
        &self,
        next: &Next,
        change: impl FnOnce(&mut Command),
    ) -> (Running, PathBuf) {
        let mut command = self.scratch.command();
        match next {
            Next::Begin => {
                command.args(["playbook", "run", "p", "--script", "script.yml", "--yes", "--json"])
            }
            Next::Resume(run) => command.args(["run", "resume", run.as_str(), "--json"]),
            Next::Retry(run) => command.args(["run", "retry", run.as_str(), "--json"]),
            Next::Approve(run) => command.args(["run", "approve", run.as_str()]),
            Next::Nothing(status) => panic!("the run has {status}"),
        };
        let said = self.folder().join("said.jsonl");
        command.stdout(File::create(&said).unwrap());
        command.stderr(File::create(said.with_extension("err")).unwrap());
        command.stdin(Stdio::null()).process_group(0);
        change(&mut command);
        (command.start(), said)
    }

    /// Holds a run that has ended to every law, and says what it ended with.
    pub(super) fn conclude(&self) -> Result<(Count, Product), String> {
        let (run, plan) = self.run.as_ref().ok_or("there was no run")?;
        let count = hold(run, plan, &self.lives, &self.lines())?;
        orphans::gone(&self.folder())?;
        // Where everything was killed at once, what it left is for the next to clear away.
        let next = self.scratch.kb(&["playbook", "run", "next", "--quiet"]);
        if next.code != 0 {
            return Err(format!("the next run: {next:?}"));
        }
        orphans::no_temporary_files(&self.folder())?;
        let said = self.scratch.kb(&["run", "output", run.as_str(), "--json"]);
        let outputs = serde_json::from_str(&said.out).map_err(|e| format!("{e}: {said:?}"))?;
        Ok((count, Product { files: project::result(&self.scratch.root()), outputs }))
    }
}

/// Waits for a lease owner's end, at most until a moment; whether it has ended by itself.
pub(super) fn ended_before(
    child: &mut Running,
    until: Option<Instant>,
) -> Result<Option<i32>, String> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(Some(status.code().unwrap_or(-1)));
        }
        let left = match until {
            Some(until) => until.saturating_duration_since(Instant::now()),
            None => Duration::from_millis(5),
        };
        if left.is_zero() {
            return Ok(None);
        }
        if began.elapsed() > PATIENCE {
            return Err("an owner never ends".into());
        }
        std::thread::sleep(left.min(Duration::from_millis(2)));
    }
}

/// Nothing is acknowledged before it is stored: every event that was shown is in the journal.
fn said_only_what_is_stored(said: &Path, events: &[StoredEvent]) -> Result<(), String> {
    let text = std::fs::read_to_string(said).unwrap_or_default();
    // The last line may have been cut by the kill.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let Some(seq) = event["seq"].as_u64() else { continue };
        if seq > events.len() as u64 {
            let stored = events.len();
            return Err(format!("shown, with {stored} events in the journal: {line}"));
        }
    }
    Ok(())
}
