//! Which process serves a state folder, and what keeps it from doing so.

use kb_engine::journal::is_owned;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The file in a state folder that the daemon keeps locked: its process id, then a line with its problem.
pub const LEASE_FILE: &str = "serve.lock";

/// The size of the file in bytes. It never changes, so that a problem can be written to a full disk.
const SIZE: usize = 1024;

/// Writes the process id of this daemon and its problem.
pub fn write_lease(file: &File, problem: Option<&str>) -> io::Result<()> {
    let mut text = format!("{}\n", std::process::id());
    for c in problem.unwrap_or_default().chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if text.len() + c.len_utf8() > SIZE {
            break;
        }
        text.push(c);
    }
    let mut bytes = text.into_bytes();
    bytes.resize(SIZE, b' ');
    file.write_all_at(&bytes, 0)
}

/// The process id of the daemon that serves a state folder; `None` if there is none.
pub fn daemon_of(state_dir: &Path) -> Option<u32> {
    lease(state_dir)?.lines().next()?.trim().parse().ok()
}

/// What keeps the daemon of a state folder from serving the project; `None` if nothing does, or none runs.
pub fn daemon_problem(state_dir: &Path) -> Option<String> {
    let text = lease(state_dir)?;
    let problem = text.lines().nth(1)?.trim();
    (!problem.is_empty()).then(|| problem.to_owned())
}

/// The file of a daemon that runs.
fn lease(state_dir: &Path) -> Option<String> {
    let file = OpenOptions::new().read(true).write(true).open(state_dir.join(LEASE_FILE)).ok()?;
    if is_owned(&file).is_ok_and(|owned| !owned) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(SIZE as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_takes_no_more_room_than_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LEASE_FILE);
        let file = File::create(&path).unwrap();
        let long = "ä\u{1b}\n".repeat(2000);
        for problem in [None, Some("the disk is full"), Some(long.as_str()), None] {
            write_lease(&file, problem).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!((text.len(), text.contains('\u{1b}')), (SIZE, false));
            let expected = problem.filter(|problem| problem.len() < SIZE).unwrap_or_default();
            assert!(text.lines().nth(1).unwrap().starts_with(expected));
        }
    }
}
