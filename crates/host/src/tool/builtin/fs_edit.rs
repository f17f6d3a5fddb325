//! `fs:edit`: replaces one exact part of a text file.

use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use crate::workspace::PathError;
use crate::workspace::PriorState;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use serde::Deserialize;
use serde_json::json;
use std::io::Read;

/// Maximum size of an edited file, in bytes.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Deserialize)]
struct Args {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

/// The implementation of `fs:edit`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("fs:edit", |args: &Args, files, _| edit(args, files))
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
        return Err(Refusal::failed(Failure::new(Code::FILE_FAILED, message)));
    }
    if let Some(state) = &mut state {
        state.sha256 = Some(Digest::of(&bytes));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("`{}` is not a text file; it has {size} bytes", target.shown);
        Refusal::failed(Failure::new(Code::NOT_TEXT, message))
    })?;
    let edited = replace(&text, &args.old, &args.new, args.all)
        .map_err(|mismatch| Refusal::failed(mismatch.failure(&target.shown)))?;
    let write = || target.write(edited.text.as_bytes());
    let after = files.workspace.writing(&target.shown, write)?;
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

/// The reason why nothing was replaced.
enum Mismatch {
    Same,
    Absent { similar: Vec<usize> },
    Repeated { lines: Vec<usize> },
}

/// Replaces `old` by `new`. A file with CRLF line ends keeps them, whichever line ends the
/// arguments have.
fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, Mismatch> {
    let windows = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
    let (old, new) = if windows && !text.contains(old) && !old.contains('\r') {
        (windows_ends(old), windows_ends(new))
    } else if windows && !new.contains('\r') {
        // `old` is on one line and matches as it is; `new` may have more lines.
        (old.to_owned(), windows_ends(new))
    } else {
        (old.to_owned(), new.to_owned())
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

/// The lines that equal the first line of `old` except for surrounding whitespace.
fn similar_lines(text: &str, old: &str) -> Vec<usize> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty());
    let Some(wanted) = wanted else { return Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| line.trim() == wanted);
    lines.map(|(i, _)| i + 1).take(5).collect()
}

impl Mismatch {
    fn failure(&self, path: &str) -> Failure {
        let failure = |message: String| Failure::new(Code::EDIT_MISMATCH, message);
        match self {
            Mismatch::Same => failure("`old` and `new` are identical".to_owned())
                .help("pass the replacement text as `new`"),
            Mismatch::Absent { similar } if similar.is_empty() => {
                failure(format!("`old` does not occur in `{path}`"))
                    .help("read the file and copy the text exactly, including whitespace")
            }
            Mismatch::Absent { similar } => failure(format!(
                "`old` does not occur in `{path}`, but {} {} its first line except for whitespace",
                line_list(similar),
                if similar.len() == 1 { "matches" } else { "match" }
            ))
            .help("whitespace or a later line differs; read these lines and copy them exactly"),
            Mismatch::Repeated { lines } => failure(format!(
                "`old` occurs {} times in `{path}`: {}",
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
