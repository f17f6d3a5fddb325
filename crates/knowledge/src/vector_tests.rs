//! Vectors of parts, made by a model that knows two meanings.

use crate::{Content, EmbedError, Embedder, Files, Index, Meaning, Patience, Question, Stamp};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Files in memory; each write has another time.
#[derive(Default)]
struct Project {
    files: RefCell<BTreeMap<String, (String, i64)>>,
    time: Cell<i64>,
}

impl Project {
    fn write(&self, path: &str, text: &str) {
        self.time.set(self.time.get() + 1);
        self.files.borrow_mut().insert(path.to_owned(), (text.to_owned(), self.time.get()));
    }
}

impl Files for Project {
    fn list(&self) -> Vec<(String, Stamp)> {
        let stamp = |time: i64| Stamp { size: 1, mtime: time, ctime: time };
        self.files.borrow().iter().map(|(path, (_, time))| (path.clone(), stamp(*time))).collect()
    }
    fn read(&self, path: &str) -> Option<Content> {
        let text = self.files.borrow().get(path)?.0.clone();
        Some(Content { sha256: Digest::of(&text), text: Some(text) })
    }
    fn mask(&self, text: &str) -> String {
        text.replace("hunter2", "***")
    }
    fn now(&self) -> i64 {
        i64::MAX
    }
    fn patience(&self) -> Patience {
        || Box::new(|| false)
    }
}

/// Knows two meanings: water and fire. It refuses texts with `binary`, and fails with `down`.
#[derive(Debug)]
struct Model {
    key: &'static str,
    length: usize,
    down: bool,
    asked: Mutex<Vec<String>>,
}

fn model(key: &'static str, length: usize) -> Model {
    Model { key, length, down: false, asked: Mutex::default() }
}

impl Model {
    fn vector(&self, text: &str) -> Vec<f32> {
        let count =
            |words: &[&str]| words.iter().filter(|word| text.contains(**word)).count() as f32;
        let mut vector = vec![0.01; self.length];
        vector[0] += count(&["pump", "leak", "hydraulic"]);
        vector[1] += count(&["burn", "flame", "combustion"]);
        vector
    }

    fn asked(&self) -> usize {
        std::mem::take(&mut *self.asked.lock().unwrap()).len()
    }
}

impl Embedder for Model {
    fn key(&self) -> &str {
        self.key
    }
    fn max_chars(&self) -> usize {
        200
    }
    fn batch(&self) -> usize {
        2
    }
    fn budget(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let failure = || Box::new(Failure::new(Code::HTTP_FAILED, "no"));
        if self.down {
            return Err(EmbedError::Unavailable(failure()));
        }
        if texts.iter().any(|text| text.contains("binary")) {
            return Err(EmbedError::Unusable(failure()));
        }
        self.asked.lock().unwrap().extend(texts.iter().cloned());
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

fn project() -> Project {
    let project = Project::default();
    project.write("a.txt", "The pump has a leak.\n");
    project.write("b.txt", "A flame can burn.\n");
    project.write("c.txt", "Nothing of it. hunter2\n");
    project
}

fn ask(index: &mut Index, project: &Project, model: Option<&Model>, text: &str) -> Vec<String> {
    let vector = model.map(|model| model.vector(text));
    let meaning =
        model.zip(vector.as_deref()).map(|(model, vector)| Meaning { key: model.key, vector });
    let question =
        Question { text, terms: &[], meaning, corpus: None, permit: &|_| true, limit: 1 };
    let hits = index.query(&question, project).unwrap().hits;
    hits.into_iter().map(|hit| hit.path).collect()
}

fn embed(index: &mut Index, project: &Project, model: &Model) -> (usize, usize, Option<String>) {
    index.sync(project).unwrap();
    let made = index.embed(project, model, None, &mut || false).unwrap();
    (made.made, made.refused, made.failure.map(|failure| failure.message))
}

fn with(work: impl Fn(&mut Index)) {
    Index::with(None, Path::new("/"), |index| {
        work(index);
        Ok(())
    })
    .unwrap();
}

#[test]
fn parts_are_found_by_meaning_and_words_together_and_a_changed_part_alone_is_sent_again() {
    with(|index| {
        let (project, model) = (project(), model("m", 4));
        assert_eq!(embed(index, &project, &model), (3, 0, None));
        assert!(!model.asked.lock().unwrap().iter().any(|text| text.contains("hunter2")));
        assert_eq!(model.asked(), 3);
        assert!(ask(index, &project, None, "hydraulic").is_empty());
        assert_eq!(ask(index, &project, Some(&model), "hydraulic"), ["a.txt"]);
        assert_eq!(ask(index, &project, Some(&model), "combustion"), ["b.txt"]);
        // A part that both orders have comes before one that the words alone find.
        project.write("d.txt", "combustion\n");
        assert_eq!(embed(index, &project, &model), (1, 0, None));
        assert_eq!(ask(index, &project, Some(&model), "combustion"), ["d.txt"]);
        assert_eq!((model.asked(), embed(index, &project, &model).0), (1, 0));
        // The answer shows what the file has now.
        project.write("a.txt", "Another thing.\n");
        assert_ne!(ask(index, &project, Some(&model), "hydraulic"), ["a.txt"]);
    });
}

#[test]
fn vectors_of_another_model_or_length_are_made_again_and_never_compared() {
    with(|index| {
        let project = project();
        embed(index, &project, &model("m", 4));
        let other = model("n", 4);
        assert!(ask(index, &project, Some(&other), "hydraulic").is_empty());
        assert_eq!(embed(index, &project, &other).0, 3);
        assert_eq!((index.embedded("m").unwrap(), index.embedded("n").unwrap()), (0, 3));
        // The server has another model under the same name: the length of the question is known.
        let longer = model("n", 6);
        let made = index.embed(&project, &longer, Some(6), &mut || false).unwrap();
        assert_eq!((made.made, index.embedded("n").unwrap()), (3, 3));
        // In the middle of it, nothing is mixed.
        project.write("d.txt", "pump\n");
        index.sync(&project).unwrap();
        let made = index.embed(&project, &model("n", 5), Some(6), &mut || false).unwrap();
        let why = made.failure.unwrap().message;
        assert_eq!(why, "the model makes vectors of 6 and of 5 dimensions");
    });
}

#[test]
fn a_server_that_is_down_or_refuses_a_text_stops_nothing_else() {
    with(|index| {
        let project = project();
        let down = Model { down: true, ..model("m", 4) };
        assert_eq!(embed(index, &project, &down), (0, 0, Some("no".to_owned())));
        assert_eq!(ask(index, &project, None, "flame"), ["b.txt"]);
        project.write("b.txt", "binary flame\n");
        let up = model("m", 4);
        assert_eq!(embed(index, &project, &up), (2, 1, None));
        up.asked();
        assert_eq!((embed(index, &project, &up), up.asked()), ((0, 0, None), 0));
        assert_eq!(ask(index, &project, Some(&up), "flame"), ["b.txt"]);
    });
    with(|index| {
        // A server that refuses all of them has not refused a text.
        let project = Project::default();
        project.write("a.txt", "binary\n");
        assert_eq!(embed(index, &project, &model("m", 4)).2.as_deref(), Some("no"));
    });
}

#[test]
fn vectors_are_made_until_the_time_is_over() {
    with(|index| {
        let (project, model) = (project(), model("m", 4));
        index.sync(&project).unwrap();
        let mut batches = 0;
        let mut stop = || {
            batches += 1;
            batches > 1
        };
        assert_eq!(index.embed(&project, &model, None, &mut stop).unwrap().made, 2);
        assert_eq!(embed(index, &project, &model).0, 1);
    });
}

#[test]
fn a_file_whose_name_has_a_secret_is_not_indexed() {
    with(|index| {
        let project = project();
        project.write("hunter2.txt", "A flame can burn.\n");
        assert_eq!(index.sync(&project).unwrap().files, 3);
        assert_eq!(ask(index, &project, None, "flame"), ["b.txt"]);
    });
}
