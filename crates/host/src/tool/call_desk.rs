//! [`CallDesk`]: what the server of a tool says and asks during a call.

use super::call::{Call, Caller};
use super::input_request::{InputAnswers, InputRequest};
use kb_attempt::{Progress, Recorder};
use kb_base::value::{Digest, Json};
use kb_core::redaction::Redactor;
use kb_mcpclient::{CallTalk, Elicitation, ElicitationReply};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Lines about the progress of a call that are shown.
const LINES: u32 = 200;
/// Questions of a server in a call.
const QUESTIONS: u32 = 20;

/// Answers questions of a server with what people have decided, and keeps the first one that no person has answered. Shows
/// progress.
pub(super) struct CallDesk {
    tool: String,
    args: Json,
    /// Whether the caller can wait for a person.
    can_ask: bool,
    answers: Arc<InputAnswers>,
    recorder: Option<Arc<dyn Recorder>>,
    redactor: Arc<Redactor>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    open: Option<InputRequest>,
    questions: u32,
    lines: u32,
    /// How often a question was asked in this call.
    times: BTreeMap<Digest, u32>,
}

impl CallDesk {
    /// The desk of a call. An author has no attempt that could continue with an answer.
    pub(super) fn of(
        call: &Call,
        recorder: Option<&Arc<dyn Recorder>>,
        redactor: &Arc<Redactor>,
    ) -> Arc<CallDesk> {
        Arc::new(CallDesk {
            tool: call.tool.clone(),
            args: call.args.clone(),
            can_ask: matches!(call.caller, Caller::Specialist { .. }),
            answers: call.answers.clone(),
            recorder: recorder.cloned(),
            redactor: redactor.clone(),
            heard: Mutex::default(),
        })
    }

    /// The first question that no person has answered.
    pub(super) fn open_question(&self) -> Option<InputRequest> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).open.clone()
    }
}

impl CallTalk for CallDesk {
    fn answer(&self, asked: Elicitation) -> ElicitationReply {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.questions += 1;
        if !self.can_ask || heard.questions > QUESTIONS {
            return ElicitationReply::Decline;
        }
        let Elicitation { server, message, schema, within: _ } = &asked;
        let same = Digest::of_json(&json!([self.tool, self.args, server, message, schema]));
        let times = heard.times.entry(same).or_default();
        *times += 1;
        let key = Digest::of_json(&json!([same.to_string(), times]));
        if let Some(reply) = self.answers.get(&key) {
            return reply.clone();
        }
        heard.open.get_or_insert(InputRequest { key, question: asked });
        ElicitationReply::Cancel
    }

    fn progress(&self, text: String) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.lines += 1;
        if let Some(recorder) = self.recorder.as_ref().filter(|_| heard.lines <= LINES) {
            let text = format!("{}: {text}", self.tool);
            recorder.progress(Progress::Output(self.redactor.mask_text(&text).into_owned()));
        }
    }
}
