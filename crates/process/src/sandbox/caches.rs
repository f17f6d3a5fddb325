//! The caches of package managers and compilers, which every sandboxed process may write.

use std::path::{Path, PathBuf};

/// Caches of package managers and compilers in the home directory. `~/.cargo` is not permitted as a whole: its
/// `bin` and `config.toml` influence later commands of the user. Installed programs are none: others execute them.
const CACHES: [&str; 34] = [
    ".cache/pip",
    ".cache/uv",
    ".cache/pypoetry",
    ".cache/pipenv",
    ".cache/go-build",
    ".cache/golangci-lint",
    ".cache/yarn",
    ".cache/pnpm",
    ".cache/node-gyp",
    ".cache/deno",
    ".cache/bun",
    ".cache/composer",
    ".cache/coursier",
    ".cache/bazel",
    ".cache/ccache",
    ".cache/sccache",
    ".cache/zig",
    ".cache/cabal",
    ".cache/dune",
    ".cache/rubocop_cache",
    ".cache/matplotlib",
    ".cache/fontconfig",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm/_cacache",
    ".npm/_logs",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".gradle/caches",
    "go/pkg/mod",
    "Library/Caches",
];

/// The caches in a home directory.
pub(crate) fn of_home(home: &Path) -> impl Iterator<Item = PathBuf> {
    CACHES.iter().map(move |cache| home.join(cache))
}
