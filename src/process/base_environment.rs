use std::collections::BTreeMap;

/// Variables that every process gets from `kb`'s own environment, besides all `LC_*`.
const PASSED: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TZ", "TERM"];

/// What a process that finds no `PATH` in `kb`'s environment searches.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment that all processes start from; nothing else of `kb`'s own reaches them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseEnvironment(BTreeMap<String, String>);

impl BaseEnvironment {
    /// Takes the passed variables, and those named by `env.pass`, from this process's environment.
    pub fn from_process(pass: &[String]) -> Self {
        let own = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::select(own, pass)
    }

    /// Takes the passed variables, and those named by `env.pass`, from these.
    pub fn select(variables: impl IntoIterator<Item = (String, String)>, pass: &[String]) -> Self {
        let mut chosen: BTreeMap<String, String> = variables
            .into_iter()
            .filter(|(name, _)| is_passed(name) || pass.iter().any(|wanted| wanted == name))
            .collect();
        chosen.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
        BaseEnvironment(chosen)
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

fn is_passed(name: &str) -> bool {
    PASSED.contains(&name) || name.starts_with("LC_")
}
