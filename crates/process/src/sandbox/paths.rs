//! The paths that a sandboxed process may use besides its project: programs, toolchains, caches,
//! devices.
//!
//! All other paths are denied, including most of the home directory: keys, tokens, histories, mail,
//! other projects. The paths listed here contain programs and packages, never credentials.

use super::caches;
use crate::BaseEnvironment;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Programs and the files they read on every system. For `/etc` see [`configuration`].
const SYSTEM: [&str; 22] = [
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
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/resolvconf/interface",
    "/run/NetworkManager/resolv.conf",
    "/var/lib/ca-certificates",
    "/var/cache/fontconfig",
];
/// How many entries of `/etc` are read at most.
const CONFIGURATION_LIMIT: usize = 20_000;
/// Devices that store nothing, and shared memory, which a reboot clears. The terminal of `kb` is none of them: without
/// namespaces, it would be that of a command too.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/ptmx", "/dev/shm"];
/// Devices that may only be read.
const READ_DEVICES: [&str; 2] = ["/dev/random", "/dev/urandom"];
/// The directory of caches in the home directory. Commands see a private one in its place, with the
/// caches of [`caches`] in it: other caches contain tokens, and files that a shell executes.
const CACHES_ROOT: &str = ".cache";
/// Toolchains in the home directory, and the settings that `git` needs. If a tool stores credentials
/// beside its programs, only the programs are listed.
const TOOLCHAINS: &str = "
    .cargo/bin .cargo/env .cargo/config.toml .cargo/config .rustup
    .nvm .volta .fnm .nodenv .asdf .bun/bin .bun/install .deno .npm-global .npm/_npx .node-gyp .yarn
    .cache/node .cache/bazelisk .cache/ms-playwright .cache/Cypress .cache/electron
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

/// The directory that commands see in private: see [`CACHES_ROOT`].
pub(super) fn caches_root(base: &BaseEnvironment) -> Option<PathBuf> {
    base.home().map(|home| home.join(CACHES_ROOT))
}

/// The paths that every sandboxed process may write, besides its project.
pub(super) fn writable(base: &BaseEnvironment) -> Vec<PathBuf> {
    let caches = base.home().into_iter().flat_map(caches::of_home);
    caches.chain(DEVICES.map(PathBuf::from)).collect()
}

/// The paths that every sandboxed process may read, besides the writable ones.
pub(super) fn readable(base: &BaseEnvironment) -> Vec<PathBuf> {
    configuration().into_iter().chain(programs_and_files(base)).collect()
}

/// The paths to mount for [`readable`]: `/etc` as a whole, in which Landlock closes the rest.
pub(super) fn mounted(base: &BaseEnvironment) -> Vec<PathBuf> {
    [PathBuf::from("/etc")].into_iter().chain(programs_and_files(base)).collect()
}

fn programs_and_files(base: &BaseEnvironment) -> Vec<PathBuf> {
    let home = base.home();
    let toolchains =
        home.into_iter().flat_map(|home| TOOLCHAINS.split_whitespace().map(|at| home.join(at)));
    let named = TOOLCHAIN_VARIABLES.iter().filter_map(|name| base.get(name)).map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute() && !contains_home(path, home));
    let own: Vec<PathBuf> = [home]
        .into_iter()
        .flatten()
        .chain(base.untrusted().iter().map(PathBuf::as_path))
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    // `/opt` with the home directory or the project in it is no folder of programs.
    let is_system = |folder: &PathBuf| {
        folder == Path::new("/usr") || !own.iter().any(|own| own.starts_with(folder))
    };
    SYSTEM
        .iter()
        .map(PathBuf::from)
        .filter(is_system)
        .chain(READ_DEVICES.iter().map(PathBuf::from))
        .chain(toolchains)
        .chain(named)
        .chain(programs(base, home))
        .collect()
}

/// Whether a path is the home directory or a parent of it.
fn contains_home(path: &Path, home: Option<&Path>) -> bool {
    home.is_some_and(|home| home.starts_with(path)) || path == Path::new("/")
}

/// `/etc`. For root, only the entries that everybody can read, without `shadow`, private keys of
/// certificates and the keys of servers. They are collected once.
fn configuration() -> Vec<PathBuf> {
    static OPEN: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let collect = || {
        let etc = Path::new("/etc");
        if rustix::process::geteuid().is_root() {
            open_entries(etc, &mut 0).unwrap_or_else(|| vec![etc.to_owned()])
        } else {
            vec![etc.to_owned()]
        }
    };
    OPEN.get_or_init(collect).clone()
}

/// The entries of a directory that everybody can read, or `None` if everybody can read all of them. A link opens
/// nothing: what it leads to is an entry of its own, or no configuration. What is beyond the limit was not read and
/// counts as closed.
fn open_entries(directory: &Path, read: &mut usize) -> Option<Vec<PathBuf>> {
    let (mut open, mut has_closed) = (Vec::new(), false);
    let Ok(entries) = std::fs::read_dir(directory) else { return Some(open) };
    for entry in entries.flatten() {
        *read += 1;
        let path = entry.path();
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_symlink() {
            continue;
        }
        if *read > CONFIGURATION_LIMIT || found.mode() & 0o004 == 0 || path.ends_with("etc/ssh") {
            has_closed = true;
            continue;
        }
        match if found.is_dir() { open_entries(&path, read) } else { None } {
            None => open.push(path),
            Some(inner) => {
                has_closed = true;
                open.extend(inner);
            }
        }
    }
    has_closed.then_some(open)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_not_everybody_can_read_is_closed_at_any_depth_and_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let etc = folder.path();
        let file = |path: &str, mode: u32| {
            let path = etc.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "x").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        };
        file("a/open", 0o644);
        file("x/1/2/3/4/5/open", 0o644);
        file("x/1/2/3/4/5/key", 0o600);
        file("real/key", 0o600);
        std::os::unix::fs::symlink("real", etc.join("alias")).unwrap();
        let mut open = open_entries(etc, &mut 0).unwrap();
        open.sort();
        assert_eq!(open, ["a", "x/1/2/3/4/5/open"].map(|path| etc.join(path)));
        assert_eq!(open_entries(etc, &mut CONFIGURATION_LIMIT.clone()), Some(Vec::new()));
        assert_eq!(open_entries(&etc.join("a"), &mut 0), None);
    }
}
