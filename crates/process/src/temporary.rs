//! The private temporary directory of this process.

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The private temporary directory of a `kb`, locked while the process lives. The watchdog or init
/// process removes it. If that was killed too, the next `kb` does.
pub(super) struct Temporary {
    path: PathBuf,
    locked: Mutex<File>,
}

impl Temporary {
    /// Creates the directory in a shared folder.
    pub(super) fn create(folder: &Path, name: &str) -> io::Result<Temporary> {
        let path = folder.join(format!("kb-{name}"));
        let locked = Mutex::new(create_locked(&path)?);
        Ok(Temporary { path, locked })
    }

    /// Creates the directory again if it was removed: an init process that ends removes it, and a new one
    /// may follow.
    pub(super) fn restore(&self) -> io::Result<()> {
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.path.exists() {
            *locked = create_locked(&self.path)?;
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates and locks a directory. Another `kb` may remove it before it is locked.
fn create_locked(path: &Path) -> io::Result<File> {
    loop {
        DirBuilder::new().mode(0o700).create(path)?;
        let locked = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        flock(&locked, FlockOperation::LockShared)?;
        if path.exists() {
            return Ok(locked);
        }
    }
}

/// Removes the directories of processes that have ended.
///
/// A process id may belong to another container that shares the folder, so the lock must be free
/// too. Another user may have created a pipe or link of that name: opening a pipe would block, and
/// following a link could remove other files.
pub(super) fn remove_abandoned(folder: &Path) {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(owner) else { continue };
        let lock = |found: OwnedFd| flock(&found, FlockOperation::NonBlockingLockExclusive).is_ok();
        let is_dead = !Path::new("/proc").join(pid.to_string()).exists();
        if is_dead && rustix::fs::open(entry.path(), flags, Mode::empty()).is_ok_and(lock) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The process id in `kb-PID-RANDOM`.
fn owner(name: &str) -> Option<u32> {
    let (pid, random) = name.strip_prefix("kb-")?.split_once('-')?;
    let is_own = !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    pid.parse().ok().filter(|_| is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_ended_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| std::fs::create_dir(folder.path().join(name)).unwrap();
        // No process has an id like this one.
        ["kb-4194305-1a2b", "kb-4194305-x", "kb-mine", "other"].into_iter().for_each(make);
        make(&format!("kb-{}-1a2b", std::process::id()));
        std::fs::write(folder.path().join("kb-4194305-1a2b/file"), "left").unwrap();
        let living = Temporary::create(folder.path(), "4194306-2b").unwrap();
        let second = Temporary::create(folder.path(), "4194307-2b").unwrap();
        remove_abandoned(folder.path());
        let mut left: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let own = format!("kb-{}-1a2b", std::process::id());
        let mut expected =
            vec!["kb-4194305-x".to_owned(), "kb-4194306-2b".into(), "kb-4194307-2b".into()];
        expected.extend([own, "kb-mine".into(), "other".into()]);
        expected.sort();
        assert_eq!(left, expected);
        drop((living, second));
    }

    #[test]
    fn pipes_are_not_waited_for_and_links_are_not_followed() {
        use rustix::fs::{CWD, FileType, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("mine")).unwrap();
        std::fs::write(at("mine/file"), "kept").unwrap();
        std::os::unix::fs::symlink("mine", at("kb-4194305-1a")).unwrap();
        mknodat(CWD, at("kb-4194305-2b"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let place = folder.path().to_owned();
        std::thread::spawn(move || {
            remove_abandoned(&place);
            tell.send(())
        });
        let made = told.recv_timeout(std::time::Duration::from_secs(10));
        assert_eq!(made, Ok(()), "it waits for the other end of a pipe");
        assert!(at("mine/file").exists() && at("kb-4194305-1a").is_symlink());
    }
}
