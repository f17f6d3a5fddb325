//! The mounts of a sandboxed process: a new root directory that contains only the paths that the
//! process may use. Everything else does not exist there, and what may only be read is mounted
//! read-only, so that modes, owners, times and attributes cannot be changed either.
//!
//! `kb` builds the plan; the namespace worker carries it out (`namespace/new_root.rs`).

use super::real_paths::{Entry, RealPaths, outermost};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The kind of a step of a plan: the first byte of its text.
pub(crate) mod kind {
    /// Create a directory.
    pub(crate) const DIRECTORY: u8 = b'd';
    /// Create a symbolic link; the next text is its target.
    pub(crate) const LINK: u8 = b'l';
    /// Mount a directory of the host read-only at the same path.
    pub(crate) const READ: u8 = b'r';
    /// Mount a directory of the host at the same path.
    pub(crate) const WRITE: u8 = b'w';
    /// [`READ`] through an overlay. A socket in it is another one than that of the host, so no server answers. The next
    /// text is the option of the overlay that names the directory.
    pub(crate) const OVERLAY: u8 = b's';
    /// Permit to read below a path of the new root. Mounts nothing.
    pub(crate) const ALLOW: u8 = b'a';
    /// Tells plans apart. Mounts nothing.
    pub(crate) const MARK: u8 = b'n';
    /// Tells rulesets apart: what was permitted in one stays. It is no part of the plan.
    pub(crate) const RULES: u8 = b'u';
    /// [`READ`] for a file.
    pub(crate) const READ_FILE: u8 = b'R';
    /// [`WRITE`] for a file.
    pub(crate) const WRITE_FILE: u8 = b'W';
    /// Mount a directory of the host at another path; the next text is the source.
    pub(crate) const FROM: u8 = b'o';
    /// Mount an empty private file system in memory.
    pub(crate) const MEMORY: u8 = b't';
    /// Mount a path over itself, read-only. Skipped if it does not exist.
    pub(crate) const PROTECT: u8 = b'p';
    /// Mount a directory over itself, so that it can be neither renamed nor removed.
    pub(crate) const PIN: u8 = b'k';
    /// Mount something that cannot be read over a path. Skipped if it does not exist.
    pub(crate) const HIDE: u8 = b'h';
}

/// Links in `/dev` that programs expect.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// The second directory of each overlay, while the new root is built: empty. An overlay needs two.
const EMPTY: &[u8] = b":/proc/proc";

/// Builds the steps of a plan. Paths that do not exist are skipped.
#[derive(Debug, Clone, Default)]
pub(super) struct MountPlan {
    /// The mount points of this machine, if directories of the system are mounted through overlays.
    overlaid: Option<Vec<PathBuf>>,
    texts: Vec<Vec<u8>>,
    /// Directories and links of the new root that have been created.
    created: BTreeSet<PathBuf>,
    mounted: BTreeMap<PathBuf, Mounted>,
    /// Directories that can be neither renamed nor removed.
    pinned: BTreeSet<PathBuf>,
    host: RealPaths,
}

/// What is mounted at a path of the new root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mounted {
    Overlay,
    Read,
    Write,
    /// A private directory, in which paths of the host can be mounted.
    Private,
}

impl MountPlan {
    /// A plan with `/dev`, without devices, for paths of the host.
    pub(super) fn new(host: RealPaths, has_overlays: bool) -> MountPlan {
        let overlaid = has_overlays.then(mount_points);
        let mut plan = MountPlan { host, overlaid, ..MountPlan::default() };
        plan.directory(Path::new("/dev"));
        for (link, target) in DEVICE_LINKS {
            plan.step(kind::LINK, Path::new(link));
            plan.texts.push(target.into());
        }
        plan.memory(Path::new("/dev/shm"));
        plan
    }

    /// Mounts paths of the host: those of the system, those that are read, and those that are written. Of several
    /// grants of a path the last one counts. `/` stands for all its entries.
    pub(super) fn grant(&mut self, system: &[PathBuf], read: &[PathBuf], write: &[PathBuf]) {
        let mut grants: BTreeMap<PathBuf, (Mounted, Vec<PathBuf>)> = BTreeMap::new();
        let all = [(system, Mounted::Overlay), (read, Mounted::Read), (write, Mounted::Write)];
        for (path, how) in all.iter().flat_map(|(all, how)| all.iter().map(|path| (path, *how))) {
            for path in expanded_root(path) {
                let Some((real, links)) = self.host.resolve(&path) else { continue };
                if real.starts_with("/proc") || real == Path::new("/dev/shm") {
                    continue;
                }
                let grant = grants.entry(real).or_insert((how, Vec::new()));
                grant.0 = grant.0.max(how);
                grant.1.extend(links);
            }
        }
        // Parents come before what they contain.
        for (real, (how, links)) in grants {
            links.iter().for_each(|link| self.link(link));
            self.mount(&real, how);
        }
    }

    /// Permits to read what overlays mount: the rules do not name it.
    pub(super) fn allow(&mut self, paths: &[PathBuf]) {
        let real: Vec<PathBuf> = paths.iter().filter_map(|path| self.real(path)).collect();
        let seen: Vec<PathBuf> = real.into_iter().filter(|path| self.is_overlay(path)).collect();
        outermost(seen).iter().for_each(|path| self.step(kind::ALLOW, path));
    }

    /// The real path of a path of the host that no process in the sandbox could have made.
    pub(super) fn real(&mut self, path: &Path) -> Option<PathBuf> {
        self.host.resolve(path).map(|(real, _)| real)
    }

    /// Whether a real path is seen through an overlay.
    pub(super) fn is_overlay(&self, real: &Path) -> bool {
        self.nearest(real).is_some_and(|(_, mounted)| mounted == Mounted::Overlay)
    }

    /// Forgets what was looked up on the host.
    pub(super) fn forget_host(&mut self) {
        self.host.forget();
    }

    /// Names the ruleset of the plan, for a plan with overlays.
    pub(super) fn number_rules(&mut self, number: u64) {
        if self.overlaid.is_some() {
            self.step(kind::RULES, Path::new(&format!("/{number}")));
        }
    }

    /// Mounts a directory of the host at another path, whose parents are created.
    pub(super) fn mount_from(&mut self, source: &Path, path: &Path) {
        if path.is_symlink() || !path.is_absolute() {
            return;
        }
        let parent = path.parent().and_then(|parent| self.host.resolve(parent));
        let (Some((parent, links)), Some(name)) = (parent, path.file_name()) else { return };
        links.iter().for_each(|link| self.link(link));
        let path = parent.join(name);
        self.directory(&parent);
        self.step(kind::FROM, &path);
        self.texts.push(source.as_os_str().as_bytes().to_vec());
        self.mounted.insert(path, Mounted::Private);
    }

    /// Makes paths in writable directories read-only, and keeps them and their parents in place.
    pub(super) fn protect(&mut self, paths: &[PathBuf]) {
        let paths: BTreeSet<PathBuf> =
            paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut above: Option<&PathBuf> = None;
        for path in &paths {
            if above.is_some_and(|above| path.starts_with(above)) {
                continue;
            }
            let Some((root, Mounted::Write)) = self.nearest(path) else { continue };
            let root = root.to_owned();
            self.pin_parents(path, &root);
            self.step(kind::PROTECT, path);
            self.pinned.insert(path.clone());
            above = Some(path);
        }
    }

    /// Hides paths in mounted directories and what is mounted below them, and keeps them and their parents in place.
    /// Follows [`MountPlan::protect`], whose paths may contain hidden ones.
    pub(super) fn hide(&mut self, paths: &[PathBuf]) {
        let is_below = |mount: &&PathBuf| paths.iter().any(|path| mount.starts_with(path));
        let below: Vec<PathBuf> = self.mounted.keys().filter(is_below).cloned().collect();
        // Parents come first: to pin a directory also copies what is mounted below it.
        let paths: BTreeSet<&PathBuf> = paths.iter().chain(&below).collect();
        for path in paths {
            let Some((root, mounted)) = self.nearest(path) else { continue };
            if mounted == Mounted::Write {
                let root = root.to_owned();
                self.pin_parents(path, &root);
            }
            self.step(kind::HIDE, path);
        }
    }

    /// Keeps the directories between a mounted directory and a path in it in place. Below a protected
    /// path nothing can be renamed anyway.
    fn pin_parents(&mut self, path: &Path, root: &Path) {
        let parents = path.ancestors().skip(1);
        let parents = parents.take_while(|parent| *parent != root && parent.starts_with(root));
        let parents = parents.take_while(|parent| !self.pinned.contains(*parent));
        let mut parents: Vec<PathBuf> = parents.map(Path::to_owned).collect();
        parents.reverse();
        for parent in parents {
            self.step(kind::PIN, &parent);
            self.pinned.insert(parent);
        }
    }

    /// The texts of the steps, in order.
    pub(super) fn into_texts(self) -> Vec<OsString> {
        self.texts.into_iter().map(OsString::from_vec).collect()
    }

    fn step(&mut self, kind: u8, path: &Path) {
        self.texts.push([&[kind], path.as_os_str().as_bytes()].concat());
    }

    fn memory(&mut self, path: &Path) {
        self.step(kind::MEMORY, path);
        self.mounted.insert(path.to_owned(), Mounted::Private);
    }

    fn mount(&mut self, real: &Path, how: Mounted) {
        let above = self.nearest(real).map(|(_, mounted)| mounted);
        if above.is_some_and(|above| above != Mounted::Private && above >= how) {
            return;
        }
        let is_directory = matches!(self.host.entry(real), Some(Entry::Directory));
        let has_overlay = how == Mounted::Overlay && is_directory && self.can_overlay(real);
        let kind = match (is_directory, how == Mounted::Write) {
            (true, true) => kind::WRITE,
            (true, false) if has_overlay => kind::OVERLAY,
            (true, false) => kind::READ,
            (false, true) => kind::WRITE_FILE,
            (false, false) => kind::READ_FILE,
        };
        if let Some(parent) = real.parent() {
            self.directory(parent);
        }
        self.step(kind, real);
        if has_overlay {
            self.texts.push([&escaped(real), EMPTY].concat());
        }
        let how = if has_overlay { how } else { how.max(Mounted::Read) };
        self.mounted.insert(real.to_owned(), how);
    }

    /// Whether an overlay shows all of a directory: it does not show what is mounted below. The kernel makes the
    /// entries of `/sys`.
    fn can_overlay(&self, real: &Path) -> bool {
        let is_below = |mount: &PathBuf| mount != real && mount.starts_with(real);
        self.overlaid.as_ref().is_some_and(|mounts| !mounts.iter().any(is_below))
            && !real.starts_with("/sys")
    }

    /// The mounted directory that contains a path.
    fn nearest(&self, path: &Path) -> Option<(&Path, Mounted)> {
        path.ancestors().find_map(|above| {
            self.mounted.get_key_value(above).map(|(path, mounted)| (path.as_path(), *mounted))
        })
    }

    /// Creates a directory and its parents in the new root, unless a mounted one contains it.
    fn directory(&mut self, path: &Path) {
        let mut missing: Vec<&Path> = path
            .ancestors()
            .filter(|one| *one != Path::new("/") && !self.created.contains(*one))
            .collect();
        missing.reverse();
        for one in missing {
            let is_private = |(path, mounted)| mounted == Mounted::Private && path != one;
            if self.nearest(one).is_none_or(is_private) {
                self.created.insert(one.to_owned());
                self.step(kind::DIRECTORY, one);
            }
        }
    }

    /// Creates a link as it is on the host, unless a mounted directory contains it.
    fn link(&mut self, link: &Path) {
        let Some(Entry::Link(target)) = self.host.entry(link) else { return };
        if self.nearest(link).is_none() && self.created.insert(link.to_owned()) {
            if let Some(parent) = link.parent() {
                self.directory(parent);
            }
            self.step(kind::LINK, link);
            self.texts.push(target.as_os_str().as_bytes().to_vec());
        }
    }
}

/// A path in the option of an overlay, which separates its directories by colons.
fn escaped(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes().iter();
    let with_backslash = |byte: &u8| matches!(byte, b':' | b'\\').then_some(b'\\');
    bytes.flat_map(|byte| with_backslash(byte).into_iter().chain([*byte])).collect()
}

/// Where something is mounted on this machine. Source: `/proc/self/mountinfo`.
fn mount_points() -> Vec<PathBuf> {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let lines = table.split(|byte| *byte == b'\n');
    let fields = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    fields.map(|field| PathBuf::from(OsString::from_vec(without_octals(field)))).collect()
}

/// White space and backslashes are written as three octal digits.
fn without_octals(mut field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some((&byte, rest)) = field.split_first() {
        let digits = rest.get(..3).filter(|_| byte == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let written = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(written.unwrap_or(byte));
        field = if written.is_some() { &rest[3..] } else { rest };
    }
    bytes
}

/// A path, or the entries of `/` in its place.
pub(super) fn expanded_root(path: &Path) -> Vec<PathBuf> {
    if path != Path::new("/") {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path != Path::new("/proc")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(plan: MountPlan) -> Vec<String> {
        plan.into_texts().into_iter().map(|text| text.into_string().unwrap()).collect()
    }

    #[test]
    fn links_are_created_and_parents_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        std::fs::create_dir_all(at("real/in")).unwrap();
        std::os::unix::fs::symlink("real", at("alias")).unwrap();
        let mut plan = MountPlan::default();
        plan.grant(&[], &[at("alias/in"), at("real"), at("missing")], &[at("real/in")]);
        let shown = |kind: &str, name: &str| format!("{kind}{}", at(name).display());
        let texts = texts(plan);
        let place = |text: String| texts.iter().position(|one| *one == text).unwrap();
        assert_eq!(texts[place(shown("l", "alias")) + 1], "real");
        assert!(place(shown("r", "real")) < place(shown("w", "real/in")));
    }

    #[test]
    fn a_folder_of_the_system_is_an_overlay_unless_something_is_mounted_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for made in ["a:b/own", "opened", "mounted/point", "mounted-beside"] {
            std::fs::create_dir_all(at(made)).unwrap();
        }
        let overlaid = Some(vec![at("mounted/point"), at("a:b")]);
        let mut plan = MountPlan { overlaid, ..MountPlan::default() };
        let system = [at("a:b"), at("opened"), at("mounted"), at("mounted-beside")];
        plan.grant(&system, &[at("a:b/own"), at("opened")], &[]);
        plan.allow(&[at("a:b/own"), at("a:b"), at("opened"), at("mounted-beside")]);
        let texts = texts(plan);
        let shown = |kind: &str, name: &str| format!("{kind}{}", at(name).display());
        let expected = [
            shown("s", "a:b"),
            format!("{}/a\\:b:/proc/proc", root.display()),
            shown("r", "a:b/own"),
            shown("r", "mounted"),
            shown("s", "mounted-beside"),
            format!("{}/mounted-beside:/proc/proc", root.display()),
            shown("r", "opened"),
            shown("a", "a:b"),
            shown("a", "mounted-beside"),
        ];
        assert_eq!(texts[texts.len() - expected.len()..], expected);
        assert_eq!(without_octals(br"/a\040b\134c"), br"/a b\c");
    }

    #[test]
    fn parents_of_protected_paths_are_pinned() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b/c")).unwrap();
        let mut plan = MountPlan::default();
        plan.grant(&[], &[], std::slice::from_ref(&root));
        plan.protect(&[root.join("a/b/c"), root.join("a/b"), root.join("missing")]);
        let texts = texts(plan);
        let at = |kind: &str, name: &str| format!("{kind}{}", root.join(name).display());
        assert_eq!(texts[texts.len() - 2..], [at("k", "a"), at("p", "a/b")]);
    }
}
