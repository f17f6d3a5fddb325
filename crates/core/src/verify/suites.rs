//! Tests of the project that a run cannot have executed: those in another language, and those of the members of a workspace.

use super::observation::{Observation, ObservationQuery, Observations};
use super::runner::TestUse;

/// Runners with the ends of the names of their tests.
const LANGUAGES: [(&[&str], &[&str]); 4] = [
    (&["pytest", "unittest", "manage.py"], &[".py"]),
    (
        &["npm", "pnpm", "bun", "jest", "mocha", "node"],
        &[".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs"],
    ),
    (&["go"], &[".go"]),
    (&["rspec"], &[".rb"]),
];

/// The files that these languages call tests.
const TESTS: &str = "**/{test_*.py,*_test.py,*.test.*,*.spec.*,*_test.go,*_spec.rb}";

/// A package in the manifest of a workspace, which `cargo test` runs alone.
const PACKAGE: &str = r"(?ms)^\[workspace\].*^\[package\]|^\[package\].*^\[workspace\]";

fn tests_query() -> ObservationQuery {
    ObservationQuery::Files { pattern: TESTS.to_owned(), count: None }
}

fn workspace_query() -> ObservationQuery {
    let count = Some(PACKAGE.to_owned());
    ObservationQuery::Files { pattern: "Cargo.toml".to_owned(), count }
}

/// The queries about tests that a run leaves out.
pub(super) fn queries() -> [ObservationQuery; 2] {
    [tests_query(), workspace_query()]
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
        Some(Observation::Files(Ok(files))) => files.as_slice(),
        _ => &[],
    };
    let runs_members = ["--workspace", "--all"].iter().any(|option| proof.has(option));
    let mut manifest = files(workspace_query()).iter();
    let has_package = manifest.any(|file| file.occurrences.is_some_and(|count| count > 0));
    if proof.runner() == Some("cargo") && !runs_members && has_package {
        return Some("the members of the workspace, which need `--workspace`".to_owned());
    }
    let ran = || std::iter::once(proof).chain(others.iter().copied()).filter_map(TestUse::runner);
    let has_run = |path: &str| {
        let row = LANGUAGES.iter().find(|(_, ends)| ends.iter().any(|end| path.ends_with(end)));
        row.is_none_or(|(runners, _)| ran().any(|runner| runners.contains(&runner)))
    };
    let is_installed = |path: &str| {
        let folders = ["node_modules", "vendor", "site-packages"];
        path.split('/').any(|part| folders.contains(&part))
    };
    let mut own = files(tests_query()).iter().filter(|file| !is_installed(&file.path));
    let left = own.find(|file| !has_run(&file.path))?;
    Some(format!("`{}`, which is a test in another language", left.path))
}
