//! Which process serves a state folder.

use crate::journal::is_owned;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;

/// The file in a state folder that the daemon keeps locked; it contains its process id.
pub const LEASE_FILE: &str = "serve.lock";

/// The process id of the daemon that serves a state folder; `None` if there is none.
pub fn daemon_of(state_dir: &Path) -> Option<u32> {
    let mut file =
        OpenOptions::new().read(true).write(true).open(state_dir.join(LEASE_FILE)).ok()?;
    match is_owned(&file) {
        Ok(false) => None,
        Ok(true) | Err(_) => owner(&mut file),
    }
}

fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
