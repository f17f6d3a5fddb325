//! Searches a project for definition files.

use super::role::role_of;
use super::root::{read_bounded, unreadable};
use crate::definition::{FileRole, InputFile};
use crate::diagnostic::{Code, Diagnostic};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum nesting depth of agent profile folders.
const DEPTH: usize = 8;

/// One search for the definition files of a project.
pub(super) struct Discovery<'a> {
    root: &'a Path,
    files: Vec<InputFile>,
    problems: Vec<Diagnostic>,
    /// Canonical paths of visited files and folders, so that symbolic links cause neither repetition
    /// nor loops.
    seen: BTreeSet<PathBuf>,
}

impl<'a> Discovery<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Discovery { root, files: Vec::new(), problems: Vec::new(), seen: BTreeSet::new() }
    }

    pub(super) fn settings(mut self) -> (Vec<InputFile>, Vec<Diagnostic>) {
        self.take_settings();
        (self.files, self.problems)
    }

    fn take_settings(&mut self) {
        for name in ["kb.config.json", "kb.config.yml", "kb.config.yaml"] {
            let path = self.root.join(".kb").join(name);
            if path.symlink_metadata().is_ok() {
                self.file(&path, FileRole::Settings);
            }
        }
    }

    pub(super) fn run(mut self) -> (Vec<InputFile>, Vec<Diagnostic>) {
        self.take_settings();
        for base in [".kb", "."] {
            let base = self.root.join(base);
            self.folder(&base.join("playbooks"), FileRole::Playbook, 0);
            self.folder(&base.join("workflows"), FileRole::Workflow, 0);
            self.folder(&base.join("agents"), FileRole::AgentProfile, DEPTH);
        }
        self.folder(&self.root.join(".kb/specialists"), FileRole::Specialist, 1);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        (self.files, self.problems)
    }

    /// Collects the files of a folder that have this role, and those up to `depth` levels below.
    fn folder(&mut self, folder: &Path, role: FileRole, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.problem(folder, &error),
        };
        if !self.enters(folder) {
            return;
        }
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| is_visible(path)) {
            match path.is_dir() {
                true if depth > 0 => self.folder(path, role, depth - 1),
                true => {}
                false if self.wants(path, folder, role) => self.file(path, role),
                false => {}
            }
        }
    }

    /// Whether a file has this role by its name. In `specialists/ID/` only `specialist.yml` does.
    fn wants(&self, path: &Path, folder: &Path, role: FileRole) -> bool {
        let nested = folder.file_name().is_none_or(|name| name != "specialists");
        let named = path.file_stem().is_some_and(|stem| stem == "specialist");
        let readme = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        match role {
            FileRole::Specialist if nested && !named => false,
            _ => !readme && role_of(path) == Some(role),
        }
    }

    fn file(&mut self, path: &Path, role: FileRole) {
        if !self.enters(path) {
            return;
        }
        match read_bounded(path) {
            Ok(bytes) => self.files.push(InputFile { path: self.shown(path), bytes, role }),
            Err(error) => self.problem(path, &error),
        }
    }

    /// Whether a file or folder is inside the project and was not visited before.
    fn enters(&mut self, path: &Path) -> bool {
        match path.canonicalize() {
            Ok(real) if !real.starts_with(self.root) => {
                let (shown, real) = (self.shown(path), real.display().to_string());
                let message = format!("`{shown}` is a link to `{real}`, outside the project");
                let help = "copy it into the project, or pass its path on the command line";
                let found = Diagnostic::warning(Code::LINK_OUT_OF_PROJECT, None, message);
                self.problems.push(found.help(help));
                false
            }
            Ok(real) => self.seen.insert(real),
            Err(error) => {
                self.problem(path, &error);
                false
            }
        }
    }

    fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.root).unwrap_or(path);
        let path = path.strip_prefix(".").unwrap_or(path);
        path.to_string_lossy().into_owned()
    }

    fn problem(&mut self, path: &Path, error: &io::Error) {
        let shown = self.shown(path);
        self.problems.push(unreadable(&shown, error));
    }
}

/// Hidden files are skipped; editors create them next to the file that they write.
fn is_visible(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| !name.starts_with('.'))
}
