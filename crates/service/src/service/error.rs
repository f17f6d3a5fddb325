//! The error type of the use cases, with the code and help of each error.

use crate::project::NoFolder;
use kb_base::diagnostic::{Code, Diagnostic, Sources, nearest};
use kb_base::value::Failure;
use kb_core::redaction::{Mask, Redactor};
use kb_engine::inspect::InspectError;
use kb_engine::journal::{self, JournalError};
use std::fmt;
use std::path::{Path, PathBuf};

/// Kind of a thing that is looked up by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// A playbook or workflow.
    Playbook,
    /// A specialist or agent profile.
    Specialist,
    /// A tool that the project defines in `.kb/plugins`.
    Plugin,
    /// An MCP server of the settings or of a specialist.
    McpServer,
    /// A coding agent of the settings, or one that is known.
    Agent,
    /// A run, by id or `@last`.
    Run,
    /// A step of a run or definition.
    Step,
    /// A template of `kb playbook new` or `kb specialist new`.
    Template,
    /// A diagnostic code.
    Code,
    /// A trigger, by the name that `kb trigger list` shows.
    Trigger,
    /// A token of the API.
    Token,
    /// An artifact of a run.
    Artifact,
    /// A stored result.
    Cached,
    /// A remembered sentence, by its id.
    MemoryEntry,
    /// A suggestion of `kb learn`.
    Suggestion,
    /// A file that was named on the command line.
    File,
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ResourceKind::Playbook => "playbook",
            ResourceKind::Specialist => "specialist",
            ResourceKind::Plugin => "plugin",
            ResourceKind::McpServer => "MCP server",
            ResourceKind::Agent => "agent",
            ResourceKind::Run => "run",
            ResourceKind::Step => "step",
            ResourceKind::Template => "template",
            ResourceKind::Code => "code",
            ResourceKind::Trigger => "trigger",
            ResourceKind::Token => "token",
            ResourceKind::Artifact => "artifact",
            ResourceKind::Cached => "stored result or step",
            ResourceKind::MemoryEntry => "memory entry",
            ResourceKind::Suggestion => "suggestion",
            ResourceKind::File => "file",
        })
    }
}

/// Why a use case failed. A failed run is not an error: it has a summary.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No `.kb/` folder in the working directory or above it.
    #[error("no `.kb/` folder here or above `{}`", from.display())]
    NoProject {
        /// The working directory.
        from: PathBuf,
    },
    /// Nothing has this name.
    #[error("there is no {kind} `{name}`")]
    Unknown {
        /// Kind of the thing that was looked up.
        kind: ResourceKind,
        /// The name as given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// Definitions with errors, or parameters that do not match them.
    #[error("{}", kb_base::diagnostic::summary(diagnostics))]
    Definitions {
        /// All problems of the requested definitions.
        diagnostics: Vec<Diagnostic>,
        /// The texts that the problems point into.
        sources: Box<Sources>,
    },
    /// The request cannot be carried out; the failure has the reason and the fix.
    #[error("{}", .0.message)]
    Refused(Box<Failure>),
    /// The environment does not allow it: files, permissions, models, sandbox.
    #[error("{}", .0.message)]
    Environment(Box<Failure>),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl ServiceError {
    /// An error for a name that does not exist among the known ones.
    pub fn unknown(
        kind: ResourceKind,
        name: impl Into<String>,
        known: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let known = known.into_iter().map(Into::into).collect();
        ServiceError::Unknown { kind, name: name.into(), known }
    }

    /// An error for a folder that is in no project that can be used.
    pub fn no_project(from: &Path, found: NoFolder) -> Self {
        let NoFolder::OfOthers { path, owner } = found else {
            return ServiceError::NoProject { from: from.to_owned() };
        };
        let message = format!(
            "`{}` belongs to another user ({owner}), who decides what `kb` executes here",
            path.display()
        );
        let help = "`kb doctor --trust` trusts the owner of this project; `kb init` makes this folder a project of your own";
        ServiceError::environment(Failure::new(Code::PROJECT_OF_OTHERS, message).help(help))
    }

    /// An error for a request that cannot be carried out.
    pub fn refused(failure: Failure) -> Self {
        ServiceError::Refused(Box::new(failure))
    }

    /// An error for an environment that does not allow the request.
    pub fn environment(failure: Failure) -> Self {
        ServiceError::Environment(Box::new(failure))
    }

    /// The code of the error, if it has one; `kb explain` shows its page.
    pub fn code(&self) -> Option<Code> {
        match self {
            ServiceError::Refused(failure) | ServiceError::Environment(failure) => {
                Some(failure.code)
            }
            ServiceError::Journal(error) => Some(journal_code(error)),
            ServiceError::Unknown { kind: ResourceKind::Run, .. } => Some(Code::NO_SUCH_RUN),
            _ => None,
        }
    }

    /// The fix, if one is known.
    pub fn help(&self) -> Option<String> {
        match self {
            ServiceError::NoProject { .. } => {
                Some("run `kb init` to create one here, or `kb demo` to try an example".to_owned())
            }
            ServiceError::Unknown { kind, name, known } => Some(suggest(*kind, name, known)),
            ServiceError::Definitions { diagnostics, .. } => Some(explained_by(diagnostics)),
            ServiceError::Refused(failure) | ServiceError::Environment(failure) => {
                failure.help.clone()
            }
            ServiceError::Journal(error) => journal_help(error),
        }
    }
}

/// Masks what a run knows: the texts of failures, and names that were passed. Definitions are quoted as they
/// are written; a run whose definitions contain a secret is refused with its name alone.
impl Mask for ServiceError {
    fn masked_by(self, redactor: &Redactor) -> Self {
        match self {
            ServiceError::Refused(failure) => ServiceError::Refused(failure.masked_by(redactor)),
            ServiceError::Environment(failure) => {
                ServiceError::Environment(failure.masked_by(redactor))
            }
            ServiceError::Unknown { kind, name, known } => ServiceError::Unknown {
                kind,
                name: name.masked_by(redactor),
                known: known.masked_by(redactor),
            },
            ServiceError::Journal(error) => ServiceError::Journal(error),
            ServiceError::NoProject { from } => ServiceError::NoProject { from },
            ServiceError::Definitions { diagnostics, sources } => {
                ServiceError::Definitions { diagnostics, sources }
            }
        }
    }
}

impl From<InspectError> for ServiceError {
    fn from(error: InspectError) -> Self {
        match error {
            InspectError::UnknownRun { name, known } => {
                ServiceError::unknown(ResourceKind::Run, name, known)
            }
            InspectError::UnknownStep { name, known } => {
                ServiceError::unknown(ResourceKind::Step, name, known)
            }
            InspectError::UnknownArtifact { name, known } => {
                ServiceError::unknown(ResourceKind::Artifact, name, known)
            }
            InspectError::NoOutput(failure) => ServiceError::Refused(failure),
            InspectError::UnreadableDefinitions { .. } => {
                let code = Code::JOURNAL_UNUSABLE;
                ServiceError::environment(Failure::new(code, error.to_string()))
            }
            InspectError::NotAsRecorded { ref run, .. } => {
                let help = format!(
                    "`kb run verify {run}` lists every mismatch; start a new run with `kb playbook run`, or \
                     restore the journal from a backup"
                );
                let failure = Failure::new(Code::CHAIN_BROKEN, error.to_string());
                ServiceError::environment(failure.help(help))
            }
            InspectError::Definitions { diagnostics, sources } => {
                ServiceError::Definitions { diagnostics, sources }
            }
            InspectError::Journal(error) => ServiceError::Journal(error),
        }
    }
}

/// The command that explains the codes.
fn explained_by(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [first, rest @ ..] if rest.iter().all(|other| other.code == first.code) => {
            format!("`kb explain {}` shows the details", first.code)
        }
        _ => "`kb explain CODE` shows the details of each".to_owned(),
    }
}

fn suggest(kind: ResourceKind, name: &str, known: &[String]) -> String {
    // The newest runs; their ids say little.
    let most = if kind == ResourceKind::Run { 5 } else { 12 };
    match kind {
        ResourceKind::File => {
            return "check the path; it is relative to the working directory".to_owned();
        }
        ResourceKind::Code => return "`kb explain` lists all codes".to_owned(),
        _ => {}
    }
    // The part before a dot is enough: the id of a trigger is `PLAYBOOK.NAME`.
    let stem = |id: &'_ str| id.split('.').next().unwrap_or_default().len();
    let near = nearest(name, known.iter().map(String::as_str)).or_else(|| {
        let of = nearest(&name[..stem(name)], known.iter().map(|id| &id[..stem(id)]))?;
        known.iter().map(String::as_str).find(|id| &id[..stem(id)] == of)
    });
    let near = near.or_else(|| {
        (kind == ResourceKind::Run && name.starts_with('@') && !known.is_empty()).then_some("@last")
    });
    if let (Some(near), [_]) = (near, known) {
        return format!("did you mean `{near}`?");
    }
    let mut text = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    if known.is_empty() {
        text.push_str(&format!("there is no {kind} yet"));
        return text;
    }
    let list: Vec<&str> = known.iter().take(most).map(String::as_str).collect();
    text.push_str(&format!("available: {}", list.join(", ")));
    if known.len() > most {
        text.push_str(&format!(" and {} more", known.len() - most));
    }
    text
}

fn journal_code(error: &JournalError) -> Code {
    match error {
        JournalError::NoRun(_) | JournalError::Ambiguous { .. } => Code::NO_SUCH_RUN,
        JournalError::Leased { .. } => Code::RUN_LEASED,
        JournalError::LeaseLost(_) => Code::LEASE_LOST,
        JournalError::Newer { .. } => Code::JOURNAL_NEWER,
        JournalError::Full(_) => Code::JOURNAL_FULL,
        JournalError::Locked => Code::JOURNAL_LOCKED,
        JournalError::Disk { .. }
        | JournalError::Denied(_)
        | JournalError::Lost(_)
        | JournalError::Damaged(_)
        | JournalError::Broken(_) => Code::JOURNAL_UNUSABLE,
    }
}

fn journal_help(error: &JournalError) -> Option<String> {
    Some(match error {
        JournalError::NoRun(_) => "`kb run list` lists the runs".to_owned(),
        JournalError::Ambiguous { .. } => "use more letters of the run id".to_owned(),
        JournalError::Leased { run, pid } => format!(
            "process {pid} drives it; follow it with `kb run logs {run} --follow` or stop it with \
             `kb run cancel {run}`"
        ),
        JournalError::LeaseLost(run) => {
            format!("another process took over the run; `kb run show {run}` shows its status")
        }
        JournalError::Newer { .. } => {
            "update `kb`; the journal was written by a newer version and was not changed"
                .to_owned()
        }
        JournalError::Full(_) => {
            "free disk space, then run `kb run resume @last`; nothing that was recorded is lost"
                .to_owned()
        }
        JournalError::Locked => format!(
            "end the program that keeps it locked (`fuser {}` in the state folder names it), then repeat \
             the command; `kb run resume @last` continues a run that has started",
            journal::FILE
        ),
        JournalError::Disk { .. } => {
            "check the disk (`dmesg`, `df`), then run `kb run resume @last`; the run continues from \
             its last recorded event"
                .to_owned()
        }
        JournalError::Denied(_) => {
            "fix the owner and permissions of the folder and its files, or set `XDG_STATE_HOME` to \
             another folder"
                .to_owned()
        }
        JournalError::Lost(_) => {
            "find out what changed the state folder, for example a step of the playbook; restore the \
             folder and run `kb run resume @last`, or start a new run"
                .to_owned()
        }
        JournalError::Damaged(_) | JournalError::Broken(_) => {
            "`kb doctor` checks the state folder".to_owned()
        }
    })
}
