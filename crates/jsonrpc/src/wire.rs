//! Messages of JSON-RPC, one on a line.

use kb_base::value::Json;
use serde_json::json;

/// The code of the answer to a request that is not offered.
pub const NO_METHOD: i64 = -32601;

/// The line of a request.
pub(crate) fn request(id: u64, method: &str, params: &Json) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The line of a notification.
pub fn notification(method: &str, params: &Json) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// The line that answers a request of the program with a result.
pub fn result(id: &Json, result: &Json) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// The line that refuses a request of the program.
pub fn refusal(id: &Json, code: i64, message: &str) -> String {
    let error = json!({"code": code, "message": message});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// An answer of the program to a request.
pub type Answer = Result<Json, RemoteError>;

/// The error of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteError {
    /// The code, 0 if there is none.
    pub code: i64,
    /// The text, not masked.
    pub message: String,
    /// What the program says about it; null if nothing.
    pub data: Json,
}

/// A line of the program.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// The answer to the request with this id.
    Answer(u64, Answer),
    /// A request: its id, its method and its parameters, null if there are none.
    Request(Json, String, Json),
    /// A notification: its method and its parameters, null if there are none.
    Notification(String, Json),
    /// No message, such as a line of a log.
    Noise,
}

impl Incoming {
    /// Reads a line.
    pub fn of(line: &str) -> Incoming {
        let Ok(Json::Object(mut message)) = serde_json::from_str::<Json>(line) else {
            return Incoming::Noise;
        };
        let method = message.get("method").and_then(Json::as_str).map(str::to_owned);
        let params = message.remove("params").unwrap_or_default();
        match (message.remove("id"), method) {
            (Some(id), Some(method)) => Incoming::Request(id, method, params),
            (None, Some(method)) => Incoming::Notification(method, params),
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
        RemoteError {
            code: error.get("code").and_then(Json::as_i64).unwrap_or_default(),
            message: error.get("message").and_then(Json::as_str).unwrap_or_default().to_owned(),
            data: error.get("data").cloned().unwrap_or_default(),
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
        let data = json!({"supported": ["a"]});
        let expected = RemoteError { code: -1, message: "no".to_owned(), data };
        assert_eq!(error, Incoming::Answer(7, Err(expected)));
        assert_eq!(
            of(r#"{"id":"x","method":"ping","params":{"a":1}}"#),
            Incoming::Request(json!("x"), "ping".to_owned(), json!({"a": 1}))
        );
        assert_eq!(of(r#"{"method":"m"}"#), Incoming::Notification("m".to_owned(), Json::Null));
        let both = r#"{"id":7,"result":{},"error":{}}"#;
        for line in ["listening on stdio", "", "[]", "7", "{}", r#"{"id":"7","result":{}}"#, both] {
            assert_eq!(of(line), Incoming::Noise, "{line}");
        }
    }
}
