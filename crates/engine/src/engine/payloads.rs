//! Large values: moved to blobs before they are stored, and read back with small caches.

use super::json_list::JsonList;
use crate::journal::{Blobs, JournalError};
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, limits, read_back};
use kb_core::evidence::{Payload, Record};
use kb_core::redaction::{Masked, Parts, Redactor};
use kb_core::run::{AttemptReport, CompactPayload, Evaluation, Reply};
use kb_language::expression::EvalError;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Stores large values as blobs and loads them. The last few loaded values are cached, because several
/// steps often read the same value.
#[derive(Clone)]
pub struct Payloads {
    journal: Arc<dyn Blobs>,
    recent: Arc<Mutex<BlobCache<Json>>>,
    lists: Arc<Mutex<BlobCache<JsonList>>>,
    read: Arc<Mutex<InlineCache>>,
    /// The first failure of the journal.
    failed: Arc<Mutex<Option<JournalError>>>,
}

type BlobCache<T> = VecDeque<(Digest, Arc<T>)>;

const BLOB_CACHE_SIZE: usize = 4;

/// Cache of inline values of the state, indexed by payload number.
type InlineCache = Vec<Option<(CompactPayload, Arc<Json>)>>;

const INLINE_CACHE_SIZE: usize = 64;

impl Payloads {
    /// Uses the blobs of this journal.
    pub fn new(journal: Arc<dyn Blobs>) -> Self {
        let (recent, lists, read) = Default::default();
        Payloads { journal, recent, lists, read, failed: Arc::default() }
    }

    /// Fails if the journal failed to read or write a value. Decisions made without the value must not
    /// be stored, because the step is not at fault. A damaged or missing value is different: it fails
    /// the step.
    pub(super) fn check(&self) -> Result<(), JournalError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    fn noting_failure<T>(&self, result: Result<T, JournalError>) -> Result<T, JournalError> {
        if let Err(error) = &result
            && !matches!(error, JournalError::Damaged(_))
        {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error.clone());
        }
        result
    }

    /// Reads a payload of the state. Recently read values are cached.
    pub fn read(&self, compact: &CompactPayload) -> Result<Arc<Json>, JournalError> {
        let slot = compact.number() % INLINE_CACHE_SIZE;
        let read = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read()
            .get(slot)
            .and_then(Option::as_ref)
            .filter(|(known, _)| known.is(compact))
            .map(|(_, value)| value.clone());
        if let Some(value) = found {
            return Ok(value);
        }
        let payload = compact.payload();
        let value = self.load(&payload)?;
        // Large values have their own, smaller cache.
        if payload.as_inline().is_some() {
            let mut read = read();
            read.resize(INLINE_CACHE_SIZE, None);
            read[slot] = Some((compact.clone(), value.clone()));
        }
        Ok(value)
    }

    /// Appends the JSON text of a payload of the state.
    pub(super) fn write(
        &self,
        compact: &CompactPayload,
        text: &mut String,
    ) -> Result<(), JournalError> {
        if let Some(own) = compact.inline_text() {
            text.push_str(own);
        } else if let Payload::Blob { digest, .. } = compact.payload() {
            text.push_str(&self.text_of(&digest)?);
        }
        Ok(())
    }

    /// Stores a value by its JSON text, as a blob if it is large. The text is masked again, because its
    /// parts may have been stored before a secret in them was known.
    pub(super) fn store_text(
        &self,
        text: String,
        redactor: &Redactor,
    ) -> Result<Masked<Payload>, JournalError> {
        let text = if text.len() > limits::INLINE_OUTPUT_BYTES {
            match redactor.check(text) {
                Ok(text) => return self.store_blob(&text).map(Masked::composed),
                Err(text) => text,
            }
        } else {
            text
        };
        let value: Json = read_back(&text).map_err(|why| {
            JournalError::Damaged(format!("collected outputs are not JSON: {why}"))
        })?;
        self.store(redactor.mask(value).map(Payload::inline))
    }

    fn store_blob(&self, text: &Masked<String>) -> Result<Payload, JournalError> {
        let digest = self.noting_failure(run_blocking(|| self.journal.put_blob(text)))?;
        Ok(Payload::Blob { digest, bytes: text.len() as u64 })
    }

    /// Loads the value of a payload.
    pub fn load(&self, payload: &Payload) -> Result<Arc<Json>, JournalError> {
        match payload {
            Payload::Inline(value) => Ok(value.clone()),
            Payload::Blob { digest, .. } => recall(&self.recent, digest, || {
                let text = self.text_of(digest)?;
                read_back(&text).map_err(|why| not_json(digest, &why))
            }),
        }
    }

    /// Loads one element of a list.
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
        let bytes = self.noting_failure(run_blocking(|| self.journal.blob(digest)))?;
        String::from_utf8(bytes).map_err(|why| not_json(digest, &why))
    }

    /// The same evaluation, with its items as a blob if they are large.
    pub(super) fn store_items(
        &self,
        found: Evaluation,
        parts: Parts,
    ) -> Result<Evaluation, JournalError> {
        match found {
            Evaluation::Items { keys, items, keyed } => {
                Ok(Evaluation::Items { keys, items: self.stored(items, parts)?, keyed })
            }
            condition @ Evaluation::Condition(_) => Ok(condition),
        }
    }

    /// The same reply, with its answer as a blob if it is large.
    pub(super) fn store_reply(&self, reply: Reply, parts: Parts) -> Result<Reply, JournalError> {
        let answer = reply.answer.map(|answer| self.stored(answer, parts)).transpose()?;
        Ok(Reply { answer, ..reply })
    }

    /// Stores a payload as a blob if it is large.
    pub fn store(&self, payload: Masked<Payload>) -> Result<Masked<Payload>, JournalError> {
        payload.rearrange(|payload, parts| self.stored(payload, parts))
    }

    /// The same part of a masked value, as a blob if it is large.
    fn stored(&self, payload: Payload, parts: Parts) -> Result<Payload, JournalError> {
        let Payload::Inline(value) = &payload else { return Ok(payload) };
        // Most values are small, which an upper bound shows without serialising them.
        if max_json_len(value) <= limits::INLINE_OUTPUT_BYTES {
            return Ok(payload);
        }
        let text = value.to_string();
        if text.len() <= limits::INLINE_OUTPUT_BYTES {
            return Ok(payload);
        }
        self.store_blob(&parts.part(text))
    }

    /// Stores the large values of a record as blobs.
    pub fn store_record(&self, record: Masked<Record>) -> Result<Masked<Record>, JournalError> {
        record.rearrange(|record, parts| self.stored_record(record, parts))
    }

    fn stored_record(&self, mut record: Record, parts: Parts) -> Result<Record, JournalError> {
        match &mut record {
            Record::ModelCall { text, prompt, reasoning, .. } => {
                *text = self.stored(text.clone(), parts)?;
                if let Some(reasoning) = reasoning {
                    *reasoning = self.stored(reasoning.clone(), parts)?;
                }
                let prompt = prompt.iter_mut().flat_map(|prompt| prompt.parts_mut());
                for content in prompt.filter_map(|part| part.content.as_mut()) {
                    *content = self.stored(content.clone(), parts)?;
                }
            }
            Record::ToolCall { args, .. } => *args = self.stored(args.clone(), parts)?,
            Record::ToolResult { result, .. } => *result = self.stored(result.clone(), parts)?,
            Record::Output { parts: own, .. } => *own = self.stored(own.clone(), parts)?,
            Record::Observed { basis } => *basis = self.stored(basis.clone(), parts)?,
            Record::Compression { .. }
            | Record::Reservation { .. }
            | Record::BudgetWarning { .. }
            | Record::Phase { .. }
            | Record::Recall { .. }
            | Record::Delegate { .. }
            | Record::DelegateEnded { .. }
            | Record::Approval { .. }
            | Record::ChildRun { .. }
            | Record::ChildRunEnded { .. }
            | Record::CacheHit(_)
            | Record::Note(_) => {}
        }
        Ok(record)
    }

    /// Loads all values of a record, for a resumed attempt.
    pub fn load_record(&self, record: Record) -> Result<Record, JournalError> {
        let inline = |payload: &Payload| self.load(payload).map(Payload::Inline);
        let mut record = record;
        match &mut record {
            // A resumed attempt does not read prompts.
            Record::ModelCall { text, reasoning, .. } => {
                *text = inline(text)?;
                if let Some(reasoning) = reasoning {
                    *reasoning = inline(reasoning)?;
                }
            }
            Record::ToolCall { args, .. } => *args = inline(args)?,
            Record::ToolResult { result, .. } => *result = inline(result)?,
            Record::Output { parts, .. } => *parts = inline(parts)?,
            Record::Observed { basis } => *basis = inline(basis)?,
            Record::Approval { answer: Some(answer), .. } => *answer = inline(answer)?,
            Record::Approval { answer: None, .. } => {}
            Record::Compression { .. }
            | Record::Reservation { .. }
            | Record::BudgetWarning { .. }
            | Record::Phase { .. }
            | Record::Recall { .. }
            | Record::Delegate { .. }
            | Record::DelegateEnded { .. }
            | Record::ChildRun { .. }
            | Record::ChildRunEnded { .. }
            | Record::CacheHit(_)
            | Record::Note(_) => {}
        }
        Ok(record)
    }

    /// Stores the large values of a report as blobs.
    pub fn store_report(
        &self,
        report: Masked<AttemptReport>,
    ) -> Result<Masked<AttemptReport>, JournalError> {
        report.rearrange(|report, parts| {
            let store =
                |payload: Option<Payload>| payload.map(|p| self.stored(p, parts)).transpose();
            let (output, streams) = (store(report.output)?, store(report.streams)?);
            let mut handoff = report.handoff;
            for artifact in handoff.iter_mut().flat_map(|handoff| &mut handoff.artifacts) {
                artifact.content = self.stored(artifact.content.clone(), parts)?;
            }
            Ok(AttemptReport { output, streams, handoff, ..report })
        })
    }
}

fn not_json(digest: &Digest, why: &dyn std::fmt::Display) -> JournalError {
    JournalError::Damaged(format!("blob `{digest}` is not JSON: {why}"))
}

/// Returns a cached value, or loads and caches it.
fn recall<T>(
    recent: &Mutex<BlobCache<T>>,
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
    recent.truncate(BLOB_CACHE_SIZE);
    Ok(loaded)
}

/// Upper bound of the length of a value's JSON text.
fn max_json_len(value: &Json) -> usize {
    // A byte may become an escape of six.
    let text = |text: &str| 6 * text.len() + 2;
    match value {
        Json::Null | Json::Bool(_) => 5,
        Json::Number(_) => 32,
        Json::String(own) => text(own),
        Json::Array(items) => 2 + items.iter().map(|item| max_json_len(item) + 1).sum::<usize>(),
        Json::Object(map) => {
            2 + map.iter().map(|(key, value)| text(key) + max_json_len(value) + 2).sum::<usize>()
        }
    }
}

/// The failure of a step whose value the journal could not read or write.
pub(super) fn journal_failure(error: JournalError) -> EvalError {
    Box::new(Failure::new(Code::JOURNAL_UNUSABLE, error.to_string()))
}
