//! [`SharedFile`]: an entry that people share, as a file of the project.
//!
//! `.kb/memory/ID.md` has front matter and one sentence. Each value of the front matter is JSON on one line, which is
//! also YAML; a text may be written without quotes.

use crate::draft::{Draft, Proposal};
use crate::entry::{Anchor, Entry, Kind, Trust};
use crate::error::MemoryError;
use kb_base::value::{Digest, Json};
use kb_core::redaction::Redactor;
use serde_json::json;
use std::fmt::Write;

/// The value of `schema`.
const SCHEMA: &str = "kb.memory/1";
/// Maximum size of a file in bytes.
const MAX_BYTES: usize = 32 << 10;
/// The keys, in the order in which they are written.
const KEYS: [&str; 9] =
    ["schema", "kind", "subject", "tags", "author", "run", "approvedBy", "anchors", "checks"];

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:1: {message}")]
pub struct FileError {
    /// Path in the project.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl FileError {
    /// The id that the entry of the file would have.
    pub fn id(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".md").unwrap_or(name)
    }
}

/// A file `.kb/memory/ID.md`, read and checked.
#[derive(Debug, Clone)]
pub struct SharedFile {
    /// Digest of its bytes.
    pub sha256: Digest,
    /// The person who approved it, as the file says.
    pub approved_by: Option<String>,
    pub(crate) draft: Draft,
}

impl SharedFile {
    /// The folder of the files, relative to the project root.
    pub const FOLDER: &'static str = ".kb/memory";

    /// The path of the file of an entry, relative to the project root.
    pub fn path_of(id: &str) -> String {
        format!("{}/{id}.md", SharedFile::FOLDER)
    }

    /// The name of the entry.
    pub fn id(&self) -> &str {
        &self.draft.id
    }

    /// The checks of the entry.
    pub fn checks(&self) -> &[Json] {
        &self.draft.checks
    }

    /// Writes an entry as a file.
    pub fn text_of(entry: &Entry, approved_by: &str) -> String {
        let mut text = format!("---\nschema: {SCHEMA}\nkind: {}\n", entry.kind.as_str());
        let mut line = |key: &str, value: Json| {
            let _ = writeln!(text, "{key}: {value}");
        };
        if let Some(subject) = &entry.subject {
            line("subject", json!(subject));
        }
        if !entry.tags.is_empty() {
            line("tags", json!(entry.tags));
        }
        line("author", json!(entry.author));
        if let Some(run) = &entry.run {
            line("run", json!(run.as_str()));
        }
        line("approvedBy", json!(approved_by));
        if !entry.anchors.is_empty() {
            line("anchors", json!(entry.anchors));
        }
        if !entry.checks.is_empty() {
            line("checks", json!(entry.checks));
        }
        let _ = write!(text, "---\n\n{}\n", entry.text);
        text
    }

    /// Reads a file. `name` is its file name.
    ///
    /// # Errors
    ///
    /// [`FileError`] with the line of what is wrong.
    pub fn parse(name: &str, bytes: &[u8], redactor: &Redactor) -> Result<SharedFile, FileError> {
        let path = format!("{}/{name}", SharedFile::FOLDER);
        let wrong = |line: usize, message: String| FileError { path: path.clone(), line, message };
        if bytes.len() > MAX_BYTES {
            return Err(wrong(1, format!("the file has more than {} KiB", MAX_BYTES >> 10)));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|_| wrong(1, "the file is not UTF-8".to_owned()))?
            .replace("\r\n", "\n");
        let head = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let Some((head, body)) = head else {
            return Err(wrong(
                1,
                "the file does not begin with front matter between two `---`".into(),
            ));
        };
        let mut fields = Fields::default();
        for (at, line) in head.lines().enumerate() {
            fields.take(line).map_err(|message| wrong(at + 2, message))?;
        }
        if !fields.has_schema {
            return Err(wrong(2, format!("`schema: {SCHEMA}` is missing")));
        }
        let kind = fields.kind.ok_or_else(|| wrong(2, "`kind` is missing".to_owned()))?;
        let proposal = Proposal {
            id: Some(name.strip_suffix(".md").unwrap_or(name).to_owned()),
            kind,
            subject: fields.subject,
            text: body.to_owned(),
            tags: fields.tags,
            anchors: fields.anchors,
            checks: fields.checks,
            trust: Trust::Person,
            author: fields.author.unwrap_or_else(|| "a person".to_owned()),
            run: None,
            step: None,
        };
        let blank = body.lines().take_while(|line| line.trim().is_empty()).count();
        let body_line = head.lines().count() + 3 + blank;
        let draft = Draft::admit(proposal, redactor)
            .map_err(|error: MemoryError| wrong(body_line, error.to_string()))?;
        Ok(SharedFile { sha256: Digest::of(bytes), approved_by: fields.approved_by, draft })
    }
}

/// The values of the front matter.
#[derive(Default)]
struct Fields {
    has_schema: bool,
    kind: Option<Kind>,
    subject: Option<String>,
    tags: Vec<String>,
    author: Option<String>,
    approved_by: Option<String>,
    anchors: Vec<Anchor>,
    checks: Vec<Json>,
}

impl Fields {
    /// Reads one line.
    fn take(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (key, value) = line.split_once(':').ok_or("the line has no `key: value`")?;
        let value = value.trim();
        let json = || serde_json::from_str::<Json>(value);
        let text = || match json() {
            Ok(Json::String(text)) => text,
            _ => value.to_owned(),
        };
        match key {
            "schema" if text() == SCHEMA => self.has_schema = true,
            "schema" => return Err(format!("`{value}` is not `{SCHEMA}`")),
            "kind" => {
                let kind = Kind::parse(&text());
                self.kind = Some(kind.ok_or_else(|| format!("`{value}` is no kind of entry"))?);
            }
            "subject" => self.subject = Some(text()),
            "author" => self.author = Some(text()),
            "approvedBy" => self.approved_by = Some(text()),
            // The journal with the run is on another machine.
            "run" => {}
            "tags" => self.tags = list(key, value)?,
            "anchors" => self.anchors = list(key, value)?,
            "checks" => self.checks = list(key, value)?,
            _ => return Err(format!("`{key}` is no key; the keys are `{}`", KEYS.join("`, `"))),
        }
        Ok(())
    }
}

fn list<T: serde::de::DeserializeOwned>(key: &str, value: &str) -> Result<Vec<T>, String> {
    serde_json::from_str(value).map_err(|error| format!("`{key}` is no list in JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---\nschema: kb.memory/1\nkind: observation\nsubject: port of the server\ntags: [\"web\"]\n\
        anchors: [{\"path\": \"src/a.rs\", \"excerpt\": \"8080\"}]\nchecks: [{\"file\": \"src/a.rs\"}]\n---\n\n\
        The server listens on\nport 8080.\n";

    fn parse(text: &str) -> Result<SharedFile, FileError> {
        SharedFile::parse("port.md", text.as_bytes(), &Redactor::default())
    }

    #[test]
    fn a_file_that_a_person_wrote_is_read() {
        let file = parse(FILE).unwrap();
        assert_eq!(file.id(), "port");
        assert_eq!(file.draft.text, "The server listens on port 8080.");
        assert_eq!(file.draft.kind, Kind::Fact);
        assert_eq!(file.draft.anchors[0].excerpt.as_deref(), Some("8080"));
        assert!(parse(&FILE.replace('\n', "\r\n")).is_ok());
    }

    #[test]
    fn a_problem_has_its_line() {
        for (from, to, expected) in [
            (
                "---\nschema",
                "schema",
                ".kb/memory/port.md:1:1: the file does not begin with front matter",
            ),
            ("kb.memory/1", "kb.memory/9", ":2:1: `kb.memory/9` is not `kb.memory/1`"),
            ("observation", "rumour", ":3:1: `rumour` is no kind of entry"),
            ("tags", "tag", ":5:1: `tag` is no key; the keys are"),
            ("[\"web\"]", "web", ":5:1: `tags` is no list in JSON"),
            ("port 8080", "\u{202e}", ":10:1: the text has the invisible character U+202E"),
        ] {
            let error = parse(&FILE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
