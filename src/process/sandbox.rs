use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where a process and everything that it starts may write; the kernel refuses the rest (DESIGN §6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteLimits {
    roots: Vec<PathBuf>,
}

/// Caches of package managers below the home directory. Not all of `~/.cargo`: its `bin` and
/// `config.toml` decide what later commands of the person run.
const CACHES: [&str; 12] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".gradle/caches",
    "go/pkg/mod",
    "Library/Caches",
];
/// Devices that hold nothing, and shared memory, which does not outlive the machine.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/shm"];
/// From Linux 6.2 on: before, a file could be cut to nothing anywhere.
const LEVEL: ABI = ABI::V3;

impl WriteLimits {
    /// These folders, beside the private temporary directory, caches and harmless devices.
    pub fn to(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        WriteLimits { roots: roots.into_iter().collect() }
    }

    /// The rules, with places that are not there left out.
    fn ruleset(&self, home: Option<&str>, temporary: Option<&Path>) -> io::Result<RulesetCreated> {
        let home = home.map(Path::new).filter(|home| home.is_absolute());
        let caches = CACHES.iter().filter_map(|cache| Some(home?.join(cache)));
        let devices = DEVICES.iter().map(PathBuf::from);
        let places = self.roots.iter().cloned().chain(temporary.map(Path::to_owned)).chain(caches);
        let mut rules = ruleset()?;
        for place in places.chain(devices) {
            let Ok(opened) = PathFd::new(&place) else { continue };
            let mut access = AccessFs::from_write(LEVEL);
            if !place.is_dir() {
                access &= AccessFs::from_file(LEVEL);
            }
            rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(io::Error::other)?;
        }
        Ok(rules)
    }
}

/// Whether this kernel can hold writes. Tried out once, on a thread that ends.
pub fn kernel_holds_writes() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let tried = std::thread::spawn(|| ruleset().and_then(restrict).is_ok());
        tried.join().unwrap_or(false)
    })
}

/// Starts a process under limits. A thread is restricted and starts it; the process inherits that,
/// the rest of `kb` does not. Where the kernel cannot do all of it, nothing is started.
pub(super) fn start_held<T: Send>(
    limits: &WriteLimits,
    home: Option<&str>,
    temporary: Option<&Path>,
    start: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let rules = limits.ruleset(home, temporary)?;
    let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    std::thread::scope(|scope| {
        let started = scope.spawn(move || {
            restrict(rules)?;
            let _inside = runtime.enter();
            start()
        });
        started.join().unwrap_or_else(|_| Err(io::Error::other("the sandboxed start failed")))
    })
}

fn ruleset() -> io::Result<RulesetCreated> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(LEVEL))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)
}

fn restrict(rules: RulesetCreated) -> io::Result<()> {
    let status = rules.restrict_self().map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        _ => Err(io::Error::other("the kernel does not hold all writes")),
    }
}
