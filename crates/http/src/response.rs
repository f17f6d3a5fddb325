//! Responses: reading the body up to a limit and decoding it.

use crate::error::{HttpError, request_failed, shown_url as shown, unusable};
use kb_base::value::{Digest, Json, JsonMap};
use reqwest::Response;
use serde_json::json;

/// The largest body that is read, in bytes.
const MAX_BODY: usize = 8 << 20;

/// The response of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpResponse {
    /// The status code; any status is a response.
    pub status: u16,
    /// Names in lower case; repeated headers are joined by a comma.
    pub headers: JsonMap,
    /// A JSON value if the content type is JSON, else a string; null if the body is not UTF-8.
    pub body: Json,
    /// The body in Base64, if it is not UTF-8.
    pub base64: Option<String>,
    /// The final URL, after redirects, without query and credentials.
    pub url: String,
    /// The size of the body in bytes.
    pub bytes: u64,
    /// The digest of the body.
    pub sha256: Digest,
}

impl HttpResponse {
    /// `{status, headers, body}`, the output of `http` steps and `http:request`.
    pub fn output(&self) -> Json {
        let mut output =
            json!({ "status": self.status, "headers": self.headers, "body": self.body });
        if let Some(base64) = &self.base64 {
            output["bodyBase64"] = json!(base64);
        }
        output
    }
}

/// Reads a response, up to the limit.
pub(crate) async fn received(mut response: Response) -> Result<HttpResponse, HttpError> {
    let url = response.url().clone();
    let too_large = || {
        let message = format!(
            "the response of `{}` is larger than {} MiB",
            shown(url.as_str()),
            MAX_BODY >> 20
        );
        HttpError::Invalid(unusable(message))
    };
    if response.content_length().is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| request_failed(&url, &error))? {
        if bytes.len() + chunk.len() > MAX_BODY {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    let mut headers = JsonMap::new();
    for name in response.headers().keys() {
        let all = response.headers().get_all(name).iter();
        let text: Vec<_> = all.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        headers.insert(name.as_str().to_owned(), json!(text.join(", ")));
    }
    let kind = headers.get("content-type").and_then(Json::as_str).unwrap_or_default();
    let (body, base64) = body(kind, &bytes);
    Ok(HttpResponse {
        status: response.status().as_u16(),
        headers,
        body,
        base64,
        url: shown(url.as_str()),
        bytes: bytes.len() as u64,
        sha256: Digest::of(&bytes),
    })
}

/// Decodes a body by its content type; invalid JSON stays a string.
fn body(content_type: &str, bytes: &[u8]) -> (Json, Option<String>) {
    use base64::Engine;
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || kind == "text/json" || kind.ends_with("+json");
    if is_json && let Ok(value) = serde_json::from_slice(bytes) {
        return (value, None);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (json!(text), None),
        Err(_) => (Json::Null, Some(base64::engine::general_purpose::STANDARD.encode(bytes))),
    }
}
