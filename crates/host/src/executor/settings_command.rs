//! [`SettingsCommands`]: the commands that settings name, those of secrets and of notifications.
//!
//! After a step could write to the project, such a command executes nothing of it outside of the sandbox. One that
//! names a file of the project runs in the sandbox, with the network of that step, and can change nothing of the
//! project, so that no record of its changes is needed. For every other one the project does not exist.
//!
//! Files outside of the project that the sandbox opens for writing show in no difference that a person reads before a
//! later run: there such a command runs in the sandbox in every run of a project that had a writer.

use crate::tool::ProcessLauncher;
use kb_attempt::Live;
use kb_language::definition::NetworkAccess;
use kb_language::plan::Touched;
use kb_process::{ProcessResult, Spawn, Supervisor};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Starts the commands of the settings of a project.
#[derive(Clone)]
pub struct SettingsCommands {
    processes: ProcessLauncher,
    approved: bool,
    had_writers: bool,
}

/// How a command of the settings runs.
enum Way {
    /// As the author of the settings started it.
    Free,
    /// In the sandbox, with this network.
    Sandbox(NetworkAccess),
    /// Where the project does not exist.
    Hidden(Supervisor),
    /// In another folder, on a machine that can hide nothing.
    Elsewhere,
}

impl SettingsCommands {
    /// For a project. `approved` says that a person approved in advance what needs an approval, `had_writers` that others
    /// than the author could write in one of its runs.
    pub fn new(processes: ProcessLauncher, approved: bool, had_writers: bool) -> SettingsCommands {
        SettingsCommands { processes, approved, had_writers }
    }

    /// Whether a command names a file of the project, so that it runs in the sandbox once models could write there.
    pub fn executes_project(&self, argv: &[String]) -> bool {
        !self.processes.trusts_steps() && !self.processes.files_named(argv).is_empty()
    }

    /// Runs a command, whose working directory is the project. `touched` could write to the project before; it is
    /// asked here, at the start of the command. The second
    /// value says for messages how the command was confined. Fails with the reason if it must not start.
    pub async fn run(
        &self,
        spawn: Spawn,
        touched: &Live<Option<Touched>>,
        cancel: &CancellationToken,
    ) -> Result<(ProcessResult, Option<String>), String> {
        let (spawn, supervisor, note) = self.prepared(spawn, touched.now().as_ref())?;
        Ok((supervisor.run(spawn, cancel, None).await, note))
    }

    fn prepared(
        &self,
        spawn: Spawn,
        touched: Option<&Touched>,
    ) -> Result<(Spawn, Supervisor, Option<String>), String> {
        let earlier = || self.opened_in_earlier_run(&spawn.argv);
        let touched = touched.cloned().map(|touched| (touched.place(), touched.network));
        let touched = touched.or_else(earlier).filter(|_| !self.processes.trusts_steps());
        let Some((writer, network)) = touched else { return Ok((spawn, self.free(), None)) };
        let because = |how: &str| Some(format!("{how}, because {writer} could write to it"));
        Ok(match self.way(&spawn.argv, &writer, network)? {
            Way::Free => (spawn, self.free(), None),
            Way::Sandbox(network) => {
                let note = because("it ran in the sandbox, where it cannot change the project");
                let supervisor = self.processes.reading(network);
                (spawn, supervisor.map_err(|failure| failure.message)?, note)
            }
            Way::Hidden(supervisor) => {
                (self.elsewhere(spawn), supervisor, because("it ran without the project folder"))
            }
            Way::Elsewhere => {
                let note = because("it ran outside of the project folder");
                (self.elsewhere(spawn), self.free(), note)
            }
        })
    }

    /// The writer, with its network, of a file outside of the project that a command names and that earlier runs opened.
    fn opened_in_earlier_run(&self, argv: &[String]) -> Option<(String, NetworkAccess)> {
        let is_opened =
            || self.processes.files_named(argv).iter().any(|file| !self.processes.is_own(file));
        (self.had_writers && is_opened())
            .then(|| ("an earlier run".to_owned(), NetworkAccess::default()))
    }

    fn way(&self, argv: &[String], writer: &str, network: NetworkAccess) -> Result<Way, String> {
        let can_confine = self.processes.can_confine();
        match self.processes.files_named(argv).first() {
            Some(_) if can_confine => Ok(Way::Sandbox(network)),
            Some(_) if self.approved => Ok(Way::Free),
            Some(file) => Err(format!(
                "{writer} could write to `{}`, and this machine has no sandbox: read the changes, then approve the \
                 run with `--yes`, or keep the file outside of the project",
                file.display()
            )),
            None => Ok(match self.processes.without_project() {
                Some(supervisor) => Way::Hidden(supervisor),
                None if can_confine => Way::Sandbox(network),
                None => Way::Elsewhere,
            }),
        }
    }

    fn free(&self) -> Supervisor {
        self.processes.unconfined().clone()
    }

    /// The same command in a folder outside of the project, with a program outside of it.
    fn elsewhere(&self, spawn: Spawn) -> Spawn {
        let home = self.processes.unconfined().base().get("HOME").map(Path::new);
        let home = home.filter(|home| home.is_dir() && !home.starts_with(self.processes.root()));
        let cwd = home.unwrap_or(Path::new("/")).to_owned();
        Spawn { cwd, own_program: true, ..spawn }
    }
}
