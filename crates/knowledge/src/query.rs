//! Questions to the index, answered from the files of now.

use crate::files::{Corpus, Files, shown_lines};
use crate::index::{Index, digest};
use crate::vector::{Meaning, merged};
use crate::words::{match_any, terms};
use kb_base::value::Digest;
use kb_database::DatabaseError;
use rusqlite::params;
use std::collections::{BTreeMap, BTreeSet};

/// How often a question is asked again because a file changed meanwhile.
const ROUNDS: usize = 3;
/// Candidates that are read first, and how much more if they do not suffice.
const CANDIDATES: usize = 100;
const MORE: usize = 10;
/// Maximum number of hits in one file.
const PER_FILE: usize = 2;
/// Maximum number of characters of an excerpt.
const EXCERPT_CHARS: usize = 1_500;
/// Weights of a term in the name, the path and the body of a chunk.
const RANK: &str = "bm25(chunk_fts, 4.0, 2.0, 1.0)";

/// What is asked of an index, and which files may answer.
pub struct Question<'a> {
    /// What is looked for, in words.
    pub text: &'a str,
    /// Further words that may stand in the answer.
    pub terms: &'a [String],
    /// Its vector, if a model made one.
    pub meaning: Option<Meaning<'a>>,
    /// The collection; `None` is all.
    pub corpus: Option<Corpus>,
    /// Which paths may be in the answer.
    pub permit: &'a dyn Fn(&str) -> bool,
    /// Maximum number of hits.
    pub limit: usize,
}

/// A part of a file that has words of the question.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The file, relative to the root.
    pub path: String,
    /// The definition or heading; empty for a part of none.
    pub symbol: String,
    /// Numbers of the first and the last line, from 1.
    pub lines: (u32, u32),
    /// Digest of the file.
    pub sha256: Digest,
    /// The words of the question that it has; none if it was found by its vector alone.
    pub why: Vec<String>,
    /// Its text, masked, or a part with words of the question.
    pub excerpt: String,
}

impl Hit {
    /// Where it stands: `path:first-last`.
    pub fn reference(&self) -> String {
        format!("{}:{}-{}", self.path, self.lines.0, self.lines.1)
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Files that changed since they were indexed and were indexed again before the answer.
    pub stale: usize,
    /// Files that were found and are gone.
    pub gone: usize,
    /// Why the hits were found by words alone, although the settings name a model for vectors.
    pub note: Option<String>,
}

/// A chunk that may become a hit.
struct Candidate {
    path: String,
    sha256: Digest,
    symbol: String,
    lines: (u32, u32),
}

/// What became of a candidate.
enum Seen {
    Hit(Hit),
    /// Its file has another content.
    Stale,
    /// Its file is gone.
    Gone,
    /// Its text cannot be shown.
    Nothing,
}

impl Index {
    /// Answers a question. Each file of the answer is read again, so that no hit shows what it had before.
    pub fn query(
        &mut self,
        question: &Question<'_>,
        files: &dyn Files,
    ) -> Result<Answer, DatabaseError> {
        let words = asked_words(question);
        let texts =
            || std::iter::once(question.text).chain(question.terms.iter().map(String::as_str));
        let mut answer = Answer::default();
        let expression = match_any(texts());
        if expression.is_none() && question.meaning.is_none() {
            return Ok(answer);
        }
        for round in 0..=ROUNDS {
            answer.hits.clear();
            let changed =
                self.round(expression.as_deref(), &words, question, files, &mut answer)?;
            if changed.is_empty() || round == ROUNDS {
                break;
            }
            for path in &changed {
                self.refresh(path, files)?;
            }
        }
        Ok(answer)
    }

    /// Collects hits. Returns the files that have to be indexed again.
    fn round(
        &mut self,
        expression: Option<&str>,
        words: &BTreeMap<String, String>,
        question: &Question<'_>,
        files: &dyn Files,
        answer: &mut Answer,
    ) -> Result<BTreeSet<String>, DatabaseError> {
        let mut read = Contents { files, read: BTreeMap::new() };
        let mut changed = BTreeSet::new();
        let nearest = question.meaning.as_ref().map(|meaning| self.nearest(meaning)).transpose()?;
        let nearest = nearest.unwrap_or_default();
        let mut seen = BTreeSet::new();
        let mut count = CANDIDATES;
        loop {
            let ranked = match expression {
                Some(expression) => self.ranked(expression, count)?,
                None => Vec::new(),
            };
            for (id, _) in merged(&ranked, &nearest) {
                if !seen.insert(id) {
                    continue;
                }
                let Some(found) = self.candidate(id)? else { continue };
                let in_corpus =
                    question.corpus.is_none_or(|only| only == files.corpus(&found.path));
                let in_file = answer.hits.iter().filter(|hit| hit.path == found.path).count();
                if !in_corpus || in_file >= PER_FILE || !(question.permit)(&found.path) {
                    continue;
                }
                if changed.contains(&found.path) {
                    continue;
                }
                match read.see(&found, words) {
                    Seen::Hit(hit) => answer.hits.push(hit),
                    Seen::Nothing => {}
                    Seen::Stale => {
                        answer.stale += 1;
                        changed.insert(found.path);
                    }
                    Seen::Gone => {
                        answer.gone += 1;
                        changed.insert(found.path);
                    }
                }
                if answer.hits.len() >= question.limit {
                    return Ok(changed);
                }
            }
            if ranked.len() < count {
                return Ok(changed);
            }
            count *= MORE;
        }
    }

    /// The best chunks of all roots.
    fn ranked(&self, expression: &str, count: usize) -> rusqlite::Result<Vec<i64>> {
        let sql = format!(
            "SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?1 ORDER BY {RANK}, rowid LIMIT ?2"
        );
        let mut query = self.connection.prepare_cached(&sql)?;
        let rows = query.query_map(params![expression, count as i64], |row| row.get(0))?;
        rows.collect()
    }

    /// The chunk of this number, if a file of the root has it.
    fn candidate(&self, id: i64) -> rusqlite::Result<Option<Candidate>> {
        let mut query = self.connection.prepare_cached(
            "SELECT file.path, version.sha256, symbol, start, end FROM chunk
             JOIN version ON version.id = chunk.version
             JOIN file ON file.version = version.id AND file.root = ?2 WHERE chunk.id = ?1",
        )?;
        let mut rows = query.query_map([id, self.root], |row| {
            Ok(Candidate {
                path: row.get(0)?,
                sha256: digest(row, 1)?,
                symbol: row.get(2)?,
                lines: (row.get(3)?, row.get(4)?),
            })
        })?;
        rows.next().transpose()
    }
}

/// The files that were read for one answer.
struct Contents<'f> {
    files: &'f dyn Files,
    /// The digest and the shown lines of a file; `None` if it is gone.
    read: BTreeMap<String, Option<(Digest, Vec<String>)>>,
}

impl Contents<'_> {
    fn see(&mut self, found: &Candidate, words: &BTreeMap<String, String>) -> Seen {
        let files = self.files;
        let content = self.read.entry(found.path.clone()).or_insert_with(|| {
            let content = files.read(&found.path)?;
            Some((content.sha256, shown_lines(&content.text.unwrap_or_default(), files)))
        });
        let Some((sha256, lines)) = content else { return Seen::Gone };
        if *sha256 != found.sha256 {
            return Seen::Stale;
        }
        let (first, last) = found.lines;
        let Some(lines) = lines.get(first as usize - 1..last as usize) else {
            return Seen::Nothing;
        };
        let has = |text: &str| terms(text).into_iter().filter(|term| words.contains_key(term));
        let matched: BTreeSet<String> = [found.path.as_str(), &found.symbol]
            .into_iter()
            .chain(lines.iter().map(String::as_str))
            .flat_map(has)
            .collect();
        let why: BTreeSet<&String> = matched.iter().filter_map(|term| words.get(term)).collect();
        Seen::Hit(Hit {
            path: found.path.clone(),
            symbol: files.mask(&found.symbol),
            lines: found.lines,
            sha256: *sha256,
            why: why.into_iter().cloned().collect(),
            excerpt: excerpt(lines, |line| has(line).next().is_some()),
        })
    }
}

/// The words of a question by their terms.
fn asked_words(question: &Question<'_>) -> BTreeMap<String, String> {
    let all = std::iter::once(question.text).chain(question.terms.iter().map(String::as_str));
    let mut words = BTreeMap::new();
    for word in all.flat_map(str::split_whitespace) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        for term in terms(word) {
            words.entry(term).or_insert_with(|| word.to_owned());
        }
    }
    words
}

/// The lines, or those from just before the first one that matches, up to a length.
fn excerpt(lines: &[String], matches: impl Fn(&str) -> bool) -> String {
    let length =
        |lines: &[String]| lines.iter().map(|line| line.chars().count() + 1).sum::<usize>();
    let fits = length(lines) <= EXCERPT_CHARS;
    let first = lines.iter().position(|line| matches(line)).unwrap_or(0);
    let start = if fits { 0 } else { first.saturating_sub(2) };
    let text = lines[start..].join("\n");
    let before = if start > 0 { "…\n" } else { "" };
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{before}{}…", &text[..end]),
        None => format!("{before}{text}"),
    }
}
