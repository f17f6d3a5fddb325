//! Landlock rulesets.

use super::SystemCallFilter;
use super::capabilities::drop_capabilities;
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// A Landlock ruleset. `kb` creates it, and the new process applies it to itself.
#[derive(Debug)]
pub(crate) struct Rules(RulesetCreated);

/// The access that a process has below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read, list and execute.
    Read,
    /// [`Access::Read`], and connect to the sockets of servers.
    Open,
    /// [`Access::Read`], and write, create and remove.
    Write,
    /// Write, create and remove only.
    WriteOnly,
}

/// Execute, read and list, as the kernel writes them.
pub(crate) const READ_ACCESS: u64 = 1 << 0 | 1 << 2 | 1 << 3;
/// Execute and read.
pub(crate) const FILE_ACCESS: u64 = 1 << 0 | 1 << 2;
/// Write, create (except devices), remove, move and truncate, as the kernel writes them.
pub(crate) const WRITE_ACCESS: u64 = 1 << 1 | 0b11 << 4 | 0b111 << 8 | 1 << 7 | 0b111 << 12;

/// Required features, from Linux 6.2. An older kernel cannot restrict truncating files, so its rules
/// could not be relied on.
const REQUIRED: ABI = ABI::V3;
/// Features that are used where the kernel has them: restricting ioctl on devices, signals to other
/// processes, and the sockets of other programs.
const OPTIONAL: ABI = ABI::V9;
/// The version of Landlock that restricts sockets with a path.
pub(super) const SOCKETS: u32 = 9;

impl Rules {
    /// Rules that permit nothing yet.
    pub(super) fn new() -> io::Result<Rules> {
        let rules = || {
            Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(REQUIRED))?
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(OPTIONAL))?
                .scope(Scope::from_all(OPTIONAL))?
                .create()
        };
        rules().map(Rules).map_err(io::Error::other)
    }

    /// Permits access below a path without links. A path that does not exist, or has become a link, is skipped.
    pub(super) fn allow(self, access: Access, path: &Path) -> io::Result<Rules> {
        let Ok(opened) = open_without_links(path) else { return Ok(self) };
        let is_folder =
            rustix::fs::fstat(&opened).is_ok_and(|stat| stat.st_mode & 0o170_000 == 0o040_000);
        let mut access: BitFlags<AccessFs> = match access {
            Access::Read => AccessFs::from_read(OPTIONAL),
            Access::Open => AccessFs::from_read(OPTIONAL) | AccessFs::ResolveUnix,
            // Not devices: a process that can create a device node can read the disk.
            Access::Write => {
                AccessFs::from_all(OPTIONAL) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
            }
            Access::WriteOnly => {
                let read = AccessFs::from_read(OPTIONAL) | AccessFs::MakeChar | AccessFs::MakeBlock;
                AccessFs::from_all(OPTIONAL) & !read
            }
        };
        if !is_folder {
            access &= AccessFs::from_file(OPTIONAL);
        }
        self.0.add_rule(PathBeneath::new(opened, access)).map(Rules).map_err(io::Error::other)
    }

    /// The same rules again. Applying them to a process changes neither.
    pub(super) fn try_clone(&self) -> io::Result<Rules> {
        self.0.try_clone().map(Rules)
    }

    /// The descriptor of the ruleset. The child sets `PR_SET_NO_NEW_PRIVS` and then calls
    /// `landlock_restrict_self` with it. If either call fails, the program must not be executed.
    pub(crate) fn into_fd(self) -> io::Result<OwnedFd> {
        let fd: Option<OwnedFd> = self.0.into();
        fd.ok_or_else(not_enforced)
    }

    /// Applies the rules to the calling thread and its descendants, permanently.
    fn restrict(self) -> io::Result<()> {
        drop_capabilities()?;
        let status = self.0.restrict_self().map_err(io::Error::other)?;
        match (status.ruleset, status.landlock) {
            // Partially: all required features, and some of the optional ones.
            (
                RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
                LandlockStatus::Available { .. },
            ) => Ok(()),
            _ => Err(not_enforced()),
        }
    }
}

fn open_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    loop {
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // The kernel found a concurrent change.
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
}

fn not_enforced() -> io::Error {
    io::Error::other("the kernel does not enforce the sandbox")
}

/// Starts a process under rules and a filter. A new thread applies them and starts the process, which inherits
/// them; the rest of `kb` is not affected. If the kernel cannot enforce them, nothing is started.
pub(crate) fn start_restricted<T: Send>(
    rules: Rules,
    filter: &SystemCallFilter,
    start: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    std::thread::scope(|scope| {
        let started = scope.spawn(move || {
            rules.restrict()?;
            filter.install()?;
            let _inside = runtime.enter();
            start()
        });
        started.join().unwrap_or_else(|_| Err(io::Error::other("the sandboxed start failed")))
    })
}

/// The version of Landlock that this kernel has enabled.
pub(super) fn landlock_version() -> Option<u32> {
    const VERSION: libc::c_ulong = 1;
    static ENABLED: OnceLock<Option<u32>> = OnceLock::new();
    let ask = || {
        // SAFETY: with this flag the call takes no attributes and only returns a number.
        #[allow(unsafe_code)]
        let version = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                std::ptr::null::<libc::c_void>(),
                0 as libc::size_t,
                VERSION,
            )
        };
        u32::try_from(version).ok().filter(|version| *version > 0)
    };
    *ENABLED.get_or_init(ask)
}
