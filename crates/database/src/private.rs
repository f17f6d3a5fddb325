//! Files and folders that only their owner can read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Creates a folder that only its owner can enter, with the folders above it. An existing one is left as it is.
///
/// # Errors
///
/// The folder, or one above it, belongs to another user than this one and root, and everybody can rename what is in it:
/// others could put a folder of their own in its place.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let is_unsafe = |above: &&Path| {
        above.metadata().is_ok_and(|found| is_exchangeable(found.uid(), found.mode(), user))
    };
    if let Some(above) = folder.ancestors().find(is_unsafe) {
        let message = format!(
            "`{}` belongs to another user, and everybody can rename what is in it",
            above.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Whether a folder with this owner and mode belongs to another user, and lets everybody rename its entries.
fn is_exchangeable(owner: u32, mode: u32, user: u32) -> bool {
    const WRITE: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    ![0, user].contains(&owner) && mode & WRITE != 0 && mode & STICKY == 0
}

/// Opens a file for reading and writing, or creates one that only its owner can read.
pub fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::{is_exchangeable, private_folder};
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn a_folder_of_another_user_in_which_everybody_writes_is_exchangeable() {
        for (owner, mode, expected) in [
            (65_534, 0o40777, true),
            (65_534, 0o41777, false),
            (65_534, 0o40755, false),
            (0, 0o40777, false),
            (1000, 0o40777, false),
        ] {
            assert_eq!(is_exchangeable(owner, mode, 1000), expected, "{owner} {mode:o}");
        }
    }

    #[test]
    fn nothing_is_created_in_a_folder_that_others_can_exchange() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        private_folder(&shared.join("own")).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&shared, Some(65_534), None).unwrap();
            std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o777)).unwrap();
            let error = private_folder(&shared.join("own/deep")).unwrap_err().to_string();
            assert!(error.ends_with("everybody can rename what is in it"), "{error}");
            assert!(!shared.join("own/deep").exists());
        }
    }
}
