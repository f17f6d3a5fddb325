//! Hints of `validate`: keys in the output schema of a specialist that sound like claims and that no gate reads.

use kb_base::diagnostic::{Code, Diagnostic, Sources, Span};
use kb_core::verify::{UnreadKey, unread_keys};
use kb_language::definition::{Schema, Specialist};

/// One hint for each such key.
pub(super) fn claim_hints(specialist: &Specialist, sources: &Sources) -> Vec<Diagnostic> {
    let own = specialist.output_schema.iter();
    let of_capabilities = specialist.callable.iter().filter_map(|own| own.output_schema.as_ref());
    let schemas = own.chain(of_capabilities).map(Schema::json);
    // A specialist that cannot change files names them; it does not claim to have changed them.
    let is_claim = |unread: &UnreadKey| !unread.is_of_files || specialist.writes();
    let unread = schemas.flat_map(unread_keys).filter(is_claim);
    unread
        .map(|unread| {
            let span = position(&unread.key, specialist.span, sources);
            let message = format!("no gate reads the key `{}`", unread.key);
            let help =
                format!("what is reported in {} is compared with the record", unread.instead);
            Diagnostic::info(Code::UNREAD_CLAIM, span, message).help(help)
        })
        .collect()
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
