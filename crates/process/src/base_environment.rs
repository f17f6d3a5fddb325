//! The environment variables of processes, and the settings that `kb` reads from its own variables.

use super::sandbox::SandboxCap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Variables that every process gets from the environment of `kb`, besides all `LC_*`.
const PASSED: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TZ", "TERM"];

/// The `PATH` of processes if `kb` has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

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
    project: Option<PathBuf>,
    outer_marker: Option<String>,
    sandbox_cap: SandboxCap,
    /// Where variables of the user tell git to look for settings.
    git_settings: Vec<PathBuf>,
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
                "XDG_CONFIG_HOME" if !value.is_empty() => {
                    base.git_settings.push(Path::new(&value).join("git"));
                }
                "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" if !value.is_empty() => {
                    base.git_settings.push(value.clone().into());
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

    /// The files and folders in which git of the user looks for settings, whether they exist or not.
    pub fn git_settings(&self) -> Vec<PathBuf> {
        let home = self.get("HOME").map(Path::new);
        let in_home = [".gitconfig", ".config/git"].map(|path| home.map(|home| home.join(path)));
        let of_machine = Some(PathBuf::from("/etc/gitconfig"));
        let all = in_home.into_iter().chain([of_machine]).flatten();
        all.chain(self.git_settings.iter().cloned()).collect()
    }

    /// The project, none of whose files is a program that `kb` chooses.
    #[must_use]
    pub fn in_project(self, root: &Path) -> Self {
        BaseEnvironment { project: Some(root.to_owned()), ..self }
    }

    /// The project, if there is one.
    pub(super) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
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

    /// The folder in which `kb` creates its private temporary directory.
    pub(super) fn temporary_root(&self) -> PathBuf {
        self.temporary_root.clone().unwrap_or_else(|| DEFAULT_TEMPORARY_ROOT.into())
    }

    /// The value of [`MARKER`] if `kb` itself runs in a step of another `kb`.
    pub(super) fn outer_marker(&self) -> Option<&str> {
        self.outer_marker.as_deref()
    }
}

fn is_passed(name: &str) -> bool {
    PASSED.contains(&name) || name.starts_with("LC_")
}
