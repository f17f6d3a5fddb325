//! The folder `.kb/memory` of a project.

use crate::shared_file::{FileError, SharedFile};
use kb_core::redaction::Redactor;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum number of files that are read.
const MAX_FILES: usize = 5_000;
/// More than a file may have, so that a longer one is refused and not cut.
const READ: u64 = 64 << 10;

/// Reads the files that people share, in the order of their names, and the problems of those that cannot be read. Links
/// are not followed, and files whose names do not end in `.md` or are `README.md` are not entries.
pub fn read_folder(root: &Path, redactor: &Redactor) -> (Vec<SharedFile>, Vec<FileError>) {
    let folder = root.join(SharedFile::FOLDER);
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    let Ok(entries) = std::fs::read_dir(&folder) else { return (found, problems) };
    let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let names = entries.flatten().filter(is_file).filter_map(|e| e.file_name().into_string().ok());
    let is_entry = |name: &String| {
        name.ends_with(".md") && !name.starts_with('.') && !name.eq_ignore_ascii_case("README.md")
    };
    let mut names: Vec<String> = names.filter(is_entry).collect();
    names.sort();
    if names.len() > MAX_FILES {
        let path = SharedFile::FOLDER.to_owned();
        let message =
            format!("the folder has more than {MAX_FILES} files; the others are not read");
        problems.push(FileError { path, line: 1, message });
        names.truncate(MAX_FILES);
    }
    for name in names {
        let mut bytes = Vec::new();
        let read =
            File::open(folder.join(&name)).and_then(|file| file.take(READ).read_to_end(&mut bytes));
        let parsed = match read {
            Ok(_) => SharedFile::parse(&name, &bytes, redactor),
            Err(error) => Err(FileError {
                path: format!("{}/{name}", SharedFile::FOLDER),
                line: 1,
                message: format!("the file cannot be read: {error}"),
            }),
        };
        match parsed {
            Ok(file) => found.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}
