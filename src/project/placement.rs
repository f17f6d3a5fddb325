//! Creates the files of `kb init` and `kb playbook new`. Existing files are never overwritten.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The result of [`place_files`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlacedFiles {
    /// Paths of created files.
    pub created: Vec<String>,
    /// Paths of files that existed before and were not changed.
    pub kept: Vec<String>,
}

/// Creates files below a folder from paths and contents. Existing files are not changed. The error
/// contains the path that could not be created; files created before it stay.
pub fn place_files(
    root: &Path,
    files: &[(&str, &str)],
) -> Result<PlacedFiles, (PathBuf, io::Error)> {
    let mut placed = PlacedFiles::default();
    for (name, content) in files {
        let path = root.join(name);
        match create(&path, content) {
            Ok(true) => placed.created.push((*name).to_owned()),
            Ok(false) => placed.kept.push((*name).to_owned()),
            Err(error) => return Err((path, error)),
        }
    }
    Ok(placed)
}

/// Creates one file; returns whether it is new. The file is written under a temporary name first,
/// because a half-written file would count as an existing one the next time.
fn create(path: &Path, content: &str) -> io::Result<bool> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    let part = folder.join(name);
    let is_there = fs::symlink_metadata(path).is_ok();
    let made = if is_there { Ok(false) } else { named(&part, path, content) };
    match fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => made.and(Err(error)),
        _ => made,
    }
}

/// Moves the file to its name. A hard link is used, because a rename would replace a file that was
/// created meanwhile.
fn named(part: &Path, path: &Path, content: &str) -> io::Result<bool> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(part)?;
    file.write_all(content.as_bytes())?;
    file.sync_data()?;
    match fs::hard_link(part, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        // Not every file system supports hard links.
        Err(_) => fs::rename(part, path).map(|()| true),
    }
}
