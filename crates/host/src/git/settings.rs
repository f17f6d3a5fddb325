//! [`GitSettings`]: asks git for its settings, as the git of the user would read them, and for the files that it tracks.
//! That executes nothing.

use crate::workspace::{GitList, ListGitSettings, NotListed};
use kb_process::{BaseEnvironment, ProcessEnd, Spawn, Supervisor};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The maximum run time, and the maximum size of the answer.
const LIMIT: Duration = Duration::from_secs(20);
const OUTPUT: usize = 16 << 20;

/// Lists settings.
const SETTINGS: [&str; 4] = ["config", "--list", "--show-origin", "-z"];
/// Lists tracked files, without asking a program which of them changed.
const TRACKED: [&str; 5] = ["-c", "core.fsmonitor=false", "ls-files", "-z", "--recurse-submodules"];

/// Files of a repository that git opens before it answers.
const READ: [&str; 5] = ["HEAD", "config", "config.worktree", "commondir", "index"];

/// Whether a file exists that can keep a reader waiting, such as a pipe.
fn waits_for_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Asks git for its settings and for tracked files.
#[derive(Debug)]
pub struct GitSettings {
    supervisor: Supervisor,
}

impl GitSettings {
    /// Those of the user with this environment.
    pub fn new(base: BaseEnvironment) -> GitSettings {
        // A list of settings executes nothing that a namespace would confine.
        GitSettings { supervisor: Supervisor::new(base).without_namespaces() }
    }

    fn spawn(&self, folder: &Path, args: &[&str]) -> Spawn {
        let argv = ["git"].iter();
        let base = self.supervisor.base();
        let mut env: Vec<(String, String)> = base.git_variables().to_vec();
        // Given its folder, git also reads a repository of another user.
        env.push(("GIT_DIR".to_owned(), folder.display().to_string()));
        env.push(("LC_ALL".to_owned(), "C".to_owned()));
        Spawn {
            argv: argv.chain(args).map(|arg| (*arg).to_owned()).collect(),
            own_program: true,
            cwd: PathBuf::from("/"),
            env,
            stdin: Vec::new(),
            timeout: Some(LIMIT),
            idle: None,
            max_stream: OUTPUT,
        }
    }
}

impl ListGitSettings for GitSettings {
    fn list(&self, asked: GitList<'_>) -> Result<Vec<u8>, NotListed> {
        let none = Path::new("/dev/null");
        let file = |file: &Path| file.display().to_string();
        let all = [&SETTINGS[..], &["--includes"]].concat();
        if let GitList::Repository(folder) | GitList::Tracked { folder, .. } = asked
            && let Some(name) = READ.iter().find(|name| waits_for_others(&folder.join(name)))
        {
            return Err(NotListed(format!("`{name}` of the repository is no regular file")));
        }
        let spawn = match asked {
            GitList::Repository(folder) => self.spawn(folder, &all),
            GitList::User => self.spawn(none, &all),
            GitList::Tracked { folder, top, below } => {
                let mut spawn = self.spawn(folder, &TRACKED);
                spawn.env.push(("GIT_WORK_TREE".to_owned(), file(top)));
                below.clone_into(&mut spawn.cwd);
                spawn
            }
            GitList::File(path) => {
                let path = file(path);
                let args = [&SETTINGS[..], &["--no-includes", "--file", &path]].concat();
                let mut spawn = self.spawn(none, &args);
                // Git reads the settings of the user even then, and fails if it cannot.
                spawn.env.retain(|(name, _)| !name.starts_with("GIT_CONFIG"));
                let off = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
                let off = off.map(|(name, value)| (name.to_owned(), value.to_owned()));
                spawn.env.extend(off);
                spawn
            }
        };
        // The caller may be on a thread of a runtime, which must not drive another one.
        let run = || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            Some(runtime.block_on(self.supervisor.run(spawn, &CancellationToken::new(), None)))
        };
        let ended = std::thread::scope(|scope| scope.spawn(run).join().ok().flatten());
        let ended = ended.ok_or_else(|| NotListed("git was not started".to_owned()))?;
        let why = match ended.end {
            ProcessEnd::Code(0) if ended.stdout_cut == 0 => return Ok(ended.stdout.into_bytes()),
            ProcessEnd::NotStarted(why) => why,
            ProcessEnd::Code(0) => "its answer is too long".to_owned(),
            ProcessEnd::TimedOut => format!("git did not answer within {} s", LIMIT.as_secs()),
            ProcessEnd::Code(_)
            | ProcessEnd::Signal(_)
            | ProcessEnd::Idle
            | ProcessEnd::Cancelled
            | ProcessEnd::Lost => format!("git failed: {}", ended.stderr.trim()),
        };
        Err(NotListed(why))
    }

    fn places(&self) -> Vec<PathBuf> {
        self.supervisor.base().git_settings()
    }

    fn home(&self) -> Option<&Path> {
        self.supervisor.base().get("HOME").map(Path::new)
    }
}
