//! Reasoning of a response: kept as JSON, and sent back where the protocol asks for it.
//!
//! Anthropic expects thinking blocks back unchanged before the tool calls of the same response, OpenAI
//! responses expect encrypted reasoning, Gemini expects the signature of each call, and DeepSeek and Ollama
//! the text. Other servers get nothing back: some refuse unknown keys.

use crate::llm::known::Protocol;
use crate::llm::target::Target;
use genai::chat::{ContentPart, CustomPart, MessageContent};
use kb_base::value::Json;
use serde_json::json;

/// Maximum size of the kept reasoning of one response, in bytes; larger reasoning is dropped.
const MOST_BYTES: usize = 1 << 20;

/// Whether the library collects the reasoning of responses for this protocol. For Gemini it collects
/// signatures in any case.
pub(super) fn is_collected(target: &Target) -> bool {
    match target.protocol {
        Protocol::Anthropic | Protocol::OpenAiResponses => true,
        Protocol::OpenAi => wants_text(target),
        Protocol::Gemini | Protocol::Ollama => false,
    }
}

fn wants_text(target: &Target) -> bool {
    target.provider == "deepseek"
}

/// What the provider expects back; `None` if that is nothing. `has_calls`: whether the response
/// requests tool calls.
pub(super) fn kept(
    target: &Target,
    content: &MessageContent,
    text: Option<&str>,
    has_calls: bool,
) -> Option<Json> {
    let parts: Vec<Json> = content.parts().iter().filter_map(part).collect();
    let calls = content.tool_calls();
    let signatures: Vec<Json> = calls.iter().map(|call| json!(call.thought_signatures)).collect();
    let kept = match target.protocol {
        Protocol::OpenAi if !wants_text(target) || !has_calls => return None,
        Protocol::Ollama if !has_calls => return None,
        Protocol::OpenAi | Protocol::Ollama => {
            json!([{"text": text.filter(|text| !text.is_empty())?}])
        }
        Protocol::Gemini if signatures.iter().any(|one| !one.is_null()) || !parts.is_empty() => {
            let parts: Vec<Json> =
                parts.into_iter().chain([json!({"calls": signatures})]).collect();
            Json::Array(parts)
        }
        _ if parts.is_empty() => return None,
        _ => Json::Array(parts),
    };
    let kept = json!({"protocol": name(target.protocol), "model": target.model, "parts": kept});
    (kept.to_string().len() <= MOST_BYTES).then_some(kept)
}

fn part(part: &ContentPart) -> Option<Json> {
    match part {
        ContentPart::ThoughtSignature(signature) => Some(json!({"signature": signature})),
        ContentPart::ReasoningContent(text) => Some(json!({"text": text})),
        ContentPart::Custom(custom) => Some(json!({"block": custom.data})),
        _ => None,
    }
}

/// Kept reasoning in the form of the library.
#[derive(Default)]
pub(super) struct SentBack {
    /// The parts before the text and the calls.
    pub(super) parts: Vec<ContentPart>,
    /// The signatures of each call, in order.
    pub(super) calls: Vec<Option<Vec<String>>>,
}

/// The reasoning to send back; none if another model wrote it.
pub(super) fn sent_back(target: &Target, kept: Option<&Json>) -> SentBack {
    let mut back = SentBack::default();
    let Some(kept) = kept else { return back };
    if kept["protocol"] != name(target.protocol) || kept["model"] != target.model.as_str() {
        return back;
    }
    let text = |value: &Json| value.as_str().map(str::to_owned);
    for part in kept["parts"].as_array().into_iter().flatten() {
        if let Some(signature) = text(&part["signature"]) {
            back.parts.push(ContentPart::ThoughtSignature(signature));
        } else if let Some(reasoning) = text(&part["text"]) {
            back.parts.push(ContentPart::ReasoningContent(reasoning));
        } else if let Some(calls) = part["calls"].as_array() {
            let signatures = |one: &Json| serde_json::from_value(one.clone()).ok();
            back.calls = calls.iter().map(signatures).collect();
        } else if part["block"].is_object() {
            let data = part["block"].clone();
            back.parts.push(ContentPart::Custom(CustomPart { model_iden: None, data }));
        }
    }
    back
}

fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::OpenAi => "openai",
        Protocol::OpenAiResponses => "openaiResponses",
        Protocol::Anthropic => "anthropic",
        Protocol::Gemini => "gemini",
        Protocol::Ollama => "ollama",
    }
}
