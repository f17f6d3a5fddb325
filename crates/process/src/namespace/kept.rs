//! The mount and network namespaces that a worker keeps for its next commands: to create and to remove them costs more
//! than a command.
//!
//! The mounts of a namespace cannot be changed by a command, so only what a command can leave in it counts: files in
//! memory, and the state of network connections. A namespace with either is not used again. Neither is one that lost a
//! mount, because what it lay on was removed or replaced from outside. All processes of a command have ended before the
//! next one starts.

use super::clone::{Stack, until_exec};
use super::landlock_rule::allow_below;
use super::loopback;
use super::network_counters::NetworkCounters;
use super::new_root;
use crate::sandbox::{FILE_ACCESS, Isolation, READ_ACCESS, WRITE_ACCESS, kind};
use kb_clock as clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatFs, fstat, fstatfs, statat};
use rustix::io::Errno;
use rustix::process::{WaitOptions, waitpid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_int};
use std::time::{Duration, Instant};

/// How many roots are kept: a run usually has one sandbox for specialists, and one for commands of the author.
const ROOTS: usize = 4;

/// How long a root with overlays is used: an overlay does not notice all changes of what it shows.
const OVERLAYS: Duration = Duration::from_millis(250);

/// The namespaces of a worker. They end when they are dropped.
#[derive(Default)]
pub(super) struct Kept {
    roots: VecDeque<Root>,
    networks: Vec<Network>,
}

/// What a command enters.
pub(super) struct Entry<'a> {
    /// The name of the ruleset.
    rules: CString,
    root: Option<&'a Root>,
    network: Option<&'a Network>,
}

/// A mount namespace with the mounts of a plan.
struct Root {
    plan: Vec<CString>,
    /// Device and inode of what is mounted.
    found: Vec<Option<(u64, u64)>>,
    namespace: OwnedFd,
    top: OwnedFd,
    /// The ruleset in which what overlays mount was permitted last.
    allowed: RefCell<CString>,
    created: Instant,
    mounts: MountTable,
    memory: Vec<Memory>,
}

/// The table of mounts of a namespace.
struct MountTable(OwnedFd);

/// A file system in memory, as it was before the first command.
struct Memory {
    tree: OwnedFd,
    before: Content,
}

/// Changes whenever something is created in a file system in memory.
#[derive(PartialEq, Eq)]
struct Content {
    free: [u64; 2],
    changed: (i64, u64),
    mode: u32,
}

/// A network namespace.
struct Network {
    has_loopback: bool,
    namespace: OwnedFd,
    counters: NetworkCounters,
}

impl Kept {
    pub(super) fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.networks.is_empty()
    }

    /// What a command with this isolation and these mounts enters. Creates what is missing.
    pub(super) fn entry(
        &mut self,
        stack: &mut Stack,
        isolation: Isolation,
        plan: &[&CStr],
    ) -> Result<Entry<'_>, Errno> {
        let (plan, rules) = without_rules(plan);
        if isolation.has(Isolation::MOUNTS) {
            self.prepare_root(stack, &plan)?;
        }
        let has_loopback = !isolation.has(Isolation::NO_SOCKETS);
        if isolation.has(Isolation::NETWORK) {
            self.prepare_network(stack, has_loopback)?;
        }
        let root = isolation.has(Isolation::MOUNTS).then(|| self.roots.back()).flatten();
        let own = |network: &&Network| network.has_loopback == has_loopback;
        let network = self.networks.iter().find(own);
        let network = network.filter(|_| isolation.has(Isolation::NETWORK));
        Ok(Entry { rules, root, network })
    }

    /// Makes the last root that of the plan.
    fn prepare_root(&mut self, stack: &mut Stack, plan: &[&CStr]) -> Result<(), Errno> {
        let found: Vec<_> = sources(plan).map(identity).collect();
        self.roots.retain(Root::is_unused);
        let is_same = |root: &Root| {
            root.found == found && root.plan.iter().map(CString::as_c_str).eq(plan.iter().copied())
        };
        let root = match self.roots.iter().position(is_same) {
            Some(at) => self.roots.remove(at),
            None => None,
        };
        let root = match root {
            Some(root) => root,
            None => Root::create(stack, plan, found)?,
        };
        if self.roots.len() == ROOTS {
            self.roots.pop_front();
        }
        self.roots.push_back(root);
        Ok(())
    }

    fn prepare_network(&mut self, stack: &mut Stack, has_loopback: bool) -> Result<(), Errno> {
        self.networks.retain(|network| network.counters.are_unchanged());
        if !self.networks.iter().any(|network| network.has_loopback == has_loopback) {
            self.networks.push(Network::create(stack, has_loopback)?);
        }
        Ok(())
    }
}

impl Entry<'_> {
    /// Permits access to the file systems that were made for the root.
    pub(super) fn allow(&self, rules: BorrowedFd<'_>) -> Result<(), Errno> {
        let Some(root) = self.root else { return Ok(()) };
        for memory in &root.memory {
            allow_below(rules, &memory.tree, WRITE_ACCESS | READ_ACCESS)?;
        }
        let mut allowed = root.allowed.borrow_mut();
        if !self.rules.is_empty() && *allowed == self.rules {
            return Ok(());
        }
        for below in root.paths(kind::ALLOW) {
            let Ok(opened) = new_root::open_path(&root.top, below) else { continue };
            let is_directory = FileType::from_raw_mode(fstat(&opened)?.st_mode).is_dir();
            allow_below(rules, &opened, if is_directory { READ_ACCESS } else { FILE_ACCESS })?;
        }
        allowed.clone_from(&self.rules);
        Ok(())
    }

    /// The counters of the network, which no process has used before.
    pub(super) fn counters(&self) -> Option<NetworkCounters> {
        self.network.and_then(|network| network.counters.try_clone())
    }

    /// Enters the namespaces. Makes only system calls.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        if let Some(network) = self.network {
            join(&network.namespace, LinkNameSpaceType::Network)?;
        }
        if let Some(root) = self.root {
            join(&root.namespace, LinkNameSpaceType::Mount)?;
        }
        Ok(())
    }
}

fn join(namespace: &OwnedFd, kind: LinkNameSpaceType) -> Result<(), Errno> {
    move_into_link_name_space(namespace.as_fd(), Some(kind))
}

impl Root {
    fn create(
        stack: &mut Stack,
        plan: &[&CStr],
        found: Vec<Option<(u64, u64)>>,
    ) -> Result<Root, Errno> {
        let memories = plan.iter().filter(|text| text.to_bytes().first() == Some(&kind::MEMORY));
        // The child must not allocate.
        let mut trees = Vec::with_capacity(memories.count());
        let (mut mounts, mut top) = (Err(Errno::IO), Err(Errno::IO));
        let namespace = of_child(stack, libc::CLONE_NEWNS, c"/proc/self/ns/mnt", &mut || {
            // The new root hides the path of the table.
            mounts = MountTable::open();
            top = new_root::enter(plan, &mut trees);
            top.as_ref().map(|_| ()).map_err(|error| *error)
        })?;
        let mounts = mounts?;
        // From here on, changes of the table count.
        mounts.has_changed();
        let memory = |tree: OwnedFd| Some(Memory { before: Content::of(&tree)?, tree });
        let memory: Option<Vec<Memory>> = trees.into_iter().map(memory).collect();
        let plan = plan.iter().map(|text| (*text).to_owned()).collect();
        let (top, memory, created) = (top?, memory.ok_or(Errno::IO)?, clock::instant());
        let allowed = RefCell::default();
        Ok(Root { plan, found, namespace, top, allowed, created, mounts, memory })
    }

    /// The paths of the steps of a kind, without the leading slash.
    fn paths(&self, kind: u8) -> impl Iterator<Item = &CStr> {
        let steps = steps(self.plan.iter().map(CString::as_c_str));
        let own = steps.filter(move |(text, _)| text.to_bytes().first() == Some(&kind));
        own.filter_map(|(text, _)| {
            CStr::from_bytes_with_nul(text.to_bytes_with_nul().get(2..)?).ok()
        })
    }

    /// Whether it is as it was created.
    fn is_unused(&self) -> bool {
        let is_recent =
            self.created.elapsed() < OVERLAYS || self.paths(kind::OVERLAY).next().is_none();
        is_recent
            && !self.mounts.has_changed()
            && self
                .memory
                .iter()
                .all(|memory| Content::of(&memory.tree).as_ref() == Some(&memory.before))
    }
}

impl MountTable {
    /// That of the namespace of this process.
    fn open() -> Result<MountTable, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::open(c"/proc/self/mountinfo", flags, Mode::empty()).map(MountTable)
    }

    /// Whether a mount came or went since the last call: the kernel tells it as an exceptional condition.
    fn has_changed(&self) -> bool {
        let mut asked = [PollFd::new(&self.0, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut asked, Some(&now)) != Ok(0)
    }
}

impl Content {
    fn of(tree: &OwnedFd) -> Option<Content> {
        let StatFs { f_bfree, f_ffree, .. } = fstatfs(tree).ok()?;
        let stat = fstat(tree).ok()?;
        let changed = (stat.st_ctime, stat.st_ctime_nsec);
        Some(Content { free: [f_bfree, f_ffree], changed, mode: stat.st_mode })
    }
}

impl Network {
    fn create(stack: &mut Stack, has_loopback: bool) -> Result<Network, Errno> {
        let mut counters = None;
        let namespace = of_child(stack, libc::CLONE_NEWNET, c"/proc/self/ns/net", &mut || {
            if has_loopback {
                loopback::start()?;
            }
            counters = Some(NetworkCounters::open()?);
            Ok(())
        })?;
        let counters = counters.ok_or(Errno::IO)?.with_values();
        Ok(Network { has_loopback, namespace, counters })
    }
}

/// A namespace that a child creates and prepares. The child shares the descriptors of this process, which keeps what it
/// opens.
pub(super) fn of_child(
    stack: &mut Stack,
    namespace: c_int,
    path: &CStr,
    prepare: &mut dyn FnMut() -> Result<(), Errno>,
) -> Result<OwnedFd, Errno> {
    let mut kept = Err(Errno::IO);
    let child = until_exec(stack, namespace, &mut || {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        kept = opened.and_then(|opened| prepare().map(|()| opened));
        0
    });
    let child = child.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
    let _ = waitpid(Some(child), WaitOptions::empty());
    kept
}

/// The steps of a plan: each text with the one that belongs to it.
fn steps<'a>(
    mut texts: impl Iterator<Item = &'a CStr>,
) -> impl Iterator<Item = (&'a CStr, Option<&'a CStr>)> {
    std::iter::from_fn(move || {
        let text = texts.next()?;
        let has_more = [kind::LINK, kind::FROM, kind::OVERLAY].map(Some);
        let more = has_more.contains(&text.to_bytes().first().copied());
        Some((text, if more { texts.next() } else { None }))
    })
}

/// A plan without the name of its ruleset, and that name.
fn without_rules<'a>(plan: &[&'a CStr]) -> (Vec<&'a CStr>, CString) {
    let is_rules = |text: &CStr| text.to_bytes().first() == Some(&kind::RULES);
    let (rules, plan): (Vec<_>, Vec<_>) =
        steps(plan.iter().copied()).partition(|(text, _)| is_rules(text));
    let name = rules.first().map(|(text, _)| (*text).to_owned()).unwrap_or_default();
    (plan.into_iter().flat_map(|(text, more)| std::iter::once(text).chain(more)).collect(), name)
}

/// The paths of the host that a plan mounts.
fn sources<'a>(plan: &'a [&'a CStr]) -> impl Iterator<Item = &'a CStr> {
    steps(plan.iter().copied()).filter_map(|(text, more)| {
        let (kind, path) = text.to_bytes_with_nul().split_first()?;
        match *kind {
            kind::FROM => more,
            kind::LINK | kind::DIRECTORY | kind::MEMORY => None,
            kind::ALLOW | kind::MARK | kind::RULES => None,
            _ => CStr::from_bytes_with_nul(path).ok(),
        }
    })
}

fn identity(path: &CStr) -> Option<(u64, u64)> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mounted_paths_of_a_plan_are_compared() {
        let plan = [
            c"d/dev",
            c"l/dev/fd",
            c"/proc/self/fd",
            c"t/dev/shm",
            c"o/c",
            c"/s",
            c"r/usr",
            c"s/opt",
            c"/opt:/proc/proc",
            c"a/opt",
            c"p/x",
        ];
        let named = [&plan[..1], &[c"l/bin", c"usr/bin", c"u/7"], &plan[1..]].concat();
        assert_eq!(without_rules(&named).1.as_c_str(), c"u/7");
        assert_eq!(without_rules(&named).0.len(), named.len() - 1);
        let found: Vec<&CStr> = sources(&plan).collect();
        assert_eq!(found, [c"/s", c"/usr", c"/opt", c"/x"]);
    }
}
