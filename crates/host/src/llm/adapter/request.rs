//! Requests in the types of the `genai` library. Start at [`question`].

use super::names::ToolNames;
use super::reasoning::{SentBack, is_collected, sent_back};
use crate::llm::known::Protocol;
use crate::llm::target::Target;
use crate::llm::{ChatRequest, Message, ToolDescription};
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest as Question, ContentPart, JsonSpec,
    ReasoningEffort, Tool, ToolCall, ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use kb_base::value::{Digest, Json, JsonMap};
use kb_core::evidence::CallRequest;
use kb_language::definition::Reasoning;
use secrecy::ExposeSecret;
use serde_json::json;
use std::time::Duration;

/// Timeout between two events of a stream. Servers send keep-alive events while a model reasons.
pub(super) const SILENCE: Duration = Duration::from_secs(180);
/// The API key for servers that need none, because the library requires one.
const NO_KEY: &str = "none";

/// The endpoint, key and model of a request.
pub(super) fn service(target: &Target, has_effort: bool) -> ServiceTarget {
    let kind = match target.protocol {
        Protocol::OpenAi => AdapterKind::OpenAI,
        Protocol::OpenAiResponses => AdapterKind::OpenAIResp,
        Protocol::Anthropic => AdapterKind::Anthropic,
        Protocol::Gemini => AdapterKind::Gemini,
        Protocol::Ollama => AdapterKind::Ollama,
    };
    let key = target.key.as_ref().map_or(NO_KEY, |key| key.expose_secret());
    ServiceTarget {
        endpoint: Endpoint::from_owned(target.endpoint.as_str()),
        auth: AuthData::from_single(key),
        model: ModelIden::new(kind, library_name(target, has_effort)),
    }
}

/// The name of the model for the library. It takes an ending such as `-medium` for an effort and cuts it off,
/// unless the request has an effort. Such a name gets another ending here, and [`options`] sends it as it is
/// written. Gemini has it in the address; its requests get an effort that sends nothing.
fn library_name(target: &Target, has_effort: bool) -> String {
    let model = &target.model;
    match target.protocol {
        Protocol::Gemini | Protocol::Ollama => model.clone(),
        _ if has_effort || !ends_like_effort(model) => model.clone(),
        _ => format!("{model}-as-written"),
    }
}

/// Whether the library takes the end of a model name for an effort.
fn ends_like_effort(model: &str) -> bool {
    let end = model.rsplit_once('-').map(|(_, end)| end);
    end.is_some_and(|end| ReasoningEffort::from_keyword(end).is_some())
}

/// The messages and tools of a request. Where the provider caches only what is marked, the system prompt
/// and the last message are marked: each turn then reads what the previous one wrote.
pub(super) fn question(request: &ChatRequest, target: &Target, names: &mut ToolNames) -> Question {
    // Offered tools are named first, so that they get the unnumbered provider names.
    let tools: Vec<Tool> = request.tools.iter().map(|tool| offered(tool, names)).collect();
    let mut system = Vec::new();
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut answers: Vec<ToolResponse> = Vec::new();
    for message in &request.messages {
        if let Message::Tool { call_id, tool, content } = message {
            let answer = ToolResponse::new(call_id, content);
            answers.push(answer.with_fn_name(names.outward(tool)));
            continue;
        }
        flush(&mut answers, &mut messages);
        match message {
            Message::System(text) if messages.is_empty() => system.push(text.as_str()),
            Message::System(text) => messages.push(ChatMessage::system(text)),
            Message::User(text) => messages.push(ChatMessage::user(text)),
            Message::Assistant { text, calls, reasoning } => {
                let back = sent_back(target, reasoning.as_deref());
                messages.extend(said(text, calls, back, names));
            }
            Message::Tool { .. } => {}
        }
    }
    flush(&mut answers, &mut messages);
    let system = system.join("\n\n");
    let marks = target.protocol == Protocol::Anthropic;
    if let Some(last) = messages.last_mut().filter(|_| marks) {
        last.options = Some(CacheControl::Ephemeral.into());
    }
    if marks && !system.is_empty() {
        let prompt = ChatMessage::system(system.as_str()).with_options(CacheControl::Ephemeral);
        messages.insert(0, prompt);
    }
    let mut question = Question::from_messages(messages);
    if !marks && !system.is_empty() {
        question = question.with_system(system);
    }
    if !tools.is_empty() {
        question = question.with_tools(tools);
    }
    question
}

/// Adds the results of one turn as one message, as Anthropic requires.
fn flush(answers: &mut Vec<ToolResponse>, messages: &mut Vec<ChatMessage>) {
    if !answers.is_empty() {
        messages.push(ChatMessage::tool(std::mem::take(answers)));
    }
}

/// An earlier response; an empty one is omitted, because providers refuse empty texts.
fn said(
    text: &str,
    calls: &[CallRequest],
    back: SentBack,
    names: &mut ToolNames,
) -> Option<ChatMessage> {
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let text = (!text.is_empty()).then(|| ContentPart::from_text(text));
    let signatures = back.calls.into_iter().chain(std::iter::repeat(None));
    let calls = calls.iter().zip(signatures).map(|(call, thought_signatures)| {
        ContentPart::ToolCall(ToolCall {
            call_id: call.id.clone(),
            fn_name: names.outward(&call.tool),
            fn_arguments: object(&call.args),
            thought_signatures,
        })
    });
    let parts: Vec<ContentPart> = back.parts.into_iter().chain(text).chain(calls).collect();
    Some(ChatMessage::assistant(parts))
}

/// The arguments as an object, which providers require even for invalid arguments of a model.
pub(super) fn object(args: &Json) -> Json {
    match args {
        Json::Object(_) => args.clone(),
        other => json!({"invalid": other}),
    }
}

fn offered(tool: &ToolDescription, names: &mut ToolNames) -> Tool {
    Tool::new(names.outward(&tool.name))
        .with_description(&tool.description)
        .with_schema(tool.schema.clone())
}

/// The options of a request. [`super::calls`] assembles the tool calls of OpenAI streams; the library
/// assembles those of other protocols.
pub(super) fn options(request: &ChatRequest, target: &Target) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(target.protocol != Protocol::OpenAi)
        .with_stream_read_timeout(SILENCE);
    if is_collected(target) {
        options = options.with_capture_reasoning_content(true);
    }
    if let Some(effort) = request.reasoning {
        options = options.with_reasoning_effort(match effort {
            Reasoning::Low => ReasoningEffort::Low,
            Reasoning::Medium => ReasoningEffort::Medium,
            Reasoning::High => ReasoningEffort::High,
        });
    } else if target.protocol == Protocol::Gemini && ends_like_effort(&target.model) {
        options = options.with_reasoning_effort(ReasoningEffort::Zero);
    }
    if let Some(temperature) = request.temperature.filter(|_| takes_temperature(request, target)) {
        options = options.with_temperature(temperature);
    }
    if let Some(max_tokens) = request.max_tokens {
        options = options.with_max_tokens(max_tokens);
    }
    if target.provider == "openai" {
        // Requests with the same prompt go to the server that has cached it.
        options = options.with_prompt_cache_key(cache_key(request));
    }
    let mut body = JsonMap::new();
    let has_effort = request.reasoning.is_some();
    if library_name(target, has_effort) != target.model {
        body.insert("model".into(), json!(target.model));
    }
    if target.protocol == Protocol::OpenAiResponses {
        // The library would ask for summaries of the reasoning, which some accounts may not read.
        let effort = request.reasoning.map(|effort| json!({"effort": effort.as_str()}));
        body.insert("reasoning".into(), effort.unwrap_or_else(|| json!({})));
    }
    match &request.response_schema {
        Some(schema) if target.protocol == Protocol::OpenAi && has_map(schema) => {
            body.insert("response_format".into(), loose_format(schema));
        }
        Some(schema) => {
            options = options.with_response_format(JsonSpec::new("answer", schema.clone()));
        }
        None => {}
    }
    if body.is_empty() { options } else { options.with_extra_body(Json::Object(body)) }
}

/// Whether the model accepts a temperature: Anthropic and OpenAI refuse one while a model reasons.
fn takes_temperature(request: &ChatRequest, target: &Target) -> bool {
    let refuses = target.protocol == Protocol::Anthropic
        || target.protocol == Protocol::OpenAiResponses
        || target.provider == "openai";
    !(refuses && (target.limits.reasons || request.reasoning.is_some()))
}

/// A key for requests that begin with the same system prompt.
fn cache_key(request: &ChatRequest) -> String {
    let system = request.messages.iter().take_while(|m| matches!(m, Message::System(_)));
    let text: String = system.map(|message| format!("{message:?}")).collect();
    format!("kb-{}", &Digest::of(text).to_string()[..32])
}

/// Whether a schema has objects with arbitrary keys, which the strict mode would treat as empty.
fn has_map(schema: &Json) -> bool {
    match schema {
        Json::Object(map) => {
            let free = match map.get("additionalProperties") {
                Some(Json::Bool(free)) => *free,
                Some(_) => true,
                None => {
                    map.get("type").is_some_and(|kind| kind == "object")
                        && !map.contains_key("properties")
                }
            };
            free || map.values().any(has_map)
        }
        Json::Array(items) => items.iter().any(has_map),
        _ => false,
    }
}

fn loose_format(schema: &Json) -> Json {
    json!({
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": false, "schema": schema},
    })
}
