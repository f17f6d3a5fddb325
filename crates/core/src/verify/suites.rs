//! Tests of the project that a run cannot have executed: those in another language or folder, and those of the members of a
//! workspace.

use super::observation::{MatchedFile, Observation, ObservationQuery, Observations};
use super::runner::{TestUse, is_of_a_runner};

/// The files that the languages of the runners call tests.
const TESTS: &str = "**/{test_*.py,*_test.py,*.test.*,*.spec.*,*_test.go,*_spec.rb}";

/// Members of a workspace in the manifest of a package: `cargo test` runs the package alone. A dependency in a folder of the
/// package is a member too.
const MEMBERS: &str = r#"(?m)^\s*members\s*=|[{,]\s*path\s*=\s*"[^./"]"#;
const PACKAGE: &str = r"(?m)^\[package\]";
const WORKSPACE: &str = r"(?m)^\[workspace\]";
/// The members that `cargo test` runs without an option, more than the root alone.
const DEFAULT: &str = r#"(?m)^\s*default-members\s*=\s*\[[^\]]*"\w"#;

fn tests_query() -> ObservationQuery {
    ObservationQuery::Files { pattern: TESTS.to_owned(), count: None }
}

fn manifest_query(count: &str) -> ObservationQuery {
    let count = Some(count.to_owned());
    ObservationQuery::Files { pattern: "Cargo.toml".to_owned(), count }
}

/// The queries about tests that a run leaves out.
pub(super) fn queries() -> Vec<ObservationQuery> {
    let manifest = [PACKAGE, WORKSPACE, MEMBERS, DEFAULT].map(manifest_query);
    std::iter::once(tests_query()).chain(manifest).collect()
}

/// What a whole run left out that no other successful one executed. The settings can say that it is all there is.
pub(super) fn left_out(
    proof: &TestUse<'_>,
    others: &[&TestUse<'_>],
    seen: &Observations,
) -> Option<String> {
    if proof.named || proof.may_run_any() {
        return None;
    }
    let files = |query| match seen.get(&query) {
        Some(Observation::Files(Ok(files))) => Ok(files.as_slice()),
        Some(Observation::Files(Err(error))) => Err(error.reason.as_str()),
        _ => Err("the files of the project were not read"),
    };
    let left = left(proof, others, &files);
    left.unwrap_or_else(|reason| Some(format!("other tests, if there are any: {reason}")))
}

fn left<'f>(
    proof: &TestUse<'_>,
    others: &[&TestUse<'_>],
    files: &impl Fn(ObservationQuery) -> Result<&'f [MatchedFile], &'f str>,
) -> Result<Option<String>, &'f str> {
    let runs_members = ["--workspace", "--all"].iter().any(|option| proof.has(option));
    if proof.runner() == Some("cargo") && !runs_members {
        let has = |pattern: &str| -> Result<bool, &str> {
            let found = files(manifest_query(pattern))?;
            Ok(found.iter().any(|file| file.occurrences.is_some_and(|count| count > 0)))
        };
        if has(PACKAGE)? && has(WORKSPACE)? && has(MEMBERS)? && !has(DEFAULT)? {
            return Ok(Some("the members of the workspace, which need `--workspace`".to_owned()));
        }
    }
    let ran = || std::iter::once(proof).chain(others.iter().copied());
    let has_run = |path: &str| !is_of_a_runner(path) || ran().any(|test| test.executes(path));
    let is_installed = |path: &str| {
        let folders = ["node_modules", "vendor", "site-packages"];
        path.split('/').any(|part| folders.contains(&part))
    };
    let mut own = files(tests_query())?.iter().filter(|file| !is_installed(&file.path));
    let left = own.clone().find(|file| !has_run(&file.path));
    if let Some(left) = left {
        return Ok(Some(format!("`{}`, which is a test in another language", left.path)));
    }
    let reaches = |test: &TestUse<'_>, path: &str| {
        let folders = test.folders();
        let is_in = |folder: &&str| path.strip_prefix(folder).is_some_and(|p| p.starts_with('/'));
        test.executes(path) && (folders.is_empty() || folders.iter().any(is_in))
    };
    let left =
        own.find(|file| proof.executes(&file.path) && !ran().any(|test| reaches(test, &file.path)));
    Ok(left.map(|left| format!("`{}`, which is in no folder that it names", left.path)))
}
