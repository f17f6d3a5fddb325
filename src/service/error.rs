use crate::diagnostic::{Code, Diagnostic, Sources, nearest};
use crate::journal::JournalError;
use crate::value::Failure;
use std::fmt;
use std::path::PathBuf;

/// What a name was to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    /// A playbook or workflow.
    Playbook,
    /// A specialist or agent profile.
    Specialist,
    /// A run.
    Run,
    /// A step of a run or definition.
    Step,
    /// A template of `kb playbook new`.
    Template,
    /// A diagnostic's code.
    Code,
    /// A file.
    File,
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ResourceKind::Playbook => "playbook",
            ResourceKind::Specialist => "specialist",
            ResourceKind::Run => "run",
            ResourceKind::Step => "step",
            ResourceKind::Template => "template",
            ResourceKind::Code => "code",
            ResourceKind::File => "file",
        })
    }
}

/// Why a use case could not be carried out. A run that failed is no error: it has a summary.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No ancestor holds `.kb/`.
    #[error("no `.kb/` folder here or above `{}`", from.display())]
    NoProject {
        /// Where the search began.
        from: PathBuf,
    },
    /// A name that names nothing.
    #[error("there is no {kind} `{name}`")]
    Unknown {
        /// What was looked for.
        kind: ResourceKind,
        /// As given.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Definitions that do not run, or parameters that do not fit them.
    #[error("{}", crate::diagnostic::summary(diagnostics))]
    Definitions {
        /// Every problem of what was asked for.
        diagnostics: Vec<Diagnostic>,
        /// The texts that they point into.
        sources: Box<Sources>,
    },
    /// What was asked for cannot be done; the failure says why and the mend.
    #[error("{}", .0.message)]
    Refused(Box<Failure>),
    /// The place does not allow it: files, permissions, models, sandbox.
    #[error("{}", .0.message)]
    Environment(Box<Failure>),
    /// The journal does not.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl ServiceError {
    /// A name that names nothing, among these.
    pub fn unknown(
        kind: ResourceKind,
        name: impl Into<String>,
        known: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let known = known.into_iter().map(Into::into).collect();
        ServiceError::Unknown { kind, name: name.into(), known }
    }

    /// What was asked for cannot be done.
    pub fn refused(failure: Failure) -> Self {
        ServiceError::Refused(Box::new(failure))
    }

    /// The place does not allow it.
    pub fn environment(failure: Failure) -> Self {
        ServiceError::Environment(Box::new(failure))
    }

    /// What `kb explain` tells more about, where there is such a page.
    pub fn code(&self) -> Option<&str> {
        match self {
            ServiceError::Refused(failure) | ServiceError::Environment(failure) => {
                Some(&failure.code)
            }
            ServiceError::Journal(error) => Some(journal_code(error).as_str()),
            ServiceError::Unknown { kind: ResourceKind::Run, .. } => {
                Some(Code::NO_SUCH_RUN.as_str())
            }
            _ => None,
        }
    }

    /// The mend, where one is known.
    pub fn help(&self) -> Option<String> {
        match self {
            ServiceError::NoProject { .. } => Some(
                "run `kb init` to make one here, or `kb demo` to see the whole thing".to_owned(),
            ),
            ServiceError::Unknown { kind, name, known } => Some(suggest(*kind, name, known)),
            ServiceError::Definitions { diagnostics, .. } => Some(explained_by(diagnostics)),
            ServiceError::Refused(failure) | ServiceError::Environment(failure) => {
                failure.help.clone()
            }
            ServiceError::Journal(error) => journal_help(error),
        }
    }
}

/// The command that tells more.
fn explained_by(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [first, rest @ ..] if rest.iter().all(|other| other.code == first.code) => {
            format!("`kb explain {}` tells more", first.code)
        }
        _ => "`kb explain CODE` tells more about each of them".to_owned(),
    }
}

fn suggest(kind: ResourceKind, name: &str, known: &[String]) -> String {
    const SHOWN: usize = 12;
    match kind {
        ResourceKind::File => {
            return "check the path; it is read from the present folder on".to_owned();
        }
        ResourceKind::Code => return "`kb explain` without a code lists all of them".to_owned(),
        _ => {}
    }
    let near = nearest(name, known.iter().map(String::as_str));
    if let (Some(near), [_]) = (near, known) {
        return format!("did you mean `{near}`?");
    }
    let mut text = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    if known.is_empty() {
        text.push_str(&format!("there is no {kind} at all yet"));
        return text;
    }
    let list: Vec<&str> = known.iter().take(SHOWN).map(String::as_str).collect();
    text.push_str(&format!("there is: {}", list.join(", ")));
    if known.len() > SHOWN {
        text.push_str(&format!(" and {} more", known.len() - SHOWN));
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
        JournalError::Disk { .. }
        | JournalError::Denied(_)
        | JournalError::Damaged(_)
        | JournalError::Broken(_) => Code::JOURNAL_UNUSABLE,
    }
}

fn journal_help(error: &JournalError) -> Option<String> {
    Some(match error {
        JournalError::NoRun(_) => "`kb run list` shows what there is".to_owned(),
        JournalError::Ambiguous { .. } => "write more letters of the run's id".to_owned(),
        JournalError::Leased { run, pid } => format!(
            "process {pid} is at work on it; watch it with `kb run logs {run} --follow` or stop it \
             with `kb run cancel {run}`"
        ),
        JournalError::LeaseLost(run) => {
            format!("another process took the run over; `kb run show {run}` says where it stands")
        }
        JournalError::Newer { .. } => {
            "it was written by a newer `kb` and nothing in it was changed; update `kb` to go on"
                .to_owned()
        }
        JournalError::Full(_) => {
            "free some room, then go on with `kb run resume @last`; nothing that was recorded is \
             lost"
                .to_owned()
        }
        JournalError::Disk { .. } => {
            "look at the disk (`dmesg`, `df`); once it works, `kb run resume @last` goes on from what \
             was recorded"
                .to_owned()
        }
        JournalError::Denied(_) => {
            "the folder and all that is in it must be yours: mend its permissions, or name another \
             place by `XDG_STATE_HOME`"
                .to_owned()
        }
        JournalError::Damaged(_) | JournalError::Broken(_) => {
            "`kb doctor` looks at the state folder".to_owned()
        }
    })
}
