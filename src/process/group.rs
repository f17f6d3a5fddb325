use super::instance::Instance;
use super::pipes::ChildEnds;
use super::sandbox::{Rules, start_restricted};
use super::watchdog::{self, MARKER};
use super::{ProcessEnd, Spawn, orphans};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use tokio::process::{Child, Command};

/// A step's main process at the level `group`: a child of `kb` itself, with a process group of its
/// own. Dropping it kills the group.
///
/// Whatever leaves the group (`setsid`, double forks) comes back to `kb` as an orphan because `kb` is
/// a subreaper, and a watchdog ends everything should `kb` itself be killed.
pub(super) struct GroupProcess {
    child: Child,
    group: Group,
    token: String,
}

impl GroupProcess {
    pub(super) fn start(
        spawn: &Spawn,
        program: &Path,
        env: &[(&str, &str)],
        theirs: ChildEnds,
        rules: Option<Rules>,
    ) -> io::Result<GroupProcess> {
        watchdog::watch();
        let instance = Instance::of_process();
        let token = instance.next_token();
        let mut command = Command::new(program);
        command
            .arg0(&spawn.argv[0])
            .args(&spawn.argv[1..])
            .current_dir(&spawn.cwd)
            .env_clear()
            .envs(env.iter().copied())
            .env(MARKER, instance.marker(&token))
            .process_group(0)
            .kill_on_drop(true)
            .stdin(theirs.stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(theirs.stdout)
            .stderr(theirs.stderr);
        let mut start = || command.spawn();
        let child = orphans::spawn_registered(|| match rules {
            None => start(),
            Some(rules) => start_restricted(rules, start),
        })?;
        Ok(GroupProcess { group: Group(child.id().unwrap_or_default()), child, token })
    }

    /// Waits for its end; dropping the future loses nothing.
    pub(super) async fn ended(&mut self) -> ProcessEnd {
        self.child.wait().await.map_or(ProcessEnd::Signal(Signal::KILL.as_raw()), end_of)
    }

    pub(super) fn terminate(&self) {
        self.group.signal(Signal::TERM);
        // One that stands still could not obey.
        self.group.signal(Signal::CONT);
    }

    pub(super) fn kill(&self) {
        self.group.signal(Signal::KILL);
    }

    /// Ends what it has left.
    pub(super) async fn clean_up(&mut self) {
        self.group.signal(Signal::KILL);
        orphans::forget(self.group.0);
        orphans::end_step(self.group.0, &self.token).await;
        self.group.0 = 0;
    }
}

fn end_of(status: ExitStatus) -> ProcessEnd {
    match status.code() {
        Some(code) => ProcessEnd::Code(code),
        None => ProcessEnd::Signal(status.signal().unwrap_or_default()),
    }
}

/// A step's process group, by its main process; killed when it is dropped. Its number cannot have
/// gone to somebody else meanwhile: that takes as many new processes as the system has numbers,
/// within the 250 ms of draining.
struct Group(u32);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.0 as i32) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.0 != 0 {
            self.signal(Signal::KILL);
            orphans::forget(self.0);
        }
    }
}
