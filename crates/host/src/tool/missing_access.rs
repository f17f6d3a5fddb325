//! What a failed command lacked in the sandbox: paths that it named, and hosts that it tried to reach.
//!
//! The sandbox knows what it hides and the kernel counts the connections that had no route. What a command printed
//! only names the paths and hosts.

use super::named_paths::NamedPaths;
use super::printed_access::{PathUse, hosts, use_in, without_speaker};
use crate::workspace::lexical;
use kb_language::definition::NetworkAccess;
use kb_process::{ProcessEnd, ProcessResult, Reach, Supervisor};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The number of paths that are compared with the sandbox.
const PATHS: usize = 64;
/// The number of paths and of hosts that a message names.
const SHOWN: usize = 3;
/// What a failed command lacked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingAccess {
    /// Paths that the sandbox hides, and whether they were to be written: those that exist, else the folders of paths that
    /// do not.
    hidden: BTreeMap<String, bool>,
    /// Whether one of these is the folder of a path that may have been to be created.
    may_create: bool,
    /// Paths that it could not write.
    write: BTreeSet<String>,
    /// Paths that it was to create, in folders that exist for every process, without what is in them.
    absent: BTreeSet<String>,
    /// Those of [`MissingAccess::absent`] that belong in the private folder for temporary files.
    temporary: BTreeSet<String>,
    /// Paths that `sandbox` opens and that did not exist when the command started.
    unopened: BTreeSet<String>,
    /// Sockets of servers outside, which no line opens for it: who reaches Docker is root on this machine.
    servers: BTreeSet<String>,
    /// Definitions and settings that it could not write.
    protected: BTreeSet<String>,
    /// Whether it tried to reach other machines, or a server on this one.
    network: Option<Tried>,
    /// The hosts that it named.
    hosts: BTreeSet<String>,
    /// Whether it is a commit.
    commits: bool,
    /// Whether it writes to `.git` what another machine sends.
    fetches: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tried {
    Machines,
    Servers,
}

/// A command that ran in the sandbox.
pub(crate) struct Ran<'a> {
    pub(crate) argv: &'a [String],
    pub(crate) cwd: &'a Path,
    /// The root of the project.
    pub(crate) root: &'a Path,
    pub(crate) network: NetworkAccess,
}

impl MissingAccess {
    /// What a failed command lacked, as far as it is known. Nothing for one that succeeded.
    pub(crate) fn of(supervisor: &Supervisor, ran: &Ran<'_>, exited: &ProcessResult) -> Self {
        if exited.end == ProcessEnd::Code(0) {
            return MissingAccess::default();
        }
        let mut missing = MissingAccess::of_texts(supervisor, ran, &texts(exited));
        missing.note_network(ran, exited);
        missing
    }

    /// What a command will lack, as far as its words name paths that the sandbox hides.
    pub(super) fn ahead(supervisor: &Supervisor, ran: &Ran<'_>) -> Self {
        MissingAccess::of_texts(supervisor, ran, &[])
    }

    fn of_texts(supervisor: &Supervisor, ran: &Ran<'_>, printed: &[&String]) -> Self {
        let mut missing = MissingAccess::default();
        let home = supervisor.base().get("HOME").map(PathBuf::from);
        let named = NamedPaths { cwd: ran.cwd, home: home.as_deref() };
        let script = || ran.argv.iter();
        let redirected = script().flat_map(|word| named.written(word));
        let redirected = redirected.filter(|path| !path.starts_with("/dev"));
        let given = redirected.map(|path| (path, PathUse::Written));
        let words = script().flat_map(|word| named.of(word, false));
        let given = given.chain(words.map(|path| (path, PathUse::Named)));
        let printed = printed.iter().flat_map(|text| text.lines());
        let printed = printed.flat_map(|line| {
            let use_of_path = use_in(line);
            // In a line about a denied access, every word can be a path.
            let any = use_of_path != PathUse::Named;
            let paths = named.of(without_speaker(line), any).into_iter();
            paths.map(move |path| (path, use_of_path))
        });
        let mut seen: BTreeMap<PathBuf, PathUse> = BTreeMap::new();
        for (path, use_of_path) in given.chain(printed) {
            let path = lexical(&path);
            if seen.len() < PATHS || seen.contains_key(&path) {
                let known = seen.entry(path).or_insert(use_of_path);
                *known = use_of_path.max(*known);
            }
        }
        for (path, use_of_path) in &seen {
            missing.note_path(supervisor, (ran.root, home.as_deref()), path, *use_of_path);
        }
        let text = ran.argv.join(" ");
        let has = |all: [&str; 2]| all.iter().any(|words| text.contains(words));
        missing.commits = has(["git commit", "git add"]);
        missing.fetches = has(["git fetch", "git pull"]) && ran.network != NetworkAccess::Open;
        missing
    }

    fn note_path(
        &mut self,
        supervisor: &Supervisor,
        (root, home): (&Path, Option<&Path>),
        path: &Path,
        use_of_path: PathUse,
    ) {
        let exists = path.symlink_metadata().is_ok();
        let (denied, written) = (use_of_path != PathUse::Named, use_of_path == PathUse::Written);
        let shown = |path: &Path| shown(path, root, home);
        match supervisor.reach(path) {
            Reach::Nothing if is_socket(path) => drop(self.servers.insert(shown(path))),
            // A new entry of the root directory is a part of another word, as in `home + /notes.txt`.
            Reach::Nothing if !exists && path.parent() == Some(Path::new("/")) => {}
            Reach::Write => {}
            Reach::Nothing if exists => self.hide(shown(path), written),
            Reach::Nothing if is_temporary(path) => {
                self.temporary.extend(denied.then(|| shown(path)));
            }
            Reach::Nothing => self.note_absent(supervisor, path, use_of_path, &shown),
            Reach::Protected if denied => {
                let git = path.strip_prefix(root).is_ok_and(|below| below.starts_with(".git"));
                if git {
                    self.write.insert(".git".to_owned())
                } else {
                    self.protected.insert(shown(path))
                };
            }
            // In the home folder nothing but a toolchain can be created, and settings are read.
            Reach::Read if denied && is_in(home, path) && !exists => {
                self.absent.insert(shown(path));
            }
            Reach::Read if denied && is_in(home, path) && path.is_file() => {
                self.protected.insert(shown(path));
            }
            Reach::Read if denied && !is_above(home, path) => {
                let existing = path.ancestors().find(|one| one.exists()).unwrap_or(path);
                self.write.insert(shown(existing));
            }
            Reach::Read | Reach::Protected => {}
        }
    }

    /// A path that does not exist, neither for the command nor outside: what opens it is the first folder above it that
    /// exists, if the sandbox hides that.
    fn note_absent(
        &mut self,
        supervisor: &Supervisor,
        path: &Path,
        use_of_path: PathUse,
        shown: &dyn Fn(&Path) -> String,
    ) {
        if let Some(opened) = supervisor.opened_in_vain(path) {
            self.unopened.insert(shown(&opened));
            return;
        }
        let above = || path.ancestors().zip(path.ancestors().skip(1));
        let Some((below, folder)) = above().find(|(_, folder)| folder.exists()) else { return };
        if supervisor.reach(folder) == Reach::Nothing {
            self.hide(shown(folder), use_of_path == PathUse::Written);
            self.may_create |= use_of_path != PathUse::Written;
        } else if use_of_path != PathUse::Named {
            self.absent.insert(shown(below));
        }
    }

    fn hide(&mut self, path: String, written: bool) {
        *self.hidden.entry(path).or_default() |= written;
    }

    fn note_network(&mut self, ran: &Ran<'_>, exited: &ProcessResult) {
        let texts = || ran.argv.iter().chain(texts(exited));
        let hosts: BTreeSet<String> = texts().flat_map(|text| hosts(text)).collect();
        let tried = match ran.network {
            NetworkAccess::Open => None,
            // Without a socket nothing is counted.
            NetworkAccess::None => (!hosts.is_empty()).then_some(Tried::Machines),
            NetworkAccess::Loopback if exited.unreached.machines => Some(Tried::Machines),
            NetworkAccess::Loopback => exited.unreached.servers.then_some(Tried::Servers),
        };
        self.network = tried;
        self.hosts = hosts;
    }

    /// What was missing, as the subject of a message; `None` if nothing is known.
    fn what(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.hidden.is_empty() {
            parts.push(format!("the sandbox hides {}", listed(self.hidden.keys())));
        }
        if !self.write.is_empty() {
            parts.push(format!("the sandbox lets it only read {}", listed(&self.write)));
        }
        if !self.absent.is_empty() {
            parts.push(format!(
                "it cannot create {} outside of the project (create it before, because only what exists can be opened)",
                listed(&self.absent)
            ));
        }
        if !self.temporary.is_empty() {
            let named = listed(&self.temporary);
            parts.push(format!("it cannot create {named}: temporary files belong in `$TMPDIR`"));
        }
        if !self.unopened.is_empty() {
            let named = listed(&self.unopened);
            parts.push(format!(
                "`sandbox` opens {named}, which did not exist when it started: create it before"
            ));
        }
        if !self.servers.is_empty() {
            parts.push(format!(
                "servers that run outside of the sandbox do not exist in it ({}): say `sandbox: never` in the step if it executes nothing of a specialist",
                listed(&self.servers)
            ));
        }
        if !self.protected.is_empty() {
            parts.push(format!(
                "it cannot change {}, which only people and released commands change",
                listed(&self.protected)
            ));
        }
        let named = if self.hosts.is_empty() {
            String::new()
        } else {
            format!(" ({})", listed(&self.hosts))
        };
        match self.network {
            Some(Tried::Machines) => {
                parts.push(format!("the sandbox has no network, and it tried to use it{named}"));
            }
            Some(Tried::Servers) => parts.push(format!(
                "servers that run outside of the sandbox do not exist in it, and a connection was refused{named}"
            )),
            None => {}
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The line that opens it in a step of the author.
    fn line(&self) -> Option<String> {
        let fetches = self.fetches && self.write.contains(".git");
        let network = (self.network.is_some() || fetches).then(|| "network: open".to_owned());
        let keys: Vec<String> = network.into_iter().chain(self.opening().1).collect();
        (!keys.is_empty()).then(|| format!("`sandbox: {{{}}}`", keys.join(", ")))
    }

    /// The paths that it lacked, and the keys of `sandbox` that open them.
    pub(super) fn opening(&self) -> (Vec<String>, Vec<String>) {
        let (mut all, mut keys) = (Vec::new(), Vec::new());
        let hidden = |written: bool| {
            let paths = self.hidden.iter().filter(move |(_, found)| **found == written);
            paths.map(|(path, _)| path)
        };
        let write = self.write.iter().chain(hidden(true)).chain(&self.absent);
        let lists = [("read", hidden(false).collect()), ("write", write.collect::<Vec<_>>())];
        for (key, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
            all.extend(paths.iter().map(|path| (*path).clone()));
            let quoted = paths.into_iter().map(|path| plain(path));
            keys.push(format!("{key}: [{}]", quoted.collect::<Vec<_>>().join(", ")));
        }
        (all, keys)
    }

    /// The help for the author of a step: what was missing, and the line that opens it.
    pub(crate) fn help_for_author(&self) -> Option<String> {
        let what = self.what()?;
        let Some(line) = self.line() else { return Some(what) };
        let commit = if self.is_commit() {
            "commit with `tool: git:commit`, which needs no access to `.git`, or "
        } else {
            ""
        };
        let create = if self.may_create {
            " (`write` in place of `read` if it creates a file there)"
        } else {
            ""
        };
        Some(format!("{what}: {commit}write {line} in the step{create}"))
    }

    /// The note for a specialist: what was missing, and the settings that open it.
    pub(crate) fn note_for_specialist(&self, specialist: &str) -> Option<String> {
        self.opened_by(&format!("`network: open` in the specialist `{specialist}`"))
    }

    /// The same for a command that checks its work.
    pub(crate) fn note_for_gate(&self) -> Option<String> {
        self.opened_by("`network: open` in the specialist")
    }

    fn opened_by(&self, network: &str) -> Option<String> {
        let what = self.what()?;
        let network =
            self.network.map(|_| format!("{network} gives it the network of this machine"));
        let paths = self
            .needs_paths()
            .then(|| "`sandbox.read` and `sandbox.write` in the settings open paths".to_owned());
        let ways: Vec<String> = [network, paths].into_iter().flatten().collect();
        if ways.is_empty() { Some(what) } else { Some(format!("{what}. {}", ways.join("; "))) }
    }

    /// Whether it is a commit that lacks only `.git`, for which a tool exists.
    fn is_commit(&self) -> bool {
        self.commits && self.write.contains(".git")
    }

    /// Whether it named a path that the sandbox hides, or does not let it write.
    fn needs_paths(&self) -> bool {
        let named = [&self.write, &self.absent, &self.protected];
        !self.hidden.is_empty() || named.iter().any(|one| !one.is_empty())
    }
}

/// What a command printed: the beginning and the end of each stream.
fn texts(exited: &ProcessResult) -> [&String; 4] {
    [&exited.stderr, &exited.stderr_tail, &exited.stdout, &exited.stdout_tail]
}

/// Whether a path is a folder for temporary files of everybody.
fn is_temporary(path: &Path) -> bool {
    ["/tmp", "/var/tmp"].iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

/// Whether a path is directly in the home folder.
fn is_in(home: Option<&Path>, path: &Path) -> bool {
    home.is_some() && path.parent() == home
}

/// Whether a path is directly in the home folder, or contains it.
fn is_above(home: Option<&Path>, path: &Path) -> bool {
    home.is_some_and(|home| path.parent() == Some(home) || home.starts_with(path))
}

/// Whether a server listens at a path, or would by its name.
fn is_socket(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|end| end == "sock" || end == "socket");
    is_named || path.metadata().is_ok_and(|found| found.file_type().is_socket())
}

/// A path as a definition names it.
fn shown(path: &Path, root: &Path, home: Option<&Path>) -> String {
    if let Ok(below) = path.strip_prefix(root) {
        return below.display().to_string();
    }
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// A path in a list of YAML.
fn plain(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/~._-+@".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("{path:?}") }
}

fn listed<'a>(all: impl IntoIterator<Item = &'a String>) -> String {
    let mut all = all.into_iter();
    let named: Vec<String> = all.by_ref().take(SHOWN).map(|one| format!("`{one}`")).collect();
    match all.count() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
