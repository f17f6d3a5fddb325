use crate::journal::{Journal, JournalError};
use crate::run::{AttemptReport, Payload, Record};
use crate::value::{Digest, Json, limits, read_back};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Moves large values to blobs and brings them back. The last few loaded stay at hand, because the
/// items of one list are asked for one by one.
#[derive(Clone)]
pub struct Payloads {
    journal: Arc<dyn Journal>,
    recent: Arc<Mutex<Recent>>,
    /// Why the journal could not be read or written, the first time.
    failed: Arc<Mutex<Option<JournalError>>>,
}

type Recent = VecDeque<(Digest, Arc<Json>)>;

const RECENT: usize = 4;

impl Payloads {
    /// Over this journal's blobs.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Payloads { journal, recent: Arc::default(), failed: Arc::default() }
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

    /// The value of a payload.
    pub fn load(&self, payload: &Payload) -> Result<Arc<Json>, JournalError> {
        match payload {
            Payload::Inline(value) => Ok(value.clone()),
            Payload::Blob { digest, .. } => {
                if let Some(value) = self.recall(digest) {
                    return Ok(value);
                }
                let bytes = self.noted(self.journal.blob(digest))?;
                let broken = |why: &dyn std::fmt::Display| {
                    JournalError::Damaged(format!("blob `{digest}` is not JSON: {why}"))
                };
                let text = std::str::from_utf8(&bytes).map_err(|e| broken(&e))?;
                let value: Json = read_back(text).map_err(|e| broken(&e))?;
                let value = Arc::new(value);
                self.remember(*digest, value.clone());
                Ok(value)
            }
        }
    }

    fn recall(&self, digest: &Digest) -> Option<Arc<Json>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().find(|(known, _)| known == digest).map(|(_, value)| value.clone())
    }

    fn remember(&self, digest: Digest, value: Arc<Json>) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_front((digest, value));
        recent.truncate(RECENT);
    }

    /// The same payload, as a blob if it is large.
    pub fn store(&self, payload: Payload) -> Result<Payload, JournalError> {
        let Payload::Inline(value) = &payload else { return Ok(payload) };
        if is_surely_small(value) {
            return Ok(payload);
        }
        let text = value.to_string();
        if text.len() <= limits::INLINE_OUTPUT_BYTES {
            return Ok(payload);
        }
        let digest = self.noted(self.journal.put_blob(text.as_bytes()))?;
        Ok(Payload::Blob { digest, bytes: text.len() as u64 })
    }

    /// The same record, its large values as blobs.
    pub fn store_record(&self, record: Record) -> Result<Record, JournalError> {
        let mut record = record;
        match &mut record {
            Record::ModelCall { text, .. } => *text = self.store(text.clone())?,
            Record::ToolCall { args, .. } => *args = self.store(args.clone())?,
            Record::ToolResult { result, .. } => *result = self.store(result.clone())?,
            Record::Observed { basis } => *basis = self.store(basis.clone())?,
            Record::Compression { .. } | Record::Note { .. } => {}
        }
        Ok(record)
    }

    /// The same record with every value inline, as a resumed attempt needs it.
    pub fn load_record(&self, record: Record) -> Result<Record, JournalError> {
        let inline = |payload: &Payload| self.load(payload).map(Payload::Inline);
        let mut record = record;
        match &mut record {
            Record::ModelCall { text, .. } => *text = inline(text)?,
            Record::ToolCall { args, .. } => *args = inline(args)?,
            Record::ToolResult { result, .. } => *result = inline(result)?,
            Record::Observed { basis } => *basis = inline(basis)?,
            Record::Compression { .. } | Record::Note { .. } => {}
        }
        Ok(record)
    }

    /// The same report, its large values as blobs.
    pub fn store_report(&self, report: AttemptReport) -> Result<AttemptReport, JournalError> {
        let store = |payload: Option<Payload>| payload.map(|p| self.store(p)).transpose();
        Ok(AttemptReport {
            output: store(report.output)?,
            streams: store(report.streams)?,
            ..report
        })
    }
}

/// Whether a value is small without writing it out; most outputs are.
fn is_surely_small(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
        Json::String(text) => text.len() < limits::INLINE_OUTPUT_BYTES / 8,
        Json::Array(items) => {
            items.len() < 8 && items.iter().all(|v| v.is_number() || v.is_boolean())
        }
        Json::Object(map) => {
            map.len() < 8
                && map.iter().all(|(k, v)| {
                    k.len() < 64 && matches!(v, Json::String(s) if s.len() < 64) || v.is_number()
                })
        }
    }
}
