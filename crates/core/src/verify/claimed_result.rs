//! The result that a claim about a command says: by a key, or by a note behind the command.

use super::command_note::bracket_behind;
use super::keys::{EXIT_CODES, field};
use kb_base::value::Json;

/// Keys of an entry with the result of its command in words.
const STATUS: [&str; 5] = ["status", "result", "outcome", "success", "ok"];

/// The claimed result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimedResult {
    /// Exit code 0, also if the claim says nothing.
    Succeeded,
    /// Exit code 0, as the claim says.
    SaidSucceeded,
    /// A failure, with the exit code if the claim has one.
    Failed(Option<i64>),
    /// A number alone: an exit code, or what the command printed.
    Number(i64),
    /// The output reports a failure elsewhere, such as failed tests: any result fits.
    Any,
}

/// Splits `npm test (exit 1)` into the command and the claimed result: after an arrow, a colon behind backticks, in brackets,
/// or after a verb.
pub(super) fn annotated(text: &str) -> (&str, ClaimedResult) {
    let verbs = [" exited with ", " exits with "];
    let verbs = verbs.iter().filter_map(|verb| text.rsplit_once(verb)).map(|(command, code)| {
        let code = code.trim_end_matches('.').rsplit(' ').next().unwrap_or_default();
        (command, code.parse().ok().map(ClaimedResult::of_code))
    });
    let arrows = ["→", "->", "=>"].iter().filter_map(|arrow| text.rsplit_once(arrow));
    let brackets = bracket_behind(text);
    let colon = text.rsplit_once("`:").into_iter();
    let notes = arrows
        .chain(brackets)
        .chain(colon)
        .map(|(command, note)| (command, ClaimedResult::of_note(note)));
    let mut results = verbs.chain(notes).filter_map(|(command, result)| Some((command, result?)));
    results.next().unwrap_or((text, ClaimedResult::Succeeded))
}

impl ClaimedResult {
    /// The result that the fields of an entry say.
    pub(super) fn of_entry(entry: &Json) -> ClaimedResult {
        let status = field(entry, &STATUS);
        let code = field(entry, &EXIT_CODES).or(status).and_then(Json::as_i64);
        let note = status.and_then(Json::as_str).and_then(ClaimedResult::of_note);
        let failed = match status {
            Some(Json::Bool(success)) => !success,
            Some(Json::String(text)) => text.to_ascii_lowercase().contains("fail"),
            _ => false,
        };
        match (code, note) {
            (Some(code), _) => ClaimedResult::of_code(code),
            (None, Some(note)) if note != ClaimedResult::Succeeded => note,
            _ if failed => ClaimedResult::Failed(None),
            _ if status.is_some() => ClaimedResult::SaidSucceeded,
            _ => ClaimedResult::Succeeded,
        }
    }

    pub(super) fn of_code(code: i64) -> ClaimedResult {
        match code {
            0 => ClaimedResult::SaidSucceeded,
            code => ClaimedResult::Failed(Some(code)),
        }
    }

    /// The result that a note behind a command says: `exit 1`, `exit code: 1`, `1`, `failed`, `ok`.
    fn of_note(note: &str) -> Option<ClaimedResult> {
        let note = note.trim().to_ascii_lowercase();
        let code = note.rsplit([' ', ':', '=']).next().and_then(|last| last.parse::<i64>().ok());
        match code {
            Some(code) if note.starts_with("exit") => Some(ClaimedResult::of_code(code)),
            Some(code) if note == code.to_string() => Some(match code {
                0 => ClaimedResult::SaidSucceeded,
                code => ClaimedResult::Number(code),
            }),
            _ if note.starts_with("fail") => Some(ClaimedResult::Failed(None)),
            _ if ["ok", "passed", "success"].contains(&note.as_str()) => {
                Some(ClaimedResult::Succeeded)
            }
            _ => None,
        }
    }
}
