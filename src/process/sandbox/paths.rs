//! The paths that a sandboxed process may use besides its project: programs, toolchains, caches,
//! devices.
//!
//! All other paths are denied, including most of the home directory: keys, tokens, histories, mail,
//! other projects. The paths listed here contain programs and packages, never credentials.

use crate::process::BaseEnvironment;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Programs and the files they read on every system. For `/etc` see [`configuration`].
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
/// Devices that store nothing, and shared memory, which a reboot clears.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/shm"];
/// Devices that may only be read.
const READ_DEVICES: [&str; 2] = ["/dev/random", "/dev/urandom"];
/// Caches of package managers in the home directory. `~/.cargo` is not permitted as a whole: its
/// `bin` and `config.toml` influence later commands of the user.
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
/// Toolchains in the home directory, and the settings that `git` needs. If a tool stores credentials
/// beside its programs, only the programs are listed.
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
/// Variables that name a toolchain. A process has them if the setting `env.pass` lists them.
const TOOLCHAIN_VARIABLES: [&str; 12] = [
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
/// Names beside a folder of programs that belong to them.
const BESIDE: [&str; 9] =
    ["lib", "lib64", "libexec", "share", "include", "versions", "jre", "etc/ssl", "pyvenv.cfg"];

/// The paths that every sandboxed process may write, besides its project.
pub(super) fn writable(base: &BaseEnvironment) -> Vec<PathBuf> {
    let caches = home(base).into_iter().flat_map(|home| CACHES.map(|cache| home.join(cache)));
    caches.chain(DEVICES.map(PathBuf::from)).collect()
}

/// The paths that every sandboxed process may read, besides the writable ones.
pub(super) fn readable(base: &BaseEnvironment) -> Vec<PathBuf> {
    let home = home(base);
    let toolchains =
        home.into_iter().flat_map(|home| TOOLCHAINS.split_whitespace().map(|at| home.join(at)));
    let named = TOOLCHAIN_VARIABLES.iter().filter_map(|name| base.get(name)).map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute() && !contains_home(path, home));
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

/// Whether a path is the home directory or a parent of it.
fn contains_home(path: &Path, home: Option<&Path>) -> bool {
    home.is_some_and(|home| home.starts_with(path)) || path == Path::new("/")
}

/// `/etc`. For root, only the world-readable entries, without `shadow` and the keys of servers.
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

/// The folders of `PATH`, and the files that belong to their programs.
fn programs(base: &BaseEnvironment, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = std::env::split_paths(base.get("PATH").unwrap_or_default());
    let folders = folders.filter(|folder| folder.is_absolute() && !contains_home(folder, home));
    folders
        .flat_map(|folder| {
            // All programs share `~/.local/share`, and `~/.cargo` contains credentials.
            let shared = |above: &Path| {
                home.is_some_and(|home| {
                    [".local", ".cargo"].iter().any(|at| above == home.join(at))
                })
            };
            let above =
                folder.parent().filter(|above| !contains_home(above, home) && !shared(above));
            let beside = above.into_iter().flat_map(|above| BESIDE.map(|name| above.join(name)));
            let beside: Vec<PathBuf> = beside.collect();
            beside.into_iter().chain([folder])
        })
        .collect()
}
