//! Modules of Python that the step created where Python looks first: a file `pluggy.py` beside the tests takes the place of
//! the installed one that `pytest` imports.

use super::observation::{CommandEnd, Observation, ObservationQuery, Observations};
use super::recorded_changes::RecordedChanges;
use super::runner;
use std::time::Duration;

/// Prints which of its arguments are modules that are installed outside of the working directory. Isolated, so that nothing
/// of the project is executed; the modules of the user are found again.
const FIND: &str = "import importlib.util,os,site,sys
sys.path.append(site.getusersitepackages())
def found(name):
    spec = importlib.util.find_spec(name)
    origin = spec and (spec.origin or '')
    return spec is not None and not origin.startswith(os.getcwd() + os.sep)
print(*filter(found, sys.argv[1:]))";
/// Most names of one question.
const NAMES: usize = 1_000;
/// Time limit of the question.
const LIMIT: Duration = Duration::from_secs(10);

/// The module that a file is, if it is one that a command in the root, or a test, finds before installed ones.
fn module(path: &str) -> Option<&str> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let (folder, name) = match file {
        "__init__.py" => folder.rsplit_once('/').unwrap_or(("", folder)),
        _ => (folder, file.strip_suffix(".py")?),
    };
    let is_first =
        folder.is_empty() || folder.split('/').next_back().is_some_and(runner::is_test_folder);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_first && is_name).then_some(name)
}

/// The question which of the modules that the step created are installed, for a command that can execute Python.
pub(super) fn installed_query(
    argv: &[String],
    changes: &RecordedChanges<'_>,
) -> Option<ObservationQuery> {
    let python = runner::python_of(argv)?;
    let created = changes.changed().filter(|path| changes.history(path).before().is_none());
    let mut names: Vec<&str> = created.filter_map(module).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(NAMES);
    if names.is_empty() {
        return None;
    }
    let words = [&*python, "-I", "-c", FIND].into_iter().chain(names);
    let argv = words.map(str::to_owned).collect();
    Some(ObservationQuery::Command { argv, timeout: Some(LIMIT) })
}

/// The modules that the step created and that are installed. Without an answer there are none: where no Python starts, none
/// imports them.
pub(super) fn installed<'o>(
    argv: &[String],
    changes: &RecordedChanges<'_>,
    observations: &'o Observations,
) -> Vec<&'o str> {
    let seen = installed_query(argv, changes).and_then(|query| observations.get(&query));
    match seen {
        Some(Observation::Command(run)) if run.ended == CommandEnd::Code(0) => {
            run.last_words.split(' ').collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a file takes the place of one of these modules.
pub(super) fn takes_place_of(path: &str, installed: &[&str]) -> bool {
    module(path).is_some_and(|name| installed.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::module;

    #[test]
    fn a_module_is_one_where_python_looks_first() {
        for (path, name) in [
            ("pluggy.py", Some("pluggy")),
            ("iniconfig/__init__.py", Some("iniconfig")),
            ("tests/json.py", Some("json")),
            ("api/tests/json/__init__.py", Some("json")),
            ("shop/types.py", None),
            ("shop/api/__init__.py", None),
            ("a-b.py", None),
            ("__init__.py", None),
            ("notes.md", None),
        ] {
            assert_eq!(module(path), name, "{path}");
        }
    }
}
