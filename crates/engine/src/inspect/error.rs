//! The error type of this module.

use crate::journal::JournalError;
use kb_base::diagnostic::{Diagnostic, Sources};
use kb_base::value::{Failure, RunId};

/// Why a recorded run could not be read.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// No run has this name.
    #[error("there is no run `{name}`")]
    UnknownRun {
        /// The name as given.
        name: String,
        /// The ids of all runs of the project.
        known: Vec<String>,
    },
    /// The run has no step or item with this name.
    #[error("there is no step `{name}`")]
    UnknownStep {
        /// The name as given.
        name: String,
        /// The steps and items of the run.
        known: Vec<String>,
    },
    /// The run has no artifact with this id.
    #[error("there is no artifact `{name}`")]
    UnknownArtifact {
        /// The id as given.
        name: String,
        /// The ids of the artifacts of the run.
        known: Vec<String>,
    },
    /// The run or step exists and has no output.
    #[error("{}", .0.message)]
    NoOutput(Box<Failure>),
    /// The stored definitions of the run cannot be decoded.
    #[error("the definitions stored with run `{run}` cannot be read: {reason}")]
    UnreadableDefinitions {
        /// The run whose stored definitions they are.
        run: RunId,
        /// The message of the decoder.
        reason: String,
    },
    /// The record of the run was changed after it was written.
    #[error("run `{run}` is not what was recorded: {reason}; nothing of it is executed")]
    NotAsRecorded {
        /// The run that was to be continued.
        run: RunId,
        /// The first mismatch of its hash chain.
        reason: String,
    },
    /// The stored definitions or a script do not load.
    #[error("{}", kb_base::diagnostic::summary(diagnostics))]
    Definitions {
        /// Every problem found.
        diagnostics: Vec<Diagnostic>,
        /// The texts that the problems point into.
        sources: Box<Sources>,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}
