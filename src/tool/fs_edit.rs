use super::call::{CallResult, Refusal};
use super::file_tool::FileTool;
use super::{Tool, ToolLevel, ToolSpec};
use crate::diagnostic::Code;
use crate::value::{Digest, Failure};
use crate::workspace::FileAccess;
use crate::workspace::PathError;
use crate::workspace::PriorState;
use serde::Deserialize;
use serde_json::json;
use std::io::Read;

/// Larger files are not edited in memory.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Deserialize)]
struct Args {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

/// `fs:edit`: replaces one exact piece of a file.
pub(super) fn tool() -> impl Tool {
    let spec = ToolSpec {
        name: "fs:edit",
        level: ToolLevel::Restricted,
        description: "Replace text in a file. old must match the file exactly, including \
                      whitespace, and must occur exactly once unless all is true. Read the file \
                      first.",
        input: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path relative to the project root."},
                "old": {"type": "string", "minLength": 1, "description": "The exact text to replace, including whitespace."},
                "new": {"type": "string", "description": "The replacement text."},
                "all": {"type": "boolean", "description": "Replace every occurrence."},
            },
            "required": ["path", "old", "new"],
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "replaced": {"type": "integer", "description": "Number of replaced occurrences."},
                "line": {"type": "integer", "description": "Line of the first replaced occurrence."},
            },
            "required": ["replaced", "line"],
        }),
        only_reads: false,
    };
    FileTool::new(spec, |args: &Args, files, _| edit(args, files))
}

fn edit(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let target = files.writable(&args.path, true)?;
    let mut state = target.existing.clone();
    let mut bytes = Vec::new();
    let file = target.open()?;
    let size = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    let size = size.map_err(|error| PathError::io(&args.path, error))?;
    if size as u64 > MAX_BYTES {
        let message = format!("`{}` is larger than {} MiB", target.shown, MAX_BYTES >> 20);
        return Err(Refusal::failed(Failure::new(Code::FILE_FAILED.as_str(), message)));
    }
    if let Some(state) = &mut state {
        state.sha256 = Some(Digest::of(&bytes));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("`{}` is not a text file; it has {size} bytes", target.shown);
        Refusal::failed(Failure::new(Code::NOT_TEXT.as_str(), message))
    })?;
    let edited = replace(&text, &args.old, &args.new, args.all)
        .map_err(|mismatch| Refusal::failed(mismatch.failure(&target.shown)))?;
    let after = target.write(edited.text.as_bytes())?;
    let result = json!({ "replaced": edited.replaced, "line": edited.line });
    let before = PriorState { state, text: Some(text) };
    let change = files.change(&target, before, Some((after, edited.text.as_bytes())));
    Ok(CallResult::success(result).with_changes(vec![change]))
}

struct Edited {
    text: String,
    replaced: usize,
    line: usize,
}

/// Why a replacement was not made.
enum Mismatch {
    Same,
    Absent { similar: Vec<usize> },
    Repeated { lines: Vec<usize> },
}

/// Replaces; a file with Windows line ends keeps them, however `old` and `new` are written.
fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, Mismatch> {
    let windows = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
    let (old, new) = match windows && !text.contains(old) && !old.contains('\r') {
        true => (windows_ends(old), windows_ends(new)),
        // What stands on one line matches as it is, and what replaces it may have more lines.
        false if windows && !new.contains('\r') => (old.to_owned(), windows_ends(new)),
        false => (old.to_owned(), new.to_owned()),
    };
    if old == new {
        return Err(Mismatch::Same);
    }
    let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    let lines = || places.iter().map(|at| line_of(text, *at)).collect::<Vec<_>>();
    match places.len() {
        0 => Err(Mismatch::Absent { similar: similar_lines(text, &old) }),
        1 => Ok(()),
        _ if all => Ok(()),
        _ => Err(Mismatch::Repeated { lines: lines() }),
    }?;
    Ok(Edited {
        text: text.replace(&old, &new),
        replaced: places.len(),
        line: line_of(text, places[0]),
    })
}

fn windows_ends(text: &str) -> String {
    text.replace('\n', "\r\n")
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The lines that look like the first line of `old` but for the space around them.
fn similar_lines(text: &str, old: &str) -> Vec<usize> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty());
    let Some(wanted) = wanted else { return Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| line.trim() == wanted);
    lines.map(|(i, _)| i + 1).take(5).collect()
}

impl Mismatch {
    fn failure(&self, path: &str) -> Failure {
        let failure = |message: String| Failure::new(Code::EDIT_MISMATCH.as_str(), message);
        match self {
            Mismatch::Same => failure("`old` and `new` are the same".to_owned())
                .help("give the text that is to stand there afterwards as `new`"),
            Mismatch::Absent { similar } if similar.is_empty() => {
                failure(format!("`old` does not stand in `{path}`"))
                    .help("read the file and copy the text exactly, white space included")
            }
            Mismatch::Absent { similar } => failure(format!(
                "`old` does not stand in `{path}`, though {} looks like its first line",
                line_list(similar)
            ))
            .help("white space or a later line differs; read these lines and copy them exactly"),
            Mismatch::Repeated { lines } => failure(format!(
                "`old` stands {} times in `{path}`: {}",
                lines.len(),
                line_list(lines)
            ))
            .help("add a line before or after to make it unique, or set `all` to true"),
        }
    }
}

fn line_list(lines: &[usize]) -> String {
    const SHOWN: usize = 10;
    let list: Vec<String> = lines.iter().take(SHOWN).map(usize::to_string).collect();
    let more = if lines.len() > SHOWN { ", …" } else { "" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}{more}", list.join(", "))
}
