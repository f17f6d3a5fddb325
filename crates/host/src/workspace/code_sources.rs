//! Paths in the project that programs of the author execute or read as definitions, and that only
//! the state of the project names: hooks and commands in the settings of git, and targets of links
//! in the folders of definitions.

use super::protected_names::{AT_ROOT, GIT, GIT_CODE_SOURCES};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Maximum size of a settings file of git in bytes.
const MAX_SETTINGS: u64 = 1 << 20;
/// Maximum number of settings files, and depth of includes.
const MAX_FILES: usize = 64;
/// Maximum number of entries and depth of the folders of definitions.
const MAX_ENTRIES: usize = 5_000;
const MAX_DEPTH: usize = 8;

/// The real paths in a workspace that settings of git or links of definitions lead to. `home` is
/// the home directory, whose settings of git count too. Paths that do not exist yet are included.
pub(super) fn code_sources(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    git_sources(root, home, &mut found);
    let mut left = MAX_ENTRIES;
    for name in AT_ROOT.iter().chain(&[".kb"]) {
        links(&root.join(name), MAX_DEPTH, &mut left, &mut found);
    }
    let git = root.join(GIT);
    links(&git.join("hooks"), MAX_DEPTH, &mut left, &mut found);
    found.into_iter().filter(|path| is_inside(path, root) && !path.starts_with(&git)).collect()
}

fn is_inside(path: &Path, root: &Path) -> bool {
    path != root && path.starts_with(root)
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
        if found.insert(target.clone()) {
            links(&target, depth - 1, left, found);
        }
    } else if metadata.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            links(&entry.path(), depth - 1, left, found);
        }
    }
}

/// The real paths that git executes or reads settings from for a repository outside of the project. `git` is its folder,
/// or the file in a work tree that names it. Paths that do not exist yet are included.
pub(super) fn sources_of_repository(git: &Path, home: Option<&Path>) -> BTreeSet<PathBuf> {
    let folder = git_folder(git);
    let top = match git.file_name() {
        Some(name) if name == GIT => git.parent().unwrap_or(git),
        _ => git,
    };
    let mut found = BTreeSet::new();
    settings_sources(top, settings_of_repository(&folder), home, &mut found);
    let mut left = MAX_ENTRIES;
    for name in GIT_CODE_SOURCES {
        links(&folder.join(name), MAX_DEPTH, &mut left, &mut found);
    }
    found
}

/// The same for the settings of the user and of the machine: files, and folders with a file `config`.
pub(super) fn sources_of_user(settings: &[PathBuf], home: Option<&Path>) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<PathBuf> = settings.iter().map(|path| real(path)).collect();
    let top = home.unwrap_or(Path::new("/"));
    let file = |path: &PathBuf| if path.is_dir() { path.join("config") } else { path.clone() };
    settings_sources(top, settings.iter().map(file).collect(), home, &mut found);
    found
}

/// Collects the paths that the settings of git execute or read settings from, for the work tree that contains a
/// project.
fn git_sources(root: &Path, home: Option<&Path>, found: &mut BTreeSet<PathBuf>) {
    let top = root.ancestors().find(|folder| folder.join(GIT).symlink_metadata().is_ok());
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    if let Some(home) = home {
        files.extend([home.join(".config/git/config"), home.join(".gitconfig")]);
    }
    files.extend(
        top.map(|top| settings_of_repository(&git_folder(&top.join(GIT)))).into_iter().flatten(),
    );
    settings_sources(top.unwrap_or(root), files, home, found);
}

/// Collects the paths that settings files of git name. Conditions of `includeIf` count as true.
fn settings_sources(
    top: &Path,
    mut files: Vec<PathBuf>,
    home: Option<&Path>,
    found: &mut BTreeSet<PathBuf>,
) {
    let (mut read, own) = (BTreeSet::new(), real(top));
    while let Some(file) = files.pop() {
        if read.len() >= MAX_FILES || !read.insert(file.clone()) {
            continue;
        }
        let is_small =
            file.metadata().is_ok_and(|found| found.is_file() && found.len() < MAX_SETTINGS);
        let Some(text) = is_small.then(|| std::fs::read(&file).ok()).flatten() else { continue };
        for (section, name, value) in settings(&String::from_utf8_lossy(&text)) {
            let at = |folder: &Path, value: &str| match (value.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => folder.join(value),
            };
            match use_of(&section, &name) {
                Use::None => {}
                Use::Include => {
                    let included = at(file.parent().unwrap_or(top), &value);
                    found.insert(real(&included));
                    files.push(included);
                }
                Use::Path => {
                    found.insert(real(&at(top, &value)));
                }
                Use::Command => {
                    let words =
                        value.split(|c: char| c.is_whitespace() || ";|&()<>\"'=$!".contains(c));
                    let paths = words.filter(|word| !word.is_empty()).map(|word| at(top, word));
                    let paths = paths.filter(|path| path.exists()).map(|path| real(&path));
                    // `.` in an editor command is no program.
                    found.extend(paths.filter(|path| !own.starts_with(path)));
                }
            }
        }
    }
}

/// The folder of a repository that a `.git` is or names.
fn git_folder(git: &Path) -> PathBuf {
    let text = std::fs::read_to_string(git).unwrap_or_default();
    match (text.trim_end().strip_prefix("gitdir: "), git.parent()) {
        (Some(folder), Some(top)) => top.join(folder),
        _ => git.to_owned(),
    }
}

/// The settings files of the repository in a folder.
fn settings_of_repository(folder: &Path) -> Vec<PathBuf> {
    let common = std::fs::read_to_string(folder.join("commondir"));
    let common = common.map_or_else(|_| folder.to_owned(), |text| folder.join(text.trim_end()));
    vec![common.join("config"), folder.join("config.worktree")]
}

/// What git does with the value of a setting.
enum Use {
    None,
    /// It reads further settings from this file.
    Include,
    /// It executes files in this folder, or reads attributes from this file.
    Path,
    /// It executes this command.
    Command,
}

fn use_of(section: &str, name: &str) -> Use {
    match (section, name) {
        ("include" | "includeif", "path") => Use::Include,
        ("core", "hookspath" | "attributesfile") | ("init", "templatedir") => Use::Path,
        ("core", "fsmonitor" | "sshcommand" | "editor" | "pager" | "gitproxy" | "askpass")
        | ("filter", "clean" | "smudge" | "process")
        | ("diff", "command" | "textconv" | "external")
        | ("merge", "driver")
        | ("mergetool" | "difftool" | "trailer" | "browser" | "guitool" | "hook", _)
        | ("alias" | "pager", _)
        | ("gpg", "program" | "defaultkeycommand")
        | ("credential", "helper")
        | ("sequence", "editor")
        | ("interactive", "difffilter")
        | ("submodule", "update")
        | ("uploadpack", "packobjectshook") => Use::Command,
        _ => Use::None,
    }
}

/// The settings in a file, as section, name and value. Sections and names are in lower case; names
/// of subsections are left out.
fn settings(text: &str) -> Vec<(String, String, String)> {
    let text = text.trim_start_matches('\u{feff}').replace("\\\r\n", "").replace("\\\n", "");
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let quoted =
                header.find('"').and_then(|at| Some(at + 1 + header[at + 1..].rfind("\"]")?));
            let Some(end) = quoted.map(|at| at + 1).or_else(|| header.find(']')) else { continue };
            let name =
                header[..end].split(|c: char| c.is_whitespace() || c == '.' || c == '"').next();
            section = name.unwrap_or_default().to_ascii_lowercase();
            line = header[end + 1..].trim();
        }
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some((name, value)) = line.split_once('=') {
            found.push((section.clone(), name.trim().to_ascii_lowercase(), unquoted(value.trim())));
        }
    }
    found
}

/// A value without quotes, escapes and a comment at its end.
fn unquoted(value: &str) -> String {
    let (mut text, mut quoted, mut characters) = (String::new(), false, value.chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' => text.extend(characters.next()),
            '#' | ';' if !quoted => break,
            other => text.push(other),
        }
    }
    text.trim_end().to_owned()
}

/// The real path of a path whose last components may not exist yet.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        if let Ok(found) = at.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                at = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "[core]\n hooksPath = \"a b\" ; c\n[Filter \"x]\"] Clean = sh \\\n ./f.sh\n# x = y\n[include]path=../i";
        let expected = [
            ("core", "hookspath", "a b"),
            ("filter", "clean", "sh  ./f.sh"),
            ("include", "path", "../i"),
        ];
        let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!(settings(text), expected);
    }

    #[test]
    fn hooks_commands_includes_and_linked_definitions_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let put = |path: &str, text: &str| {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        };
        put(".git/config", "[core]\nhooksPath=.husky/_\n[include]\npath=../tools/extra\n");
        put("tools/extra", "[filter \"x\"]\nclean = sh ./tools/clean.sh -x\n");
        put("tools/clean.sh", "");
        put("shared/p.yml", "");
        std::fs::create_dir(root.join(".kb")).unwrap();
        std::os::unix::fs::symlink("../shared", root.join(".kb/playbooks")).unwrap();
        let expected = [".husky/_", "shared", "tools/clean.sh", "tools/extra"];
        assert_eq!(code_sources(&root, None), expected.map(|path| root.join(path)));
    }
}
