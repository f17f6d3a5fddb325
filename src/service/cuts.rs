use super::ServiceError;
use crate::engine::Payloads;
use crate::journal::Journal;
use crate::run::{Event, Payload};
use crate::value::{Json, limits};
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;

/// The same event, with how much of its streams was cut within reach of who translates it: streams that
/// are long enough to be cut lie in a blob, which a translator cannot open.
pub(super) fn with_cuts<'a>(
    journal: &Arc<dyn Journal>,
    event: &'a Event,
) -> Result<Cow<'a, Event>, ServiceError> {
    let Event::AttemptEnded { streams: Some(payload @ Payload::Blob { bytes, .. }), .. } = event
    else {
        return Ok(Cow::Borrowed(event));
    };
    // Masking shortens a text; half of what is kept is far below anything that was cut.
    if (*bytes as usize) < limits::STREAM_BYTES / 2 {
        return Ok(Cow::Borrowed(event));
    }
    let whole: Arc<Json> = Payloads::new(journal.clone()).load(payload)?;
    let mut event = event.clone();
    if let Event::AttemptEnded { streams, .. } = &mut event {
        let cuts = json!({"stdoutCut": whole["stdoutCut"], "stderrCut": whole["stderrCut"]});
        *streams = Some(Payload::inline(cuts));
    }
    Ok(Cow::Owned(event))
}
