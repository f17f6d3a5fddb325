//! `fs:search`: finds the lines that match a regular expression.

use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use crate::workspace::PathGlob;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_core::evidence::FileKind;
use kb_core::redaction::Redactor;
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::ops::ControlFlow;
use tokio_util::sync::CancellationToken;

const MAX_RESULTS: usize = 100;
/// Maximum number of characters of a matching line that are returned.
const LINE_CHARS: usize = 300;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    max_results: Option<usize>,
}

/// The implementation of `fs:search`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("fs:search", search)
}

fn search(
    args: &Args,
    files: &FileAccess,
    cancel: &CancellationToken,
) -> Result<CallResult, Refusal> {
    let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(&args.pattern);
    let matcher = matcher.map_err(|error| {
        let message = format!("`{}` is not a regular expression: {error}", args.pattern);
        Refusal::failed(Failure::new(Code::BAD_PATTERN, message))
    })?;
    let glob = args.glob.as_deref().map(PathGlob::anywhere).transpose()?;
    let located = files.locate(args.path.as_deref().unwrap_or("."))?;
    let mut hits = Hits {
        matches: Vec::new(),
        limit: args.max_results.unwrap_or(MAX_RESULTS),
        more: false,
        path: String::new(),
        redactor: &files.redactor,
    };
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(16 << 20))
        .build();
    if located.kind() != FileKind::Directory {
        let file = files.workspace.open_file(&located)?;
        hits.search(&mut searcher, &matcher, &file, located.shown.clone());
        return Ok(hits.result());
    }
    let prefix = located.prefix(&files.workspace);
    files.walk(&located, None, glob.as_ref(), cancel, &mut |entry| {
        // Files that cannot be read are skipped.
        if entry.kind == FileKind::File
            && let Some(file) = entry.open()
        {
            hits.search(&mut searcher, &matcher, &file, format!("{prefix}{}", entry.shown));
        }
        if hits.more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Ok(hits.result())
}

/// The matches found so far.
struct Hits<'f> {
    matches: Vec<Json>,
    limit: usize,
    more: bool,
    path: String,
    redactor: &'f Redactor,
}

impl Hits<'_> {
    /// Searches one file. An I/O error ends the search of this file.
    fn search(
        &mut self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        file: &File,
        path: String,
    ) {
        self.path = path;
        let _ = searcher.search_file(matcher, file, self);
    }

    fn result(self) -> CallResult {
        let mut result = json!({ "matches": self.matches });
        if self.more {
            result["note"] = json!(format!(
                "showing the first {} matches; narrow the request with `path`, `glob` or a longer `pattern`",
                self.limit
            ));
        }
        CallResult::success(result)
    }
}

impl Sink for Hits<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.matches.len() == self.limit {
            self.more = true;
            return Ok(false);
        }
        let line = String::from_utf8_lossy(found.bytes());
        // Masking comes before truncation, because a truncated secret is not recognised.
        let line = self.redactor.mask_text(line.trim_end_matches(['\n', '\r']));
        let text = match line.char_indices().nth(LINE_CHARS) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line.into_owned(),
        };
        self.matches.push(json!({
            "path": self.path,
            "line": found.line_number().unwrap_or(0),
            "text": text,
        }));
        Ok(true)
    }
}
