//! Ollama's own protocol, `POST /api/chat`: lines of JSON, or one object if the response is not streamed.
//!
//! Unlike its OpenAI-compatible endpoint, it takes the size of the context window: a server with its default of a
//! few thousand tokens drops the beginning of a longer prompt without an error. The provider library does
//! not send that size or the schema of an output, so the requests are made here.

use super::error::{cut, http, in_stream, invalid, silent, transport};
use super::names::ToolNames;
use super::reasoning::{SentBack, sent_back};
use super::request::{SILENCE, object};
use super::stream::Reader;
use crate::llm::target::Target;
use crate::llm::{ChatReply, ChatRequest, Message, ModelError};
use genai::chat::{
    ContentPart, MessageContent, PromptTokensDetails, StopReason, StreamEnd, ToolCall, Usage,
};
use kb_base::value::{Json, limits};
use kb_language::definition::Reasoning;
use reqwest::{Client, Response};
use secrecy::ExposeSecret;
use serde_json::json;

/// Maximum size of the body of an error, in bytes.
const ERROR_BYTES: usize = 64 << 10;
/// The end of the error for a model without native tool calls.
const NO_TOOLS: &str = "does not support tools";

/// The body of a request. Tools get their provider names in `names`.
pub(super) fn body(request: &ChatRequest, target: &Target, names: &mut ToolNames) -> Json {
    let tools: Vec<Json> = request
        .tools
        .iter()
        .map(|tool| {
            let function = json!({
                "name": names.outward(&tool.name),
                "description": tool.description,
                "parameters": tool.schema,
            });
            json!({"type": "function", "function": function})
        })
        .collect();
    let messages: Vec<Json> =
        request.messages.iter().map(|one| message(one, target, names)).collect();
    let mut options = json!({});
    let mut set = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            options[key] = value;
        }
    };
    set("num_ctx", target.limits.window.map(Json::from));
    set("num_predict", request.max_tokens.map(Json::from));
    set("temperature", request.temperature.map(Json::from));
    let mut body = json!({"model": target.model, "messages": messages, "stream": target.stream});
    body["options"] = options;
    if !tools.is_empty() {
        body["tools"] = Json::Array(tools);
    }
    if let Some(schema) = &request.response_schema {
        body["format"] = schema.clone();
    }
    if let Some(effort) = request.reasoning {
        body["think"] = think(effort, target);
    }
    body
}

/// Only some models know levels; the others think or do not.
fn think(effort: Reasoning, target: &Target) -> Json {
    if target.model.contains("gpt-oss") { json!(effort.as_str()) } else { json!(true) }
}

fn message(message: &Message, target: &Target, names: &mut ToolNames) -> Json {
    match message {
        Message::System(text) => json!({"role": "system", "content": text}),
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Tool { tool, content, .. } => {
            json!({"role": "tool", "tool_name": names.outward(tool), "content": content})
        }
        Message::Assistant { text, calls, reasoning } => {
            let mut said = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                let call = |call: &kb_core::evidence::CallRequest| {
                    let name = names.outward(&call.tool);
                    json!({"function": {"name": name, "arguments": object(&call.args)}})
                };
                said["tool_calls"] = calls.iter().map(call).collect();
            }
            let SentBack { parts, .. } = sent_back(target, reasoning.as_deref());
            let thought = parts.iter().find_map(ContentPart::as_reasoning_content);
            if let Some(thought) = thought {
                said["thinking"] = json!(thought);
            }
            said
        }
    }
}

/// Sends the request. A model without native tool calls gets it again without tools: its instructions say
/// how to write calls as text.
pub(super) async fn chat(
    client: &Client,
    mut body: Json,
    reader: &Reader<'_>,
) -> Result<ChatReply, ModelError> {
    match send(client, &body, reader).await {
        Err(ModelError::Refused { message, .. })
            if message.contains(NO_TOOLS) && body.get("tools").is_some() =>
        {
            body.as_object_mut().map(|map| map.shift_remove("tools"));
            send(client, &body, reader).await
        }
        other => other,
    }
}

async fn send(client: &Client, body: &Json, reader: &Reader<'_>) -> Result<ChatReply, ModelError> {
    let target = reader.target;
    let mut request = client.post(url(target)).json(body);
    if let Some(key) = &target.key {
        request = request.bearer_auth(key.expose_secret());
    }
    let failed = |error: reqwest::Error| transport(&error, &error.to_string(), target);
    let mut response = request.send().await.map_err(failed)?;
    let status = response.status();
    if !status.is_success() {
        let headers = response.headers().clone();
        let text = read_error(&mut response).await;
        return Err(http(status.as_u16(), &headers, &text, target));
    }
    let mut answer = Answer::default();
    let mut unread: Vec<u8> = Vec::new();
    let mut total = 0;
    while !answer.done {
        let part = tokio::time::timeout(SILENCE, response.chunk());
        let Some(part) = part.await.map_err(|_| silent(target))?.map_err(failed)? else { break };
        total += part.len();
        // Each token is a line of its own with some hundred bytes around it.
        if unread.len() + part.len() > 2 * limits::RENDERED_BYTES || total > LONGEST_STREAM {
            return Err(reader.too_long());
        }
        unread.extend_from_slice(&part);
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unread.drain(..=end).collect();
            answer.add(&line, reader)?;
        }
    }
    // The last line, or the one object of a response that is not streamed, may have no end.
    answer.add(&unread, reader)?;
    answer.reply(reader)
}

/// Maximum size of a streamed response, in bytes.
const LONGEST_STREAM: usize = 64 * limits::RENDERED_BYTES;

/// The address of the protocol: below the base URL, without the `v1/` of the OpenAI-compatible endpoint.
fn url(target: &Target) -> String {
    let base = target.endpoint.strip_suffix("v1/").unwrap_or(&target.endpoint);
    format!("{base}api/chat")
}

async fn read_error(response: &mut Response) -> String {
    let mut text = Vec::new();
    while let Ok(Some(part)) = response.chunk().await {
        text.extend_from_slice(&part);
        if text.len() > ERROR_BYTES {
            break;
        }
    }
    text.truncate(ERROR_BYTES);
    String::from_utf8_lossy(&text).into_owned()
}

/// What was read of a response.
#[derive(Default)]
struct Answer {
    text: String,
    thinking: String,
    calls: Vec<ToolCall>,
    done: bool,
    started: bool,
    reason: Option<String>,
    usage: Usage,
}

impl Answer {
    /// Adds one line, and shows its text.
    fn add(&mut self, line: &[u8], reader: &Reader<'_>) -> Result<(), ModelError> {
        if self.done || line.trim_ascii().is_empty() {
            return Ok(());
        }
        let Ok(data) = serde_json::from_slice::<Json>(line) else {
            return Err(if self.started {
                invalid(reader.target)
            } else {
                cut(reader.target, false)
            });
        };
        if !data["error"].is_null() {
            return Err(in_stream(&data, reader.target));
        }
        self.started = true;
        let said = &data["message"];
        let text = said["content"].as_str().unwrap_or_default();
        self.text.push_str(text);
        self.thinking.push_str(said["thinking"].as_str().unwrap_or_default());
        let calls = said["tool_calls"].as_array();
        self.calls.extend(calls.into_iter().flatten().map(|call| ToolCall {
            call_id: call["id"].as_str().unwrap_or_default().to_owned(),
            fn_name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
            fn_arguments: call["function"]["arguments"].clone(),
            thought_signatures: None,
        }));
        let most = limits::RENDERED_BYTES;
        if self.text.len() > most || self.thinking.len() > most || self.calls.len() > MOST_CALLS {
            return Err(reader.too_long());
        }
        (reader.on_token)(text);
        if data["done"] == true {
            self.done = true;
            self.reason = data["done_reason"].as_str().map(str::to_owned);
            self.usage = usage(&data);
        }
        Ok(())
    }

    fn reply(self, reader: &Reader<'_>) -> Result<ChatReply, ModelError> {
        if !self.done {
            return Err(cut(reader.target, self.started));
        }
        let parts = self.calls.into_iter().map(ContentPart::ToolCall);
        let end = StreamEnd {
            captured_usage: Some(self.usage),
            captured_stop_reason: Some(StopReason::from(self.reason.unwrap_or("stop".to_owned()))),
            captured_content: Some(MessageContent::from_parts(parts.collect::<Vec<_>>())),
            captured_reasoning_content: Some(self.thinking),
            captured_response_id: None,
        };
        reader.reply(self.text, end)
    }
}

/// Maximum number of tool calls in one response.
const MOST_CALLS: usize = 1_000;

/// Thinking is counted as part of the response.
fn usage(data: &Json) -> Usage {
    let count = |key: &str| data[key].as_i64().and_then(|count| i32::try_from(count).ok());
    let cached_tokens = count("prompt_eval_cached_count");
    Usage {
        prompt_tokens: count("prompt_eval_count"),
        prompt_tokens_details: cached_tokens
            .map(|_| PromptTokensDetails { cached_tokens, ..PromptTokensDetails::default() }),
        completion_tokens: count("eval_count"),
        ..Usage::default()
    }
}
