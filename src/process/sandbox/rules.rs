use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};
use rustix::fd::OwnedFd;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// What the kernel holds a process to. Made where files can be opened, taken on where the process
/// begins.
pub(in crate::process) struct Rules(RulesetCreated);

/// From Linux 6.2 on: before, a file could be cut to nothing anywhere.
const NEEDED: ABI = ABI::V3;

impl Rules {
    /// Rules that allow nothing yet.
    pub(super) fn new() -> io::Result<Rules> {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(NEEDED))
            .and_then(Ruleset::create)
            .map(Rules)
            .map_err(io::Error::other)
    }

    /// Lets the process write below a place; one that is not there is passed over.
    pub(super) fn write(self, place: &Path) -> io::Result<Rules> {
        let Ok(opened) = PathFd::new(place) else { return Ok(self) };
        let mut access = AccessFs::from_write(NEEDED);
        if !place.is_dir() {
            access &= AccessFs::from_file(NEEDED);
        }
        self.0.add_rule(PathBeneath::new(opened, access)).map(Rules).map_err(io::Error::other)
    }

    /// The ruleset itself, for a child that takes it on: `PR_SET_NO_NEW_PRIVS`, then
    /// `landlock_restrict_self` with it and no flags. Both calls must succeed, or nothing may be
    /// started.
    #[allow(dead_code, reason = "for the supervisor process")]
    pub(in crate::process) fn into_fd(self) -> io::Result<OwnedFd> {
        let fd: Option<OwnedFd> = self.0.into();
        fd.ok_or_else(|| io::Error::other("the kernel holds nothing"))
    }

    /// Takes them on for the calling thread and everything that it starts, for ever.
    pub(super) fn restrict(self) -> io::Result<()> {
        let status = self.0.restrict_self().map_err(io::Error::other)?;
        match status.ruleset {
            RulesetStatus::FullyEnforced => Ok(()),
            _ => Err(io::Error::other("the kernel does not hold all writes")),
        }
    }
}

/// Whether this kernel can hold processes. Tried out once, on a thread that ends.
pub fn kernel_holds() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let tried = std::thread::spawn(|| Rules::new().and_then(Rules::restrict).is_ok());
        tried.join().unwrap_or(false)
    })
}

/// Starts a process under rules. A thread is restricted and starts it; the process inherits that,
/// the rest of `kb` does not. Where the kernel cannot do all of it, nothing is started.
pub(in crate::process) fn start_held<T: Send>(
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
