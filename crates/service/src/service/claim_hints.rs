//! Hints of `validate`: keys in the output schema of a specialist that no gate reads.

use kb_base::diagnostic::{Code, Diagnostic, Sources, Span};
use kb_core::verify::{UnreadKey, unread_keys};
use kb_language::definition::{Schema, Specialist};

/// One hint for each such key that sounds like a claim that gates know, and one for all others of a specialist that changes
/// files. The output of one that only reads is its work, and no statement about it.
pub(super) fn claim_hints(specialist: &Specialist, sources: &Sources) -> Vec<Diagnostic> {
    let own = specialist.output_schema.iter();
    let of_capabilities = specialist.callable.iter().filter_map(|own| own.output_schema.as_ref());
    let schemas = own.chain(of_capabilities).map(Schema::json);
    // A specialist that cannot change files names them; it does not claim to have changed them.
    let is_claim = |unread: &UnreadKey| {
        specialist.writes_itself() || unread.instead.is_some() && !unread.is_of_files
    };
    let unread: Vec<UnreadKey> = schemas.flat_map(unread_keys).filter(is_claim).collect();
    let place = |key: &str| position(key, specialist.span, sources);
    let hint = |unread: &UnreadKey| {
        let message = format!("no gate reads the key `{}`", unread.key);
        let help = format!("what is reported in {} is compared with the record", unread.instead?);
        Some(Diagnostic::info(Code::UNREAD_CLAIM, place(&unread.key), message).help(help))
    };
    let mut hints: Vec<Diagnostic> = unread.iter().filter_map(hint).collect();
    let others = unread.iter().filter(|unread| unread.instead.is_none());
    let others: Vec<&str> = others.map(|unread| unread.key.as_str()).collect();
    if let Some(first) = others.first() {
        let keys = if others.len() == 1 { "key" } else { "keys" };
        let message = format!(
            "no gate reads the {keys} `{}`: a report with a value there is `unchecked`",
            others.join("`, `")
        );
        let help = "a step that takes them as comments names them in `commentary` of its gate";
        hints.push(Diagnostic::info(Code::UNREAD_CLAIM, place(first), message).help(help));
    }
    hints
}

/// Where a key is in the file of a specialist: its last place, because the schema of the output follows that of the
/// input. A file that is not found there, such as JSON in another spelling, has the position of its id.
fn position(key: &str, of_id: Span, sources: &Sources) -> Span {
    let text = &sources.get(of_id.source).text;
    let is_key = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + key.len()..].trim_start_matches(['"', '\'', '?']).trim_start();
        before.is_none_or(|c| c.is_whitespace() || "{,\"'".contains(c)) && after.starts_with(':')
    };
    let found = text.rmatch_indices(key).map(|(at, _)| at).find(|at| is_key(*at));
    found.map_or(of_id, |at| Span { start: at as u32, end: (at + key.len()) as u32, ..of_id })
}

/// Where a value stands after its key in a file; the given place if it is not found.
pub(super) fn position_after(key: &str, value: &str, file: Span, sources: &Sources) -> Span {
    let text = &sources.get(file.source).text;
    let is_value = |at: usize| {
        let before = text[..at].trim_end_matches(['"', '\'']).trim_end();
        before
            .strip_suffix(':')
            .is_some_and(|rest| rest.trim_end_matches(['"', '\'']).ends_with(key))
    };
    let found = text.match_indices(value).map(|(at, _)| at).find(|at| is_value(*at));
    found.map_or(file, |at| Span { start: at as u32, end: (at + value.len()) as u32, ..file })
}
