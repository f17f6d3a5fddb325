//! Prompt caching, reasoning and usage in the wire form of each protocol, streamed and not.

use super::fake::*;
use kb::definition::{ModelPrice, Reasoning, Settings, TierSettings};
use kb::evidence::CallRequest;
use kb::llm::*;
use kb::value::{Money, Tier};
use serde_json::{Value, json};
use std::sync::Arc;
use wiremock::{MockServer, ResponseTemplate};

fn provider(name: &str, model: &str, endpoint: &str, stream: bool) -> GenaiProvider {
    let price =
        ModelPrice { input: 4.0, output: 20.0, cached_input: Some(0.4), cache_write: Some(5.0) };
    let tier = TierSettings {
        provider: Some(name.into()),
        model: model.into(),
        endpoint: Some(endpoint.into()),
        api_key_env: Some("MY_KEY".into()),
        price: Some(price),
        stream: Some(stream),
        ..TierSettings::default()
    };
    let mut settings = Settings::default();
    settings.llm.tiers.insert(Tier::Medium, tier);
    GenaiProvider::new(Tiers::from(&settings, &env(&[("MY_KEY", KEY)])))
}

/// A protocol: how its requests are sent, and how its server answers with reasoning and one call.
struct Wire {
    provider: &'static str,
    model: &'static str,
    path: &'static str,
    streamed: fn() -> String,
    whole: fn() -> Value,
}

fn events(events: &[Value]) -> String {
    let event = |e: &Value| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

const ANTHROPIC: Wire = Wire {
    provider: "anthropic",
    model: "claude-sonnet-5-5",
    path: "",
    streamed: || {
        let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 800,
                           "cache_creation_input_tokens": 100, "output_tokens": 1});
        events(&[
            json!({"type": "message_start", "message": {"model": "claude-x", "usage": usage}}),
            json!({"type": "content_block_start", "index": 0,
                   "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
            json!({"type": "content_block_delta", "index": 0,
                   "delta": {"type": "thinking_delta", "thinking": "I look."}}),
            json!({"type": "content_block_delta", "index": 0,
                   "delta": {"type": "signature_delta", "signature": "c2ln"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1,
                   "content_block": {"type": "redacted_thinking", "data": "hidden"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2,
                   "content_block": {"type": "tool_use", "id": "t1", "name": "fs_read", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2,
                   "delta": {"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"}}),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
                   "usage": {"output_tokens": 50}}),
            json!({"type": "message_stop"}),
        ])
    },
    whole: || {
        json!({"type": "message", "model": "claude-x", "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "I look.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "hidden"},
            {"type": "tool_use", "id": "t1", "name": "fs_read", "input": {"path": "a"}},
        ], "usage": {"input_tokens": 100, "cache_read_input_tokens": 800,
                     "cache_creation_input_tokens": 100, "output_tokens": 50}})
    },
};

const RESPONSES: Wire = Wire {
    provider: "openai",
    model: "gpt-6.1-sol",
    path: "",
    streamed: || {
        let ResponsesParts { reasoning, call, usage } = responses_parts();
        let response = json!({"id": "r", "status": "completed", "model": "gpt-6.1-sol",
                              "output": [], "usage": usage});
        events(&[
            json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
            json!({"type": "response.output_item.added", "output_index": 1, "item": call}),
            json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
            json!({"type": "response.completed", "response": response}),
        ])
    },
    whole: || {
        let ResponsesParts { reasoning, call, usage } = responses_parts();
        json!({"id": "r", "status": "completed", "model": "gpt-6.1-sol",
               "output": [reasoning, call], "usage": usage})
    },
};

struct ResponsesParts {
    reasoning: Value,
    call: Value,
    usage: Value,
}

fn responses_parts() -> ResponsesParts {
    ResponsesParts {
        reasoning: json!({"type": "reasoning", "id": "rs_1", "summary": [],
                          "encrypted_content": "c2ln"}),
        call: json!({"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "fs_read",
                     "arguments": "{\"path\":\"a\"}"}),
        usage: json!({"input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050,
                      "input_tokens_details": {"cached_tokens": 800, "cache_write_tokens": 100},
                      "output_tokens_details": {"reasoning_tokens": 30}}),
    }
}

const GEMINI: Wire = Wire {
    provider: "gemini",
    model: "gemini-3.8-flash",
    path: "/v1beta",
    streamed: || sse(&[gemini_response()]),
    whole: gemini_response,
};

/// Gemini counts reasoning beside the response.
fn gemini_response() -> Value {
    let call = json!({"functionCall": {"name": "fs_read", "args": {"path": "a"}},
                      "thoughtSignature": "c2ln"});
    let usage = json!({"promptTokenCount": 1000, "cachedContentTokenCount": 800,
                       "candidatesTokenCount": 20, "thoughtsTokenCount": 30,
                       "totalTokenCount": 1050});
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [call]},
                           "finishReason": "STOP"}], "usageMetadata": usage})
}

const DEEPSEEK: Wire = Wire {
    provider: "deepseek",
    model: "deepseek-reasoner",
    path: "",
    streamed: || {
        let call = json!({"index": 0, "id": "t1",
                          "function": {"name": "fs_read", "arguments": "{\"path\":\"a\"}"}});
        sse(&[
            delta(json!({"reasoning_content": "I "}), None),
            delta(json!({"reasoning_content": "look."}), None),
            delta(json!({"tool_calls": [call]}), None),
            delta(json!({}), Some("tool_calls")),
            json!({"choices": [], "usage": chat_usage()}),
            json!("[DONE]"),
        ])
    },
    whole: || {
        let call = json!({"id": "t1", "type": "function",
                          "function": {"name": "fs_read", "arguments": "{\"path\":\"a\"}"}});
        let message = json!({"role": "assistant", "content": "", "tool_calls": [call],
                             "reasoning_content": "I look."});
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        json!({"id": "c", "model": "served", "choices": [choice], "usage": chat_usage()})
    },
};

/// An OpenAI-compatible server that is not known.
const COMPATIBLE: Wire = Wire { provider: "mine", model: "qwen3", ..DEEPSEEK };

const OLLAMA: Wire = Wire {
    provider: "ollama",
    model: "qwen3",
    path: "/v1",
    streamed: || {
        let part = |message: Value| json!({"model": "qwen3", "message": message, "done": false});
        let call = json!({"function": {"name": "fs_read", "arguments": {"path": "a"}}});
        let lines = [
            part(json!({"role": "assistant", "content": "", "thinking": "I "})),
            part(json!({"role": "assistant", "content": "", "thinking": "look."})),
            part(json!({"role": "assistant", "content": "", "tool_calls": [call]})),
            ollama_end(json!({"role": "assistant", "content": ""})),
        ];
        lines.iter().map(|line| format!("{line}\n")).collect()
    },
    whole: || {
        let call = json!({"function": {"name": "fs_read", "arguments": {"path": "a"}}});
        ollama_end(json!({"role": "assistant", "content": "", "thinking": "I look.",
                          "tool_calls": [call]}))
    },
};

fn ollama_end(message: Value) -> Value {
    json!({"model": "qwen3", "created_at": "2026-11-22T10:00:00Z", "message": message,
           "done": true, "done_reason": "stop", "total_duration": 5, "load_duration": 1,
           "prompt_eval_count": 1000, "prompt_eval_cached_count": 800, "prompt_eval_duration": 2,
           "eval_count": 50, "eval_duration": 3})
}

fn chat_usage() -> Value {
    json!({"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
           "prompt_tokens_details": {"cached_tokens": 800},
           "completion_tokens_details": {"reasoning_tokens": 30}})
}

impl Wire {
    async fn server(&self, stream: bool) -> (MockServer, GenaiProvider) {
        let answer = if stream {
            answer((self.streamed)())
        } else {
            ResponseTemplate::new(200).set_body_json((self.whole)())
        };
        let server = server(answer).await;
        let endpoint = format!("{}{}", server.uri(), self.path);
        let provider = provider(self.provider, self.model, &endpoint, stream);
        (server, provider)
    }

    fn request(&self) -> ChatRequest {
        let mut request = question("read a");
        request.model.name = self.model.into();
        request.tools = vec![tool("fs:read")];
        request.reasoning = Some(Reasoning::High);
        request.temperature = Some(0.5);
        request
    }

    /// The answer to a first request, and the body of the second, which contains the first answer.
    async fn two_turns(&self, stream: bool) -> (ChatReply, Value, Value) {
        let (server, provider) = self.server(stream).await;
        let mut request = self.request();
        let reply = ask(&provider, request.clone()).await.unwrap();
        request.messages.push(Message::Assistant {
            text: reply.text.clone(),
            calls: reply.calls.clone(),
            reasoning: reply.reasoning.clone().map(Arc::new),
        });
        request.messages.push(Message::Tool {
            call_id: reply.calls[0].id.clone(),
            tool: "fs:read".into(),
            content: "text".into(),
        });
        ask(&provider, request).await.unwrap();
        let requests = server.received_requests().await.unwrap();
        let body = |at: usize| requests[at].body_json::<Value>().unwrap();
        (reply, body(0), body(1))
    }
}

/// The call and the usage are the same for every protocol, streamed and not.
async fn check(wire: &Wire, cache_write: u64, reasoning: u64, cost: f64) -> (Value, Value) {
    let mut bodies = Vec::new();
    for stream in [true, false] {
        let (reply, mut first, mut second) = wire.two_turns(stream).await;
        let what = format!("{} streamed: {stream}", wire.provider);
        assert_eq!(reply.calls.len(), 1, "{what}");
        assert_eq!(reply.calls[0].tool, "fs:read", "{what}");
        assert_eq!(reply.calls[0].args, json!({"path": "a"}), "{what}");
        let usage = reply.usage;
        let tokens = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens);
        assert_eq!(tokens, (1000, 50, 800), "{what}");
        assert_eq!(
            (usage.cache_write_tokens, usage.reasoning_tokens),
            (cache_write, reasoning),
            "{what}"
        );
        assert_eq!(usage.cost_usd, Some(Money::from_usd(cost)), "{what}");
        for body in [&mut first, &mut second] {
            let map = body.as_object_mut().unwrap();
            map.shift_remove("stream");
            map.shift_remove("stream_options");
        }
        bodies.push((first, second));
    }
    assert_eq!(bodies[0], bodies[1], "the same requests, streamed and not");
    bodies.remove(0)
}

#[tokio::test]
async fn anthropic_caches_marked_prefixes_and_gets_its_thinking_back() {
    // 100 × $4 + 800 × $0.40 + 100 × $5 + 50 × $20, a million tokens each.
    let (first, second) = check(&ANTHROPIC, 100, 0, 0.002_22).await;
    let marked = json!({"type": "ephemeral"});
    assert_eq!(first["system"][0]["cache_control"], marked);
    assert_eq!(first["messages"][0]["content"][0]["cache_control"], marked);
    // The prefix that was cached stays the same.
    assert_eq!(first["system"], second["system"]);
    assert_eq!(first["tools"], second["tools"]);
    assert_eq!(second["messages"][0]["content"], json!("read a"));
    assert_eq!(second["messages"][2]["content"][0]["cache_control"], marked);
    let parts = &second["messages"][1]["content"];
    assert_eq!(parts[0], json!({"type": "thinking", "thinking": "I look.", "signature": "c2ln"}));
    assert_eq!(parts[1], json!({"type": "redacted_thinking", "data": "hidden"}));
    assert_eq!(parts[2]["type"], "tool_use");
    assert_eq!(first["output_config"]["effort"], "high");
    assert_eq!(first["thinking"]["type"], "adaptive");
    // A model that thinks refuses a temperature.
    assert_eq!(first.get("temperature"), None);
}

#[tokio::test]
async fn openai_responses_get_encrypted_reasoning_back_and_a_cache_key() {
    let (first, second) = check(&RESPONSES, 100, 30, 0.002_22).await;
    assert_eq!(first["reasoning"], json!({"effort": "high"}));
    assert_eq!(first["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(first["store"], json!(false));
    assert_eq!(first.get("temperature"), None);
    let key = first["prompt_cache_key"].as_str().unwrap();
    assert!(key.starts_with("kb-") && second["prompt_cache_key"] == key, "{key}");
    let back: Vec<&Value> = second["input"].as_array().unwrap().iter().collect();
    assert_eq!(back[1]["type"], "reasoning");
    assert_eq!(back[1]["encrypted_content"], "c2ln");
    assert_eq!((&back[2]["type"], &back[2]["call_id"]), (&json!("function_call"), &json!("t1")));
    assert_eq!(back[3]["type"], "function_call_output");
}

#[tokio::test]
async fn gemini_gets_the_signature_of_a_call_back() {
    let (first, second) = check(&GEMINI, 0, 30, 0.002_12).await;
    assert_eq!(first["generationConfig"]["thinkingConfig"]["thinkingLevel"], "HIGH");
    assert_eq!(first["generationConfig"]["temperature"], 0.5);
    let part = &second["contents"][1]["parts"][0];
    assert_eq!(part["functionCall"]["name"], "fs_read");
    assert_eq!(part["thoughtSignature"], "c2ln");
}

#[tokio::test]
async fn deepseek_gets_the_text_of_its_reasoning_back_and_others_do_not() {
    let (first, second) = check(&DEEPSEEK, 0, 30, 0.002_12).await;
    assert_eq!(first["reasoning_effort"], "high");
    assert_eq!(first.get("prompt_cache_key"), None);
    assert_eq!(second["messages"][2]["reasoning_content"], "I look.");
    let (first, second) = check(&COMPATIBLE, 0, 30, 0.002_12).await;
    assert_eq!(first["reasoning_effort"], "high");
    assert_eq!(second["messages"][2].get("reasoning_content"), None);
}

#[tokio::test]
async fn ollama_gets_the_window_the_tools_and_its_thinking_in_its_own_protocol() {
    let (first, second) = check(&OLLAMA, 0, 0, 0.002_12).await;
    assert_eq!(first["options"], json!({"num_ctx": 16_384, "temperature": 0.5}));
    assert_eq!(first["think"], true);
    let function = &first["tools"][0]["function"];
    assert_eq!(
        (&function["name"], &function["parameters"]["type"]),
        (&json!("fs_read"), &json!("object"))
    );
    assert_eq!(first["messages"][0], json!({"role": "system", "content": "You are terse."}));
    let call = json!({"function": {"name": "fs_read", "arguments": {"path": "a"}}});
    assert_eq!(
        second["messages"][2],
        json!({"role": "assistant", "content": "", "tool_calls": [call], "thinking": "I look."})
    );
    let result = json!({"role": "tool", "tool_name": "fs_read", "content": "text"});
    assert_eq!(second["messages"][3], result);
    let (server, provider) = OLLAMA.server(true).await;
    ask(&provider, OLLAMA.request()).await.unwrap();
    assert_eq!(server.received_requests().await.unwrap()[0].url.path(), "/api/chat");
}

#[tokio::test]
async fn a_model_of_ollama_without_tools_gets_the_request_without_them() {
    let server = MockServer::start().await;
    let refusal = json!({"error": "registry.ollama.ai/library/gemma:2b does not support tools"});
    let refusal = ResponseTemplate::new(400).set_body_json(refusal);
    let end = ollama_end(json!({"role": "assistant", "content": "Action: fs:read"}));
    let with_tools = wiremock::matchers::body_string_contains("\"tools\"");
    let mock =
        |template| wiremock::Mock::given(wiremock::matchers::method("POST")).respond_with(template);
    mock(ResponseTemplate::new(200).set_body_json(end)).with_priority(9).mount(&server).await;
    wiremock::Mock::given(with_tools).respond_with(refusal).mount(&server).await;
    let provider = provider("ollama", "qwen3", &server.uri(), true);
    let reply = ask(&provider, OLLAMA.request()).await.unwrap();
    assert_eq!(reply.text, "Action: fs:read");
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_broken_response_of_ollama_is_an_error() {
    let cut = "{\"message\": {\"content\": \"half\"}, \"done\": false}\n";
    let error_line = format!("{cut}{{\"error\": \"model runner has stopped\"}}\n");
    let garbage = format!("{cut}not json\n");
    let long = "x".repeat(5 << 20);
    let long = json!({"message": {"content": long}, "done": true}).to_string();
    for (body, expected) in [
        (cut, "the response of `qwen3` was interrupted"),
        (&error_line, "model runner has stopped"),
        (&garbage, "`qwen3` sent an invalid response"),
        ("<html>", "did not send an event stream"),
        ("", "did not send an event stream"),
        (&long, "exceeds 4 MiB"),
    ] {
        let server = server(answer(body.to_owned())).await;
        let provider = provider("ollama", "qwen3", &server.uri(), true);
        let error = ask(&provider, OLLAMA.request()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let missing =
        ResponseTemplate::new(404).set_body_json(json!({"error": "model 'qwen3' not found"}));
    let server = server(missing).await;
    let provider = provider("ollama", "qwen3", &server.uri(), true);
    let error = ask(&provider, OLLAMA.request()).await.unwrap_err().to_string();
    assert!(error.contains("model 'qwen3' not found; check the model name"), "{error}");
}

#[tokio::test]
async fn reasoning_of_another_model_is_not_sent() {
    let (server, provider) = ANTHROPIC.server(true).await;
    let mut request = ANTHROPIC.request();
    let kept = json!({"protocol": "anthropic", "model": "claude-haiku-5-5",
                      "parts": [{"signature": "x"}, {"text": "y"}]});
    let call = CallRequest { id: "a".into(), tool: "fs:read".into(), args: json!({}) };
    request.messages.push(Message::Assistant {
        text: String::new(),
        calls: vec![call],
        reasoning: Some(Arc::new(kept)),
    });
    let content = "text".into();
    request.messages.push(Message::Tool { call_id: "a".into(), tool: "fs:read".into(), content });
    ask(&provider, request).await.unwrap();
    let parts = asked(&server).await["messages"][1]["content"].clone();
    assert_eq!(parts.as_array().unwrap().len(), 1, "{parts}");
}

#[tokio::test]
async fn endless_reasoning_is_an_error() {
    let chunk = delta(json!({"reasoning_content": "x".repeat(1 << 20)}), None);
    let error = error(answer(sse(&vec![chunk; 6]))).await;
    assert_eq!(error.to_string(), "the response of `test-model` exceeds 4 MiB");
}

/// A model name is sent as it is written, and its end is no effort.
#[tokio::test]
async fn the_end_of_a_model_name_is_no_effort() {
    let wires = [&ANTHROPIC, &RESPONSES, &GEMINI, &DEEPSEEK, &COMPATIBLE, &OLLAMA];
    for end in ["low", "medium", "high", "minimal", "none", "zero", "max", "xhigh"] {
        for wire in wires {
            let model: &'static str = match wire.provider {
                "openai" => format!("gpt-6.1-codex-{end}").leak(),
                "gemini" => format!("gemini-9-{end}").leak(),
                "anthropic" => format!("claude-sonnet-5-5-{end}").leak(),
                _ => format!("mistral-{end}").leak(),
            };
            let named = Wire { model, ..*wire };
            let (server, provider) = named.server(false).await;
            let request = ChatRequest { reasoning: None, ..named.request() };
            ask(&provider, request).await.unwrap();
            let sent = &server.received_requests().await.unwrap()[0];
            let body = sent.body_json::<Value>().unwrap();
            let what = format!("{} {model}: {body}", named.provider);
            match named.provider {
                "gemini" => assert!(sent.url.path().contains(&format!("{model}:")), "{}", sent.url),
                _ => assert_eq!(body["model"], model, "{what}"),
            }
            for key in ["reasoning_effort", "output_config", "think"] {
                assert_eq!(body.get(key), None, "{what}");
            }
            assert_eq!(body["reasoning"].get("effort"), None, "{what}");
            let thinking = &body["generationConfig"]["thinkingConfig"];
            assert_eq!(
                (thinking.get("thinkingLevel"), thinking.get("thinkingBudget")),
                (None, None)
            );
            assert_eq!(body.get("thinking"), None, "{what}");
        }
    }
}
