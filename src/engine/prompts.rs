//! How prompts are recorded: masked, each part once per attempt, or not at all.

use crate::definition::PromptRecording;
use crate::evidence::{Payload, Prompt, PromptPart, Record};
use crate::redaction::Redactor;
use crate::value::Digest;
use std::collections::BTreeSet;
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

    /// The record with its prompt masked and without the parts that are stored already.
    pub(super) fn keep(&self, mut record: Record, redactor: &Redactor) -> Record {
        if let Record::ModelCall { prompt, .. } = &mut record {
            *prompt = match self.mode {
                PromptRecording::Digest => None,
                PromptRecording::Full => prompt.take().map(|prompt| self.reduced(prompt, redactor)),
            };
        }
        record
    }

    fn reduced(&self, mut prompt: Box<Prompt>, redactor: &Redactor) -> Box<Prompt> {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        for part in prompt.parts_mut() {
            let Some(Payload::Inline(content)) = &part.content else { continue };
            *part = PromptPart::of(redactor.mask_json(content));
            if !stored.insert(part.digest) {
                part.content = None;
            }
        }
        prompt
    }
}
