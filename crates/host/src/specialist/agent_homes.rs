//! [`AgentHomes`]: the home folders of coding agents. What an agent stores of its session stays until the run ends, so that
//! a rework, or an attempt that continues after `kb` was killed, can go on in the session.

use kb_attempt::Request;
use kb_base::value::{Digest, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The name of the folder in the state folder of a project.
const FOLDER: &str = "agents";
/// The file that names the session of a home folder. No process in the sandbox sees it.
const SESSION: &str = "session.json";
/// Maximum size of that file.
const SESSION_BYTES: u64 = 64 << 10;

/// The home folders of the coding agents of a project, one for each step of a run.
#[derive(Debug, Clone)]
pub struct AgentHomes {
    folder: PathBuf,
}

/// The home folder of the agent of a step.
#[derive(Debug)]
pub(super) struct AgentHome {
    folder: PathBuf,
    argv: Vec<String>,
}

/// What is known of the last session in a home folder.
#[derive(Serialize, Deserialize)]
struct LastSession {
    /// The command of the agent that has it.
    argv: Vec<String>,
    id: String,
    /// When it began.
    #[serde(default)]
    since: Timestamp,
}

impl AgentHomes {
    /// Those in the state folder of a project.
    pub fn of(state_dir: &Path) -> AgentHomes {
        AgentHomes { folder: state_dir.join(FOLDER) }
    }

    /// The home folder for the step and the pass of an attempt, and for an agent with this command. `None` if it cannot be
    /// created: the agent has a temporary one then.
    pub(super) fn home(&self, request: &Request, argv: &[String]) -> Option<AgentHome> {
        let of = json!([request.instance.to_string(), request.pass]);
        let name = Digest::of_json(&of).to_string()[..16].to_owned();
        let folder = self.folder.join(request.run.as_str()).join(name);
        let home = AgentHome { folder, argv: argv.to_vec() };
        DirBuilder::new().recursive(true).mode(0o700).create(home.path()).ok()?;
        Some(home)
    }

    /// Removes the folders of runs that have ended. What cannot be removed now is removed by a later call.
    pub fn sweep(&self, has_ended: impl Fn(&RunId) -> bool) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let run = name.to_str().and_then(|name| RunId::new(name).ok());
            if run.is_none_or(|run| has_ended(&run)) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl AgentHome {
    /// The folder that the agent sees.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The id of the last session of the same command, and when that began.
    pub(super) fn session(&self) -> Option<(String, Timestamp)> {
        let file = self.folder.join(SESSION);
        let is_small = std::fs::metadata(&file).is_ok_and(|found| found.len() <= SESSION_BYTES);
        let text = std::fs::read(&file).ok().filter(|_| is_small)?;
        let last: LastSession = serde_json::from_slice(&text).ok()?;
        (last.argv == self.argv).then_some((last.id, last.since))
    }

    /// Notes the session that has started. Without the note, the next one is a new one.
    pub(super) fn keep(&self, id: &str, since: Timestamp) {
        let last = LastSession { argv: self.argv.clone(), id: id.to_owned(), since };
        let text = serde_json::to_vec(&last).unwrap_or_default();
        let _ = std::fs::write(self.folder.join(SESSION), text);
    }
}
