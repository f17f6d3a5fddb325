//! The search for the test files of a project.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum depth of folders of test files.
const DEPTH: usize = 8;

/// The test files of a project: `*.test.yml` below `.kb/tests/`, sorted by path. Links are not followed.
pub fn test_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root.join(".kb/tests"), DEPTH, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => collect(&path, depth - 1, found),
            Ok(kind) if kind.is_file() && is_test(&name) => found.push(path),
            _ => {}
        }
    }
}

fn is_test(name: &str) -> bool {
    name.ends_with(".test.yml") || name.ends_with(".test.yaml")
}
