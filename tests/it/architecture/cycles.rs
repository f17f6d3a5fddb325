//! Imports between the files of one module form no cycle.
//!
//! A name that a `mod.rs` re-exports counts as the file that defines it, and a `pub use` is not an import
//! of the `mod.rs` itself. Code in a `mod.rs` that uses a child whose code uses the `mod.rs` is a cycle.

use super::source::{SourceFile, sources};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn files_of_a_module_do_not_import_each_other_in_a_cycle() {
    let mut by_module: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in sources() {
        by_module.entry(&file.module).or_default().push(file);
    }
    let cycles = by_module.values().flat_map(|files| {
        let cycles = cycles(&imports(files));
        cycles.into_iter().map(|files| files.join(", ")).collect::<Vec<_>>()
    });
    let found: Vec<String> = cycles.collect();
    assert!(found.is_empty(), "{} cycles, each a set of files:\n{}", found.len(), found.join("\n"));
}

/// For each file, the files of the same module that it imports.
fn imports<'a>(files: &[&'a SourceFile]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let by_path: BTreeMap<&[String], &SourceFile> =
        files.iter().map(|file| (file.own.as_slice(), *file)).collect();
    let mut imports = BTreeMap::new();
    for file in files {
        let modules = imported_modules(&by_path, file);
        let target = |path: &Vec<String>| {
            let full = absolute(file, path).or_else(|| below_import(&modules, path))?;
            let target = defining_file(&by_path, &full, 8)?;
            (target.path != file.path).then_some(target.path.as_str())
        };
        let targets: BTreeSet<&str> = file.own_paths.iter().filter_map(target).collect();
        imports.insert(file.path.as_str(), targets);
    }
    imports
}

/// The modules that a file imports by name (`use super::runs;`, `use super::runs::{self}`).
fn imported_modules(
    by_path: &BTreeMap<&[String], &SourceFile>,
    file: &SourceFile,
) -> BTreeMap<String, Vec<String>> {
    let modules = file.own_paths.iter().filter_map(|path| {
        let mut full = absolute(file, path)?;
        full.pop_if(|last| last == "self");
        by_path.contains_key(full.as_slice()).then(|| Some((full.last()?.clone(), full)))?
    });
    modules.collect()
}

/// A path that starts with the name of an imported module, such as `runs::begin`.
fn below_import(modules: &BTreeMap<String, Vec<String>>, path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let module = modules.get(first).filter(|_| !rest.is_empty())?;
    Some(module.iter().chain(rest).cloned().collect())
}

/// A path from the crate root. In a `mod.rs`, a path may start with the name of a child.
fn absolute(file: &SourceFile, path: &[String]) -> Option<Vec<String>> {
    let in_child = || file.own.iter().chain(path).cloned().collect();
    file.absolute(path).or_else(|| (file.is_mod && path.len() > 1).then(in_child))
}

/// The file that defines what a path names, followed through `pub use` at most `depth` times.
fn defining_file<'f>(
    by_path: &BTreeMap<&[String], &'f SourceFile>,
    path: &[String],
    depth: usize,
) -> Option<&'f SourceFile> {
    let length = (1..=path.len()).rev().find(|&n| by_path.contains_key(&path[..n]))?;
    let file = by_path[&path[..length]];
    let name = path.get(length).filter(|_| depth > 0);
    let reexport = name.and_then(|name| {
        let original = file.reexports.iter().find(|path| path.last() == Some(name))?;
        absolute(file, original)
    });
    match (reexport, name) {
        (Some(original), _) => defining_file(by_path, &original, depth - 1).or(Some(file)),
        (None, Some(name)) => Some(behind_a_glob(by_path, file, name).unwrap_or(file)),
        (None, None) => Some(file),
    }
}

/// The file that defines a name which `pub use child::*` re-exports.
fn behind_a_glob<'f>(
    by_path: &BTreeMap<&[String], &'f SourceFile>,
    file: &SourceFile,
    name: &str,
) -> Option<&'f SourceFile> {
    let globs = file.reexports.iter().filter_map(|path| match path.split_last() {
        Some((last, above)) if last == "*" => absolute(file, &[above, &[name.to_owned()]].concat()),
        _ => None,
    });
    let files = globs.filter_map(|path| by_path.get(&path[..path.len() - 1]).copied());
    files.into_iter().find(|file| file.defines(name))
}

/// The sets of files that import each other, directly or not.
fn cycles<'f>(imports: &BTreeMap<&'f str, BTreeSet<&'f str>>) -> Vec<Vec<&'f str>> {
    let reach = |from: &'f str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            for &next in imports.get(at).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|&file| (file, reach(file))).collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut cycles = Vec::new();
    for (&file, from_here) in &reached {
        if from_here.contains(file) && !done.contains(file) {
            let both = from_here.iter().copied().filter(|other| reached[other].contains(file));
            let cycle: Vec<&str> = both.collect();
            done.extend(&cycle);
            cycles.push(cycle);
        }
    }
    cycles
}

#[test]
fn reexports_count_as_the_defining_file_and_code_of_a_facade_as_its_own() {
    let list = |paths: &[&[&str]]| -> Vec<Vec<String>> {
        paths.iter().map(|path| path.iter().map(|part| (*part).to_owned()).collect()).collect()
    };
    let file = |path: &str, own: &[&str], used: &[&[&str]], reexports: &[&[&str]]| SourceFile {
        path: path.to_owned(),
        file: std::path::PathBuf::new(),
        module: own[0].to_owned(),
        own: list(&[own]).remove(0),
        is_mod: path.ends_with("mod.rs"),
        paths: Vec::new(),
        own_paths: list(used),
        reexports: list(reexports),
        tokens: Vec::new(),
    };
    let reexports: &[&[&str]] = &[&["scope", "Scope"], &["root", "Root"]];
    let scope = || file("m/scope.rs", &["m", "scope"], &[&["super", "Root"]], &[]);
    let root = || file("m/root.rs", &["m", "root"], &[], &[]);
    let facade = file("m/mod.rs", &["m"], &[], reexports);
    assert!(cycles(&imports(&[&facade, &scope(), &root()])).is_empty());
    let back = file("m/root.rs", &["m", "root"], &[&["super", "Scope"]], &[]);
    let facade = file("m/mod.rs", &["m"], &[], reexports);
    assert_eq!(cycles(&imports(&[&facade, &scope(), &back])), [["m/root.rs", "m/scope.rs"]]);
    let facade = file("m/mod.rs", &["m"], &[&["scope", "new"]], &[]);
    assert_eq!(cycles(&imports(&[&facade, &scope()])), [["m/mod.rs", "m/scope.rs"]]);
    let import: &[&[&str]] = &[&["super", "scope", "self"], &["scope", "Scope"]];
    let back = file("m/root.rs", &["m", "root"], import, &[]);
    let scope = file("m/scope.rs", &["m", "scope"], &[&["super", "root", "Root"]], &[]);
    assert_eq!(cycles(&imports(&[&back, &scope])), [["m/root.rs", "m/scope.rs"]]);
}
