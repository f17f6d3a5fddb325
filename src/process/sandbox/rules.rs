use super::capabilities::drop_capabilities;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::OwnedFd;
use std::io;
use std::path::Path;

/// What the kernel holds a process to. Made where files can be opened, taken on where the process
/// begins.
pub(in crate::process) struct Rules(RulesetCreated);

/// What a process may do below a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    /// Read, list and execute.
    Read,
    /// That, and write, make and remove.
    Write,
}

/// From Linux 6.2 on: before, a file could be cut to nothing anywhere. A kernel that has less holds
/// nothing that could be relied on.
const NEEDED: ABI = ABI::V3;
/// What is held where the kernel can: commands to devices, signals to processes outside, and
/// abstract sockets of programs outside.
const WELCOME: ABI = ABI::V6;

impl Rules {
    /// Rules that allow nothing yet.
    pub(super) fn new() -> io::Result<Rules> {
        let rules = || {
            Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(NEEDED))?
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(WELCOME))?
                .scope(Scope::from_all(WELCOME))?
                .create()
        };
        rules().map(Rules).map_err(io::Error::other)
    }

    /// Lets the process do so below a place; one that is not there is passed over.
    pub(super) fn grant(self, grant: Grant, place: &Path) -> io::Result<Rules> {
        let Ok(opened) = PathFd::new(place) else { return Ok(self) };
        let is_folder =
            rustix::fs::fstat(&opened).is_ok_and(|stat| stat.st_mode & 0o170_000 == 0o040_000);
        let mut access: BitFlags<AccessFs> = match grant {
            Grant::Read => AccessFs::from_read(WELCOME),
            // Not devices: whoever may make one has the disk behind it.
            Grant::Write => {
                AccessFs::from_all(WELCOME) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
            }
        };
        if !is_folder {
            access &= AccessFs::from_file(WELCOME);
        }
        self.0.add_rule(PathBeneath::new(opened, access)).map(Rules).map_err(io::Error::other)
    }

    /// The ruleset itself, for a child that takes it on: `PR_SET_NO_NEW_PRIVS`, then
    /// `landlock_restrict_self` with it and no flags. Both calls must succeed, or nothing may be
    /// started.
    pub(in crate::process) fn into_fd(self) -> io::Result<OwnedFd> {
        let fd: Option<OwnedFd> = self.0.into();
        fd.ok_or_else(|| io::Error::other("the kernel holds nothing"))
    }

    /// Takes them on for the calling thread and everything that it starts, for ever.
    /// Tells the version of the kernel's interface.
    pub(super) fn restrict(self) -> io::Result<u32> {
        drop_capabilities()?;
        let status = self.0.restrict_self().map_err(io::Error::other)?;
        match (status.ruleset, status.landlock) {
            // Partly: all of what is needed, and some of what is welcome.
            (
                RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
                LandlockStatus::Available { effective_abi, .. },
            ) => Ok(effective_abi as u32),
            _ => Err(io::Error::other("the kernel holds nothing")),
        }
    }
}

/// Starts a process under rules. A thread is restricted and starts it; the process inherits that,
/// the rest of `kb` does not. Where the kernel cannot do all of it, nothing is started.
pub(in crate::process) fn start_restricted<T: Send>(
    rules: Rules,
    start: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    std::thread::scope(|scope| {
        let started = scope.spawn(move || {
            rules.restrict()?;
            let _inside = runtime.enter();
            start()
        });
        started.join().unwrap_or_else(|_| Err(io::Error::other("the sandboxed start failed")))
    })
}
