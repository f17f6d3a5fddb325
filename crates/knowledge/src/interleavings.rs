//! Random edits between and during questions: no answer shows what a file had before.

use crate::{
    Content, Corpus, EmbedError, Embedder, Files, Index, Meaning, Patience, Question, Stamp,
};
use kb_base::value::Digest;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

/// Files in memory. Their stat data say little: a change can leave them equal.
#[derive(Default)]
struct Project {
    files: RefCell<BTreeMap<String, (String, i64)>>,
    /// After so many reads the next edits happen.
    until: Cell<usize>,
    during: RefCell<Vec<Edit>>,
}

#[derive(Debug, Clone)]
enum Edit {
    /// The file has this word in a function now; whether its stat data show it.
    Write(u8, u8, bool),
    Remove(u8),
    Rename(u8, u8),
}

#[derive(Debug, Clone)]
enum Step {
    Edit(Edit),
    /// Asks for a word, without a synchronisation before, and with edits after some reads of files.
    Ask {
        word: u8,
        sync: bool,
        until: usize,
        during: Vec<Edit>,
    },
}

const WORDS: [&str; 5] = ["alpha", "bravo", "charlie", "delta", "echo"];

fn name(file: u8) -> String {
    format!("src/file{file}.rs")
}

/// A definition with the word; the line where it stands differs from word to word.
fn text(word: u8) -> String {
    let above = "// nothing\n".repeat(usize::from(word) * 3);
    let word = WORDS[usize::from(word)];
    format!("{above}fn unrelated() {{\n    call();\n}}\n\nfn {word}() {{\n    {word}_body();\n}}\n")
}

impl Project {
    fn apply(&self, edit: &Edit) {
        let mut files = self.files.borrow_mut();
        match edit {
            Edit::Write(file, word, seen) => {
                let (stored, time) = files.entry(name(*file)).or_default();
                *stored = text(*word);
                *time += i64::from(*seen);
            }
            Edit::Remove(file) => drop(files.remove(&name(*file))),
            Edit::Rename(from, to) => {
                if let Some(found) = files.remove(&name(*from)) {
                    files.insert(name(*to), found);
                }
            }
        }
    }
}

impl Files for Project {
    fn patience(&self) -> Patience {
        || Box::new(|| false)
    }

    fn list(&self) -> Vec<(String, Stamp)> {
        let stamp = |time: i64| Stamp { size: 1, mtime: time, ctime: time };
        self.files.borrow().iter().map(|(path, (_, time))| (path.clone(), stamp(*time))).collect()
    }

    fn read(&self, path: &str) -> Option<Content> {
        let left = self.until.get().checked_sub(1);
        self.until.set(left.unwrap_or_default());
        if left.is_none() {
            self.during.take().iter().for_each(|edit| self.apply(edit));
        }
        let text = self.files.borrow().get(path)?.0.clone();
        Some(Content { sha256: Digest::of(&text), text: Some(text) })
    }

    fn mask(&self, text: &str) -> String {
        text.to_owned()
    }

    fn now(&self) -> i64 {
        i64::MAX
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (0..4u8, 0..5u8, any::<bool>())
            .prop_map(|(file, word, seen)| Edit::Write(file, word, seen)),
        (0..4u8).prop_map(Edit::Remove),
        (0..4u8, 0..4u8).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let ask = (0..5u8, any::<bool>(), 0..6usize, prop::collection::vec(edit(), 0..3));
    prop_oneof![
        edit().prop_map(Step::Edit),
        ask.prop_map(|(word, sync, until, during)| Step::Ask { word, sync, until, during }),
    ]
}

/// A model whose vectors count letters.
#[derive(Debug)]
struct Letters;

impl Embedder for Letters {
    fn key(&self) -> &str {
        "letters"
    }
    fn max_chars(&self) -> usize {
        1_000
    }
    fn batch(&self) -> usize {
        1
    }
    fn budget(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let count =
            |text: &String, letter| text.bytes().filter(|own| *own == letter).count() as f32;
        Ok(texts
            .iter()
            .map(|text| (b'a'..=b'z').map(|letter| count(text, letter)).collect())
            .collect())
    }
}

/// Asks for a word, also by vectors if the index was synchronised. Each hit must show lines that the file had when or
/// after it was asked.
fn ask(
    index: &mut Index,
    project: &Project,
    word: &str,
    by_vectors: bool,
) -> Result<(), TestCaseError> {
    let before = project.files.borrow().clone();
    let everything = |_: &str| true;
    let mut vector = Vec::new();
    if by_vectors {
        index.embed(project, &Letters, Some(26), &mut || false).unwrap();
        vector = Letters.embed(&[word.to_owned()]).unwrap().remove(0);
    }
    let question = Question {
        text: word,
        terms: &[],
        meaning: by_vectors.then_some(Meaning { key: "letters", vector: &vector }),
        corpus: Some(Corpus::Code),
        permit: &everything,
        limit: 10,
    };
    let answer = index.query(&question, project).unwrap();
    let after = project.files.borrow().clone();
    for hit in answer.hits {
        let contents = [before.get(&hit.path), after.get(&hit.path)];
        let current = contents.into_iter().flatten().find(|(text, _)| {
            let lines: Vec<&str> = text.lines().collect();
            let (first, last) = (hit.lines.0 as usize, hit.lines.1 as usize);
            hit.sha256 == Digest::of(text)
                && lines.get(first - 1..last).is_some_and(|part| part.join("\n") == hit.excerpt)
        });
        prop_assert!(current.is_some(), "{hit:?} is in neither of {contents:?}");
        prop_assert!(by_vectors || hit.excerpt.contains(word), "{hit:?}");
    }
    Ok(())
}

/// Follows the steps with an index in memory.
fn follow(steps: &[Step]) -> Result<(), TestCaseError> {
    let project = Project::default();
    let followed = Index::with(None, std::path::Path::new("/"), |index| {
        for step in steps {
            match step {
                Step::Edit(edit) => project.apply(edit),
                Step::Ask { word, sync, until, during } => {
                    project.until.set(usize::MAX);
                    if *sync {
                        index.sync(&project)?;
                    }
                    project.until.set(*until);
                    project.during.replace(during.clone());
                    if let Err(found) = ask(index, &project, WORDS[usize::from(*word)], *sync) {
                        return Ok(Err(found));
                    }
                    project.during.take();
                }
            }
        }
        Ok(Ok(()))
    });
    followed.unwrap()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn no_answer_shows_what_a_file_had_before(steps in prop::collection::vec(step(), 1..40)) {
        follow(&steps)?;
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    #[ignore = "the long form, for `scripts/retrieval`"]
    fn no_answer_of_1000_interleavings_shows_what_a_file_had_before(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        follow(&steps)?;
    }
}
