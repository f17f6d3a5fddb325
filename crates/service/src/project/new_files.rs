//! Creates files without overwriting any.

use kb_attempt::{OutputFolder, new_part_of, part_of};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The result of [`write_new_files`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewFiles {
    /// Paths of the files that were created.
    pub created: Vec<String>,
    /// Paths of the files that existed already and were not changed.
    pub kept: Vec<String>,
}

/// Creates files below a folder from pairs of path and content; never overwrites one. The error
/// names the file that could not be created; files before it in the list remain.
pub fn write_new_files(
    root: &Path,
    files: &[(&str, &str)],
) -> Result<NewFiles, (PathBuf, io::Error)> {
    let mut written = NewFiles::default();
    for (name, content) in files {
        let path = root.join(name);
        match create(&path, content) {
            Ok(true) => written.created.push((*name).to_owned()),
            Ok(false) => written.kept.push((*name).to_owned()),
            Err(error) => return Err((path, error)),
        }
    }
    Ok(written)
}

/// Creates a file; false if it exists. The content is written to a temporary name first, because a
/// file that was written in part would be kept as an existing one the next time.
fn create(path: &Path, content: &str) -> io::Result<bool> {
    let folder = OutputFolder::of(path)?;
    let path = &*folder.at(path)?;
    let made = match fs::symlink_metadata(path) {
        Ok(_) => Ok(false),
        Err(_) => {
            new_part_of(path).and_then(|(file, part)| write_and_link(file, &part, path, content))
        }
    };
    match fs::remove_file(part_of(path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => made.and(Err(error)),
        _ => made,
    }
}

/// Writes the new file `part` and gives it its final name. Unlike a rename, a hard link never replaces a file
/// that was created in the meantime.
fn write_and_link(mut file: File, part: &Path, path: &Path, content: &str) -> io::Result<bool> {
    file.write_all(content.as_bytes())?;
    file.sync_data()?;
    match fs::hard_link(part, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        // Not every file system supports hard links.
        Err(_) => fs::rename(part, path).map(|()| true),
    }
}
