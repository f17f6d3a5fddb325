//! [`GitSources`]: the paths that the settings of git name. Git itself lists its settings; which of them it executes is
//! not asked: a path in any value counts.

use super::real_path::real;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of files that are included under a condition.
const MAX_FILES: usize = 64;
/// The characters between the words of a command.
const BETWEEN: &str = ";|&()<>\"'`=$!{}:,";

/// What git is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitList<'a> {
    /// All settings that hold in a repository, given its folder.
    Repository(&'a Path),
    /// All settings of the user and of the machine.
    User,
    /// Those of a file, without those that it includes.
    File(&'a Path),
}

/// Asks git for its settings.
pub trait ListGitSettings: Debug + Send + Sync {
    /// What `git config --list --show-origin -z` prints; `None` if git fails. Blocks for some milliseconds.
    fn list(&self, asked: GitList<'_>) -> Option<Vec<u8>>;

    /// The files and folders in which git looks for settings of the user and of the machine, whether they exist or not.
    fn places(&self) -> Vec<PathBuf>;

    /// The home directory of the user.
    fn home(&self) -> Option<&Path>;
}

/// A setting, as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    /// The file that has it.
    origin: Option<PathBuf>,
    /// Section and name in lower case.
    key: String,
    value: String,
}

/// What a file looked like when git read it.
type Stamp = Option<(u64, u64, u64, (i64, i64))>;

/// The answer of git for a repository.
#[derive(Debug)]
struct Answer {
    /// The files that git read or looked for.
    stamps: Vec<(PathBuf, Stamp)>,
    settings: Arc<Vec<Setting>>,
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

    /// The real paths that the settings of a repository name, and the files that have them. `folder` is that of the
    /// repository, `top` its work tree. Paths that do not exist yet are included where a setting must be a path.
    pub(super) fn of_repository(&self, folder: &Path, top: &Path) -> BTreeSet<PathBuf> {
        let settings = self.settings(GitList::Repository(folder));
        self.named(&settings, top)
    }

    /// The same for the settings of the user and of the machine, where they have any.
    pub(super) fn of_user(&self, top: &Path) -> BTreeSet<PathBuf> {
        match self.files_of_user().iter().any(|file| file.exists()) {
            true => self.named(&self.settings(GitList::User), top),
            false => BTreeSet::new(),
        }
    }

    fn files_of_user(&self) -> Vec<PathBuf> {
        let file = |path: PathBuf| if path.is_dir() { path.join("config") } else { path };
        self.git.places().into_iter().map(file).collect()
    }

    /// The settings, as git told them after the last change of a file with settings.
    fn settings(&self, asked: GitList<'_>) -> Arc<Vec<Setting>> {
        let folder = match asked {
            GitList::Repository(folder) => folder,
            GitList::User | GitList::File(_) => Path::new(""),
        };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current =
            |answer: &&Answer| answer.stamps.iter().all(|(path, was)| stamp(path) == *was);
        if let Some(known) = answers.get(folder).filter(is_current) {
            return known.settings.clone();
        }
        let mut files = self.files_of_user();
        if let GitList::Repository(folder) = asked {
            files.extend(settings_of_repository(folder));
        }
        let (settings, files) = self.read(asked, files);
        let stamps = files.into_iter().map(|file| (stamp(&file), file));
        let stamps = stamps.map(|(stamp, file)| (file, stamp)).collect();
        let settings = Arc::new(settings);
        answers.insert(folder.to_owned(), Answer { stamps, settings: settings.clone() });
        settings
    }

    /// Asks git, and once more for each file that is included under a condition. If git fails, because it cannot read one
    /// of its files, each file is asked for alone. Returns the files too.
    fn read(&self, asked: GitList<'_>, files: Vec<PathBuf>) -> (Vec<Setting>, BTreeSet<PathBuf>) {
        let list = self.git.list(asked);
        let mut settings = parsed(list.as_deref().unwrap_or_default());
        let (known, mut open) = match list {
            Some(_) => (files, self.included(&settings)),
            None => (Vec::new(), files),
        };
        let mut files: BTreeSet<PathBuf> = known.into_iter().collect();
        files.extend(settings.iter().filter_map(|setting| setting.origin.clone()));
        while let Some(file) = open.pop() {
            if files.len() < MAX_FILES && files.insert(file.clone()) && file.is_file() {
                let more = parsed(&self.git.list(GitList::File(&file)).unwrap_or_default());
                open.extend(self.included(&more));
                settings.extend(more);
            }
        }
        (settings, files)
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
        match text.strip_prefix("~/") {
            Some(rest) => Some(self.git.home()?.join(rest)),
            None => Some(folder.join(text)),
        }
    }

    /// The files of the settings, and the paths in their values.
    fn named(&self, settings: &[Setting], top: &Path) -> BTreeSet<PathBuf> {
        let mut found: BTreeSet<PathBuf> = BTreeSet::new();
        found.extend(settings.iter().filter_map(|setting| setting.origin.as_deref()).map(real));
        found.extend(self.included(settings).iter().map(|file| real(file)));
        let own = real(top);
        // What contains the work tree, or is another one, is no code.
        let is_code = |path: &PathBuf| !own.starts_with(path) && !path.join(".git").exists();
        let paths = settings.iter().flat_map(|setting| self.paths_of(setting, top));
        found.extend(paths.map(|path| real(&path)).filter(is_code));
        found
    }

    fn paths_of(&self, setting: &Setting, top: &Path) -> Vec<PathBuf> {
        let Setting { key, value, .. } = setting;
        if setting.is_include() || is_bool(value) {
            return Vec::new();
        }
        if setting.is_path() {
            return self.at(top, value).into_iter().collect();
        }
        let mut paths = self.words(value, top);
        // `url.ext::./program.insteadOf`: a name with `::` executes what follows.
        if let Some((_, program)) = key.split_once("::") {
            let program = program.rsplit_once('.').map_or(program, |(program, _)| program);
            paths.extend(self.words(&format!("ext {program}"), top));
        }
        paths
    }

    /// The existing paths that words of a value name. A first word without `/` is a program in `PATH`, or a plain value.
    fn words(&self, value: &str, top: &Path) -> Vec<PathBuf> {
        let words = value.split(|c: char| c.is_whitespace() || BETWEEN.contains(c));
        let words = words.filter(|word| !word.is_empty()).enumerate();
        let words = words.filter(|(at, word)| *at > 0 || word.contains('/'));
        // A variable can stand before the first `/`.
        let paths = words.flat_map(|(_, word)| {
            let below = word.strip_prefix('/').map(|below| top.join(below.trim_start_matches('/')));
            [self.at(top, word), below]
        });
        paths.flatten().filter(|path| path.exists()).collect()
    }
}

impl Setting {
    fn is_include(&self) -> bool {
        self.name() == "path"
            && (self.key.starts_with("include.") || self.key.starts_with("includeif."))
    }

    /// Whether the value must be a path: git names such settings so.
    fn is_path(&self) -> bool {
        ["path", "dir", "file"].iter().any(|end| self.name().ends_with(end))
    }

    fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or_default()
    }
}

fn is_bool(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off"
    )
}

fn stamp(path: &Path) -> Stamp {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino(), found.size(), (found.ctime(), found.ctime_nsec())))
}

/// The settings in a list of `git config --list --show-origin -z`.
fn parsed(list: &[u8]) -> Vec<Setting> {
    let mut texts = list.split(|byte| *byte == 0).map(path_text);
    let mut settings = Vec::new();
    while let (Some(origin), Some(entry)) = (texts.next(), texts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, ""));
        settings.push(Setting {
            origin: origin.strip_prefix("file:").map(PathBuf::from),
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    settings
}

fn path_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The folder of a repository that a `.git` is or names.
pub(super) fn git_folder(git: &Path) -> PathBuf {
    let text = std::fs::read_to_string(git).unwrap_or_default();
    match (text.trim_end().strip_prefix("gitdir: "), git.parent()) {
        (Some(folder), Some(top)) => top.join(folder),
        _ => git.to_owned(),
    }
}

/// The settings files of the repository in a folder.
fn settings_of_repository(folder: &Path) -> [PathBuf; 3] {
    let named = folder.join("commondir");
    let common = std::fs::read_to_string(&named);
    let common = common.map_or_else(|_| folder.to_owned(), |text| folder.join(text.trim_end()));
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
        fn list(&self, asked: GitList<'_>) -> Option<Vec<u8>> {
            let files = match asked {
                GitList::Repository(folder) => {
                    self.places.iter().cloned().chain(settings_of_repository(folder)).collect()
                }
                GitList::User => self.places.clone(),
                GitList::File(file) => vec![file.to_owned()],
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
            Some(files.iter().map(of_file).collect::<String>().into_bytes())
        }

        fn places(&self) -> Vec<PathBuf> {
            self.places.clone()
        }

        fn home(&self) -> Option<&Path> {
            Some(&self.home)
        }
    }

    #[test]
    fn a_list_of_git_is_read() {
        let list = b"file:/x/config\0core.hookspath\n.gh\0command line:\0alias.z\n!x\n y\0file:c\0core.bare\0";
        let shown: Vec<_> =
            parsed(list).into_iter().map(|one| (one.origin, one.key, one.value)).collect();
        let of = |origin: Option<&str>, key: &str, value: &str| {
            (origin.map(PathBuf::from), key.to_owned(), value.to_owned())
        };
        let expected = [
            of(Some("/x/config"), "core.hookspath", ".gh"),
            of(None, "alias.z", "!x\n y"),
            of(Some("c"), "core.bare", ""),
        ];
        assert_eq!(shown, expected);
    }

    /// Whatever the key, a path in a value counts.
    #[test]
    fn paths_in_values_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["tools/x.sh", "main/a", "docs", "x.py", "sub/.git/HEAD", "o.inc", "home/p/a"] {
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
            ("core.quotepath = false", vec![]),
        ] {
            std::fs::write(root.join(".git/config"), format!("{setting}\n")).unwrap();
            let git =
                GitSources::new(Arc::new(Told { home: root.join("home"), places: Vec::new() }));
            let mut found = git.of_repository(&root.join(".git"), &root);
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
            let found = git.of_repository(&root.join(".git"), &root);
            assert!(found.contains(&root.join(hooks)), "{found:?}");
        }
    }
}
