//! The record of a model call: the prompt and digests of the request, and the response.

use crate::llm::{ChatReply, ChatRequest, Message};
use kb_base::value::{Digest, Json, Usage};
use kb_core::evidence::{CallRequest, Payload, Prompt, PromptPart, Record, RequestDigests};
use serde_json::json;

/// The record of a model call: the prompt and the response, with the tool calls in `calls`.
pub(super) fn model_call(
    request: &ChatRequest,
    reply: ChatReply,
    calls: Vec<CallRequest>,
) -> Record {
    let digests = digests(request);
    Record::ModelCall {
        turn: request.origin.turn,
        model: reply.model,
        tier: request.model.tier,
        request: digest(request, &digests),
        digests: Some(Box::new(digests)),
        prompt: Some(Box::new(prompt(request))),
        usage: recorded_usage(reply.usage),
        text: Payload::inline(Json::String(reply.text)),
        reasoning: reply.reasoning.map(Payload::inline),
        calls,
        cut_short: reply.cut_short,
    }
}

/// The usage of a model call as it is recorded. Tool calls are counted when their start is recorded.
pub(super) fn recorded_usage(usage: Usage) -> Usage {
    Usage { model_calls: usage.model_calls.max(1), tool_calls: 0, ..usage }
}

/// The messages, tools and response schema of a request.
fn prompt(request: &ChatRequest) -> Prompt {
    let tools: Vec<Json> = request
        .tools
        .iter()
        .map(|t| json!({"name": t.name, "description": t.description, "schema": t.schema}))
        .collect();
    Prompt {
        messages: request.messages.iter().map(|m| PromptPart::of(content(m))).collect(),
        tools: (!tools.is_empty()).then(|| PromptPart::of(Json::Array(tools))),
        schema: request.response_schema.clone().map(PromptPart::of),
    }
}

fn content(message: &Message) -> Json {
    match message {
        Message::System(text) => json!({"role": "system", "text": text}),
        Message::User(text) => json!({"role": "user", "text": text}),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "text": text})
        }
        Message::Assistant { text, calls, .. } => {
            let calls: Vec<Json> = calls
                .iter()
                .map(|call| json!({"id": call.id, "tool": call.tool, "args": call.args}))
                .collect();
            json!({"role": "assistant", "text": text, "calls": calls})
        }
        Message::Tool { call_id, tool, content } => {
            json!({"role": "tool", "callId": call_id, "tool": tool, "text": content})
        }
    }
}

/// Digests of the parts of a request.
fn digests(request: &ChatRequest) -> RequestDigests {
    let system: Vec<&str> = request
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::System(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let mut model = json!({
        "model": request.model.name,
        "temperature": request.temperature,
        "maxTokens": request.max_tokens,
    });
    if let Some(reasoning) = request.reasoning {
        model["reasoning"] = json!(reasoning.as_str());
    }
    let tools: Json =
        request.tools.iter().map(|t| json!([t.name, t.description, t.schema])).collect();
    RequestDigests {
        prompt: Digest::of_json(&json!(system)),
        tools: Digest::of_json(&tools),
        schema: request.response_schema.as_ref().map(Digest::of_json),
        model: Digest::of_json(&model),
    }
}

/// Digest of a whole request.
fn digest(request: &ChatRequest, parts: &RequestDigests) -> Digest {
    let messages: Vec<Json> = request.messages.iter().map(message).collect();
    let RequestDigests { prompt: _, tools, schema, model } = parts;
    Digest::of_json(
        &json!({"messages": messages, "tools": tools, "schema": schema, "model": model}),
    )
}

fn message(message: &Message) -> Json {
    match message {
        Message::System(text) => json!(["system", text]),
        Message::User(text) => json!(["user", text]),
        Message::Assistant { text, calls, reasoning } => {
            let calls: Vec<Json> = calls.iter().map(|c| json!([c.id, c.tool, c.args])).collect();
            match reasoning {
                Some(reasoning) => json!(["assistant", text, calls, Digest::of_json(reasoning)]),
                None => json!(["assistant", text, calls]),
            }
        }
        Message::Tool { call_id, tool, content } => json!(["tool", call_id, tool, content]),
    }
}
