//! The parts of this machine that steps and gates use.

use super::output_log::RunLogs;
use crate::tool::{ProcessLauncher, Records, ToolboxParts, WatchedStart};
use crate::workspace::Workspace;
use kb_clock::RunClock;
use kb_core::redaction::Redactor;
use kb_language::definition::JudgeCheck;
use std::sync::Arc;

/// The parts of this machine that steps and gates use.
#[derive(Clone)]
pub struct HostAccess {
    /// The files that they may access.
    pub workspace: Workspace,
    /// Starts processes.
    pub processes: ProcessLauncher,
    /// The time of the run.
    pub clock: RunClock,
    /// Masks secrets in what steps read and write.
    pub redactor: Arc<Redactor>,
    /// The output of processes that is kept.
    pub(super) logs: Arc<RunLogs>,
    /// `testCommands` of the settings.
    pub test_commands: Arc<[String]>,
    /// `verifier.judge` of the settings.
    pub judge: JudgeCheck,
}

impl HostAccess {
    /// The same parts for other files.
    #[must_use]
    pub fn within(&self, workspace: &Workspace) -> HostAccess {
        let processes = self.processes.within(workspace);
        HostAccess { workspace: workspace.clone(), processes, ..self.clone() }
    }

    /// Starts processes in the files, and watches them. `records` says whether changes are recorded.
    pub(super) fn start<'a>(&'a self, records: Records<'a>) -> WatchedStart<'a> {
        WatchedStart {
            workspace: &self.workspace,
            processes: &self.processes,
            redactor: &self.redactor,
            clock: self.clock.system(),
            records,
        }
    }

    /// Takes what the tools of the same run use.
    pub fn of(parts: &ToolboxParts) -> HostAccess {
        HostAccess {
            workspace: parts.workspace.clone(),
            processes: parts.process_launcher(),
            clock: parts.clock.clone(),
            redactor: parts.redactor.clone(),
            logs: RunLogs::new(&parts.settings.journal),
            test_commands: parts.settings.test_commands.as_slice().into(),
            judge: parts.settings.verifier.judge.clone(),
        }
    }
}
