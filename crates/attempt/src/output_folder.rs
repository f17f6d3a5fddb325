//! [`OutputFolder`]: the folder of a file that `kb` writes. No link in a project leads it out of there.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The folder of definitions, which every project has.
const DEFINITIONS: &str = ".kb";

/// A folder that stays open for as long as this value lives, so that nothing takes its place.
pub struct OutputFolder {
    _open: File,
    path: PathBuf,
}

impl OutputFolder {
    /// Opens the folder of a file, and creates it where it is missing.
    ///
    /// # Errors
    ///
    /// A link leads out of a project in which the path lies, or the folder cannot be created or opened.
    pub fn of(file: &Path) -> io::Result<OutputFolder> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        OutputFolder::made(folder.unwrap_or(Path::new(".")))
    }

    /// Opens a folder, and creates it where it is missing.
    ///
    /// # Errors
    ///
    /// As for [`OutputFolder::of`].
    pub fn made(folder: &Path) -> io::Result<OutputFolder> {
        let found = folder.ancestors().find(|above| above.symlink_metadata().is_ok());
        require_inside(folder, &found.unwrap_or(folder).canonicalize()?)?;
        fs::create_dir_all(folder)?;
        let open = File::open(folder)?;
        let named = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        // What the path led to when it was opened; without `/proc`, what it leads to now.
        let (path, real) = match fs::read_link(&named) {
            Ok(real) => (named, real),
            Err(_) => folder.canonicalize().map(|real| (real.clone(), real))?,
        };
        require_inside(folder, &real)?;
        Ok(OutputFolder { _open: open, path })
    }

    /// The path of a file in the folder, which is the same folder whatever its name leads to by now.
    ///
    /// # Errors
    ///
    /// The path has no name of a file.
    pub fn at(&self, file: &Path) -> io::Result<PathBuf> {
        let nameless = || io::Error::new(ErrorKind::InvalidInput, "it has no name of a file");
        file.file_name().map(|name| self.path.join(name)).ok_or_else(nameless)
    }
}

/// Refuses the real path of a folder that lies outside of a project in which the folder lies by its name.
fn require_inside(folder: &Path, real: &Path) -> io::Result<()> {
    let is_project = |path: &&Path| path.join(DEFINITIONS).is_dir();
    for project in folder.ancestors().skip(1).filter(is_project) {
        if !real.starts_with(project.canonicalize()?) {
            let (project, real) = (project.display(), real.display());
            let why = format!(
                "a link leads out of the project `{project}`; name the folder itself: `{real}`"
            );
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::OutputFolder;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn no_link_leads_out_of_a_project() {
        let base = tempfile::tempdir().unwrap();
        let at = |path: &str| base.path().join(path);
        for folder in ["p/.kb/tests", "p/out", "outside/deep/.kb", "other/.kb"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (target, link) in [
            ("outside", "p/leads-out"),
            ("other", "p/leads-to-project"),
            ("p/out", "p/inside"),
            ("p", "link-to-project"),
            ("missing", "p/broken"),
        ] {
            symlink(at(target), at(link)).unwrap();
        }
        let refused = |file: &str| OutputFolder::of(&at(file)).err().map(|error| error.to_string());
        for file in
            ["p/a", "p/out/a", "p/new/deep/a", "p/inside/a", "link-to-project/out/a", "outside/a"]
        {
            assert_eq!(refused(file), None, "{file}");
        }
        for file in
            ["p/leads-out/a", "p/leads-out/new/a", "p/leads-out/deep/a", "p/leads-to-project/a"]
        {
            let why = refused(file).unwrap_or_default();
            assert!(why.contains("a link leads out of the project"), "{file}: {why}");
        }
        assert!(refused("p/broken/a").is_some());
        assert!(!at("outside/new").exists() && !at("missing").exists());
    }

    #[test]
    fn a_folder_that_is_replaced_after_it_was_opened_gets_no_file() {
        let base = tempfile::tempdir().unwrap();
        let at = |path: &str| base.path().join(path);
        fs::create_dir_all(at("p/.kb")).unwrap();
        fs::create_dir_all(at("outside")).unwrap();
        let folder = OutputFolder::made(&at("p/out")).unwrap();
        fs::rename(at("p/out"), at("p/moved")).unwrap();
        symlink(at("outside"), at("p/out")).unwrap();
        let file = folder.at(Path::new("p/out/a")).unwrap();
        if file.starts_with("/proc") {
            fs::write(file, "x").unwrap();
            assert!(at("p/moved/a").exists() && !at("outside/a").exists());
        }
    }
}
