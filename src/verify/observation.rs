use crate::evidence::FileState;
use crate::value::Json;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Something that has to be looked at before a gate can speak.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ObservationQuery {
    /// What one path is now, with its digest.
    Path(String),
    /// Whether ignore rules hide a path, so that no scan sees changes to it.
    Ignored(String),
    /// The files that a path or glob names.
    Files {
        /// Relative to the workspace.
        pattern: String,
        /// A regular expression to count in each of them.
        count: Option<String>,
    },
    /// How a command ends.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The most it may take; the gate's own bound holds over it.
        timeout: Option<Duration>,
    },
}

/// What was seen, by what was asked.
pub type Observations = BTreeMap<ObservationQuery, Observation>;

/// What was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Observation {
    /// The state of a path; `None` where nothing is.
    Path(Result<Option<FileState>, ObservationError>),
    /// Whether ignore rules hide a path.
    Ignored(bool),
    /// Files in path order.
    Files(Result<Vec<MatchedFile>, ObservationError>),
    /// The end of a command.
    Command(CommandRun),
    /// The gate was stopped before it could look.
    Stopped,
}

/// Why something could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservationError {
    /// Whether a rule forbids it (it leads out of the workspace), rather than that it did not work.
    pub denied: bool,
    /// A fragment for people.
    pub reason: String,
}

/// A file that a pattern names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchedFile {
    /// Relative to the workspace, `/`-separated, NFC.
    pub path: String,
    /// How often the regular expression occurs in it, where that was asked.
    pub occurrences: Option<u64>,
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandRun {
    /// Its end.
    pub ended: CommandEnd,
    /// The last line that it wrote, to stderr if any.
    pub last_words: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Argv, cwd, digest of its environment, end, bytes cut; no verdict reads it.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub process: Json,
}

/// The ways in which a checking command ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandEnd {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its time ran out.
    TimedOut,
    /// The gate was stopped.
    Stopped,
    /// It never began, and why.
    NotStarted(String),
}
