use super::call::{CallResult, Refusal};
use super::file_tool::FileTool;
use super::{Tool, ToolLevel, ToolSpec};
use crate::diagnostic::Code;
use crate::evidence::FileKind;
use crate::redaction::Redactor;
use crate::value::{Failure, Json};
use crate::workspace::FileAccess;
use crate::workspace::PathGlob;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::ops::ControlFlow;
use tokio_util::sync::CancellationToken;

const MAX_RESULTS: usize = 100;
/// Characters of a matching line that are shown.
const LINE_CHARS: usize = 300;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    max_results: Option<usize>,
}

/// `fs:search`: lines that match a regular expression.
pub(super) fn tool() -> impl Tool {
    let spec = ToolSpec {
        name: "fs:search",
        level: ToolLevel::Moderate,
        description: "Search the contents of text files with a regular expression (Rust syntax, \
                      matched line by line). Returns path, line number and text of each match. \
                      Files ignored by git and binary files are omitted.",
        input: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1},
                "path": {"type": "string", "description": "Directory or file to search; default: the project root."},
                "glob": {"type": "string", "description": "Search only matching files, such as `*.rs` or `src/**/*.ts`."},
                "maxResults": {"type": "integer", "minimum": 1, "maximum": 1000},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "matches": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"},
                        "line": {"type": "integer"},
                        "text": {"type": "string"},
                    },
                    "required": ["path", "line", "text"],
                }},
                "note": {"type": "string", "description": "What was omitted and how to get it."},
            },
            "required": ["matches"],
        }),
        only_reads: true,
    };
    FileTool::new(spec, search)
}

fn search(
    args: &Args,
    files: &FileAccess,
    cancel: &CancellationToken,
) -> Result<CallResult, Refusal> {
    let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(&args.pattern);
    let matcher = matcher.map_err(|error| {
        let message = format!("`{}` is not a regular expression: {error}", args.pattern);
        Refusal::failed(Failure::new(Code::BAD_PATTERN.as_str(), message))
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
        // A file that cannot be read is passed over.
        if entry.kind == FileKind::File
            && let Some(file) = entry.open()
        {
            hits.search(&mut searcher, &matcher, &file, format!("{prefix}{}", entry.shown));
        }
        if hits.more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Ok(hits.result())
}

/// The matches so far.
struct Hits<'f> {
    matches: Vec<Json>,
    limit: usize,
    more: bool,
    path: String,
    redactor: &'f Redactor,
}

impl Hits<'_> {
    /// Searches one file. What goes wrong on the way ends it.
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
        // Masked before it is cut: half a secret is found by nobody.
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
