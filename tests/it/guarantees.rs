//! The tests that `docs/guarantees.md` and `scripts/prove` name exist.

use crate::running::Start;
use std::collections::BTreeSet;
use std::path::Path;

/// The names of all tests of this binary.
fn tests() -> BTreeSet<String> {
    let itself = std::env::current_exe().expect("a running program has a path");
    let output = std::process::Command::new(itself).arg("--list").finish();
    let names = String::from_utf8(output.stdout).expect("names are text");
    names.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Texts between two `mark`s that have the form of a test name, or of a group of tests (`a::b::`).
fn test_names(text: &str, mark: char) -> Vec<&str> {
    let has_form = |name: &str| {
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c);
        name.contains("::") && !name.starts_with(':') && name.chars().all(letter)
    };
    text.split(mark).filter(|name| has_form(name)).collect()
}

fn missing<'a>(names: &[&'a str], tests: &BTreeSet<String>) -> Vec<&'a str> {
    let exists = |name: &str| {
        if name.ends_with("::") {
            tests.iter().any(|test| test.starts_with(name))
        } else {
            tests.contains(name)
        }
    };
    names.iter().copied().filter(|name| !exists(name)).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

#[test]
fn every_guarantee_names_tests_that_exist() {
    let (text, tests) = (read("docs/guarantees.md"), tests());
    let tables = text.split("| guarantee | tests |\n").skip(1);
    let rows = tables.flat_map(|table| {
        table
            .lines()
            .take_while(|line| line.starts_with('|'))
            .filter(|line| !line.starts_with("|-"))
    });
    let mut guarantees = 0;
    for row in rows {
        let names = test_names(row, '`');
        assert!(!names.is_empty(), "no test is named for: {row}");
        assert_eq!(missing(&names, &tests), Vec::<&str>::new(), "there is no such test: {row}");
        guarantees += 1;
    }
    assert!(guarantees > 20, "the tables were not found: {guarantees} rows");
}

/// Each promise of the sandbox, each subject of the threat model and each promise of the server names its tests.
#[test]
fn the_page_of_security_names_tests_that_exist() {
    let (text, tests) = (read("docs/security.md") + &read("docs/serve.md"), tests());
    let rows =
        text.lines().filter(|line| line.starts_with("| ") && !test_names(line, '`').is_empty());
    let mut promises = 0;
    for row in rows {
        let names = test_names(row, '`');
        assert_eq!(missing(&names, &tests), Vec::<&str>::new(), "there is no such test: {row}");
        promises += 1;
    }
    assert!(promises > 25, "the tables were not found: {promises} rows");
}

#[test]
fn the_proof_script_names_tests_that_exist() {
    let (text, tests) = (read("scripts/prove"), tests());
    let names = test_names(&text, '"');
    assert!(!names.is_empty());
    assert_eq!(missing(&names, &tests), Vec::<&str>::new());
}
