//! Messages of JSON-RPC, one on a line.

use kb_base::value::Json;
use serde_json::json;

/// The line of a request.
pub(crate) fn request(id: u64, method: &str, params: &Json) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The line of a notification.
pub(crate) fn notification(method: &str, params: &Json) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// The line that answers a request of the server.
pub(crate) fn answer(id: &Json, method: &str) -> String {
    match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string(),
        // No person is asked: what a server wants to know belongs into the arguments of its tool.
        "elicitation/create" => {
            json!({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}}).to_string()
        }
        _ => {
            let error = json!({"code": -32601, "message": "this client does not offer the method"});
            json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
        }
    }
}

/// An answer of the server to a request.
pub(crate) type Answer = Result<Json, RemoteError>;

/// The error of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteError {
    pub(crate) code: i64,
    pub(crate) message: String,
    /// The versions of the protocol that the server speaks, if the error names them.
    pub(crate) supported: Vec<String>,
}

/// A line of the server.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    Answer(u64, Answer),
    Request(Json, String),
    Notification(String),
    /// No message, such as a line of a log.
    Noise,
}

impl Incoming {
    pub(crate) fn of(line: &str) -> Incoming {
        let Ok(Json::Object(mut message)) = serde_json::from_str::<Json>(line) else {
            return Incoming::Noise;
        };
        let method = message.get("method").and_then(Json::as_str).map(str::to_owned);
        match (message.remove("id"), method) {
            (Some(id), Some(method)) => Incoming::Request(id, method),
            (None, Some(method)) => Incoming::Notification(method),
            (Some(id), None) => match (id.as_u64(), message.remove("result"), message.get("error"))
            {
                (Some(id), Some(result), None) => Incoming::Answer(id, Ok(result)),
                (Some(id), None, Some(error)) => Incoming::Answer(id, Err(RemoteError::of(error))),
                _ => Incoming::Noise,
            },
            (None, None) => Incoming::Noise,
        }
    }
}

impl RemoteError {
    fn of(error: &Json) -> RemoteError {
        let supported = error.pointer("/data/supported").and_then(Json::as_array);
        let supported = supported.into_iter().flatten().filter_map(Json::as_str);
        RemoteError {
            code: error.get("code").and_then(Json::as_i64).unwrap_or_default(),
            message: error.get("message").and_then(Json::as_str).unwrap_or_default().to_owned(),
            supported: supported.map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let of = Incoming::of;
        assert_eq!(
            of(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#),
            Incoming::Answer(7, Ok(json!({})))
        );
        let error = of(r#"{"id":7,"error":{"code":-1,"message":"no","data":{"supported":["a"]}}}"#);
        let expected =
            RemoteError { code: -1, message: "no".to_owned(), supported: vec!["a".to_owned()] };
        assert_eq!(error, Incoming::Answer(7, Err(expected)));
        assert_eq!(
            of(r#"{"id":"x","method":"ping"}"#),
            Incoming::Request(json!("x"), "ping".to_owned())
        );
        assert_eq!(of(r#"{"method":"m"}"#), Incoming::Notification("m".to_owned()));
        let both = r#"{"id":7,"result":{},"error":{}}"#;
        for line in ["listening on stdio", "", "[]", "7", "{}", r#"{"id":"7","result":{}}"#, both] {
            assert_eq!(of(line), Incoming::Noise, "{line}");
        }
    }
}
