use super::json_list::JsonList;
use crate::evidence::{Payload, Record};
use crate::journal::{Blobs, JournalError};
use crate::redaction::{Masked, Redactor};
use crate::run::{AttemptReport, CompactPayload, Evaluation, Reply};
use crate::value::{Digest, Json, limits, read_back};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Moves large values to blobs and brings them back. The last few loaded stay at hand: what one step
/// reads, others are about to read.
#[derive(Clone)]
pub struct Payloads {
    journal: Arc<dyn Blobs>,
    recent: Arc<Mutex<Recent<Json>>>,
    lists: Arc<Mutex<Recent<JsonList>>>,
    read: Arc<Mutex<Read>>,
    /// Why the journal could not be read or written, the first time.
    failed: Arc<Mutex<Option<JournalError>>>,
}

type Recent<T> = VecDeque<(Digest, Arc<T>)>;

const RECENT: usize = 4;

/// What was read of the state, each in the place of its number.
type Read = Vec<Option<(CompactPayload, Arc<Json>)>>;

const READ: usize = 64;

impl Payloads {
    /// Over this journal's blobs.
    pub fn new(journal: Arc<dyn Blobs>) -> Self {
        let (recent, lists, read) = Default::default();
        Payloads { journal, recent, lists, read, failed: Arc::default() }
    }

    /// Whether the journal's disk has kept its values to itself. What was decided without them must
    /// not be stored: nothing is wrong with the step that asked. A value that is damaged or missing
    /// for good is another matter, and fails the step.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    fn noted<T>(&self, result: Result<T, JournalError>) -> Result<T, JournalError> {
        if let Err(error) = &result
            && !matches!(error, JournalError::Damaged(_))
        {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error.clone());
        }
        result
    }

    /// The value of what the state has kept. Those that were read last are at hand: an output is read
    /// by some steps, mostly one soon after the other.
    pub fn read(&self, kept: &CompactPayload) -> Result<Arc<Json>, JournalError> {
        let place = kept.number() % READ;
        let read = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read()
            .get(place)
            .and_then(Option::as_ref)
            .filter(|(known, _)| known.is(kept))
            .map(|(_, value)| value.clone());
        if let Some(value) = found {
            return Ok(value);
        }
        let payload = kept.payload();
        let value = self.load(&payload)?;
        // Large values have a place of their own, where there are but few.
        if payload.as_inline().is_some() {
            let mut read = read();
            read.resize(READ, None);
            read[place] = Some((kept.clone(), value.clone()));
        }
        Ok(value)
    }

    /// Adds the text of what the state has kept.
    pub(super) fn write(
        &self,
        kept: &CompactPayload,
        text: &mut String,
    ) -> Result<(), JournalError> {
        if let Some(own) = kept.inline_text() {
            text.push_str(own);
        } else if let Payload::Blob { digest, .. } = kept.payload() {
            text.push_str(&self.text_of(&digest)?);
        }
        Ok(())
    }

    /// The payload of a value by its text; a blob if it is large. What it was gathered from may
    /// have been stored before a value in it was known for a secret.
    pub(super) fn store_text(
        &self,
        text: String,
        redactor: &Redactor,
    ) -> Result<Masked<Payload>, JournalError> {
        let text = match text.len() > limits::INLINE_OUTPUT_BYTES {
            true => match redactor.check(text) {
                Ok(text) => return text.rearrange(|text| self.store_blob(&text)),
                Err(text) => text,
            },
            false => text,
        };
        let value: Json = read_back(&text).map_err(|why| {
            JournalError::Damaged(format!("what was gathered is not JSON: {why}"))
        })?;
        self.store(redactor.mask(value).map(Payload::inline))
    }

    fn store_blob(&self, text: &str) -> Result<Payload, JournalError> {
        let digest = self.noted(self.journal.put_blob(text.as_bytes()))?;
        Ok(Payload::Blob { digest, bytes: text.len() as u64 })
    }

    /// The value of a payload.
    pub fn load(&self, payload: &Payload) -> Result<Arc<Json>, JournalError> {
        match payload {
            Payload::Inline(value) => Ok(value.clone()),
            Payload::Blob { digest, .. } => recall(&self.recent, digest, || {
                let text = self.text_of(digest)?;
                read_back(&text).map_err(|why| not_json(digest, &why))
            }),
        }
    }

    /// One element of a list. What items take one by one is read one by one.
    pub(super) fn element(
        &self,
        list: &Payload,
        index: usize,
    ) -> Result<Option<Json>, JournalError> {
        match list {
            Payload::Inline(values) => Ok(values.get(index).cloned()),
            Payload::Blob { digest, .. } => {
                let list = recall(&self.lists, digest, || self.text_of(digest).map(JsonList::of))?;
                list.get(index).transpose().map_err(|why| not_json(digest, &why))
            }
        }
    }

    fn text_of(&self, digest: &Digest) -> Result<String, JournalError> {
        let bytes = self.noted(self.journal.blob(digest))?;
        String::from_utf8(bytes).map_err(|why| not_json(digest, &why))
    }

    /// The same evaluation, with its items as a blob if they are large.
    pub(super) fn store_items(&self, found: Evaluation) -> Result<Evaluation, JournalError> {
        match found {
            Evaluation::Items { keys, items, keyed } => {
                Ok(Evaluation::Items { keys, items: self.stored(items)?, keyed })
            }
            condition @ Evaluation::Condition(_) => Ok(condition),
        }
    }

    /// The same reply, with its answer as a blob if it is large.
    pub(super) fn store_reply(&self, reply: Reply) -> Result<Reply, JournalError> {
        let answer = reply.answer.map(|answer| self.stored(answer)).transpose()?;
        Ok(Reply { answer, ..reply })
    }

    /// The same payload, as a blob if it is large.
    pub fn store(&self, payload: Masked<Payload>) -> Result<Masked<Payload>, JournalError> {
        payload.rearrange(|payload| self.stored(payload))
    }

    fn stored(&self, payload: Payload) -> Result<Payload, JournalError> {
        let Payload::Inline(value) = &payload else { return Ok(payload) };
        // Most values are small, and need not be written out to know that.
        if longest(value) <= limits::INLINE_OUTPUT_BYTES {
            return Ok(payload);
        }
        let text = value.to_string();
        if text.len() <= limits::INLINE_OUTPUT_BYTES {
            return Ok(payload);
        }
        self.store_blob(&text)
    }

    /// The same record, its large values as blobs.
    pub fn store_record(&self, record: Masked<Record>) -> Result<Masked<Record>, JournalError> {
        record.rearrange(|record| self.stored_record(record))
    }

    fn stored_record(&self, mut record: Record) -> Result<Record, JournalError> {
        match &mut record {
            Record::ModelCall { text, prompt, .. } => {
                *text = self.stored(text.clone())?;
                let parts = prompt.iter_mut().flat_map(|prompt| prompt.parts_mut());
                for content in parts.filter_map(|part| part.content.as_mut()) {
                    *content = self.stored(content.clone())?;
                }
            }
            Record::ToolCall { args, .. } => *args = self.stored(args.clone())?,
            Record::ToolResult { result, .. } => *result = self.stored(result.clone())?,
            Record::Observed { basis } => *basis = self.stored(basis.clone())?,
            Record::Compression { .. } | Record::Note { .. } => {}
        }
        Ok(record)
    }

    /// The same record with every value inline, as a resumed attempt needs it.
    pub fn load_record(&self, record: Record) -> Result<Record, JournalError> {
        let inline = |payload: &Payload| self.load(payload).map(Payload::Inline);
        let mut record = record;
        match &mut record {
            // A resumed attempt does not read prompts.
            Record::ModelCall { text, .. } => *text = inline(text)?,
            Record::ToolCall { args, .. } => *args = inline(args)?,
            Record::ToolResult { result, .. } => *result = inline(result)?,
            Record::Observed { basis } => *basis = inline(basis)?,
            Record::Compression { .. } | Record::Note { .. } => {}
        }
        Ok(record)
    }

    /// The same report, its large values as blobs.
    pub fn store_report(
        &self,
        report: Masked<AttemptReport>,
    ) -> Result<Masked<AttemptReport>, JournalError> {
        let store = |payload: Option<Payload>| payload.map(|p| self.stored(p)).transpose();
        report.rearrange(|report| {
            let (output, streams) = (store(report.output)?, store(report.streams)?);
            Ok(AttemptReport { output, streams, ..report })
        })
    }
}

fn not_json(digest: &Digest, why: &dyn std::fmt::Display) -> JournalError {
    JournalError::Damaged(format!("blob `{digest}` is not JSON: {why}"))
}

/// One of the last few, or a new one.
fn recall<T>(
    recent: &Mutex<Recent<T>>,
    digest: &Digest,
    load: impl FnOnce() -> Result<T, JournalError>,
) -> Result<Arc<T>, JournalError> {
    let recent = || recent.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = recent().iter().find(|(known, _)| known == digest) {
        return Ok(known.clone());
    }
    let loaded = Arc::new(load()?);
    let mut recent = recent();
    recent.push_front((*digest, loaded.clone()));
    recent.truncate(RECENT);
    Ok(loaded)
}

/// What the text of a value may have at most.
fn longest(value: &Json) -> usize {
    // A byte may become an escape of six.
    let text = |text: &str| 6 * text.len() + 2;
    match value {
        Json::Null | Json::Bool(_) => 5,
        Json::Number(_) => 32,
        Json::String(own) => text(own),
        Json::Array(items) => 2 + items.iter().map(|item| longest(item) + 1).sum::<usize>(),
        Json::Object(map) => {
            2 + map.iter().map(|(key, value)| text(key) + longest(value) + 2).sum::<usize>()
        }
    }
}
