//! Fake providers: canned answers through `wiremock`, and bare sockets where the wire matters.

use kb::definition::Settings;
use kb::llm::*;
use kb::value::{AttemptPlace, Json, PlacedStep, Tier};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// The key that must never show.
pub(super) const KEY: &str = "sk-very-secret-key";

pub(super) fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// A provider whose tiers are all one model at that address.
pub(super) fn provider(endpoint: &str) -> GenaiProvider {
    let env = env(&[
        ("KB_LLM_ENDPOINT", endpoint),
        ("KB_LLM_MODEL", "test-model"),
        ("KB_LLM_API_KEY", KEY),
    ]);
    GenaiProvider::new(Tiers::from(&Settings::default(), &env))
}

pub(super) fn question(text: &str) -> ChatRequest {
    ChatRequest {
        model: ModelRef { name: "test-model".into(), tier: Some(Tier::Medium) },
        messages: vec![Message::System("You are terse.".into()), Message::User(text.into())],
        tools: Vec::new(),
        response_schema: None,
        temperature: None,
        max_tokens: None,
        reasoning: None,
        timeout: Duration::from_secs(20),
        origin: CallOrigin {
            place: AttemptPlace {
                own: PlacedStep { step: "s".into(), item: None, iteration: 1, attempt: 1 },
                ..AttemptPlace::default()
            },
            turn: 1,
            ..CallOrigin::default()
        },
    }
}

pub(super) fn tool(name: &str) -> ToolDescription {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolDescription { name: name.into(), description: "does it".into(), schema }
}

pub(super) async fn ask(
    provider: &GenaiProvider,
    request: ChatRequest,
) -> Result<ChatReply, ModelError> {
    provider.chat(request, &|_| {}, &CancellationToken::new()).await
}

/// A stream of events as OpenAI sends it; `[DONE]` is the caller's business.
pub(super) fn sse(events: &[Json]) -> String {
    let event = |event: &Json| match event {
        Json::String(text) => format!("data: {text}\n\n"),
        json => format!("data: {json}\n\n"),
    };
    events.iter().map(event).collect()
}

pub(super) fn delta(delta: Json, finish: Option<&str>) -> Json {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    json!({"id": "c", "model": "served-model", "choices": [choice]})
}

pub(super) fn answer(body: String) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

/// A server that answers every question the same.
pub(super) async fn server(template: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(template).mount(&server).await;
    server
}

/// The body of the only question that came.
pub(super) async fn asked(server: &MockServer) -> Json {
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests.len(), 1);
    requests[0].body_json().unwrap()
}

/// What an answer with that status and body is.
pub(super) async fn error(template: ResponseTemplate) -> ModelError {
    let server = server(template).await;
    ask(&provider(&server.uri()), question("hi")).await.unwrap_err()
}

/// A socket that takes one question and hands its connection over, after the head of a stream.
pub(super) async fn wire() -> (String, impl Future<Output = TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/v1", listener.local_addr().unwrap());
    let connection = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 64 << 10];
        let mut read = 0;
        while !String::from_utf8_lossy(&buffer[..read]).contains("\r\n\r\n") {
            match stream.read(&mut buffer[read..]).await.unwrap() {
                0 => break,
                n => read += n,
            }
        }
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(head.as_bytes()).await;
        stream
    };
    (endpoint, connection)
}
