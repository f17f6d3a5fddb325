//! [`CallTalk`]: what a server says and asks while it executes a call.

use crate::elicitation::Elicitation;
use kb_base::value::Json;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Who hears what a server says while it executes a call. The texts are not masked.
pub trait CallTalk: Send + Sync {
    /// Answers a question of the server. The call waits for it.
    fn answer(&self, asked: Elicitation) -> ElicitationReply;
    /// Shows how far the call is: one line of at most 500 characters.
    fn progress(&self, text: String);
}

/// The answer to a question of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationReply {
    /// A person filled in the form.
    Accept(Json),
    /// A person refused, or the question is one that is never answered.
    Decline,
    /// No person has decided.
    Cancel,
}

impl ElicitationReply {
    /// The result of `elicitation/create`.
    pub(crate) fn result(&self) -> Json {
        match self {
            ElicitationReply::Accept(content) => json!({"action": "accept", "content": content}),
            ElicitationReply::Decline => json!({"action": "decline"}),
            ElicitationReply::Cancel => json!({"action": "cancel"}),
        }
    }
}

type Talk = Arc<dyn CallTalk>;

/// The calls of a connection that have not ended, by their progress tokens.
#[derive(Clone, Default)]
pub(crate) struct OpenCalls(Arc<Mutex<BTreeMap<u64, Option<Talk>>>>, Arc<AtomicU64>);

impl OpenCalls {
    /// Adds a call until the guard is dropped.
    pub(crate) fn begin(&self, talk: Option<Talk>) -> OpenCall {
        let token = self.1.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token, talk);
        OpenCall { calls: self.clone(), token }
    }

    /// Who hears of the call with this token.
    pub(crate) fn with_token(&self, token: &Json) -> Option<Talk> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&token.as_u64()?)?.clone()
    }

    /// Who hears of the only open call. Standard output does not say to which call a question of the server belongs.
    pub(crate) fn only(&self) -> Option<Talk> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().next().filter(|_| open.len() == 1)?.clone()
    }
}

/// A call that has not ended.
pub(crate) struct OpenCall {
    calls: OpenCalls,
    /// Its progress token.
    pub(crate) token: u64,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.calls.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}

/// Characters of a line about the progress of a call.
const SHOWN: usize = 500;

/// The line for `notifications/progress`: the numbers and the message.
pub(crate) fn progress_line(params: &Json) -> String {
    let number = |key: &str| params.get(key).filter(|value| value.is_number());
    let count = match (number("progress"), number("total")) {
        (Some(done), Some(total)) => format!("{done}/{total}"),
        (Some(done), None) => done.to_string(),
        (None, _) => String::new(),
    };
    let message = params.get("message").and_then(Json::as_str).unwrap_or_default();
    kb_base::value::one_line(format!("{count} {message}").trim(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Quiet;

    impl CallTalk for Quiet {
        fn answer(&self, _: Elicitation) -> ElicitationReply {
            ElicitationReply::Decline
        }

        fn progress(&self, _: String) {}
    }

    #[test]
    fn a_question_belongs_to_a_call_only_where_one_is_open() {
        let calls = OpenCalls::default();
        assert!(calls.only().is_none());
        let first = calls.begin(Some(Arc::new(Quiet)));
        assert!(calls.only().is_some());
        assert!(calls.with_token(&json!(first.token)).is_some());
        assert!(calls.with_token(&json!(first.token + 1)).is_none());
        let second = calls.begin(Some(Arc::new(Quiet)));
        assert!(calls.only().is_none(), "two are open");
        drop(first);
        assert!(calls.only().is_some());
        drop(second);
        let _silent = calls.begin(None);
        assert!(calls.only().is_none());
    }

    #[test]
    fn progress_is_one_short_line() {
        let line = |params: Json| progress_line(&params);
        assert_eq!(
            line(json!({"progress": 3, "total": 10, "message": "files\nread"})),
            "3/10 files read"
        );
        assert_eq!(line(json!({"progress": 0.5})), "0.5");
        assert_eq!(line(json!({"progress": "x", "message": 7})), "");
        let long = line(json!({"progress": 1, "message": "y".repeat(2_000)}));
        assert!(long.chars().count() <= SHOWN + 1, "{}", long.len());
    }
}
