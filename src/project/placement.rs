use std::ffi::OsString;
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

/// Whether the file is new. It is written beside its place and gets its name when it is whole: half a
/// file would be taken for somebody's own the next time, and kept.
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

/// Unlike a rename, a second name never replaces what somebody else put there meanwhile.
fn named(part: &Path, path: &Path, content: &str) -> io::Result<bool> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(part)?;
    file.write_all(content.as_bytes())?;
    file.sync_data()?;
    match fs::hard_link(part, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        // Not every file system gives a file two names.
        Err(_) => fs::rename(part, path).map(|()| true),
    }
}
