//! Events that are too large for a row: their text is a blob, and the row says which.

use crate::journal::JournalError;
use crate::journal::blob_store::BlobStore;
use crate::value::{Digest, limits};
use std::borrow::Cow;

/// What stands in a row behind the event's type, where its text is elsewhere.
const SIGN: &str = ",\"blob\":\"";

/// The text of an event's row: its own, or where that is. So no row is larger than
/// [`limits::EVENT_BYTES`], whatever a model or a tool says.
pub(super) fn row_of(event: String, blobs: &BlobStore) -> Result<String, JournalError> {
    if event.len() <= limits::EVENT_BYTES {
        return Ok(event);
    }
    let digest = blobs.put(event.as_bytes())?;
    let bytes = event.len();
    Ok(format!("{}{SIGN}{digest}\",\"bytes\":{bytes}}}", type_tag(&event)))
}

/// The text of an event by its row.
pub(super) fn event_of<'r>(row: &'r str, blobs: &BlobStore) -> Result<Cow<'r, str>, JournalError> {
    let Some(digest) = blob_of(row) else { return Ok(Cow::Borrowed(row)) };
    let text = String::from_utf8(blobs.get(&digest)?);
    text.map(Cow::Owned).map_err(|_| JournalError::Broken(format!("blob `{digest}` is no text")))
}

/// The blob that a row names, where it names one.
pub(super) fn blob_of(row: &str) -> Option<Digest> {
    let place = row[type_tag(row).len()..].strip_prefix(SIGN)?;
    place.get(..64).and_then(Digest::from_hex)
}

/// An event's text up to the end of its type, which is always written first.
fn type_tag(text: &str) -> &str {
    let start = "{\"type\":\"".len();
    let end = text.get(start..).and_then(|rest| rest.find('"')).map_or(0, |end| start + end + 1);
    &text[..end]
}
