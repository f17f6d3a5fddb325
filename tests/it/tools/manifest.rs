//! Manifests of a workspace: what they contain, ignore rules, links, bounds.

use super::bench::{bench, put};
use crate::running::Start;
use kb::evidence::FileKind;
use std::os::unix::fs::symlink;

/// What a manifest of these files holds.
fn check(files: &[(&'static str, &'static str)], expected: &str) {
    let bench = bench(files);
    let manifest = bench.parts.workspace.manifest();
    assert!(!manifest.truncated);
    let paths: Vec<_> = manifest.files.keys().map(String::as_str).collect();
    assert_eq!(paths.join(" "), expected);
}

#[test]
fn holds_what_the_ignore_rules_leave() {
    check(&[("a", ""), (".hidden/b", ""), (".git/HEAD", ""), (".kb/x", "")], ".hidden/b .kb/x a");
    check(
        &[
            (".gitignore", "*.log\n/out\n"),
            ("x.log", ""),
            ("d/y.log", ""),
            ("out/z", ""),
            ("d/out", ""),
        ],
        ".gitignore d/out",
    );
    check(
        &[
            (".gitignore", "*.log\n"),
            ("d/.gitignore", "!keep.log\n"),
            ("d/keep.log", ""),
            ("d/x.log", ""),
        ],
        ".gitignore d/.gitignore d/keep.log",
    );
    check(
        &[(".git/info/exclude", "secret\n"), ("secret", ""), ("sub/.git/x", ""), ("sub/y", "")],
        "sub/y",
    );
    check(
        &[
            ("d/.gitignore", "/only\nbuild/\n"),
            ("d/only", ""),
            ("d/e/only", ""),
            ("only", ""),
            ("d/e/build/x", ""),
            ("build", ""),
        ],
        "build d/.gitignore d/e/only only",
    );
}

#[test]
fn agrees_with_the_walk_that_lists_files() {
    let bench = bench(&[
        (".gitignore", "/target\n*.tmp\n!keep.tmp\ndocs/**/draft.md\n"),
        ("target/x", ""),
        ("src/a.rs", ""),
        ("src/b.tmp", ""),
        ("src/keep.tmp", ""),
        ("src/target/y", ""),
        ("docs/a/b/draft.md", ""),
        ("docs/a/final.md", ""),
        ("ä/ö.txt", ""),
        ("src/.gitignore", "gen/\n!gen/x\n*.rs\n!a.rs\n"),
        ("src/gen/x", ""),
        ("src/c.rs", ""),
    ]);
    let workspace = &bench.parts.workspace;
    let listed = workspace.glob("**").unwrap();
    let scanned: Vec<String> = workspace.manifest().files.into_keys().collect();
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(sorted, scanned);
}

#[test]
fn sees_links_and_pipes_and_follows_none() {
    let bench = bench(&[("file", "12345")]);
    let root = bench.dir.path();
    symlink("/etc", root.join("etc")).unwrap();
    symlink(".", root.join("self")).unwrap();
    std::process::Command::new("mkfifo").arg(root.join("pipe")).finish();
    let manifest = bench.parts.workspace.manifest();
    let kinds: Vec<_> = manifest.files.iter().map(|(path, s)| (path.as_str(), s.kind)).collect();
    let expected = [
        ("etc", FileKind::Symlink),
        ("file", FileKind::File),
        ("pipe", FileKind::Other),
        ("self", FileKind::Symlink),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(manifest.files["file"].size, 5);
}

#[test]
fn a_file_that_was_hidden_by_an_ignore_rule_is_not_gone() {
    let bench = bench(&[("a.log", "1"), ("b.log", "1"), ("c", "")]);
    let workspace = &bench.parts.workspace;
    let before = workspace.manifest();
    put(bench.dir.path(), ".gitignore", "*.log\n");
    put(bench.dir.path(), "b.log", "changed");
    let changes = workspace.changes(&before, &workspace.manifest());
    let seen: Vec<_> =
        changes.iter().map(|c| format!("{} {:?}", c.path, c.kind().unwrap())).collect();
    assert_eq!(seen, [".gitignore Created", "b.log Modified"]);
    assert!(changes[1].after.as_ref().unwrap().sha256.is_some());
}

#[test]
fn stops_at_a_bound_and_says_so() {
    let bench = bench(&[]);
    let mut path = bench.dir.path().to_owned();
    for _ in 0..140 {
        path.push("d");
    }
    std::fs::create_dir_all(&path).unwrap();
    assert!(bench.parts.workspace.manifest().truncated);
}
