//! Questions to a large index, measured.

use kb_base::value::Digest;
use kb_database::DatabaseError;
use kb_knowledge::{
    Content, EmbedError, Embedder, Files, Index, Meaning, Patience, Question, Stamp,
};
use std::path::Path;
use std::time::{Duration, Instant};

/// The files of this repository, again and again below other folders.
struct Copies {
    texts: Vec<(String, String)>,
    copies: usize,
}

impl Files for Copies {
    fn patience(&self) -> Patience {
        || Box::new(|| false)
    }

    fn list(&self) -> Vec<(String, Stamp)> {
        let stamp = Stamp { size: 1, mtime: 1, ctime: 1 };
        let of_copy =
            |copy: usize| self.texts.iter().map(move |(path, _)| (format!("{copy}/{path}"), stamp));
        (0..self.copies).flat_map(of_copy).collect()
    }

    fn read(&self, path: &str) -> Option<Content> {
        let (_, own) = path.split_once('/')?;
        let text = self.texts.iter().find(|(path, _)| path == own)?.1.clone();
        Some(Content { sha256: Digest::of(&text), text: Some(text) })
    }

    fn mask(&self, text: &str) -> String {
        text.to_owned()
    }

    fn now(&self) -> i64 {
        i64::MAX
    }
}

fn sources(folder: &Path, below: &str, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, &format!("{below}{name}/"), found);
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            found.push((format!("{below}{name}"), std::fs::read_to_string(path).unwrap()));
        }
    }
}

/// Makes vectors of 384 numbers of the bytes of a text. They are as many and as long as those of a model.
#[derive(Debug)]
struct Bytes;

impl Embedder for Bytes {
    fn key(&self) -> &str {
        "bytes"
    }
    fn max_chars(&self) -> usize {
        1_200
    }
    fn batch(&self) -> usize {
        1_000
    }
    fn budget(&self) -> Duration {
        Duration::from_secs(10)
    }
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &String| {
            let mut own = vec![0f32; 384];
            text.bytes()
                .enumerate()
                .for_each(|(at, byte)| own[(at * 31 + usize::from(byte)) % 384] += 1.0);
            own
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// The number of vectors, and the 95th percentile of questions by words and vectors in milliseconds.
fn with_vectors(
    index: &mut Index,
    files: &Copies,
    queries: &[&str],
) -> Result<(u64, f64), DatabaseError> {
    let mut never = || false;
    index.embed(files, &Bytes, None, &mut never)?;
    let mut times = Vec::new();
    for text in queries {
        let began = Instant::now();
        // As a question does: parts without a vector are looked for.
        index.embed(files, &Bytes, Some(384), &mut never)?;
        let vector = Bytes.embed(&[(*text).to_owned()]).map(|mut made| made.remove(0));
        let vector = vector.unwrap_or_default();
        let meaning = Some(Meaning { key: "bytes", vector: &vector });
        let permit = |_: &str| true;
        let question =
            Question { text, terms: &[], meaning, corpus: None, permit: &permit, limit: 5 };
        index.query(&question, files)?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok((index.embedded("bytes")?, times[(times.len() - 1) * 95 / 100]))
}

/// Prints the times of questions to at least 100,000 chunks, for `scripts/retrieval`.
fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = Vec::new();
    sources(&root, "", &mut texts);
    let folder = tempfile::tempdir().unwrap();
    let asked = std::fs::read_to_string(root.join("scripts/retrieval-questions.json")).unwrap();
    let queries: Vec<&str> = asked
        .lines()
        .filter_map(|line| line.trim().strip_prefix("\"query\": \"")?.strip_suffix("\","))
        .collect();
    assert!(queries.len() >= 50);
    let mut files = Copies { texts, copies: 1 };
    let measured = Index::with(Some(folder.path()), Path::new("/"), |index| {
        while index.stored(&files)?.chunks < 100_000 {
            index.sync(&files)?;
            files.copies += 1;
        }
        let mut times = Vec::new();
        for text in &queries {
            let permit = |_: &str| true;
            let question = Question {
                text,
                terms: &[],
                meaning: None,
                corpus: None,
                permit: &permit,
                limit: 5,
            };
            let began = Instant::now();
            index.query(&question, &files)?;
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let words = (index.stored(&files)?.chunks, at(0.5), at(0.95));
        Ok((words, with_vectors(index, &files, &queries)?))
    });
    let ((chunks, median, p95), (vectors, vectors_p95)) = measured.unwrap();
    println!(
        "{{\"chunks\": {chunks}, \"medianMs\": {median:.1}, \"p95Ms\": {p95:.1}, \"goalP95Ms\": 10, \"vectors\": {vectors}, \"withVectorsP95Ms\": {vectors_p95:.1}}}"
    );
}
