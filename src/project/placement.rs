use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What became of files that were to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    /// New ones.
    pub created: Vec<String>,
    /// Those that were there already and stayed as they were.
    pub kept: Vec<String>,
}

/// Makes files below a folder, each from its path and its content; never overwrites one. The error
/// names the file that could not be made; those before it stay.
pub fn place_files(root: &Path, files: &[(&str, &str)]) -> Result<Placed, (PathBuf, io::Error)> {
    let mut placed = Placed::default();
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

/// Whether the file is new.
fn create(path: &Path, content: &str) -> io::Result<bool> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            let written = file.write_all(content.as_bytes()).and_then(|()| file.sync_data());
            // Half a file would be taken for somebody's own the next time, and kept.
            written.map(|()| true).inspect_err(|_| drop(fs::remove_file(path)))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
