//! The environment variables of processes, and the settings that `kb` reads from its own variables.

use super::sandbox::{RealPaths, SandboxCap, caches};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Variables that every process gets from the environment of `kb`, besides all `LC_*`.
const PASSED: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TZ", "TERM"];

/// The `PATH` of processes if `kb` has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Files in memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// The folder for temporary files if `TMPDIR` is not set.
const DEFAULT_TEMPORARY_ROOT: &str = "/tmp";

/// The variable that marks every process of a step. Its value is the tokens of the steps that the
/// process belongs to, outermost first: a step of one `kb` can run another `kb`.
pub(super) const MARKER: &str = "KB_SPAWN";

/// The variable that marks a watchdog, init process or namespace worker. Its value names the `kb`
/// that started it.
pub(super) const HELPER_MARKER: &str = "KB_HELPER";

/// The environment that all processes start from. No other variable of `kb` reaches them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseEnvironment {
    variables: BTreeMap<String, String>,
    temporary_root: Option<PathBuf>,
    /// The project, and the paths that `sandbox` opens for writing.
    untrusted: Vec<PathBuf>,
    outer_marker: Option<String>,
    sandbox_cap: SandboxCap,
    /// Variables of the user about the settings of git, which no process gets.
    git_variables: Vec<(String, String)>,
}

impl BaseEnvironment {
    /// Selects the passed variables, and those named by the setting `env.pass`, from the variables
    /// that `kb` was started with. Also reads `TMPDIR`, `KB_SPAWN` and `KB_SANDBOX_AT_MOST` from
    /// them, which are not passed on.
    pub fn select(variables: impl IntoIterator<Item = (String, String)>, pass: &[String]) -> Self {
        let mut base = BaseEnvironment::default();
        for (name, value) in variables {
            match name.as_str() {
                "TMPDIR" if !value.is_empty() => base.temporary_root = Some(value.clone().into()),
                MARKER => base.outer_marker = Some(value.clone()),
                SandboxCap::VARIABLE => base.sandbox_cap = SandboxCap::parse(&value),
                _ if name == "XDG_CONFIG_HOME" || name.starts_with("GIT_CONFIG") => {
                    base.git_variables.push((name.clone(), value.clone()));
                }
                _ => {}
            }
            if is_passed(&name) || pass.contains(&name) {
                base.variables.insert(name, value);
            }
        }
        base.variables.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
        base
    }

    /// The same without the variables that the setting `env.pass` adds: they are for steps, and one of them can name code
    /// that a program loads.
    #[must_use]
    pub(super) fn without_passed(&self) -> Self {
        let mut base = self.clone();
        base.variables.retain(|name, _| is_passed(name));
        base
    }

    /// The files and folders in which git of the user looks for settings, whether they exist or not.
    pub fn git_settings(&self) -> Vec<PathBuf> {
        let home = self.get("HOME").map(Path::new);
        let in_home = [".gitconfig", ".config/git"].map(|path| home.map(|home| home.join(path)));
        let of_machine = Some(PathBuf::from("/etc/gitconfig"));
        let all = in_home.into_iter().chain([of_machine]).flatten();
        let named = self.git_variables.iter().filter_map(|(name, value)| match name.as_str() {
            _ if value.is_empty() => None,
            "XDG_CONFIG_HOME" => Some(Path::new(value).join("git")),
            "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" => Some(PathBuf::from(value)),
            _ => None,
        });
        all.chain(named).collect()
    }

    /// The variables of the user that tell git where its settings are. Steps get them only by `env.pass`.
    pub fn git_variables(&self) -> &[(String, String)] {
        &self.git_variables
    }

    /// The project, and the paths outside of it that `sandbox` opens for writing; `~/` is the home directory. None of
    /// their files is a program that `kb` chooses.
    #[must_use]
    pub fn in_project(self, root: &Path, opened: &[String]) -> Self {
        let home = self.get("HOME").map(PathBuf::from);
        let full = |path: &String| match path.strip_prefix("~/") {
            Some(rest) => home.as_ref().map(|home| home.join(rest)),
            None => Some(root.join(path)),
        };
        let untrusted = opened.iter().filter_map(full);
        let untrusted = [root.to_owned()].into_iter().chain(untrusted).collect();
        BaseEnvironment { untrusted, ..self }
    }

    /// The project, and the paths that `sandbox` opens for writing.
    pub fn untrusted(&self) -> &[PathBuf] {
        &self.untrusted
    }

    /// All that commands in the sandbox can write: also the caches of package managers and compilers, and the shared
    /// memory, which is theirs alone only with namespaces.
    pub(super) fn written(&self) -> impl Iterator<Item = PathBuf> {
        let always = self.caches().chain([PathBuf::from(SHARED_MEMORY)]);
        self.untrusted.iter().cloned().chain(always)
    }

    fn caches(&self) -> impl Iterator<Item = PathBuf> {
        self.home().into_iter().flat_map(caches::of_home)
    }

    /// Whether a path lies in a cache that every command in the sandbox can write.
    pub fn is_cached(&self, path: &Path) -> bool {
        RealPaths::new(self.caches()).is_below_written(path)
    }

    /// The home directory of the user, unless it is `/`.
    pub(super) fn home(&self) -> Option<&Path> {
        let home = self.get("HOME").map(Path::new);
        home.filter(|home| home.is_absolute() && *home != Path::new("/"))
    }

    /// Whether commands in the sandbox can write a file, or a folder on the way to it.
    pub fn is_untrusted(&self, file: &Path) -> bool {
        RealPaths::new(self.written()).is_below_written(file)
    }

    /// Whether a file, or a folder on the way to it, lies in the project or in a path that `sandbox` opens for writing.
    pub fn is_opened(&self, file: &Path) -> bool {
        RealPaths::new(self.untrusted.iter().cloned()).is_below_written(file)
    }

    /// Whether every process gets a variable of this name, if `kb` has one or sets it itself.
    pub fn provides(name: &str) -> bool {
        is_passed(name) || name == "TMPDIR" || name.starts_with("KB_")
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The limit on the sandbox level from `KB_SANDBOX_AT_MOST`.
    pub fn sandbox_cap(&self) -> SandboxCap {
        self.sandbox_cap
    }

    /// The folder in which `kb` creates its private temporary directory: not one that commands in the sandbox can write.
    pub(super) fn temporary_root(&self) -> PathBuf {
        let named = self.temporary_root.clone().filter(|root| !self.is_untrusted(root));
        named.unwrap_or_else(|| DEFAULT_TEMPORARY_ROOT.into())
    }

    /// The value of [`MARKER`] if `kb` itself runs in a step of another `kb`.
    pub(super) fn outer_marker(&self) -> Option<&str> {
        self.outer_marker.as_deref()
    }
}

fn is_passed(name: &str) -> bool {
    PASSED.contains(&name) || name.starts_with("LC_")
}
