//! Reading of a streamed response. Start at [`Reader::read`].

use super::calls::{CallCollector, RawCall};
use super::error::{cut, model_error, transient};
use super::names::ToolNames;
use super::reasoning::kept;
use crate::llm::known::Protocol;
use crate::llm::prices::cost;
use crate::llm::target::Target;
use crate::llm::{CallOrigin, ChatReply, ModelError};
use futures::StreamExt;
use genai::chat::{
    ChatResponse, ChatStream, ChatStreamEvent, StopReason, StreamEnd, Usage as TheirUsage,
};
use kb_base::value::{Json, Usage, limits};
use kb_core::evidence::CallRequest;
use std::collections::BTreeSet;

/// Reads the stream of one request.
pub(super) struct Reader<'a> {
    pub(super) target: &'a Target,
    pub(super) names: &'a ToolNames,
    pub(super) origin: &'a CallOrigin,
    pub(super) collected: &'a CallCollector,
    pub(super) on_token: &'a (dyn Fn(&str) + Send + Sync),
}

impl Reader<'_> {
    /// Reads the stream to its end. A stream without an end event is an error.
    pub(super) async fn read(&self, mut stream: ChatStream) -> Result<ChatReply, ModelError> {
        let mut text = String::new();
        let mut reasoning = 0;
        while let Some(event) = stream.next().await {
            match event.map_err(|error| model_error(error, self.target))? {
                ChatStreamEvent::Chunk(chunk) => {
                    text.push_str(&chunk.content);
                    if text.len() > limits::RENDERED_BYTES {
                        return Err(self.too_long());
                    }
                    (self.on_token)(&chunk.content);
                }
                ChatStreamEvent::ReasoningChunk(chunk) => {
                    reasoning += chunk.content.len();
                    if reasoning > limits::RENDERED_BYTES {
                        return Err(self.too_long());
                    }
                    (self.on_token)("");
                }
                ChatStreamEvent::End(end) => return self.reply(text, end),
                ChatStreamEvent::ToolCallChunk(_) => (self.on_token)(""),
                _ => {}
            }
        }
        Err(cut(self.target, self.collected.has_events()))
    }

    /// Reads a response that was not streamed.
    pub(super) fn whole(&self, response: ChatResponse) -> Result<ChatReply, ModelError> {
        let text: String = response.content.texts().concat();
        if text.len() > limits::RENDERED_BYTES {
            return Err(self.too_long());
        }
        (self.on_token)(&text);
        let model = response.provider_model_iden.model_name.to_string();
        let end = StreamEnd {
            captured_usage: Some(response.usage),
            captured_stop_reason: response.stop_reason,
            captured_content: Some(response.content),
            captured_reasoning_content: response.reasoning_content,
            captured_response_id: None,
        };
        let reply = self.reply(text, end)?;
        Ok(ChatReply { model: self.plain_model(Some(model)), ..reply })
    }

    /// The response from its text and its other parts.
    pub(super) fn reply(&self, text: String, end: StreamEnd) -> Result<ChatReply, ModelError> {
        let stop = end.captured_stop_reason.as_ref();
        // For these protocols the library invents an end event if the stream has none.
        let made_up = matches!(self.target.protocol, Protocol::Gemini | Protocol::OpenAiResponses);
        if stop.is_none() && made_up {
            return Err(cut(self.target, self.collected.has_events()));
        }
        let calls = self.calls(&end);
        match stop {
            Some(StopReason::ContentFilter(why)) if text.is_empty() && calls.is_empty() => {
                return Err(ModelError::Refused {
                    message: format!("`{}` refused to answer ({why})", self.target.model),
                    status: None,
                });
            }
            None if text.is_empty() && calls.is_empty() => {
                let message = format!("`{}` sent an empty response", self.target.model);
                return Err(transient(message));
            }
            _ => {}
        }
        let content = end.captured_content.unwrap_or_default();
        let thought = end.captured_reasoning_content.as_deref();
        Ok(ChatReply {
            text,
            reasoning: kept(self.target, &content, thought, !calls.is_empty()),
            calls,
            usage: self.usage(end.captured_usage.as_ref()),
            model: self.plain_model(self.collected.model()),
            cut_short: stop.is_some_and(StopReason::is_max_tokens),
            submitted: None,
        })
    }

    /// The model name in the response, unless it is not a name but the path of a file.
    fn plain_model(&self, given: Option<String>) -> String {
        let plain = |name: &String| {
            !name.is_empty()
                && name.len() <= 128
                && !name.starts_with('/')
                && name.chars().all(|c| c.is_ascii_graphic())
        };
        given.filter(plain).unwrap_or_else(|| self.target.model.clone())
    }

    fn calls(&self, end: &StreamEnd) -> Vec<CallRequest> {
        let theirs = end.captured_tool_calls().unwrap_or_default().into_iter().map(|call| {
            let (id, name) = (call.call_id.clone(), call.fn_name.clone());
            (id, name, call.fn_arguments.clone())
        });
        let raw = self.collected.calls().into_iter().map(|call| {
            let args = arguments(&call);
            (call.id, call.name, args)
        });
        let all: Vec<_> = match self.target.protocol {
            Protocol::OpenAi if self.target.stream => raw.collect(),
            _ => theirs.collect(),
        };
        let mut seen = BTreeSet::new();
        let call = |(i, (id, name, args)): (usize, (String, String, Json))| CallRequest {
            id: self.id(id, i, &mut seen),
            tool: self.names.inward(&name),
            args: parsed(args),
        };
        all.into_iter().enumerate().map(call).collect()
    }

    /// The id that the provider assigned, or a generated one if it is missing or repeated.
    fn id(&self, given: String, place: usize, seen: &mut BTreeSet<String>) -> String {
        let made_up =
            || format!("call-{}-{}-{}", self.origin.place.own.attempt, self.origin.turn, place + 1);
        let taken = given.trim().is_empty() || given.len() > 256 || seen.contains(&given);
        let id = if taken { made_up() } else { given };
        seen.insert(id.clone());
        id
    }

    /// Tokens and cost. A missing count is 0; without a prompt count the cost is unknown.
    fn usage(&self, theirs: Option<&TheirUsage>) -> Usage {
        let count = |n: Option<i32>| n.unwrap_or_default().max(0) as u64;
        let prompt = theirs.and_then(|usage| usage.prompt_tokens_details.as_ref());
        let completion = theirs.and_then(|usage| usage.completion_tokens_details.as_ref());
        let (prompt_tokens, written, total) = (
            count(theirs.and_then(|usage| usage.prompt_tokens)),
            count(theirs.and_then(|usage| usage.completion_tokens)),
            count(theirs.and_then(|usage| usage.total_tokens)),
        );
        let reasoning_tokens = count(completion.and_then(|details| details.reasoning_tokens));
        // Some providers count reasoning beside the response, but bill it with it.
        let beside = written < reasoning_tokens
            || (reasoning_tokens > 0 && total == prompt_tokens + written + reasoning_tokens);
        let mut usage = Usage {
            prompt_tokens,
            completion_tokens: written + if beside { reasoning_tokens } else { 0 },
            cached_tokens: count(prompt.and_then(|details| details.cached_tokens)),
            cache_write_tokens: count(prompt.and_then(|details| details.cache_creation_tokens)),
            reasoning_tokens,
            cost_usd: None,
            model_calls: 1,
            tool_calls: 0,
        };
        let known = usage.prompt_tokens > 0;
        let price =
            self.target.price.filter(|price| known || (price.input == 0.0 && price.output == 0.0));
        usage.cost_usd = price.map(|price| cost(&price, &usage));
        usage
    }

    /// The error for a response over the size limit.
    pub(super) fn too_long(&self) -> ModelError {
        let message = format!(
            "the response of `{}` exceeds {} MiB",
            self.target.model,
            limits::RENDERED_BYTES >> 20
        );
        ModelError::Refused { message, status: None }
    }
}

/// The arguments as text; missing arguments are an empty object.
fn arguments(call: &RawCall) -> Json {
    match call.arguments.trim() {
        "" => Json::Object(Default::default()),
        text => Json::String(text.to_owned()),
    }
}

/// The arguments as an object, or as the received text if they are not an object.
fn parsed(args: Json) -> Json {
    match args {
        Json::String(text) => match serde_json::from_str(&text) {
            Ok(object @ Json::Object(_)) => object,
            // Some servers encode arguments twice.
            Ok(Json::String(inner)) => match serde_json::from_str(&inner) {
                Ok(object @ Json::Object(_)) => object,
                _ => Json::String(text),
            },
            _ => Json::String(text),
        },
        Json::Null => Json::Object(Default::default()),
        object @ Json::Object(_) => object,
        other => Json::String(other.to_string()),
    }
}
