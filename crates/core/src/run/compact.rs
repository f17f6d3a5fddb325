//! Payloads in the compact form in which the state keeps them.

use crate::evidence::Payload;
use kb_base::value::{Json, read_back};
use std::sync::Arc;

/// A payload as the state keeps it while the run is open: the JSON text of the journal, which needs
/// about a tenth of the memory of the value.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactPayload(Arc<str>);

const INLINE: (&str, &str) = ("{\"inline\":", "}");

impl CompactPayload {
    pub(super) fn of(payload: &Payload) -> CompactPayload {
        let (before, after) = INLINE;
        CompactPayload(match payload {
            Payload::Inline(value) => format!("{before}{value}{after}").into(),
            // A digest and a number always serialise.
            blob @ Payload::Blob { .. } => serde_json::to_string(blob).unwrap_or_default().into(),
        })
    }

    pub(super) fn boxed(payload: &Payload) -> Box<CompactPayload> {
        Box::new(CompactPayload::of(payload))
    }

    /// The payload, parsed from the text.
    pub fn payload(&self) -> Payload {
        // `of` wrote the text.
        read_back(&self.0).unwrap_or_else(|_| Payload::inline(Json::Null))
    }

    /// JSON text of the value, if it is inline.
    pub fn inline_text(&self) -> Option<&str> {
        self.0.strip_prefix(INLINE.0)?.strip_suffix(INLINE.1)
    }

    /// Whether both share one allocation.
    pub fn is(&self, other: &CompactPayload) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that identifies this payload among those that exist at the same time.
    pub fn number(&self) -> usize {
        self.0.as_ptr() as usize / size_of::<u128>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_base::value::Digest;
    use serde_json::json;

    #[test]
    fn what_is_kept_is_what_was_given_and_as_the_journal_writes_it() {
        let values = [
            json!({"inline": {"blob": null}, "b": [0.1 + 0.2, -0.0, 1e300, u64::MAX, i64::MIN]}),
            json!("\u{0}\"\\\u{2028}"),
            json!(null),
        ];
        let blob = Payload::Blob { digest: Digest::of("x"), bytes: 1 };
        for payload in values.into_iter().map(Payload::inline).chain([blob]) {
            let kept = CompactPayload::of(&payload);
            assert_eq!(kept.payload(), payload);
            assert_eq!(*kept.0, *serde_json::to_string(&payload).unwrap());
            let text = payload.as_inline().map(|value| value.to_string());
            assert_eq!(kept.inline_text().map(str::to_owned), text);
        }
    }
}
