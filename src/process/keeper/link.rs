use super::socket;
use crate::process::instance::Instance;
use crate::process::orphans;
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// `kb`'s side of the keeper, one for all of this process.
static LINK: Mutex<Option<Link>> = Mutex::new(None);

struct Link {
    control: OwnedFd,
    child: Child,
}

/// Asks the keeper for a cell and gives the socket to it, on which its reports come. Starts the
/// keeper where there is none, and another where it was killed.
pub(super) fn new_cell(executable: &Path) -> io::Result<OwnedFd> {
    let (own, theirs) = socket::pair()?;
    let mut link = LINK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(keeper) = &*link
        && keeper.ask(&theirs).is_ok()
    {
        return Ok(own);
    }
    if let Some(mut gone) = link.take() {
        drop(gone.control);
        let _ = gone.child.wait();
        orphans::forget_attendant(gone.child.id());
    }
    let keeper = link.insert(Link::start(executable)?);
    keeper.ask(&theirs)?;
    Ok(own)
}

impl Link {
    fn start(executable: &Path) -> io::Result<Link> {
        let instance = Instance::of_process();
        let (control, theirs) = socket::pair()?;
        let mut command = Command::new(executable);
        command
            .arg0("kb-keeper")
            .args(super::serve::arguments(instance.temporary_directory()))
            .current_dir("/")
            .env_clear()
            .envs(instance.keeper_marks())
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Link { control, child: orphans::spawn_attendant(|| command.spawn())? })
    }

    fn ask(&self, socket: &OwnedFd) -> io::Result<()> {
        socket::send(&self.control, b"C", &[socket.as_fd()])
    }
}
