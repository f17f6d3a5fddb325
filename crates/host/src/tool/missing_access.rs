//! What a failed command lacked in the sandbox: paths that it named, and hosts that it tried to reach.
//!
//! The sandbox knows what it hides and the kernel counts the connections that had no route. What a command printed
//! only names the paths and hosts.

use super::named_paths::NamedPaths;
use crate::workspace::lexical;
use kb_language::definition::NetworkAccess;
use kb_process::{ProcessEnd, ProcessResult, Reach, Supervisor};
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The number of paths that are compared with the sandbox.
const PATHS: usize = 64;
/// The number of paths and of hosts that a message names.
const SHOWN: usize = 3;
/// How programs print that the system denied access: the errors `EACCES`, `EPERM` and `EROFS`.
const DENIED: [&str; 6] = [
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "EACCES",
    "EPERM",
    "EROFS",
];

/// What a failed command lacked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingAccess {
    /// Paths that exist and that the sandbox hides.
    read: BTreeSet<String>,
    /// Paths that it could not write.
    write: BTreeSet<String>,
    /// Folders that the sandbox hides, of paths that do not exist.
    folders: BTreeSet<String>,
    /// Paths that do not exist, in folders that exist for every process, without what is in them.
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
        let given = ran.argv.iter().flat_map(|word| named.of(word, false));
        let given = given.map(|path| (path, false));
        let printed = printed.iter().flat_map(|text| text.lines());
        let printed = printed.flat_map(|line| {
            let denied = DENIED.iter().any(|message| line.contains(message));
            // In a line about a denied access, every word can be a path.
            named.of(without_speaker(line), denied).into_iter().map(move |path| (path, denied))
        });
        let mut seen = BTreeSet::new();
        let all = given.chain(printed).map(|(path, denied)| (lexical(&path), denied));
        let all = all.filter(|(path, denied)| seen.insert((path.clone(), *denied)));
        for (path, denied) in all.take(PATHS) {
            missing.note_path(supervisor, ran.root, home.as_deref(), &path, denied);
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
        root: &Path,
        home: Option<&Path>,
        path: &Path,
        denied: bool,
    ) {
        let exists = path.symlink_metadata().is_ok();
        let in_folder = || path.parent().is_some_and(Path::is_dir);
        let shown = |path: &Path| shown(path, root, home);
        match supervisor.reach(path) {
            Reach::Nothing if is_socket(path) => drop(self.servers.insert(shown(path))),
            // A new entry of the root directory is a part of another word, as in `home + /notes.txt`.
            Reach::Nothing if !exists && path.parent() == Some(Path::new("/")) => {}
            Reach::Write => {}
            Reach::Nothing if exists => drop(self.read.insert(shown(path))),
            // It was to be created: what is missing outside too was not to be read.
            Reach::Nothing if !exists && is_temporary(path) => {
                self.temporary.insert(shown(path));
            }
            Reach::Nothing if in_folder() => match path.parent() {
                Some(folder) if supervisor.reach(folder) == Reach::Nothing => {
                    self.folders.insert(shown(folder));
                }
                Some(_) | None => drop(self.absent.insert(shown(path))),
            },
            Reach::Nothing => {
                let opened = supervisor.opened_in_vain(path);
                self.unopened.extend(opened.map(|opened| shown(&opened)));
            }
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
        let hidden: BTreeSet<String> = self.read.union(&self.folders).cloned().collect();
        if !hidden.is_empty() {
            parts.push(format!("the sandbox hides {}", listed(&hidden)));
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
        let both = self.write.iter().chain(&self.folders).chain(&self.absent);
        let lists = [("read", self.read.iter().collect()), ("write", both.collect::<Vec<_>>())];
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
        Some(format!("{what}: {commit}write {line} in the step"))
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
        [&self.read, &self.write, &self.folders, &self.absent, &self.protected]
            .iter()
            .any(|one| !one.is_empty())
    }
}

/// What a command printed: the beginning and the end of each stream.
fn texts(exited: &ProcessResult) -> [&String; 4] {
    [&exited.stderr, &exited.stderr_tail, &exited.stdout, &exited.stdout_tail]
}

/// The line of a message without the program that says it, as in `/bin/sh: 1: cannot create x`.
fn without_speaker(line: &str) -> &str {
    let Some((speaker, rest)) = line.split_once(": ") else { return line };
    let is_program = Path::new(speaker).is_absolute() && is_executable_file(Path::new(speaker));
    if is_program { rest } else { line }
}

fn is_executable_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
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

fn listed(all: &BTreeSet<String>) -> String {
    let named: Vec<String> = all.iter().take(SHOWN).map(|one| format!("`{one}`")).collect();
    match all.len().saturating_sub(SHOWN) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The hosts of URLs, of remotes of git (`user@host:`), and the words after `host`, `hostname` and names of errors of
/// resolvers.
fn hosts(text: &str) -> Vec<String> {
    let is_host = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let start = |rest: &str| -> Option<String> {
        let host: String = rest.chars().take_while(|c| is_host(*c)).collect();
        let host = host.trim_matches(['.', '-']).to_owned();
        (host.contains('.') || host == "localhost").then_some(host)
    };
    const BEFORE: [&str; 6] = ["://", "@", "host: ", "hostname ", "ENOTFOUND ", "EAI_AGAIN "];
    let found = BEFORE.iter().flat_map(|before| {
        text.match_indices(before)
            .take(SHOWN * 4)
            .filter_map(|(at, _)| start(&text[at + before.len()..]))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_urls_remotes_and_messages() {
        let of = |text: &str| hosts(text).join(" ");
        assert_eq!(of("curl https://example.org/x"), "example.org");
        assert_eq!(of("git@github.com:a/b.git"), "github.com");
        assert_eq!(of("curl: (6) Could not resolve host: pypi.org"), "pypi.org");
        assert_eq!(of("getaddrinfo EAI_AGAIN registry.npmjs.org"), "registry.npmjs.org");
        assert_eq!(of("vite@5 main.rs"), "");
    }
}
