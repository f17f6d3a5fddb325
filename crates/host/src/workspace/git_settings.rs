//! [`GitSources`]: the paths that the settings of git name. Git itself lists its settings; which of them it executes is
//! not asked: a path in any value counts.

use super::git_list::{GitList, ListGitSettings, NotListed};
use super::git_setting::{Setting, is_bool, parsed, path_text, path_texts};
use super::path_error::PathError;
use super::protected_names::GIT;
use super::real_path::{links_on_the_way, real};
use super::repository::short_text;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of files that are included under a condition.
const MAX_FILES: usize = 64;
/// What a file looked like when git read it; `None` if there was none.
pub(super) type Stamp = Option<(u64, u64, u64, (i64, i64))>;

/// The answer of git for a repository.
#[derive(Debug)]
struct Answer {
    /// The files that git read or looked for.
    stamps: Vec<(PathBuf, Stamp)>,
    listed: Arc<Listed>,
}

/// The settings that git listed.
#[derive(Debug, Default)]
struct Listed {
    settings: Vec<Setting>,
    /// Why git did not list all of them.
    missing: Option<String>,
}

/// What settings of git name.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Real paths, of files that have settings too. They need not exist where a setting must be a path.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Folders of hooks, with the setting for messages.
    pub(super) hooks: Vec<(PathBuf, String)>,
    /// Why not all settings are known.
    pub(super) unknown: Option<PathError>,
}

/// Knows the paths that settings of git name, as long as no file with settings changes. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct GitSources {
    git: Arc<dyn ListGitSettings>,
    answers: Arc<Mutex<HashMap<PathBuf, Answer>>>,
}

impl GitSources {
    pub(crate) fn new(git: Arc<dyn ListGitSettings>) -> GitSources {
        GitSources { git, answers: Arc::default() }
    }

    /// The files and folders in which git looks for settings of the user and of the machine.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        self.git.places()
    }

    /// The places themselves, and the links on the way: a file that has no settings yet is read when it has some.
    pub(super) fn protected_places(&self) -> BTreeSet<PathBuf> {
        let way = |place: PathBuf| [[real(&place)].into(), links_on_the_way(&place)];
        self.git.places().into_iter().flat_map(way).flatten().collect()
    }

    /// What the settings of a repository name. `folder` is that of the repository, `top` its work tree.
    pub(super) fn of_repository(&self, folder: &Path, top: &Path) -> Named {
        let listed = self.listed(GitList::Repository(folder));
        let mut named = self.named(&listed, top);
        for setting in listed.settings.iter().filter(|setting| setting.key == "core.worktree") {
            let found = self.named(&listed, &real(&folder.join(&setting.value)));
            named.paths.extend(found.paths);
            named.hooks.extend(found.hooks);
        }
        named
    }

    /// The files below a folder that git tracks, in submodules too; `None` if git cannot say.
    /// `git` is the `.git` of the work tree that contains the folder.
    pub(super) fn tracked(&self, git: &Path, below: &Path) -> Option<Vec<String>> {
        let (folder, top) = (git_folder(git), git.parent()?);
        let list = self.git.list(GitList::Tracked { folder: &folder, top, below }).ok()?;
        let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Some(paths.map(path_text).collect())
    }

    /// The same for the settings of the user and of the machine, where they have any.
    pub(super) fn of_user(&self, top: &Path) -> Named {
        if self.files_of_user().iter().any(|file| file.exists()) {
            self.named(&self.listed(GitList::User), top)
        } else {
            Named::default()
        }
    }

    fn files_of_user(&self) -> Vec<PathBuf> {
        let file = |path: PathBuf| if path.is_dir() { path.join("config") } else { path };
        self.git.places().into_iter().map(file).collect()
    }

    /// The settings, as git told them after the last change of a file with settings.
    fn listed(&self, asked: GitList<'_>) -> Arc<Listed> {
        let folder = match asked {
            GitList::Repository(folder) => folder,
            GitList::User | GitList::File(_) | GitList::Tracked { .. } => Path::new(""),
        };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current =
            |answer: &&Answer| answer.stamps.iter().all(|(path, was)| stamp(path) == *was);
        if let Some(known) = answers.get(folder).filter(is_current) {
            return known.listed.clone();
        }
        let mut files = self.files_of_user();
        if let GitList::Repository(folder) = asked {
            let own = settings_of_repository(folder);
            // Git would wait for a pipe.
            let is_no_file = |file: &&PathBuf| file.metadata().is_ok_and(|found| !found.is_file());
            if let Some(other) = own.iter().find(is_no_file) {
                let missing = Some(format!("`{}` is no file", other.display()));
                return Arc::new(Listed { settings: Vec::new(), missing });
            }
            files.extend(own);
        }
        let (listed, files) = self.read(asked, files);
        let stamps = files.into_iter().map(|file| (stamp(&file), file));
        let stamps = stamps.map(|(stamp, file)| (file, stamp)).collect();
        let listed = Arc::new(listed);
        if listed.missing.is_none() {
            answers.insert(folder.to_owned(), Answer { stamps, listed: listed.clone() });
        }
        listed
    }

    /// Asks git, and once more for each file that is included under a condition. If git fails, because it cannot read one
    /// of its files, each file is asked for alone. Returns the files too.
    fn read(&self, asked: GitList<'_>, files: Vec<PathBuf>) -> (Listed, BTreeSet<PathBuf>) {
        let (list, mut missing) = (self.git.list(asked), None);
        let mut settings = list.as_deref().map(parsed).unwrap_or_default();
        let (known, mut open) = match list {
            Ok(_) => (files, self.included(&settings)),
            Err(_) => (Vec::new(), files),
        };
        let mut files: BTreeSet<PathBuf> = known.into_iter().collect();
        files.extend(settings.iter().filter_map(|setting| setting.origin.clone()));
        while let Some(file) = open.pop() {
            if files.len() >= MAX_FILES {
                missing = Some(format!("they are in more than {MAX_FILES} files"));
                break;
            }
            if !files.insert(file.clone()) || !file.is_file() {
                continue;
            }
            match self.git.list(GitList::File(&file)) {
                Ok(list) => {
                    let more = parsed(&list);
                    open.extend(self.included(&more));
                    settings.extend(more);
                }
                Err(NotListed(why)) => {
                    missing = Some(format!("`{}`: {why}", file.display()));
                    // Each further question could wait as long.
                    break;
                }
            }
        }
        (Listed { settings, missing }, files)
    }

    /// The files that settings include, under whatever condition.
    fn included(&self, settings: &[Setting]) -> Vec<PathBuf> {
        let includes = settings.iter().filter(|setting| setting.is_include());
        includes
            .filter_map(|setting| self.at(setting.origin.as_deref()?.parent()?, &setting.value))
            .collect()
    }

    /// The path that a text stands for in a folder.
    fn at(&self, folder: &Path, text: &str) -> Option<PathBuf> {
        match text.strip_prefix('~').map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
            Some(("", rest)) => Some(self.git.home()?.join(rest)),
            Some((user, rest)) => Some(home_of(user)?.join(rest)),
            None => Some(folder.join(text)),
        }
    }

    /// The files of the settings, and the paths in their values.
    fn named(&self, listed: &Listed, top: &Path) -> Named {
        let settings = &listed.settings;
        let unknown = listed.missing.clone().map(PathError::UnknownSettings);
        let mut found = Named { unknown, ..Named::default() };
        let paths = &mut found.paths;
        paths.extend(settings.iter().filter_map(|setting| setting.origin.as_deref()).map(real));
        let included = self.included(settings);
        paths.extend(included.iter().map(|file| real(file)));
        paths.extend(included.iter().flat_map(|file| links_on_the_way(file)));
        let own = real(top);
        // A word that names what contains the work tree, or another one, is no code.
        let is_code = |path: &PathBuf| !own.starts_with(path) && !path.join(".git").exists();
        for setting in settings.iter().filter(|setting| !setting.is_include()) {
            if setting.is_path() && !setting.value.is_empty() {
                let path = self.at(top, &setting.value);
                found.paths.extend(path.iter().flat_map(|path| links_on_the_way(path)));
                let path = path.map(|path| real(&path));
                if setting.key == "core.hookspath" {
                    found.hooks.extend(path.clone().map(|path| (path, setting.shown())));
                }
                found.paths.extend(path);
            }
            for path in self.words_of(setting, top) {
                found.paths.extend(Some(real(&path)).filter(is_code));
                found.paths.extend(links_on_the_way(&path));
            }
        }
        found
    }

    fn words_of(&self, setting: &Setting, top: &Path) -> Vec<PathBuf> {
        let Setting { key, value, .. } = setting;
        let mut paths = if is_bool(value) { Vec::new() } else { self.words(value, top) };
        // `url.ext::./program.insteadOf`: a name with `::` executes what follows.
        if let Some((_, program)) = key.split_once("::") {
            let program = program.rsplit_once('.').map_or(program, |(program, _)| program);
            paths.extend(self.words(&format!("ext {program}"), top));
        }
        paths
    }

    /// The existing paths that a value names.
    fn words(&self, value: &str, top: &Path) -> Vec<PathBuf> {
        let paths = path_texts(value).into_iter().filter_map(|text| self.at(top, &text));
        paths.filter(|path| path.exists()).collect()
    }
}

/// The home directory of another user.
fn home_of(user: &str) -> Option<PathBuf> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut of = fields.filter(|fields| fields.first() == Some(&user));
    of.find_map(|fields| fields.get(5).map(PathBuf::from))
}

pub(super) fn stamp(path: &Path) -> Stamp {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino(), found.size(), (found.ctime(), found.ctime_nsec())))
}

/// The `.git` of the work tree that contains a folder.
pub(super) fn git_around(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|above| above.join(GIT)).find(|git| git.symlink_metadata().is_ok())
}

/// The folder of a repository that a `.git` is or names.
pub(super) fn git_folder(git: &Path) -> PathBuf {
    let text = short_text(git).unwrap_or_default();
    match (text.trim_end().strip_prefix("gitdir: "), git.parent()) {
        (Some(folder), Some(top)) => top.join(folder),
        _ => git.to_owned(),
    }
}

/// The settings files of the repository in a folder.
fn settings_of_repository(folder: &Path) -> [PathBuf; 3] {
    let named = folder.join("commondir");
    let common = short_text(&named);
    let common = common.map_or_else(|| folder.to_owned(), |text| folder.join(text.trim_end()));
    [common.join("config"), folder.join("config.worktree"), named]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Tells what the files say, one setting a line: `key = value`.
    #[derive(Debug)]
    pub(crate) struct Told {
        pub(crate) home: PathBuf,
        pub(crate) places: Vec<PathBuf>,
    }

    impl ListGitSettings for Told {
        fn list(&self, asked: GitList<'_>) -> Result<Vec<u8>, NotListed> {
            let refused = || NotListed("no git".to_owned());
            if self.home.join("no-git").exists() {
                return Err(refused());
            }
            let files = match asked {
                GitList::Repository(folder) => {
                    self.places.iter().cloned().chain(settings_of_repository(folder)).collect()
                }
                GitList::User => self.places.clone(),
                GitList::File(file) => vec![file.to_owned()],
                GitList::Tracked { folder, .. } => {
                    let list = std::fs::read(folder.join("index"));
                    return list.ok().filter(|list| list != b"bad").ok_or_else(refused);
                }
            };
            let of_file = |file: &PathBuf| {
                let file = if file.is_dir() { file.join("config") } else { file.clone() };
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let line = |line: &str| {
                    let (key, value) = line.split_once(" = ")?;
                    Some(format!("file:{}\0{key}\n{value}\0", file.display()))
                };
                text.lines().filter_map(line).collect::<String>()
            };
            Ok(files.iter().map(of_file).collect::<String>().into_bytes())
        }

        fn places(&self) -> Vec<PathBuf> {
            self.places.clone()
        }

        fn home(&self) -> Option<&Path> {
            Some(&self.home)
        }
    }

    #[test]
    fn paths_in_values_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [
            "tools/x.sh",
            "main/a",
            "docs",
            "x.py",
            "sub/.git/HEAD",
            "o.inc",
            "home/p/a",
            "a b/x.sh",
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        std::fs::create_dir(root.join(".git")).unwrap();
        for (setting, expected) in [
            ("core.hookspath = .githooks", vec![".githooks"]),
            ("core.alternaterefscommand = ./tools/x.sh", vec!["tools/x.sh"]),
            ("unknown.key = sh -c 'cat tools/x.sh'", vec!["tools/x.sh"]),
            ("alias.z = !cd tools && ./x.sh", vec!["tools"]),
            ("alias.z = !f() { \"${GIT_PREFIX:-.}/tools/x.sh\"; }; f", vec!["tools/x.sh"]),
            ("filter.f.clean = python x.py", vec!["x.py"]),
            ("url.ext::./tools/x.sh.insteadof = https://e/", vec!["tools/x.sh"]),
            ("diff.x.command = ~/p/a", vec!["home/p/a"]),
            ("include.path = ../o.inc", vec!["o.inc"]),
            ("includeif.onbranch:x.path = ../o.inc", vec!["o.inc"]),
            // Names that are no paths, and other work trees.
            ("init.defaultbranch = main", vec![]),
            ("user.name = docs", vec![]),
            ("remote.origin.url = https://github.com/acme/main", vec![]),
            ("branch.main.merge = refs/heads/main", vec![]),
            ("submodule.sub.url = ./sub", vec![]),
            ("safe.directory = ..", vec![]),
            // A key of a path, and an option before a path.
            ("core.quotepath = false", vec!["false"]),
            ("core.hookspath = on", vec!["on"]),
            ("core.hookspath = sub", vec!["sub"]),
            ("core.hookspath = .", vec![""]),
            ("alias.setupdir = !sh tools/x.sh", vec!["!sh tools/x.sh", "tools/x.sh"]),
            ("filter.f.clean = perl -Itools x.py", vec!["tools", "x.py"]),
            ("alias.z = !sh $PWD/tools/x.sh", vec!["tools/x.sh"]),
            ("alias.z = !R=$(pwd); sh \"$R/../p/tools/x.sh\"", vec!["tools/x.sh"]),
            ("alias.z = !bash -c \"sh \\\"tools/x.sh\\\"\"", vec!["tools/x.sh"]),
            ("core.editor = sh \"a b/x.sh\"", vec!["a b/x.sh"]),
        ] {
            std::fs::write(root.join(".git/config"), format!("{setting}\n")).unwrap();
            let git =
                GitSources::new(Arc::new(Told { home: root.join("home"), places: Vec::new() }));
            let mut found = git.of_repository(&root.join(".git"), &root).paths;
            assert!(found.remove(&root.join(".git/config")));
            let expected: BTreeSet<PathBuf> = expected.iter().map(|path| root.join(path)).collect();
            assert_eq!(found, expected, "{setting}");
        }
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        let git = GitSources::new(Arc::new(Told { home: root.clone(), places: Vec::new() }));
        for hooks in [".a", ".bb"] {
            std::fs::write(root.join(".git/config"), format!("core.hookspath = {hooks}\n"))
                .unwrap();
            let found = git.of_repository(&root.join(".git"), &root).paths;
            assert!(found.contains(&root.join(hooks)), "{found:?}");
        }
    }
}
