//! The documentation is true: generated pages are fresh, examples load and run, links lead somewhere.

mod cookbook;
mod diagnostics;
mod examples;
mod expressions;
mod links;
mod readme;
mod troubleshooting;
mod words;

use std::path::{Path, PathBuf};

/// A page of the documentation.
struct Page {
    /// Its path in the repository.
    path: String,
    text: String,
}

impl Page {
    fn read(path: &str) -> Page {
        let full = root().join(path);
        let text = std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{path}: {error}"));
        Page { path: path.to_owned(), text }
    }

    /// Its fenced code blocks.
    fn blocks(&self) -> Vec<Block> {
        let mut found = Vec::new();
        let mut open: Option<Block> = None;
        for line in self.text.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    open = Some(Block { info: info.to_owned(), text: String::new() });
                }
                (Some(_), Some("")) => found.extend(open.take()),
                (Some(block), _) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a code block is not closed", self.path);
        found
    }
}

/// A fenced code block.
struct Block {
    /// The text after the opening fence: the language and, after a space, what the tests do with it.
    info: String,
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The README and all pages of the book.
fn pages() -> Vec<Page> {
    let mut pages = vec![Page::read("README.md")];
    pages.extend(book().iter().map(|path| Page::read(path)));
    pages
}

/// The pages below `docs/`, by path.
fn book() -> Vec<String> {
    let mut found: Vec<String> = files(&root().join("docs"), "md")
        .iter()
        .map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    found
}

/// All files of that extension below a folder.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}
