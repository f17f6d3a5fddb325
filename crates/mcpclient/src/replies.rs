//! What a server is answered and told, whichever way it is spoken to.

use kb_base::value::Json;
use kb_jsonrpc::{NO_METHOD, refusal, result};
use serde_json::json;

/// The notification for a request whose caller does not wait any more.
pub(crate) fn cancelled(id: u64) -> (&'static str, Json) {
    let params = json!({"requestId": id, "reason": "the caller does not wait any more"});
    ("notifications/cancelled", params)
}

/// The line that answers a request of a server.
pub(crate) fn answer_to(id: &Json, method: &str) -> String {
    match method {
        "ping" => result(id, &json!({})),
        // No person is asked: what a server wants to know belongs into the arguments of its tool.
        "elicitation/create" => result(id, &json!({"action": "decline"})),
        _ => refusal(id, NO_METHOD, "this client does not offer the method"),
    }
}

/// Whether a notification says that the tools have changed.
pub(crate) fn is_list_change(method: &str) -> bool {
    method == "notifications/tools/list_changed"
}
