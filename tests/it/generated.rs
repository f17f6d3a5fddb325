//! Generated parts of the documentation: compared by tests, rewritten with `KB_UPDATE_DOCS=1`.
//!
//! A test renders the text from the code and calls [`file`] for a whole page or [`block`] for a part
//! between two markers. `KB_UPDATE_DOCS=1 cargo test --test it` writes the texts instead of comparing.

use std::path::Path;

/// Compares a whole file of the repository with its generated text.
#[track_caller]
pub(crate) fn file(path: &str, text: &str) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if is_update() {
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
        return;
    }
    let stored = std::fs::read_to_string(full).unwrap_or_default();
    assert!(stored == text, "`{path}` is stale at line {}: {HELP}", difference(&stored, text));
}

/// Compares the part of a file between `<!-- generated: NAME -->` and `<!-- end: NAME -->` with its
/// generated text.
#[track_caller]
pub(crate) fn block(path: &str, name: &str, text: &str) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let stored = std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (start, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end: {name} -->"));
    let (before, rest) = stored.split_once(&start).unwrap_or_else(|| panic!("{path}: no {start}"));
    let (old, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{path}: no {end}"));
    if is_update() {
        std::fs::write(full, format!("{before}{start}{text}{end}{after}")).unwrap();
        return;
    }
    assert!(old == text, "`{name}` in `{path}` is stale: {HELP}\n{text}");
}

/// Whether the generated texts are to be written instead of compared.
pub(crate) fn is_update() -> bool {
    std::env::var("KB_UPDATE_DOCS").is_ok_and(|value| value == "1")
}

const HELP: &str = "run `KB_UPDATE_DOCS=1 cargo test --test it` and commit the result";

/// The number of the first line in which two texts differ.
fn difference(a: &str, b: &str) -> usize {
    let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    same + 1
}
