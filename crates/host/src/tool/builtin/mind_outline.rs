//! `mind:outline`: a map of source files within a number of tokens.

use super::code_files::CodeFiles;
use super::code_find::Asked;
use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use kb_base::value::{BYTES_PER_TOKEN, Json, counted, cut_to_chars, estimated_tokens};
use kb_code::Symbol;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// Maximum number of files of a map.
const MAX_FILES: usize = 5_000;
/// Number of tokens without `maxTokens`.
const TOKENS: usize = 2_000;
/// Maximum number of characters of the line of a definition.
const LINE_CHARS: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    path: Option<String>,
    symbol: Option<String>,
    max_tokens: Option<usize>,
}

/// A file of the map with its definitions.
struct Mapped {
    path: String,
    symbols: Vec<Symbol>,
}

/// How much a map shows, most first.
#[derive(Clone, Copy)]
enum Detail {
    /// The lines of all definitions and of what is defined in them.
    Members,
    /// The lines of the definitions at the top level.
    Definitions,
    /// Their names.
    Names,
    /// The number of files and definitions of each directory.
    Directories,
}

impl Detail {
    const ALL: [Detail; 4] =
        [Detail::Members, Detail::Definitions, Detail::Names, Detail::Directories];

    fn as_str(self) -> &'static str {
        match self {
            Detail::Members => "members",
            Detail::Definitions => "definitions",
            Detail::Names => "names",
            Detail::Directories => "directories",
        }
    }
}

/// The implementation of `mind:outline`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("mind:outline", outline)
}

fn outline(
    args: &Args,
    files: &FileAccess,
    cancel: &CancellationToken,
) -> Result<CallResult, Refusal> {
    let asked = args.symbol.as_deref().map(Asked::new);
    let path = args.path.as_deref();
    let sources = CodeFiles { files, cancel, path, glob: None, max_results: Some(MAX_FILES) };
    let mut mapped: Vec<Mapped> = Vec::new();
    let read = sources.collect("files", asked.as_ref().map(|asked| asked.name), |file| {
        let all = file.symbols();
        let symbols = match &asked {
            Some(asked) => within(&all, asked),
            None => all,
        };
        if !symbols.is_empty() {
            mapped.push(Mapped { path: file.path.clone(), symbols });
        }
        vec![Json::Null]
    })?;
    let most = args.max_tokens.unwrap_or(TOKENS);
    let mut notes: Vec<String> =
        read.result["note"].as_str().map(str::to_owned).into_iter().collect();
    let maps = Detail::ALL.into_iter().map(|detail| (detail, map(&mapped, detail)));
    let last = (Detail::Directories, String::new());
    let (detail, text) = maps
        .scan(false, |fits, (detail, text)| {
            let next = (!*fits).then_some((detail, text));
            *fits = next.as_ref().is_some_and(|(_, text)| estimated_tokens(text) <= most);
            next
        })
        .last()
        .unwrap_or(last);
    let shown = whole_lines(&text, most * BYTES_PER_TOKEN);
    if shown.len() < text.len() {
        notes.push(format!("cut at {most} tokens; name a `path` below, or raise `maxTokens`"));
    }
    let mut result = json!({"outline": shown, "files": mapped.len(), "detail": detail.as_str()});
    if mapped.is_empty() {
        notes.push("no definitions; `fs:list` shows other files".to_owned());
    }
    if !notes.is_empty() {
        result["note"] = json!(notes.join("; "));
    }
    Ok(CallResult::success(result))
}

/// The definitions that are asked for, and those in them.
fn within(all: &[Symbol], asked: &Asked<'_>) -> Vec<Symbol> {
    let found: Vec<&Symbol> = all.iter().filter(|symbol| asked.is(symbol)).collect();
    let lies_in = |symbol: &Symbol| {
        found.iter().find(|outer| (outer.line..=outer.end_line).contains(&symbol.line))
    };
    let shown = all.iter().filter_map(|symbol| {
        let outer = lies_in(symbol)?;
        Some(Symbol { depth: symbol.depth.saturating_sub(outer.depth), ..symbol.clone() })
    });
    shown.collect()
}

fn map(files: &[Mapped], detail: Detail) -> String {
    let depth = match detail {
        Detail::Members => u32::MAX,
        Detail::Definitions => 1,
        Detail::Names => return files.iter().map(names).collect(),
        Detail::Directories => return directories(files),
    };
    let mut text = String::new();
    for file in files {
        text.push_str(&format!("{}\n", file.path));
        for symbol in file.symbols.iter().filter(|symbol| symbol.depth < depth) {
            let indent = "  ".repeat(symbol.depth as usize + 1);
            let line = cut_to_chars(&symbol.text, LINE_CHARS);
            text.push_str(&format!("{indent}{} {line}\n", symbol.line));
        }
    }
    text
}

fn names(file: &Mapped) -> String {
    let top = file.symbols.iter().filter(|symbol| symbol.depth == 0);
    let names: Vec<&str> = top.map(|symbol| symbol.name.as_str()).collect();
    format!("{}: {}\n", file.path, names.join(", "))
}

fn directories(files: &[Mapped]) -> String {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in files {
        let folder = file.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let count = counts.entry(folder).or_default();
        *count = (count.0 + 1, count.1 + file.symbols.len());
    }
    let lines = counts.into_iter().map(|(folder, (files, symbols))| {
        format!("{folder}/: {}, {}\n", counted(files, "file"), counted(symbols, "definition"))
    });
    lines.collect()
}

/// The first lines that have at most so many bytes.
fn whole_lines(text: &str, bytes: usize) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if end + line.len() > bytes {
            break;
        }
        end += line.len();
    }
    &text[..end]
}
