//! Providers with a protocol of their own.

use super::fake::*;
use kb::definition::{ModelPrice, Settings, TierSettings};
use kb::evidence::CallRequest;
use kb::llm::*;
use kb::value::{Money, OutcomeKind, Tier};
use serde_json::{Value, json};

fn provider(name: &str, model: &str, endpoint: &str) -> GenaiProvider {
    let price = ModelPrice { input: 3.0, output: 15.0, cached_input: Some(0.3), cache_write: None };
    let tier = TierSettings {
        provider: Some(name.into()),
        model: model.into(),
        endpoint: Some(endpoint.into()),
        api_key_env: Some("MY_KEY".into()),
        price: Some(price),
        ..TierSettings::default()
    };
    let mut settings = Settings::default();
    settings.llm.tiers.insert(Tier::Medium, tier);
    GenaiProvider::new(Tiers::from(&settings, &env(&[("MY_KEY", KEY)])))
}

fn to(model: &str, mut request: ChatRequest) -> ChatRequest {
    request.model.name = model.into();
    request
}

fn events(events: &[Value]) -> String {
    let event = |e: &Value| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

fn claude(stop: &[Value]) -> String {
    let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 1});
    let mut all = vec![
        json!({"type": "message_start", "message": {"model": "claude-x", "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Reading"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1,
               "content_block": {"type": "tool_use", "id": "t1", "name": "fs_read", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1,
               "delta": {"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"}}),
        json!({"type": "content_block_stop", "index": 1}),
    ];
    all.extend_from_slice(stop);
    events(&all)
}

fn stopped() -> [Value; 2] {
    let usage = json!({"output_tokens": 50});
    [
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

#[tokio::test]
async fn anthropic_is_spoken_to_in_its_own_way() {
    let server = server(answer(claude(&stopped()))).await;
    let mut request = to("claude-x", question("read a"));
    request.tools = vec![tool("fs:read")];
    let call = |id: &str| CallRequest { id: id.into(), tool: "fs:read".into(), args: json!({}) };
    let result = |id: &str| Message::Tool {
        call_id: id.into(),
        tool: "fs:read".into(),
        content: "text".into(),
    };
    let calls = vec![call("a"), call("b")];
    request.messages.push(Message::Assistant { text: String::new(), calls, reasoning: None });
    request.messages.extend([result("a"), result("b")]);
    let provider = provider("anthropic", "claude-x", &server.uri());
    let reply = ask(&provider, request).await.unwrap();
    assert_eq!(reply.text, "Reading");
    let expected =
        CallRequest { id: "t1".into(), tool: "fs:read".into(), args: json!({"path": "a"}) };
    assert_eq!(reply.calls, [expected]);
    let usage = reply.usage;
    assert_eq!(
        (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens),
        (1000, 900, 50)
    );
    // 100 × $3 + 900 × $0.30 + 50 × $15, a million tokens each.
    assert_eq!(usage.cost_usd, Some(Money::from_usd(0.001_32)));

    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.url.path(), "/v1/messages");
    assert_eq!(request.headers["x-api-key"], KEY);
    let body: Value = request.body_json().unwrap();
    assert_eq!(body["system"][0]["text"], json!("You are terse."));
    let results = body["messages"][2]["content"].as_array().unwrap();
    let ids: Vec<_> = results.iter().map(|part| part["tool_use_id"].clone()).collect();
    assert_eq!(ids, [json!("a"), json!("b")]);
}

#[tokio::test]
async fn anthropic_cut_off_or_overloaded_is_transient() {
    let check = async |stop: &[Value], expected: &str| {
        let server = server(answer(claude(stop))).await;
        let provider = provider("anthropic", "claude-x", &server.uri());
        let error = ask(&provider, to("claude-x", question("hi"))).await.unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.outcome()),
            (expected, OutcomeKind::Transient)
        );
    };
    check(&[], "the response of `claude-x` was interrupted").await;
    let error = json!({"type": "overloaded_error", "message": "Overloaded"});
    check(
        &[json!({"type": "error", "error": error})],
        "`claude-x` answered with status 529: Overloaded",
    )
    .await;
}

#[tokio::test]
async fn gemini_answers_and_a_made_up_end_is_not_believed() {
    let part = |finish: Option<&str>| {
        let content = json!({"role": "model", "parts": [{"text": "Hello"}]});
        let usage = json!({"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7});
        let mut candidate = json!({"index": 0, "content": content});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        sse(&[json!({"candidates": [candidate], "usageMetadata": usage})])
    };
    let asked = async |body: String| {
        let server = server(answer(body)).await;
        let provider = provider("gemini", "gemini-x", &format!("{}/v1beta", server.uri()));
        ask(&provider, to("gemini-x", question("hi"))).await
    };
    let reply = asked(part(Some("STOP"))).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.prompt_tokens), ("Hello", 5));
    let error = asked(part(None)).await.unwrap_err();
    assert_eq!(error.to_string(), "the response of `gemini-x` was interrupted");
}

#[tokio::test]
async fn ollama_gets_the_schema() {
    let finished = json!({"message": {"role": "assistant", "content": "{}"}, "done": true});
    let server = server(answer(finished.to_string())).await;
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let request = ChatRequest { response_schema: Some(schema.clone()), ..question("hi") };
    let provider = provider("ollama", "llama3", &server.uri());
    ask(&provider, to("llama3", request)).await.unwrap();
    assert_eq!(asked(&server).await["format"], schema);
}

/// OpenAI's `codex` and `pro` models have its responses alone.
#[tokio::test]
async fn openai_responses_answer_and_a_made_up_end_is_not_believed() {
    let item = json!({"type": "message", "role": "assistant", "content": []});
    let mut all = vec![
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
               "item_id": "m", "delta": "Hello"}),
    ];
    let cut = events(&all);
    let usage = json!({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7});
    let response = json!({"id": "r", "status": "completed", "model": "gpt-9-codex", "output": [], "usage": usage});
    all.push(json!({"type": "response.completed", "response": response}));
    let asked = async |body: String| {
        let server = server(answer(body)).await;
        let provider = provider("openai", "gpt-9-codex", &server.uri());
        let reply = ask(&provider, to("gpt-9-codex", question("hi"))).await;
        let path = server.received_requests().await.unwrap()[0].url.path().to_owned();
        assert_eq!(path, "/v1/responses");
        reply
    };
    let reply = asked(events(&all)).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.prompt_tokens), ("Hello", 5));
    let error = asked(cut).await.unwrap_err();
    assert_eq!(error.to_string(), "the response of `gpt-9-codex` was interrupted");
}
