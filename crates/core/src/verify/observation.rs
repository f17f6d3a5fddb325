//! What a gate must observe, and what was observed.
//!
//! Journals contain these types, so their serialised names cannot change.

use super::ignored_files::{IgnoredChange, IgnoredFiles};
use crate::evidence::{FileState, Judgement, ProcessEvidence};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A question about the workspace that a gate needs answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ObservationQuery {
    /// Where a path leads, with its current state.
    Location(String),
    /// Whether ignore rules exclude a path, so that scans do not record changes to it.
    Ignored(String),
    /// The ignored files that changed since a moment.
    IgnoredChanges(IgnoredFiles),
    /// Which of these files the last commit has as they are on disk.
    Committed(Vec<String>),
    /// The files that a path or glob matches.
    Files {
        /// Relative to the workspace.
        pattern: String,
        /// A regular expression to count in each file.
        count: Option<String>,
    },
    /// Where names are that an answer has: in the workspace, and in what the specialist received.
    Names(Vec<String>),
    /// What files define under names.
    Definitions {
        /// Relative to the workspace.
        files: Vec<String>,
        /// Names without the names of what they lie in.
        names: Vec<String>,
    },
    /// The assessment of the answer by a judge.
    Judge,
    /// The result of a command.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Time limit; the timeout of the gate applies as well.
        timeout: Option<Duration>,
    },
}

/// Observations by their queries.
pub type Observations = BTreeMap<ObservationQuery, Observation>;

/// The answer to an [`ObservationQuery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Observation {
    /// Where a path leads.
    Location(Result<Location, ObservationError>),
    /// Whether ignore rules exclude a path.
    Ignored(bool),
    /// The ignored files that changed; `None` if they could not be compared.
    IgnoredChanges(Option<Vec<IgnoredChange>>),
    /// The files that the last commit has as they are on disk; of those that are gone, the ones that it has not.
    Committed(Vec<String>),
    /// The matching files, in path order.
    Files(Result<Vec<MatchedFile>, ObservationError>),
    /// Where the names are.
    Names(NamesSeen),
    /// The definitions under the names in each file. Files that do not exist or whose language is not read are absent.
    Definitions(BTreeMap<String, Vec<DefinedName>>),
    /// The result of a command.
    Command(CommandRun),
    /// The assessment of the answer by a judge.
    Judge(JudgeReply),
    /// The gate was stopped before the observation.
    Stopped,
}

/// Where a path leads, and the state there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// Relative to the workspace, with links in the folders resolved.
    pub entry: String,
    /// The state of the path; a link at its end is not followed.
    pub state: Option<FileState>,
    /// Path and state of the file that a link at its end leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<(String, FileState)>,
    /// Whether ignore rules exclude the path.
    pub ignored: bool,
    /// Whether it is a folder without entries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Why no file can have the path, such as a file in the place of a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
}

/// Why an observation failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservationError {
    /// Whether the path guard refused the path. `false`: the file operation failed.
    pub denied: bool,
    /// A fragment for people.
    pub reason: String,
}

/// Where the names of an answer are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamesSeen {
    /// Each name with the place.
    pub places: BTreeMap<String, NamePlace>,
    /// Whether the task asks for something that does not exist yet, such as a plan.
    pub to_come: bool,
}

/// Where a name of an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NamePlace {
    /// In the workspace, in a result of a call, or in what the specialist was told.
    Known,
    /// The first folder of the path does not exist, so it is no path of the workspace.
    Elsewhere,
    /// Not everything could be searched, or only a failed call names it.
    Unclear,
    /// In none of these places, and everything was searched.
    Nowhere,
}

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinedName {
    /// The name without the names of what it lies in.
    pub name: String,
    /// Names of the definitions that it lies in, outermost first, separated by `.`; empty at the top level.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container: String,
    /// Number of its first line, from 1.
    pub first: u64,
    /// Number of its last line.
    pub last: u64,
}

/// A file that matches a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchedFile {
    /// Relative to the workspace, `/`-separated, NFC.
    pub path: String,
    /// Number of matches of the regular expression, if the query has one.
    pub occurrences: Option<u64>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandRun {
    /// How the process ended.
    pub ended: CommandEnd,
    /// The last line of stderr, or of stdout if stderr is empty.
    pub last_words: String,
    /// What it lacked in the sandbox, with what opens it. No verdict reads it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lacked: String,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Argv, working directory, digest of the environment, result, truncated bytes. No verdict
    /// reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Box<ProcessEvidence>>,
}

/// The assessment of a judge, with the model and its usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeReply {
    /// The validated assessment, or why there is none.
    pub judgement: Result<Judgement, String>,
    /// Unverified mentions that exist in the workspace.
    pub confirmed: Vec<String>,
    /// Name of the model.
    pub model: String,
}

/// How the process of a `command` check ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandEnd {
    /// With this exit code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Stopped at its timeout.
    TimedOut,
    /// Stopped together with the gate.
    Stopped,
    /// It could not be started, with the reason.
    NotStarted(String),
    /// Not executed until a person approves it, or its end is not known; with the reason.
    Unknown(String),
    /// It changed what only people change; with what it was.
    Forbidden(String),
}
