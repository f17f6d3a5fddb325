//! The folder of a project.

use super::discovery::{Discovery, FileProblem};
use super::reading::{read_bounded, unreadable};
use super::role::sniffed_role;
use super::trust::{self, NoFolder};
use kb_base::diagnostic::Diagnostic;
use kb_base::value::Digest;
use kb_language::definition::InputFile;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The root folder of a project, which usually contains `.kb/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFolder {
    root: PathBuf,
}

impl ProjectFolder {
    /// The project that contains a folder: the folder itself or its nearest ancestor with `.kb/`, if this user trusts
    /// its owner. `state` is the folder with the state of all projects, which has what the user trusts.
    pub fn find(start: &Path, state: &Path) -> Result<ProjectFolder, NoFolder> {
        let start = start.canonicalize().map_err(|_| NoFolder::Missing)?;
        let folder = ProjectFolder::around(&start).ok_or(NoFolder::Missing)?;
        trust::require(folder.root(), &start, &folder.state_dir_in(state))?;
        Ok(folder)
    }

    /// The project that contains a folder without links, also one of another user.
    pub(crate) fn around(start: &Path) -> Option<ProjectFolder> {
        let root = start.ancestors().find(|folder| folder.join(".kb").is_dir())?;
        Some(ProjectFolder { root: root.to_owned() })
    }

    /// Trusts the owners that the project has now, for this user. Returns their numbers.
    pub(crate) fn trust(&self, state: &Path) -> io::Result<BTreeSet<u32>> {
        trust::trust(&self.root, &self.state_dir_in(state))
    }

    /// The project with this root, with or without `.kb/`.
    pub fn at(root: &Path) -> ProjectFolder {
        let absolute = || std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        ProjectFolder { root: root.canonicalize().unwrap_or_else(|_| absolute()) }
    }

    /// The root folder, absolute and without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the project is still there.
    pub fn is_there(&self) -> bool {
        self.root.join(".kb").is_dir()
    }

    /// All definition and settings files, sorted by path, and a problem for each file that cannot
    /// be read.
    pub fn definition_files(&self) -> (Vec<InputFile>, Vec<FileProblem>) {
        Discovery::new(&self.root).run()
    }

    /// The settings files, and the plugins that they may name.
    pub fn settings_files(&self) -> (Vec<InputFile>, Vec<FileProblem>) {
        Discovery::new(&self.root).settings()
    }

    /// Reads one file that a command names. Its folder determines its role, otherwise its content.
    pub fn read_file(&self, path: &Path) -> Result<InputFile, Box<Diagnostic>> {
        let shown = self.relative(path);
        let bytes = read_bounded(path).map_err(|error| unreadable(&shown, &error))?;
        let role = sniffed_role(Path::new(&shown), &bytes);
        Ok(InputFile { path: shown, bytes, role })
    }

    /// A path for diagnostics and ids: relative to the root if it is inside the project.
    pub fn relative(&self, path: &Path) -> String {
        let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let whole = path.canonicalize().unwrap_or_else(|_| absolute());
        let inside = whole.strip_prefix(&self.root).unwrap_or(&whole);
        inside.to_string_lossy().into_owned()
    }

    /// The folder of journal and blobs below the folder with the state of all projects. It is
    /// outside the project, so that no step can write to it. The name is for people; the digest
    /// tells projects of the same name apart.
    pub fn state_dir_in(&self, base: &Path) -> PathBuf {
        let digest = Digest::of(self.root.as_os_str().as_encoded_bytes());
        let name = self.root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name: String = name
            .unwrap_or_else(|| "root".into())
            .chars()
            .map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' })
            .take(40)
            .collect();
        base.join("kb").join(format!("{name}-{}", digest.short(8)))
    }
}

/// The content of a regular file. Of a file over the size limit, one byte more than the limit.
#[cfg(test)]
mod tests {
    use super::super::{role_of, write_new_files};
    use super::*;
    use kb_base::value::limits;
    use kb_language::definition::FileRole;
    use std::os::unix::fs::symlink;

    fn project(files: &[&str]) -> (tempfile::TempDir, ProjectFolder) {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "x")).collect();
        write_new_files(folder.path(), &files).unwrap();
        let project = ProjectFolder::at(folder.path());
        (folder, project)
    }

    fn found(project: &ProjectFolder) -> (Vec<(String, FileRole)>, Vec<String>) {
        let (files, problems) = project.definition_files();
        let files = files.into_iter().map(|file| (file.path, file.role)).collect();
        (files, problems.into_iter().map(|problem| problem.diagnostic.message).collect())
    }

    #[test]
    fn finds_what_the_language_names_and_nothing_else() {
        use FileRole::{AgentProfile, Playbook, Settings, Specialist, Workflow};
        let (_folder, project) = project(&[
            ".kb/kb.config.yml",
            ".kb/playbooks/b.yml",
            ".kb/playbooks/.b.yml",
            ".kb/playbooks/deep/x.yml",
            ".kb/playbooks/specialist.yml",
            ".kb/playbooks/specialists/y.yml",
            ".kb/playbooks/notes.txt",
            ".kb/workflows/w.md",
            ".kb/specialists/one.yml",
            ".kb/specialists/two/specialist.yml",
            ".kb/specialists/two/examples.yml",
            ".kb/agents/team/writer.md",
            "agents/README.md",
            "agents/reader.md",
            "playbooks/a.yaml",
            "workflows/v.md",
            "specialists/none.yml",
        ]);
        let expected = [
            (".kb/agents/team/writer.md", AgentProfile),
            (".kb/kb.config.yml", Settings),
            (".kb/playbooks/b.yml", Playbook),
            (".kb/playbooks/deep/x.yml", Playbook),
            (".kb/playbooks/specialist.yml", Playbook),
            (".kb/playbooks/specialists/y.yml", Playbook),
            (".kb/specialists/one.yml", Specialist),
            (".kb/specialists/two/specialist.yml", Specialist),
            (".kb/workflows/w.md", Workflow),
            ("agents/reader.md", AgentProfile),
            ("playbooks/a.yaml", Playbook),
            ("workflows/v.md", Workflow),
        ];
        let expected = expected.map(|(path, role)| (path.to_owned(), role));
        assert_eq!(found(&project), (expected.to_vec(), vec![]));
    }

    #[test]
    fn links_stay_in_the_project_and_end() {
        let (folder, project) =
            project(&[".kb/agents/a.md", "shared/p.yml", ".kb/playbooks/q.yml"]);
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("out.yml"), "x").unwrap();
        let link = |to: &Path, at: &str| symlink(to, folder.path().join(at)).unwrap();
        link(Path::new("../agents"), ".kb/agents/round");
        link(Path::new("../../shared/p.yml"), ".kb/playbooks/p.yml");
        link(&outside.path().join("out.yml"), ".kb/playbooks/out.yml");
        link(Path::new("nowhere"), ".kb/playbooks/broken.yml");
        let (files, problems) = found(&project);
        let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, [".kb/agents/a.md", ".kb/playbooks/p.yml", ".kb/playbooks/q.yml"]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert_eq!(problems[0], "cannot read `.kb/playbooks/broken.yml`: no such file");
        assert!(problems[1].starts_with("`.kb/playbooks/out.yml` is a link to"));
    }

    #[test]
    fn what_is_no_file_or_too_large_hides_nothing() {
        let (folder, project) = project(&[".kb/playbooks/a.yml"]);
        let large = vec![b'x'; limits::DEFINITION_BYTES + 5];
        std::fs::write(folder.path().join(".kb/playbooks/large.yml"), large).unwrap();
        let socket = folder.path().join(".kb/playbooks/socket.yml");
        let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        let (files, problems) = project.definition_files();
        let sizes: Vec<usize> = files.iter().map(|file| file.bytes.len()).collect();
        assert_eq!(sizes, [1, limits::DEFINITION_BYTES + 1]);
        assert_eq!(
            problems[0].diagnostic.message,
            "cannot read `.kb/playbooks/socket.yml`: not a regular file"
        );
    }

    #[test]
    fn the_root_is_the_nearest_that_holds_kb() {
        let (folder, project) = project(&[".kb/x", "sub/.kb/x", "sub/deep/x", "other/x"]);
        let find = |path: &str| ProjectFolder::find(&folder.path().join(path), Path::new("/none"));
        let root = |path: &str| find(path).unwrap().root;
        assert_eq!(root("other"), project.root);
        assert_eq!(root("sub/deep"), project.root.join("sub"));
        assert_eq!(root("sub/.kb"), project.root.join("sub"));
        assert_eq!(find("missing"), Err(NoFolder::Missing));
    }

    #[test]
    fn state_lies_apart_for_each_project() {
        let base = Path::new("/state");
        let name = |root: &str| ProjectFolder::at(Path::new(root)).state_dir_in(base);
        let shop = name("/nowhere/my shop");
        assert!(shop.starts_with("/state/kb"), "{shop:?}");
        assert!(shop.file_name().unwrap().to_str().unwrap().starts_with("my_shop-"), "{shop:?}");
        assert_ne!(shop, name("/elsewhere/my shop"));
        assert_eq!(shop, name("/nowhere/my shop"));
    }

    #[test]
    fn a_named_file_is_taken_for_what_it_is() {
        let (folder, project) = project(&["lib/a.yml", "agents/w.md", "doc/w.md", "lib/plain"]);
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("lib/s.yml", "id: s\nschema: \"kb.specialist/1\"\n");
        write("lib/old.yml", "agent:\n  id: x\n");
        write("lib/front", "---\nname: x\n---\n");
        let check = |name: &str, role| {
            let file = project.read_file(&folder.path().join(name)).unwrap();
            assert_eq!((file.path.as_str(), file.role), (name, role));
        };
        check("lib/a.yml", FileRole::Playbook);
        check("lib/s.yml", FileRole::Specialist);
        check("lib/old.yml", FileRole::Specialist);
        check("agents/w.md", FileRole::AgentProfile);
        check("doc/w.md", FileRole::Workflow);
        check("lib/front", FileRole::Workflow);
        check("lib/plain", FileRole::Playbook);
        let missing = project.read_file(&folder.path().join("lib/none.yml")).unwrap_err();
        assert!(missing.message.ends_with("none.yml`: no such file"), "{missing:?}");
        assert_eq!(role_of(Path::new(".kb/kb.config.json")), Some(FileRole::Settings));
        assert_eq!(role_of(Path::new("notes.txt")), None);
    }

    #[test]
    fn files_are_placed_once() {
        let (folder, _) = project(&[".kb/kept.yml"]);
        let files = [(".kb/kept.yml", "new"), (".kb/deep/made.yml", "new")];
        let placed = write_new_files(folder.path(), &files).unwrap();
        assert_eq!(placed.created, [".kb/deep/made.yml"]);
        assert_eq!(placed.kept, [".kb/kept.yml"]);
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((text(".kb/kept.yml"), text(".kb/deep/made.yml")), ("x".into(), "new".into()));
        let (path, _) = write_new_files(folder.path(), &[(".kb/kept.yml/below", "")]).unwrap_err();
        assert!(path.ends_with("below"));
    }
}
