//! The common part of the tools that read source files as code: which files, and how much of them.

use crate::tool::call::{CallResult, Refusal};
use crate::workspace::patience;
use crate::workspace::{FileAccess, PathGlob};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, counted};
use kb_code::{Language, Symbol, Usage};
use kb_core::evidence::FileKind;
use serde_json::json;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use tokio_util::sync::CancellationToken;

/// Maximum size of a file that is read as code, in bytes. Larger ones are generated, or data.
const MAX_FILE: u64 = 1 << 20;
/// Number of results without `maxResults`.
const MAX_RESULTS: usize = 300;

/// The files that a call names.
pub(super) struct CodeFiles<'a> {
    pub(super) files: &'a FileAccess,
    pub(super) cancel: &'a CancellationToken,
    /// A file or directory; the project root without one.
    pub(super) path: Option<&'a str>,
    pub(super) glob: Option<&'a str>,
    pub(super) max_results: Option<usize>,
}

/// A file that is read as code.
pub(super) struct CodeFile<'a> {
    pub(super) path: String,
    pub(super) language: Language,
    /// Its text, masked.
    pub(super) text: String,
    /// Whether the call names this file and not a directory.
    pub(super) is_named: bool,
    cancel: &'a CancellationToken,
    /// Number of files that took too long.
    slow: &'a Cell<u32>,
}

impl CodeFile<'_> {
    /// Its definitions; none if that takes too long.
    pub(super) fn symbols(&self) -> Vec<Symbol> {
        self.in_time(|stop| kb_code::symbols(&self.text, self.language, stop))
    }

    /// The places where a name stands in its code; none if that takes too long.
    pub(super) fn usages(&self, name: &str) -> Vec<Usage> {
        self.in_time(|stop| kb_code::usages(&self.text, self.language, name, stop))
    }

    fn in_time<T>(&self, read: impl FnOnce(&mut dyn FnMut() -> bool) -> Option<Vec<T>>) -> Vec<T> {
        let mut patience = patience(self.cancel.clone());
        read(&mut *patience).unwrap_or_else(|| {
            self.slow.set(self.slow.get() + 1);
            Vec::new()
        })
    }
}

impl CodeFiles<'_> {
    /// The results of all files, under this key, up to the limit. `word` is a text that a file must contain. Files of
    /// a directory that are unreadable, too large, no text or of no known language are left out.
    pub(super) fn collect(
        &self,
        key: &str,
        word: Option<&str>,
        mut read: impl FnMut(&CodeFile<'_>) -> Vec<Json>,
    ) -> Result<CallResult, Refusal> {
        let glob = self.glob.map(PathGlob::anywhere).transpose()?;
        let located = self.files.locate(self.path.unwrap_or("."))?;
        let limit = self.max_results.unwrap_or(MAX_RESULTS);
        let (mut found, mut large, slow) = (Vec::new(), 0, Cell::new(0));
        let cancel = self.cancel;
        let file_of = |path, language, text, is_named| CodeFile {
            path,
            language,
            text,
            is_named,
            cancel,
            slow: &slow,
        };
        if located.kind() != FileKind::Directory {
            let file = self.files.workspace.open_file(&located)?;
            let path = &located.shown;
            let language = Language::of_path(path).ok_or_else(|| no_code(path))?;
            let text = self.text(file).ok_or_else(|| not_read(path))?;
            found = read(&file_of(path.clone(), language, text, true));
        } else {
            let prefix = located.prefix(&self.files.workspace);
            self.files.walk(&located, None, glob.as_ref(), self.cancel, &mut |entry| {
                let language = Language::of_path(&entry.shown);
                if let (FileKind::File, Some(language)) = (entry.kind, language) {
                    large += u32::from(entry.size() > MAX_FILE);
                    let text = entry.open().and_then(|file| self.text(file));
                    let text = text.filter(|text| word.is_none_or(|word| text.contains(word)));
                    if let Some(text) = text {
                        let path = format!("{prefix}{}", entry.shown);
                        found.extend(read(&file_of(path, language, text, false)));
                    }
                }
                if found.len() > limit || cancel.is_cancelled() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        }
        let mut notes = Vec::new();
        if found.len() > limit {
            found.truncate(limit);
            notes.push(format!(
                "showing the first {limit} results; narrow the request with `path` or `glob`"
            ));
        }
        if large > 0 {
            notes.push(format!("{large} files above {} MiB were not read", MAX_FILE >> 20));
        }
        if slow.get() > 0 {
            notes.push(format!(
                "{} took too long to read as code",
                counted(slow.get() as usize, "file")
            ));
        }
        let mut result = json!({ key: found });
        if !notes.is_empty() {
            result["note"] = json!(notes.join("; "));
        }
        Ok(CallResult::success(result))
    }

    /// The masked text of a file; `None` if it cannot be read, is too large or no text.
    fn text(&self, file: File) -> Option<String> {
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_FILE)?;
        Some(self.files.redactor.mask_text(&text).into_owned())
    }
}

fn no_code(path: &str) -> Refusal {
    let endings: Vec<&str> = Language::endings().collect();
    let message = format!("`{path}` is in no language with an outline");
    let help = format!("it reads files that end in {}; `fs:read` reads others", endings.join(", "));
    Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message).help(help))
}

fn not_read(path: &str) -> Refusal {
    let message = format!("`{path}` is not a text file of at most {} MiB", MAX_FILE >> 20);
    Refusal::failed(Failure::new(Code::NOT_TEXT, message))
}
