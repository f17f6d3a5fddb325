//! How prompts are recorded: masked, each part once per attempt, or not at all.

use kb_base::value::Digest;
use kb_core::evidence::{Prompt, Record};
use kb_core::redaction::Masked;
use kb_language::definition::PromptRecording;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

/// The parts of prompts that one attempt has stored.
pub(super) struct PromptLog {
    mode: PromptRecording,
    stored: Mutex<BTreeSet<Digest>>,
}

impl PromptLog {
    /// A log without any part. A resumed attempt starts a new one, so its first prompt is stored
    /// in full again.
    pub(super) fn new(mode: PromptRecording) -> Self {
        PromptLog { mode, stored: Mutex::default() }
    }

    /// The record, without its prompt if prompts are not stored.
    pub(super) fn select(&self, mut record: Record) -> Record {
        if let (Record::ModelCall { prompt, .. }, PromptRecording::Digest) =
            (&mut record, self.mode)
        {
            *prompt = None;
        }
        record
    }

    /// The record without the parts of its prompt that are stored already.
    pub(super) fn reduce(&self, record: Masked<Record>) -> Masked<Record> {
        let reduced = record.rearrange(|mut record, _| {
            if let Record::ModelCall { prompt: Some(prompt), .. } = &mut record {
                self.remove_stored(prompt);
            }
            Ok::<_, Infallible>(record)
        });
        match reduced {
            Ok(record) => record,
        }
    }

    fn remove_stored(&self, prompt: &mut Prompt) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        for part in prompt.parts_mut().filter(|part| part.content.is_some()) {
            if !stored.insert(part.digest) {
                part.content = None;
            }
        }
    }
}
