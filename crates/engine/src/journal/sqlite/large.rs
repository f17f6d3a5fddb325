//! Events that are too large for a row: the text is stored as a blob, and the row names the blob.

use crate::journal::JournalError;
use crate::journal::blob_store::BlobStore;
use kb_base::value::{Digest, limits};
use std::borrow::Cow;

/// Follows the event's type in a row whose text is in a blob.
const MARKER: &str = ",\"blob\":\"";

/// The row text of an event: its own text, or a reference to a blob with it. No row is larger than
/// [`limits::EVENT_BYTES`].
pub(super) fn row_of(event: String, blobs: &BlobStore) -> Result<String, JournalError> {
    if event.len() <= limits::EVENT_BYTES {
        return Ok(event);
    }
    let digest = blobs.put(event.as_bytes())?;
    let bytes = event.len();
    Ok(format!("{}{MARKER}{digest}\",\"bytes\":{bytes}}}", type_tag(&event)))
}

/// The text of an event, read from its row or its blob.
pub(super) fn event_of<'r>(row: &'r str, blobs: &BlobStore) -> Result<Cow<'r, str>, JournalError> {
    let Some(digest) = blob_of(row) else { return Ok(Cow::Borrowed(row)) };
    let text = String::from_utf8(blobs.get(&digest)?);
    text.map(Cow::Owned).map_err(|_| JournalError::Broken(format!("blob `{digest}` is not UTF-8")))
}

/// The blob that a row refers to.
pub(super) fn blob_of(row: &str) -> Option<Digest> {
    let digest = row[type_tag(row).len()..].strip_prefix(MARKER)?;
    digest.get(..64).and_then(Digest::from_hex)
}

/// The text of an event up to the end of its type, which is always written first.
fn type_tag(text: &str) -> &str {
    let start = "{\"type\":\"".len();
    let end = text.get(start..).and_then(|rest| rest.find('"')).map_or(0, |end| start + end + 1);
    &text[..end]
}
