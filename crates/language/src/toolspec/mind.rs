//! The tools that find parts of the project by words: `mind:query` and `mind:outline`.

use super::spec::{ResultPart, ToolLevel, ToolSpec, texts};
use serde_json::json;

pub(super) fn specs() -> Vec<ToolSpec> {
    vec![query(), outline()]
}

fn query() -> ToolSpec {
    ToolSpec {
        name: RETRIEVER.into(),
        aliases: texts(["mind:rag-query", "code:search"]),
        description: "Find the parts of the project files that have the words of a question: definitions, sections of \
                      documents, lines. Also pass `terms`: 4 to 9 names and words that the answer may contain, in the \
                      language of the files. Files ignored by git and hidden ones are omitted. Each result has the text \
                      that the file has now."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What is looked for."},
                "terms": {
                    "type": "array", "maxItems": 12,
                    "items": {"type": "string", "minLength": 1, "maxLength": 100},
                    "description": "Names and words that the answer may contain.",
                },
                "corpus": {"enum": COLLECTIONS, "description": "Only source files (`code`), only documents (`docs`), or the solutions of the FAQ (`faq`, if memory is on); default: both kinds of files."},
                "path": {"type": "string", "description": "Only matching files, such as `*.rs` or `src/**`."},
                "k": {"type": "integer", "minimum": 1, "maximum": 20, "description": "Number of results; default: 5."},
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "hits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "ref": {"type": "string", "description": "`path:first-last`, or the id of a solution."},
                        "path": {"type": "string"},
                        "symbol": {"type": "string", "description": "The definition or heading, or the problem; empty for lines of none."},
                        "lines": {"type": "array", "items": {"type": "integer"}, "description": "The first and the last line."},
                        "sha256": {"type": "string", "description": "Digest of the file."},
                        "why": {"type": "array", "items": {"type": "string"}, "description": "The words of the question that it has; none if it was found by its meaning."},
                        "state": {"type": "string", "description": "Only of a solution: whether it was confirmed."},
                        "excerpt": {"type": "string"},
                    },
                    "required": ["ref", "symbol", "excerpt"],
                }},
                "stale": {"type": "integer", "description": "Files that changed and were read again before the answer."},
                "gone": {"type": "integer", "description": "Files that were found and are gone."},
                "note": {"type": "string", "description": "What to do if nothing was found, or why parts were found by words alone."},
            },
            "required": ["hits", "stale", "gone"],
        }),
        result_part: ResultPart::File,
        done: "Looked up".into(),
        subject: texts(["query"]),
        ..base()
    }
}

fn outline() -> ToolSpec {
    ToolSpec {
        name: "mind:outline".into(),
        description: "Show a map of the project, of a directory or of a file: its files with their definitions, in as \
                      much detail as a number of tokens allows. With `symbol`, the definition of this name and what is \
                      defined in it."
            .into(),
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File or directory; default: the project root."},
                "symbol": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Name of a definition."},
                "maxTokens": {"type": "integer", "minimum": 100, "maximum": 20000, "description": "Default: 2000."},
            },
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "outline": {"type": "string"},
                "files": {"type": "integer", "description": "Number of files that it covers."},
                "detail": {
                    "enum": ["members", "definitions", "names", "directories"],
                    "description": "What it shows of each file.",
                },
                "note": {"type": "string", "description": "What was omitted and how to get it."},
            },
            "required": ["outline", "files", "detail"],
        }),
        result_part: ResultPart::Rest,
        done: "Listed definitions".into(),
        subject: texts(["symbol", "path"]),
        ..base()
    }
}

fn base() -> ToolSpec {
    ToolSpec { level: ToolLevel::Moderate, reads_files: true, only_reads: true, ..ToolSpec::base() }
}

/// The tool that finds parts of files by words. Its path rules apply to `context.rag` too.
pub const RETRIEVER: &str = "mind:query";

/// The collections that it can be asked for.
pub const COLLECTIONS: [&str; 3] = ["code", "docs", "faq"];
