//! Writes output files in folders that others can write to.

use crate::output_folder::OutputFolder;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file completely or not at all, under a new name that is renamed. An existing file keeps its permissions, and a
/// missing folder is created.
///
/// # Errors
///
/// Something other than a regular file has this name, such as a link, which is not followed; a link on the way leads out of
/// the project; or the file cannot be written.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = OutputFolder::of(path)?;
    let path = &*folder.at(path)?;
    let permissions = match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Some(found.permissions()),
        Ok(found) => {
            let what = if found.is_symlink() { "a link, which is not followed" } else { "no file" };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}")));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (mut file, part) = new_beside(path)?;
    let written = file
        .write_all(content)
        .and_then(|()| permissions.map_or(Ok(()), |own| file.set_permissions(own)))
        .and_then(|()| fs::rename(&part, path));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

/// Creates a file with a hidden random name beside a path. It never opens what exists there, so it follows no link.
fn new_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let random = RandomState::new().build_hasher().finish();
    let part = hidden(path, &format!(".{random:016x}.part"));
    Ok((create_new(&part)?, part))
}

/// Creates the file with the hidden name that the parts of a new file have, in place of one that a killed process left. A
/// link of that name is removed and not followed.
pub fn new_part_of(path: &Path) -> io::Result<(File, PathBuf)> {
    let part = part_of(path);
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    Ok((create_new(&part)?, part))
}

/// The hidden name of [`new_part_of`].
pub fn part_of(path: &Path) -> PathBuf {
    hidden(path, ".part")
}

/// The hidden name of a file with this ending.
fn hidden(path: &Path, ending: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::replace_file;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_is_replaced_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        replace_file(&at("new"), b"one").unwrap();
        fs::set_permissions(at("new"), fs::Permissions::from_mode(0o640)).unwrap();
        replace_file(&at("new"), b"two").unwrap();
        assert_eq!(fs::read(at("new")).unwrap(), b"two");
        assert_eq!(fs::metadata(at("new")).unwrap().permissions().mode() & 0o777, 0o640);
        symlink(at("new"), at("link")).unwrap();
        symlink(at("made"), at("broken")).unwrap();
        for name in ["link", "broken"] {
            let error = replace_file(&at(name), b"three").unwrap_err().to_string();
            assert_eq!(error, "it is a link, which is not followed");
        }
        assert_eq!(replace_file(folder.path(), b"x").unwrap_err().to_string(), "it is no file");
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["broken", "link", "new"]);
        assert_eq!(fs::read(at("new")).unwrap(), b"two");
    }
}
