//! What a server is answered and told, whichever way it is spoken to.

use crate::call_talk::{CallTalk, ElicitationReply};
use crate::elicitation::{Elicitation, Unasked, form_of};
use kb_base::value::Json;
use kb_jsonrpc::{NO_METHOD, refusal, result};
use kb_language::definition::Schema;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The code of an answer to a request with invalid parameters.
const INVALID: i64 = -32602;

/// What a question of a server says about it.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    /// The name of the server.
    pub(crate) server: String,
    /// How long a person has for an answer.
    pub(crate) within: Option<Duration>,
}

/// The notification for a request whose caller does not wait any more.
pub(crate) fn cancelled(id: u64) -> (&'static str, Json) {
    let params = json!({"requestId": id, "reason": "the caller does not wait any more"});
    ("notifications/cancelled", params)
}

/// The line that answers a request of a server, which belongs to a call that `talk` hears of.
pub(crate) fn answer_to(
    (id, method, params): (&Json, &str, &Json),
    about: &Asking,
    talk: Option<Arc<dyn CallTalk>>,
) -> String {
    match method {
        "ping" => result(id, &json!({})),
        "elicitation/create" => match reply_to(params, about, talk) {
            Ok(reply) => result(id, &reply.result()),
            Err(why) => refusal(id, INVALID, &why),
        },
        _ => refusal(id, NO_METHOD, "this client does not offer the method"),
    }
}

/// The reply to a question. The error says what is wrong with its parameters.
pub(crate) fn reply_to(
    params: &Json,
    about: &Asking,
    talk: Option<Arc<dyn CallTalk>>,
) -> Result<ElicitationReply, String> {
    let (message, schema) = match form_of(params) {
        Ok(form) => form,
        Err(Unasked::Invalid(why)) => return Err(why),
        Err(Unasked::Secret(_)) => return Ok(ElicitationReply::Decline),
    };
    // Outside of a call no person can be asked, and no question belongs to one of several calls.
    let Some(talk) = talk else { return Ok(ElicitationReply::Decline) };
    let (server, within) = (about.server.clone(), about.within);
    let asked = Elicitation { server, message, schema: schema.clone(), within };
    Ok(match talk.answer(asked) {
        ElicitationReply::Accept(content) if !fits(&content, schema) => ElicitationReply::Cancel,
        reply => reply,
    })
}

fn fits(content: &Json, schema: Json) -> bool {
    Schema::new(schema).is_ok_and(|schema| schema.violations(content).is_empty())
}

/// Whether a notification says that the tools have changed.
pub(crate) fn is_list_change(method: &str) -> bool {
    method == "notifications/tools/list_changed"
}

/// Whether a notification says how far a call is.
pub(crate) fn is_progress(method: &str) -> bool {
    method == "notifications/progress"
}
