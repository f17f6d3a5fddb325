//! Paths that programs of the author execute or read as definitions, and that only the state of the project names: hooks
//! and other paths in the settings of git, and targets of links in the folders of definitions.

use super::dir_handle::MAX_ENTRIES;
use super::git_settings::{GitSources, Named, git_around, git_folder};
use super::path_error::PathError;
use super::protected_names::{AT_ROOT, GIT, GIT_CODE_SOURCES, is_git_folder, normalized};
use super::real_path::{links_on_the_way, real};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Maximum number of entries and depth of the folders of definitions.
const MAX_LINKED: usize = 5_000;
const MAX_DEPTH: usize = 8;
/// Maximum number of repositories whose settings are read.
pub(super) const MAX_REPOSITORIES: usize = 200;

/// What programs of the author execute or read in a workspace.
#[derive(Debug, Clone, Default)]
pub(super) struct CodeSources {
    /// The real paths, in it and elsewhere, that links of definitions or settings of git lead to. They need not exist yet.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Why any file of the workspace may be executed: git executes hooks of the workspace itself, or it is not known what
    /// git executes.
    pub(super) refused: Option<PathError>,
}

/// Those of a workspace, by the settings of the repository that contains it, and of those in it.
pub(super) fn code_sources(root: &Path, git: Option<&GitSources>) -> CodeSources {
    let (mut found, mut refused) = (BTreeSet::new(), None);
    for name in AT_ROOT.iter().chain(&[".kb"]) {
        let mut left = MAX_LINKED;
        links(&root.join(name), MAX_DEPTH, &mut left, &mut found);
    }
    let mut repositories: BTreeSet<PathBuf> = git_around(root).into_iter().collect();
    match repositories_below(root) {
        Ok(below) => repositories.extend(below),
        Err(error) => refused = Some(error),
    }
    let of_repositories = repositories.iter().map(|path| sources_of_repository(path, git));
    let of_user = git.filter(|_| repositories.is_empty()).map(|git| git.of_user(root));
    for named in of_repositories.chain(of_user) {
        let around = named.hooks.into_iter().find(|(folder, _)| root.starts_with(folder));
        let around = around.map(|(_, setting)| PathError::AllHooks(setting));
        refused = refused.or(around).or(named.unknown);
        found.extend(named.paths);
        // Nothing that could write is started then.
        if refused.is_some() {
            break;
        }
    }
    found.extend(git.map(GitSources::protected_places).unwrap_or_default());
    CodeSources { paths: found, refused }
}

/// The repositories in a folder: their `.git`, or the folder that has another name. No link is followed.
fn repositories_below(root: &Path) -> Result<Vec<PathBuf>, PathError> {
    let (mut found, mut open, mut searched) = (Vec::new(), vec![root.to_owned()], 0);
    while let Some(folder) = open.pop() {
        let (mut below, mut names) = (Vec::new(), BTreeSet::new());
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            searched += 1;
            let name = entry.file_name().to_string_lossy().into_owned();
            if normalized(&name) == GIT {
                // A pipe, socket or device is no repository.
                let is_other = |found: Metadata| !found.is_dir() && !found.is_file();
                if !std::fs::metadata(entry.path()).is_ok_and(is_other) {
                    found.push(entry.path());
                }
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(entry.path());
            }
            names.insert(name);
        }
        if is_git_folder(|name| names.contains(name)) && folder != root {
            found.push(folder);
        } else {
            open.extend(below);
        }
        if searched > MAX_ENTRIES || found.len() > MAX_REPOSITORIES {
            let most = format!("{MAX_ENTRIES} entries or {MAX_REPOSITORIES} repositories");
            let message =
                format!("the project has more than {most}, so that not all are protected");
            return Err(PathError::TooMuch(message));
        }
    }
    Ok(found)
}

/// Collects the targets of the links at and below a path.
fn links(path: &Path, depth: usize, left: &mut usize, found: &mut BTreeSet<PathBuf>) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if depth == 0 || *left == 0 {
        return;
    }
    *left -= 1;
    if metadata.is_symlink() {
        let target = real(path);
        found.extend(links_on_the_way(path));
        if found.insert(target.clone()) {
            links(&target, depth - 1, left, found);
        }
    } else if metadata.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            links(&entry.path(), depth - 1, left, found);
        }
    }
}

/// What git executes or reads as settings for a repository outside of it. `repository` is its folder, or
/// the `.git` of a work tree.
pub(super) fn sources_of_repository(repository: &Path, git: Option<&GitSources>) -> Named {
    let folder = git_folder(repository);
    let top = match repository.file_name() {
        Some(name) if name == GIT => repository.parent().unwrap_or(repository),
        _ => repository,
    };
    let mut named = git.map(|git| git.of_repository(&folder, top)).unwrap_or_default();
    let mut left = MAX_LINKED;
    for name in GIT_CODE_SOURCES {
        links(&folder.join(name), MAX_DEPTH, &mut left, &mut named.paths);
    }
    for (hooks, _) in &named.hooks {
        links(hooks, MAX_DEPTH, &mut left, &mut named.paths);
    }
    let own = [real(repository), real(&folder)];
    named.paths.retain(|path| !own.iter().any(|own| path.starts_with(own)));
    named
}

#[cfg(test)]
mod tests {
    use super::super::git_settings::tests::Told;
    use super::*;
    use rustix::fs::{CWD, Mode};
    use std::sync::Arc;

    #[test]
    fn hooks_commands_includes_and_linked_definitions_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let put = |path: &str, text: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        };
        put(".git/config", "core.hookspath = .husky/_\ninclude.path = ../tools/extra\n");
        put("tools/extra", "filter.x.clean = sh ./tools/clean.sh -x\n");
        put("tools/clean.sh", "");
        put("shared/p.yml", "");
        // A repository in it, and one without a work tree.
        put("vendor/lib/.git/config", "core.hookspath = ../../hooks\n");
        for path in ["store/HEAD", "store/objects/x", "store/refs/x"] {
            put(path, "");
        }
        put("store/config", "core.hookspath = ../bare-hooks\n");
        std::fs::create_dir(root.join(".kb")).unwrap();
        std::os::unix::fs::symlink("../shared", root.join(".kb/playbooks")).unwrap();
        let git = GitSources::new(Arc::new(Told { home: root.clone(), places: Vec::new() }));
        let expected = [
            ".husky/_",
            ".kb/playbooks",
            "bare-hooks",
            "hooks",
            "shared",
            "tools/clean.sh",
            "tools/extra",
        ];
        let expected = expected.map(|path| root.join(path)).into_iter().collect();
        let found = code_sources(&root, Some(&git));
        assert_eq!((found.paths, found.refused), (expected, None));
    }

    /// Hooks of a folder that contains the workspace, of whatever repository, and without git.
    #[test]
    fn hooks_of_the_workspace_itself_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&root).unwrap();
        for (repository, setting) in [
            ("../.git", "core.hookspath = ."),
            (".git", "core.hookspath = ."),
            ("sub/.git", "core.hookspath = ../.."),
        ] {
            let config = root.join(repository).join("config");
            std::fs::create_dir_all(config.parent().unwrap()).unwrap();
            std::fs::write(&config, format!("{setting}\n")).unwrap();
            let git = GitSources::new(Arc::new(Told { home: root.clone(), places: Vec::new() }));
            let told = code_sources(&root, Some(&git)).refused.unwrap().to_string();
            assert!(told.contains(&format!("`{setting}` in `")), "{repository}: {told}");
            std::fs::remove_file(&config).unwrap();
            assert_eq!(code_sources(&root, Some(&git)).refused, None);
        }
        // Of the user, for a project without a repository.
        std::fs::remove_dir_all(root.join(".git")).unwrap();
        std::fs::remove_dir_all(root.join("sub/.git")).unwrap();
        std::fs::remove_dir_all(root.parent().unwrap().join(".git")).unwrap();
        let own = root.join("own.config");
        std::fs::write(&own, format!("core.hookspath = {}\n", root.display())).unwrap();
        let git = GitSources::new(Arc::new(Told { home: root.clone(), places: vec![own] }));
        assert!(code_sources(&root, Some(&git)).refused.is_some());
        std::fs::create_dir(root.join(".git")).unwrap();
        // Relative to another work tree.
        let text = "core.worktree = ../..\ncore.hookspath = project\n";
        std::fs::write(root.join(".git/config"), text).unwrap();
        let git = GitSources::new(Arc::new(Told { home: root.clone(), places: Vec::new() }));
        let told = code_sources(&root, Some(&git)).refused.unwrap().to_string();
        assert!(told.contains("config:2`"), "{told}");
        let text = "core.worktree = ../sub\ncore.hookspath = hk\n";
        std::fs::write(root.join(".git/config"), text).unwrap();
        let found = code_sources(&root, Some(&git)).paths;
        assert!([root.join("hk"), root.join("sub/hk")].iter().all(|path| found.contains(path)));
    }

    /// Settings that git does not list could name each file, and so could those of repositories that are not asked for.
    #[test]
    fn what_is_not_known_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let refused = || {
            let git = GitSources::new(Arc::new(Told { home: root.clone(), places: Vec::new() }));
            code_sources(&root, Some(&git)).refused.map(|error| error.to_string())
        };
        let repository = |name: &str| {
            std::fs::create_dir_all(root.join(name)).unwrap();
            std::fs::write(root.join(name).join("config"), "core.bare = false\n").unwrap();
        };
        std::fs::write(root.join("no-git"), "").unwrap();
        assert_eq!(refused(), None);
        repository(".git");
        let told = refused().unwrap();
        assert!(
            told.contains("git does not list its settings") && told.contains(".git/config"),
            "{told}"
        );
        std::fs::remove_file(root.join("no-git")).unwrap();
        assert_eq!(refused(), None);
        // Git would wait for a pipe.
        for name in ["sub/.git", "sub/commondir", "sub/config"] {
            let folder = match name {
                "sub/.git" => root.join("sub"),
                _ => root.join("sub/.git"),
            };
            std::fs::create_dir_all(&folder).unwrap();
            let pipe = folder.join(name.trim_start_matches("sub/"));
            rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
            let told = refused();
            assert_eq!(told.is_some(), name != "sub/.git", "{told:?}");
            std::fs::remove_dir_all(root.join("sub")).unwrap();
        }
        std::fs::create_dir(root.join("sub")).unwrap();
        let large = std::fs::File::create(root.join("sub/.git")).unwrap();
        large.set_len(1 << 40).unwrap();
        assert_eq!(refused(), None);
        std::fs::remove_dir_all(root.join("sub")).unwrap();
        // Files that are included under conditions.
        let include = |at| format!("includeif.onbranch:b{at}.path = i{at}\n");
        let includes: String = (0..70).map(include).collect();
        std::fs::write(root.join(".git/config"), includes).unwrap();
        assert!(refused().unwrap().contains("more than 64 files"));
        repository(".git");
        (0..=MAX_REPOSITORIES).for_each(|at| repository(&format!("{at}/.git")));
        assert!(refused().unwrap().contains("200 repositories"));
    }
}
