//! Processes at the level `group`: children of `kb`, each with its own process group.

use super::base_environment::MARKER;
use super::instance::Instance;
use super::pipes::ChildEnds;
use super::sandbox::{Rules, SystemCallFilter, start_restricted};
use super::{ProcessEnd, Spawn, orphans, watchdog};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use tokio::process::{Child, Command};

/// The main process of a step at the level `group`. Dropping it kills the process group.
///
/// A descendant that leaves the group (`setsid`, double fork) becomes an orphan of `kb`, since `kb`
/// is a subreaper. The watchdog ends everything if `kb` itself is killed.
pub(super) struct GroupProcess {
    child: Child,
    group: Group,
    token: String,
}

impl GroupProcess {
    pub(super) fn start(
        instance: &Instance,
        spawn: &Spawn,
        program: &Path,
        env: &[(&str, &str)],
        ends: ChildEnds,
        sandbox: Option<(Rules, SystemCallFilter)>,
    ) -> io::Result<GroupProcess> {
        watchdog::start_once(instance);
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
            .stdin(ends.stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(ends.stdout)
            .stderr(ends.stderr);
        let mut start = || command.spawn();
        let child = orphans::spawn_registered(|| match sandbox {
            None => start(),
            Some((rules, filter)) => start_restricted(rules, &filter, start),
        })?;
        Ok(GroupProcess { group: Group(child.id().unwrap_or_default()), child, token })
    }

    /// Waits for the process to end. Cancel safe.
    pub(super) async fn ended(&mut self) -> ProcessEnd {
        self.child.wait().await.map_or(ProcessEnd::Signal(Signal::KILL.as_raw()), end_of)
    }

    pub(super) fn terminate(&self) {
        self.group.signal(Signal::TERM);
        // A stopped process handles SIGTERM only after SIGCONT.
        self.group.signal(Signal::CONT);
    }

    pub(super) fn kill(&self) {
        self.group.signal(Signal::KILL);
    }

    /// Kills the descendants that outlived the main process.
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

/// The process group of a step, by the id of its main process; 0 once it was cleaned up. Dropping it
/// kills the group.
///
/// The id cannot have been reused meanwhile: that takes as many new processes as the system has ids,
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
