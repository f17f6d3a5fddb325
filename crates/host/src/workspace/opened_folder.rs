//! Folders outside of the project that are opened for commands in the sandbox: what they leave out.

use super::code_sources::{MAX_REPOSITORIES, sources_of_repository};
use super::dir_handle::MAX_ENTRIES;
use super::git_settings::GitSources;
use super::protected_names::{ANYWHERE, GIT, is_git_folder, normalized};
use super::real_path::real;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// A folder or file outside of the project that a command may write to.
pub(crate) struct OpenedFolder<'a> {
    /// Its real path.
    pub(crate) path: &'a Path,
    /// The project, for which other rules hold.
    pub(crate) project: &'a Path,
    /// What links of definitions and settings of git for the project name, there and elsewhere.
    pub(crate) sources: &'a BTreeSet<PathBuf>,
    /// Knows what settings of git name.
    pub(crate) git: Option<&'a GitSources>,
}

impl OpenedFolder<'_> {
    /// The paths in it that stay read-only: repositories, what their settings and those of the user and of the project
    /// name, and settings of `kb`. The error says why the folder cannot be opened.
    pub(crate) fn left_out(&self) -> Result<Vec<PathBuf>, String> {
        let opened = self.path;
        let settings = self.git.map(GitSources::places).unwrap_or_default();
        for path in settings.iter().map(|path| placed(path)) {
            if path.starts_with(opened) || opened.starts_with(&path) {
                return Err(format!("git reads its settings from `{}`", path.display()));
            }
        }
        let mut search = Search::new(self.project);
        self.look_above(&mut search)?;
        if opened.is_dir() {
            search.below(opened)?;
        }
        let mut sources = self.sources.clone();
        sources.extend(settings.iter().map(|path| real(path)));
        let of_user = self.git.map(|git| git.of_user(Path::new("/")));
        let of_repositories =
            search.repositories.iter().map(|path| sources_of_repository(path, self.git));
        for named in of_user.into_iter().chain(of_repositories) {
            if let Some(unknown) = named.unknown {
                return Err(unknown.to_string());
            }
            sources.extend(named.paths);
        }
        for path in sources {
            let is_new = path.starts_with(opened) && !path.exists();
            if is_new || opened.starts_with(&path) {
                return Err(format!("git or `kb` executes or reads `{}`", path.display()));
            }
            if path.starts_with(opened) {
                search.closed.insert(path);
            }
        }
        Ok(search.closed.into_iter().collect())
    }

    /// Finds the repository whose work tree contains the folder. One that is or lies in a repository is refused.
    fn look_above(&self, search: &mut Search<'_>) -> Result<(), String> {
        for above in self.path.ancestors() {
            let is_git = above.file_name().is_some_and(|name| name == GIT);
            let names = || names_in(above).unwrap_or_default();
            if is_git
                || above.is_dir() && is_git_folder(|name| names().iter().any(|one| one == name))
            {
                return Err(format!("it belongs to the git repository `{}`", above.display()));
            }
            let git = above.join(GIT);
            if above != self.path && git.symlink_metadata().is_ok() {
                search.repositories.insert(git);
                break;
            }
        }
        Ok(())
    }
}

/// The path of an entry whose folder is real; the entry itself may be a link.
fn placed(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real(folder).join(name),
        _ => path.to_owned(),
    }
}

fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let names = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// A search for repositories and settings of `kb`.
struct Search<'a> {
    project: &'a Path,
    searched: usize,
    /// Folders of repositories, and the files that name one.
    repositories: BTreeSet<PathBuf>,
    closed: BTreeSet<PathBuf>,
}

impl<'a> Search<'a> {
    fn new(project: &'a Path) -> Search<'a> {
        Search { project, searched: 0, repositories: BTreeSet::new(), closed: BTreeSet::new() }
    }

    /// Searches a folder, without following links.
    fn below(&mut self, opened: &Path) -> Result<(), String> {
        let mut open = vec![opened.to_owned()];
        while let Some(folder) = open.pop() {
            if folder == self.project {
                continue;
            }
            match self.folder(&folder, &mut open) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // The command could make it accessible.
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied && folder != opened =>
                {
                    self.closed.insert(folder);
                }
                Err(error) => {
                    return Err(format!("`{}` cannot be searched: {error}", folder.display()));
                }
            }
            if self.searched > MAX_ENTRIES || self.repositories.len() > MAX_REPOSITORIES {
                let limit = format!("{MAX_ENTRIES} entries or {MAX_REPOSITORIES} repositories");
                return Err(format!("it contains more than {limit}"));
            }
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path, open: &mut Vec<PathBuf>) -> io::Result<()> {
        let (mut below, mut names) = (Vec::new(), BTreeSet::new());
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            self.searched += 1;
            let name = entry.file_name().to_string_lossy().into_owned();
            let (is_folder, is_link) =
                entry.file_type().map(|kind| (kind.is_dir(), kind.is_symlink()))?;
            match normalized(&name) {
                name if ANYWHERE.contains(&name.as_str()) => {
                    if is_link {
                        return Err(io::Error::other(format!("`{name}` in it is a link")));
                    }
                    if name == GIT {
                        self.repositories.insert(entry.path());
                    }
                    self.closed.insert(entry.path());
                }
                _ if is_folder => below.push(entry.path()),
                _ => {}
            }
            names.insert(name);
        }
        if is_git_folder(|name| names.contains(name)) {
            self.repositories.insert(folder.to_owned());
            self.closed.insert(folder.to_owned());
        } else {
            open.extend(below);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::git_settings::tests::Told;
    use super::*;
    use std::sync::Arc;

    /// A home folder with the files, folders (with `/` at the end) and links of a list.
    fn home(entries: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in entries {
            let at = folder.path().join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            if path.ends_with('/') {
                std::fs::create_dir_all(&at).unwrap();
            } else {
                std::fs::write(&at, text).unwrap();
            }
        }
        folder
    }

    fn repository(at: &str, config: &str) -> Vec<(String, String)> {
        let files = [("HEAD", ""), ("objects/", ""), ("refs/", ""), ("config", config)];
        files.map(|(name, text)| (format!("{at}/{name}"), text.to_owned())).to_vec()
    }

    /// What is left out, relative to the home folder.
    fn left_out(entries: &[(String, String)], opened: &str) -> Result<Vec<String>, String> {
        let entries: Vec<(&str, &str)> =
            entries.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let folder = home(&entries);
        let root = folder.path().canonicalize().unwrap();
        let places = vec![root.join(".gitconfig"), root.join(".config/git")];
        let git = GitSources::new(Arc::new(Told { home: root.clone(), places }));
        let folder = OpenedFolder {
            path: &root.join(opened),
            project: &root.join("project"),
            sources: &BTreeSet::from([root.join("named/x")]),
            git: Some(&git),
        };
        let shown = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
        folder.left_out().map(|paths| paths.into_iter().map(shown).collect())
    }

    #[test]
    fn repositories_and_what_their_settings_execute_are_left_out() {
        let hooks = "core.hookspath = tools/hooks\n";
        let own = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let work_tree =
            [repository("code/a/.git", hooks), vec![own("code/a/tools/hooks/x", "")]].concat();
        let linked = [
            repository("main/.git", hooks),
            vec![
                own("code/b/.git", "gitdir: ../../main/.git/worktrees/b"),
                own("code/b/tools/hooks/x", ""),
            ],
            vec![
                own("main/.git/worktrees/b/commondir", "../.."),
                own("main/.git/worktrees/b/HEAD", ""),
            ],
        ]
        .concat();
        let deep = repository(&format!("code/{}.git", "d/".repeat(300)), "");
        for (entries, opened, expected) in [
            (work_tree.clone(), "code", vec!["code/a/.git", "code/a/tools/hooks"]),
            (work_tree.clone(), "code/a", vec!["code/a/.git", "code/a/tools/hooks"]),
            (work_tree.clone(), "code/a/tools", vec!["code/a/tools/hooks"]),
            (linked, "code/b", vec!["code/b/.git", "code/b/tools/hooks"]),
            (repository("code/x/bare", ""), "code", vec!["code/x/bare"]),
            (repository("code/x/.git/modules/m", ""), "code", vec!["code/x/.git"]),
            (vec![own("code/a/.kb/playbooks/p.yml", "")], "code", vec!["code/a/.kb"]),
            (vec![own("code/x", "")], "code", vec![]),
            // What the settings of the project name.
            (vec![own("named/x", ""), own("named/y", "")], "named", vec!["named/x"]),
            (vec![own("code/x", "")], "code/x", vec![]),
            // The project has rules of its own.
            (repository("project/.git", ""), "project", vec![]),
            (
                vec![own(".gitconfig", "include.path = ~/dotfiles/git\n"), own("dotfiles/git", "")],
                "dotfiles",
                vec!["dotfiles/git"],
            ),
            (
                vec![
                    own(".config/git/config", "core.hookspath = ~/tools/hooks\n"),
                    own("tools/hooks/x", ""),
                ],
                "tools",
                vec!["tools/hooks"],
            ),
        ] {
            assert_eq!(left_out(&entries, opened).unwrap(), expected, "{opened}");
        }
        assert_eq!(left_out(&deep, "code").unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_left_out_is_not_opened() {
        let own = |path: &str, text: &str| vec![(path.to_owned(), text.to_owned())];
        let hooks = "core.hookspath = tools/hooks\n";
        let many = || (0..=MAX_REPOSITORIES).map(|at| (format!("code/{at}/.git/"), String::new()));
        for (entries, opened, expected) in [
            (own("x", ""), "", "git reads its settings from"),
            (own(".config/x", ""), ".config", "git reads its settings from"),
            (own(".config/git/config", ""), ".config/git", "git reads its settings from"),
            (repository("code/a/.git", ""), "code/a/.git", "it belongs to the git repository"),
            (
                repository("code/a/.git", ""),
                "code/a/.git/objects",
                "it belongs to the git repository",
            ),
            (repository("bare", ""), "bare", "it belongs to the git repository"),
            (repository("bare", ""), "bare/refs", "it belongs to the git repository"),
            // Hooks that do not exist yet.
            (repository("code/a/.git", hooks), "code", "git or `kb` executes or reads"),
            (
                [repository("code/a/.git", hooks), own("code/a/tools/hooks/x", "")].concat(),
                "code/a/tools/hooks",
                "git or `kb` executes or reads",
            ),
            (many().collect(), "code", "more than"),
        ] {
            let why = left_out(&entries, opened).unwrap_err();
            assert!(why.contains(expected), "{opened}: {why}");
        }
    }
}
