//! What the documents say is held by tests names tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

/// The names of all tests of this binary.
fn tests() -> BTreeSet<String> {
    let itself = std::env::current_exe().expect("a running program has a path");
    let said = std::process::Command::new(itself).arg("--list").output().expect("it starts");
    let said = String::from_utf8(said.stdout).expect("names are text");
    said.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// What stands between `mark`s and looks like a test's name or, ending in `::`, a group of them.
fn named(text: &str, mark: char) -> Vec<&str> {
    let like_a_test = |name: &str| {
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c);
        name.contains("::") && !name.starts_with(':') && name.chars().all(letter)
    };
    text.split(mark).filter(|name| like_a_test(name)).collect()
}

fn unknown<'a>(names: &[&'a str], tests: &BTreeSet<String>) -> Vec<&'a str> {
    let exists = |name: &str| match name.ends_with("::") {
        true => tests.iter().any(|test| test.starts_with(name)),
        false => tests.contains(name),
    };
    names.iter().copied().filter(|name| !exists(name)).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

#[test]
fn every_promise_names_tests_that_exist() {
    let (text, tests) = (read("docs/guarantees.md"), tests());
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise"));
    let mut promises = 0;
    for row in rows {
        let names = named(row, '`');
        assert!(!names.is_empty(), "no test is named for: {row}");
        assert_eq!(unknown(&names, &tests), Vec::<&str>::new(), "there is no such test: {row}");
        promises += 1;
    }
    assert!(promises > 20, "the table was not found: {promises} rows");
}

#[test]
fn the_command_that_runs_the_whole_set_names_tests_that_exist() {
    let (text, tests) = (read("scripts/prove"), tests());
    let names = named(&text, '"');
    assert!(!names.is_empty());
    assert_eq!(unknown(&names, &tests), Vec::<&str>::new());
}
