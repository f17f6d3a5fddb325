//! What a process was started with: working directory, variables, temporary folder, clock.

use kb_clock::Clock;
use kb_core::redaction::Redactors;
use kb_host::tool::ToolImplementation;
use kb_language::toolspec::ToolCatalog;
use kb_process::{BaseEnvironment, Supervisor};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The surroundings of a use case, passed in as values. The library never reads the working
/// directory, the environment or the clock of its own process, so several projects with different
/// environments can be used in one process.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Absolute folder that relative paths start from.
    pub cwd: PathBuf,
    /// Environment variables that are valid UTF-8.
    pub variables: BTreeMap<String, String>,
    /// Home directory of the user.
    pub home: Option<PathBuf>,
    /// Folder for temporary files.
    pub temp_dir: PathBuf,
    /// Number of processors, the default of `maxParallel`.
    pub processors: u32,
    /// The clock of the process; tests replace it.
    pub clock: Clock,
    /// The redactors of all runs of this process, for its log and panic messages.
    pub redactors: Redactors,
    /// The person for whom the process acts, if it is not the user of the process.
    pub person: Option<String>,
    /// The tools that servers declare, which definitions can name.
    pub tools: Vec<ToolImplementation>,
}

impl Environment {
    /// An environment from a working directory, variables and a clock: `HOME` and `TMPDIR` give the home
    /// and temporary folders.
    pub fn new(cwd: impl Into<PathBuf>, variables: BTreeMap<String, String>, clock: Clock) -> Self {
        let folder = |name: &str| variables.get(name).map(PathBuf::from);
        let home = folder("HOME").filter(|home| home.is_absolute());
        let temp_dir = folder("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
        Environment {
            cwd: cwd.into(),
            home,
            temp_dir,
            processors: 2,
            variables,
            clock,
            redactors: Redactors::default(),
            person: None,
            tools: Vec::new(),
        }
    }

    /// The tools that definitions can name, besides plugins.
    pub fn catalog(&self) -> ToolCatalog {
        ToolCatalog::default().with(self.tools.iter().map(|tool| tool.spec().clone()))
    }

    /// Begins to prepare for processes in the background. Of use before the definitions of a run are read.
    pub fn expect_processes(&self) {
        let base = BaseEnvironment::select(self.variables.clone(), &[]);
        // The project is not known yet; most are the working directory.
        Supervisor::new(base.in_project(&self.cwd, &[])).begin_to_start();
    }

    /// A path as given by the user, made absolute.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// The name of the person, which is recorded for replies, starts and changes of triggers.
    pub fn user(&self) -> String {
        let name = self.variables.get("USER").filter(|name| !name.is_empty());
        self.person
            .as_ref()
            .or(name)
            .cloned()
            .unwrap_or_else(|| "a person at the terminal".to_owned())
    }

    /// The folder with the state of all projects: `$XDG_STATE_HOME`, by default `~/.local/state`.
    pub fn state_base(&self) -> PathBuf {
        let given = self.variables.get("XDG_STATE_HOME").map(PathBuf::from);
        let home = || self.home.as_ref().map(|home| home.join(".local/state"));
        let base = given.filter(|path| path.is_absolute()).or_else(home);
        base.unwrap_or_else(|| PathBuf::from("/var/tmp"))
    }
}
