//! Each sentence of the language reference, and each row of its tables, has a run that shows it and one for
//! the opposite: what the sentence excludes is refused, fails or does not happen. The files of
//! `tests/conformance/sentences/` name both, so an edit of the reference asks for the cases of the edit.
//!
//! Columns: the id of the sentence, the run that shows it, the opposite. The id is the start of the digest of its text,
//! so an edited sentence has another one; the test says it. A run is a case (`file: name of the case`), a test
//! (`test module::name`), or a word of [`WITHOUT_RUN`].

use kb::value::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const REFERENCE: &str = include_str!("../../../docs/reference/language.md");

/// What stands in place of a run, and the columns in which it may: 1 is the run that shows the sentence, 2 the
/// opposite.
const WITHOUT_RUN: [(&str, &[usize]); 3] = [
    // Names another page, section or example, and promises nothing.
    ("- pointer", &[1, 2]),
    // Gives a reason or a definition of a word, and promises nothing.
    ("- reason", &[1, 2]),
    // Nothing that an author can write or do contradicts it.
    ("- no opposite", &[2]),
];

#[test]
fn each_sentence_of_the_reference_has_a_run_and_an_opposite() {
    let rows = rows();
    let cases: BTreeSet<String> = super::cases().into_iter().map(|(name, _)| name).collect();
    let tests = tests();
    let mut wrong = Vec::new();
    let sentences = sentences(REFERENCE);
    let by_id: BTreeMap<String, &str> =
        sentences.iter().map(|(_, text)| (id(text), &**text)).collect();
    for (heading, sentence) in &sentences {
        if !rows.contains_key(&id(sentence)) {
            wrong.push(format!("no row `{}`: {heading}\n{sentence}", id(sentence)));
        }
    }
    for (id, runs) in &rows {
        let sentence = by_id.get(id.as_str()).copied().unwrap_or_default();
        if sentence.is_empty() {
            wrong.push(format!("the reference has no sentence `{id}`, which {} shows", runs[0]));
        }
        for (column, run) in (1..).zip(runs) {
            let exists = match run.strip_prefix("test ") {
                Some(test) => tests.contains(test),
                None if run.starts_with("- ") => WITHOUT_RUN
                    .iter()
                    .any(|(word, columns)| word == run && columns.contains(&column)),
                None => cases.contains(run),
            };
            if !exists {
                wrong.push(format!("column {column}: there is no `{run}`, for `{id}`: {sentence}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

/// The id of a sentence.
fn id(sentence: &str) -> String {
    Digest::of(sentence).short(8)
}

/// The runs of each sentence, by its id.
fn rows() -> BTreeMap<String, [String; 2]> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/sentences");
    let mut rows = BTreeMap::new();
    for entry in folder.read_dir().unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for row in text.lines().filter(|row| !row.starts_with('#')) {
            let [id, shown, opposite] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("three columns: {row}");
            };
            let runs = [shown.to_owned(), opposite.to_owned()];
            assert!(rows.insert(id.to_owned(), runs).is_none(), "two rows: {id}");
        }
    }
    rows
}

/// Every test of this binary as `module::name`.
fn tests() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut tests = BTreeSet::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let module = path.strip_prefix(&root).unwrap().with_extension("");
            let module = module.to_str().unwrap().replace('/', "::");
            let text = std::fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                let name = line.trim_start_matches("async ").strip_prefix("fn ");
                if let Some(name) = name.and_then(|name| name.split_once('(')).filter(|_| is_test) {
                    tests.insert(format!("{module}::{}", name.0));
                    is_test = false;
                }
                is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
            }
        }
    }
    tests
}

/// The sentences of a page, each with its heading. A row of a table is a sentence; what is above its line of
/// dashes is not, and neither are code blocks and the link list at the top.
fn sentences(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let (mut heading, mut paragraph, mut code) = (String::new(), String::new(), false);
    let lines: Vec<&str> = page.lines().chain([""]).collect();
    for (at, line) in lines.iter().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        let text = line.trim();
        let item = text.strip_prefix("- ");
        let continues =
            !code && !text.is_empty() && !text.starts_with(['|', '#', '`']) && item.is_none();
        let continues = continues || (!code && text.starts_with('`') && !text.starts_with("```"));
        if !continues {
            found.extend(split(&paragraph).into_iter().map(|sentence| (heading.clone(), sentence)));
            paragraph.clear();
        }
        if code || text.starts_with("```") {
            continue;
        }
        if text.starts_with('#') {
            text.trim_matches(['#', ' ']).clone_into(&mut heading);
        } else if text.starts_with('|') {
            let is_dashes = |row: &str| row.starts_with("|--");
            if !is_dashes(text) && !lines.get(at + 1).is_some_and(|next| is_dashes(next)) {
                found.push((heading.clone(), text.to_owned()));
            }
        } else if !text.is_empty() {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(item.unwrap_or(text));
        }
    }
    found
}

/// The sentences of a paragraph: each ends with a point that is followed by a space and not inside code or
/// brackets.
fn split(paragraph: &str) -> Vec<String> {
    let (mut sentences, mut start) = (Vec::new(), 0);
    let (mut code, mut depth) = (false, 0_i32);
    let bytes = paragraph.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'`' => code = !code,
            b'(' | b'[' if !code => depth += 1,
            b')' | b']' if !code => depth -= 1,
            b'.' | b'?' if !code && depth == 0 && bytes.get(at + 1) == Some(&b' ') => {
                sentences.push(paragraph[start..=at].trim().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    let rest = paragraph[start..].trim();
    sentences.extend((!rest.is_empty()).then(|| rest.to_owned()));
    sentences
}
