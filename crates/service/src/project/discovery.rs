//! The search for the definition files of a project.

use super::reading::{read_bounded, unreadable};
use super::role::role_of;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::one_line;
use kb_language::definition::{FileRole, InputFile, LOCK_PATH};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum depth of folders of playbooks, workflows and agent profiles.
const DEPTH: usize = 8;

/// A problem with a file that could not be read, or that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// Path of the file, relative to the project root.
    pub path: String,
    /// The problem; it has no span, because the text is not known.
    pub diagnostic: Diagnostic,
}

/// Most files that are reported because nothing reads them.
const UNREAD: usize = 20;
/// The folder of plugins, relative to the project root.
const PLUGINS: &str = ".kb/plugins";

/// Whether the name of a file is one of YAML or JSON.
fn is_data(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml" || ending == "json")
}

/// One search for the definition files of a project.
pub(super) struct Discovery<'a> {
    root: &'a Path,
    files: Vec<InputFile>,
    problems: Vec<FileProblem>,
    /// Real paths of the files and folders so far, so that links cause neither duplicates nor loops.
    seen: BTreeSet<PathBuf>,
}

impl<'a> Discovery<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Discovery { root, files: Vec::new(), problems: Vec::new(), seen: BTreeSet::new() }
    }

    pub(super) fn settings(mut self) -> (Vec<InputFile>, Vec<FileProblem>) {
        self.take_settings();
        self.take_plugins();
        self.take_lock();
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

    /// Reports files of data directly in `.kb` that nothing reads, such as settings with another name.
    fn report_unread(&mut self) {
        let entries = fs::read_dir(self.root.join(".kb")).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        let is_unread = |path: &&PathBuf| {
            is_visible(path)
                && is_data(path)
                && role_of(path) != Some(FileRole::Settings)
                && path.is_file()
        };
        for path in paths.iter().filter(is_unread).take(UNREAD) {
            let shown = one_line(&self.shown(path), 200);
            let message = format!("`{shown}` is not read");
            let help = "settings are `.kb/kb.config.yml`; definitions are in `.kb/playbooks`, `.kb/specialists`, `.kb/workflows`, `.kb/agents` and `.kb/plugins`";
            let found = Diagnostic::warning(Code::FILE_NOT_READ, None, message).help(help);
            self.problems.push(FileProblem { path: shown, diagnostic: found });
        }
    }

    fn take_lock(&mut self) {
        let path = self.root.join(LOCK_PATH);
        if path.symlink_metadata().is_ok() {
            self.file(&path, FileRole::McpLock);
        }
    }

    fn take_plugins(&mut self) {
        self.folder(&self.root.join(PLUGINS), FileRole::Plugin, 0);
    }

    pub(super) fn run(mut self) -> (Vec<InputFile>, Vec<FileProblem>) {
        self.take_settings();
        for base in [".kb", "."] {
            let base = self.root.join(base);
            self.folder(&base.join("playbooks"), FileRole::Playbook, DEPTH);
            self.folder(&base.join("workflows"), FileRole::Workflow, DEPTH);
            self.folder(&base.join("agents"), FileRole::AgentProfile, DEPTH);
        }
        self.folder(&self.root.join(".kb/specialists"), FileRole::Specialist, 1);
        self.take_plugins();
        self.take_lock();
        self.report_unread();
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        (self.files, self.problems)
    }

    /// Reads the files with this role in a folder and its subfolders, `depth` levels deep.
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
            if path.is_dir() {
                if depth > 0 {
                    self.folder(path, role, depth - 1);
                }
            } else if self.wants(path, folder, role) {
                self.file(path, role);
            }
        }
    }

    /// Whether the name of a file fits the role of its folder. In `specialists/ID/`, only `specialist.yml` does.
    fn wants(&self, path: &Path, folder: &Path, role: FileRole) -> bool {
        let nested = folder.file_name().is_none_or(|name| name != "specialists");
        let named = path.file_stem().is_some_and(|stem| stem == "specialist");
        let readme = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        let extension = path.extension().unwrap_or_default();
        let fits = match role {
            FileRole::Specialist if nested && !named => false,
            FileRole::Playbook | FileRole::Specialist | FileRole::Plugin => {
                extension == "yml" || extension == "yaml"
            }
            FileRole::Workflow | FileRole::AgentProfile => extension == "md",
            FileRole::Settings | FileRole::Script | FileRole::McpLock => {
                role_of(path) == Some(role)
            }
        };
        fits && !readme
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
                let (shown, real) =
                    (one_line(&self.shown(path), 200), one_line(&real.display().to_string(), 200));
                let message = format!("`{shown}` is a link to `{real}`, outside the project");
                let help = "copy it into the project, or pass its path on the command line";
                let found = Diagnostic::warning(Code::LINK_OUT_OF_PROJECT, None, message);
                self.problems.push(FileProblem { path: shown, diagnostic: found.help(help) });
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
        let diagnostic = unreadable(&shown, error);
        self.problems.push(FileProblem { path: shown, diagnostic });
    }
}

/// Hidden files are temporary files of editors.
fn is_visible(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| !name.starts_with('.'))
}
