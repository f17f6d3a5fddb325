//! What a confined process needs besides its project: programs, toolchains, caches, devices.
//!
//! Everything else is closed, most of the home directory with it: keys, tokens, histories, mail,
//! other projects. What is listed here holds programs and packages, never credentials.

use crate::process::BaseEnvironment;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Programs and what they read on every system. `/etc` is looked at more closely.
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu/store",
    "/snap",
    "/proc",
    "/sys",
    "/run/current-system",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    "/var/lib/ca-certificates",
    "/var/cache/fontconfig",
];
/// Devices that hold nothing, and shared memory, which does not outlive the machine.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/shm"];
/// Devices that are read only.
const READ_DEVICES: [&str; 2] = ["/dev/random", "/dev/urandom"];
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
/// Toolchains below the home directory, and the settings without which `git` does not work. Where a
/// tool keeps its credentials beside its programs, only the programs are named.
const TOOLCHAINS: &str = "
    .cargo/bin .cargo/env .cargo/config.toml .cargo/config .rustup
    .nvm .volta .fnm .nodenv .asdf .bun/bin .bun/install .deno .npm-global .node-gyp .yarn
    .pyenv .rye .local/pipx miniconda3 anaconda3 miniforge3 mambaforge micromamba
    .rbenv .rvm .gem/ruby .bundle/cache .sdkman .jenv .jdks .m2/wrapper .gradle/wrapper .gradle/jdks
    .gradle/native go/bin go/pkg .goenv .gvm sdk .ghcup .cabal/bin .cabal/packages .cabal/store .stack
    .opam .elan .juliaup .julia/juliaup .julia/packages .julia/compiled .julia/artifacts
    .julia/registries .julia/environments .dotnet .nuget/packages .swiftly .mix .composer/vendor
    .config/composer/vendor .luarocks/lib .luarocks/share perl5 .nix-profile .guix-profile .local/state/nix/profiles
    .linuxbrew .local/bin .local/lib .local/share/mise .local/share/uv .local/share/pnpm
    .local/share/fnm .local/share/pipx .local/share/virtualenvs .local/share/fonts .fonts .terminfo
    .gitconfig .config/git/config .config/git/ignore .config/git/attributes .gitignore
    .gitignore_global .config/mise .config/fontconfig .tool-versions .python-version .node-version
    .ruby-version .nvmrc";
/// Variables that name a toolchain; a process has them where `env.pass` says so.
const NAMED: [&str; 12] = [
    "JAVA_HOME",
    "GOROOT",
    "GOPATH",
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "BUN_INSTALL",
];
/// What stands beside a folder of programs and belongs to them.
const BESIDE: [&str; 9] =
    ["lib", "lib64", "libexec", "share", "include", "versions", "jre", "etc/ssl", "pyvenv.cfg"];

/// Where every confined process may write, besides its project.
pub(super) fn written(base: &BaseEnvironment) -> Vec<PathBuf> {
    let caches = home(base).into_iter().flat_map(|home| CACHES.map(|cache| home.join(cache)));
    caches.chain(DEVICES.map(PathBuf::from)).collect()
}

/// What every confined process may read, besides what it may write.
pub(super) fn read(base: &BaseEnvironment) -> Vec<PathBuf> {
    let home = home(base);
    let toolchains =
        home.into_iter().flat_map(|home| TOOLCHAINS.split_whitespace().map(|at| home.join(at)));
    let named = NAMED.iter().filter_map(|name| base.get(name)).map(PathBuf::from);
    let named = named.filter(|place| place.is_absolute() && !holds(place, home));
    SYSTEM
        .iter()
        .chain(&READ_DEVICES)
        .map(PathBuf::from)
        .chain(configuration())
        .chain(toolchains)
        .chain(named)
        .chain(programs(base, home))
        .collect()
}

fn home(base: &BaseEnvironment) -> Option<&Path> {
    base.get("HOME").map(Path::new).filter(|home| home.is_absolute() && *home != Path::new("/"))
}

/// Whether a place is the home directory or above it.
fn holds(place: &Path, home: Option<&Path>) -> bool {
    home.is_some_and(|home| home.starts_with(place)) || place == Path::new("/")
}

/// `/etc`; for root, who may read everything, only what anybody may: not `shadow`, not the keys of
/// servers.
fn configuration() -> Vec<PathBuf> {
    let etc = Path::new("/etc");
    if !rustix::process::geteuid().is_root() {
        return vec![etc.to_owned()];
    }
    let entries = std::fs::read_dir(etc).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.metadata().is_ok_and(|found| found.mode() & 0o004 != 0))
        .filter(|entry| entry.file_name() != "ssh")
        .map(|entry| entry.path())
        .collect()
}

/// The folders of `PATH`, and what belongs to their programs.
fn programs(base: &BaseEnvironment, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = std::env::split_paths(base.get("PATH").unwrap_or_default());
    let folders = folders.filter(|folder| folder.is_absolute() && !holds(folder, home));
    folders
        .flat_map(|folder| {
            // `~/.local/share` is everybody's, and `~/.cargo` has credentials.
            let shared = |above: &Path| {
                home.is_some_and(|home| {
                    [".local", ".cargo"].iter().any(|at| above == home.join(at))
                })
            };
            let above = folder.parent().filter(|above| !holds(above, home) && !shared(above));
            let beside = above.into_iter().flat_map(|above| BESIDE.map(|name| above.join(name)));
            let beside: Vec<PathBuf> = beside.collect();
            beside.into_iter().chain([folder])
        })
        .collect()
}
