//! The connection of `kb` to its init process.

use super::socket;
use crate::instance::Instance;
use crate::orphans;
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The init process of this process. There is one, whatever the number of supervisors.
static LINK: Mutex<Option<InitLink>> = Mutex::new(None);

struct InitLink {
    control: OwnedFd,
    child: Child,
}

/// Asks the init process for a worker and returns the socket on which the worker sends its reports.
/// Starts the init process if there is none, and a new one if it was killed.
pub(super) fn new_worker(executable: &Path, instance: &Instance) -> io::Result<OwnedFd> {
    let (own, theirs) = socket::pair()?;
    let mut link = LINK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(init) = &*link
        && init.request_worker(&theirs).is_ok()
    {
        return Ok(own);
    }
    if let Some(mut gone) = link.take() {
        drop(gone.control);
        let _ = gone.child.wait();
        orphans::forget_helper(gone.child.id());
    }
    let init = link.insert(InitLink::start(executable, instance)?);
    init.request_worker(&theirs)?;
    Ok(own)
}

/// Starts the init process if there is none. The first worker reports a failure.
pub(super) fn start_init_process(executable: &Path, instance: &Instance) {
    let mut link = LINK.lock().unwrap_or_else(PoisonError::into_inner);
    if link.is_none() {
        *link = InitLink::start(executable, instance).ok();
    }
}

impl InitLink {
    fn start(executable: &Path, instance: &Instance) -> io::Result<InitLink> {
        let (control, theirs) = socket::pair()?;
        let mut command = Command::new(executable);
        command
            .arg0("kb-init")
            .args(super::init_process::arguments(instance))
            .current_dir("/")
            .env_clear()
            .envs(instance.helper_variables())
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(InitLink { control, child: orphans::spawn_helper(|| command.spawn())? })
    }

    fn request_worker(&self, socket: &OwnedFd) -> io::Result<()> {
        socket::send(&self.control, b"C", &[socket.as_fd()])
    }
}
