//! `fs:read`: reads a text file, or some of its lines.

use super::file_tool::FileTool;
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::workspace::FileAccess;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Hasher};
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead, BufReader};

/// Maximum size of one result, in bytes; line ranges read the rest.
const MAX_BYTES: usize = 256 << 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    path: String,
    start_line: Option<u64>,
    end_line: Option<u64>,
}

/// The implementation of `fs:read`.
pub(super) fn tool() -> impl Tool {
    FileTool::new("fs:read", |args: &Args, files, _| read(args, files))
}

fn read(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let (start, end) = (args.start_line.unwrap_or(1), args.end_line.unwrap_or(u64::MAX));
    if start > end {
        let message = format!("`startLine` {start} is after `endLine` {end}");
        return Err(Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message)));
    }
    let located = files.locate(&args.path)?;
    let size = located.state().size;
    let file = files.workspace.open_file(&located)?;
    let lines = take_lines(BufReader::with_capacity(64 << 10, file), start, end)
        .map_err(|error| crate::workspace::PathError::io(&args.path, error))?;
    let not_text = || {
        let message = format!("`{}` is not a text file; it has {size} bytes", located.shown);
        Refusal::failed(Failure::new(Code::NOT_TEXT, message))
    };
    if lines.binary {
        return Err(not_text());
    }
    let content = String::from_utf8(lines.bytes).map_err(|_| not_text())?;
    if start > lines.total && start > 1 {
        let message =
            format!("`startLine` is {start}, and `{}` has {} lines", located.shown, lines.total);
        return Err(Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message)));
    }
    let content = match lines.cut_at {
        Some(_) => files.redactor.mask_cut_text(&content).into_owned(),
        None => content,
    };
    let mut result = json!({ "content": content, "totalLines": lines.total });
    if let Some(next) = lines.cut_at {
        result["note"] = json!(format!(
            "truncated at {} KiB in line {next} of {}; continue with `startLine: {next}`",
            MAX_BYTES >> 10,
            lines.total
        ));
    }
    let evidence = vec![FileAccess::seen(&located, Some(lines.digest))];
    Ok(CallResult { evidence, ..CallResult::success(result) })
}

struct Lines {
    bytes: Vec<u8>,
    total: u64,
    /// The first line that did not fit.
    cut_at: Option<u64>,
    binary: bool,
    /// The digest of the whole file, unless it is binary.
    digest: Digest,
}

/// Reads a range of lines and counts all lines. Memory use does not depend on the file size.
fn take_lines(mut file: impl BufRead, start: u64, end: u64) -> std::io::Result<Lines> {
    let mut lines =
        Lines { bytes: Vec::new(), total: 0, cut_at: None, binary: false, digest: Digest::of("") };
    let (mut at_start, mut hasher) = (true, Hasher::default());
    loop {
        let chunk = file.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let used = chunk.iter().position(|byte| *byte == b'\n').map_or(chunk.len(), |at| at + 1);
        let piece = &chunk[..used];
        if at_start {
            lines.total += 1;
        }
        lines.binary |= piece.contains(&0);
        if (start..=end).contains(&lines.total) && lines.cut_at.is_none() {
            lines.keep(piece, at_start);
        }
        hasher.update(piece);
        at_start = piece.ends_with(b"\n");
        file.consume(used);
        if lines.binary {
            break;
        }
    }
    lines.digest = hasher.finish();
    Ok(lines)
}

impl Lines {
    /// Appends a part of a line if it fits. A first line that is too long is truncated at a
    /// character boundary.
    fn keep(&mut self, piece: &[u8], at_start: bool) {
        let room = MAX_BYTES - self.bytes.len();
        if piece.len() <= room {
            return self.bytes.extend_from_slice(piece);
        }
        self.cut_at = Some(self.total);
        let line_start = if at_start {
            self.bytes.len()
        } else {
            self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        };
        if line_start > 0 {
            return self.bytes.truncate(line_start);
        }
        self.bytes.extend_from_slice(&piece[..room]);
        self.cut_at = Some(self.total + 1);
        let whole = match std::str::from_utf8(&self.bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.bytes.len(),
        };
        self.bytes.truncate(whole);
    }
}
