//! The tools with which the steps of a run talk: channels and the blackboard. The state machine of the run decides; these
//! translate its answers into the texts of the documents.

use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, arguments, cancelled};
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, cut_to_chars, is_hidden};
use kb_core::evidence::{Exchange, Heard, Message};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Characters of a value in the list of all.
const LISTED: usize = 100;

/// A tool whose calls go to the state machine of the run.
pub(super) struct ExchangeTool<A> {
    name: &'static str,
    /// Whether the answer has texts of other steps.
    hears: bool,
    /// What a call says or asks; the error is a message for the caller.
    exchange: fn(A) -> Result<Exchange, String>,
}

impl<A: DeserializeOwned + Send + 'static> Tool for ExchangeTool<A> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn brings_text(&self) -> bool {
        self.hears
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let exchange = match arguments::<A>(call) {
                Ok(args) => (self.exchange)(args),
                Err(refusal) => return refusal.into(),
            };
            let exchange = match exchange {
                Ok(exchange) => exchange,
                Err(message) => {
                    return Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message)).into();
                }
            };
            let Some(recorder) = context.recorder else {
                let message = "Error: Pub/sub system not available.";
                return Refusal::failed(Failure::new(Code::BUS_REFUSED, message)).into();
            };
            let answer = recorder.exchange(call.id.clone(), exchange.clone());
            tokio::select! {
                heard = answer => match heard {
                    Ok(heard) => result_of(&exchange, heard),
                    Err(_) => cancelled(),
                },
                () = cancel.cancelled() => cancelled(),
            }
        })
    }
}

/// The implementation of `publish`.
pub(super) fn publish() -> impl Tool {
    #[derive(Deserialize)]
    struct Args {
        channel: String,
        message: String,
    }
    let exchange = |args: Args| {
        let message = args.message.trim();
        if message.is_empty() {
            return Err("message is required".to_owned());
        }
        Ok(Exchange::Publish {
            channel: name("channel", &args.channel)?,
            message: message.to_owned(),
        })
    };
    ExchangeTool { name: "publish", hears: false, exchange }
}

/// The implementation of `subscribe`.
pub(super) fn subscribe() -> impl Tool {
    #[derive(Deserialize)]
    struct Args {
        channel: String,
        #[serde(default)]
        check: bool,
        ack: Option<bool>,
    }
    let exchange = |args: Args| {
        let (channel, ack) = (name("channel", &args.channel)?, args.ack.unwrap_or(true));
        Ok(Exchange::Subscribe { channel, check: args.check, ack })
    };
    ExchangeTool { name: "subscribe", hears: true, exchange }
}

/// The implementation of `ack`.
pub(super) fn ack() -> impl Tool {
    #[derive(Deserialize)]
    struct Args {
        channel: String,
        through: Option<String>,
    }
    let exchange = |args: Args| {
        let through = args.through.as_deref().and_then(|id| id.strip_prefix("ps-")?.parse().ok());
        Ok(Exchange::Ack { channel: name("channel", &args.channel)?, through })
    };
    ExchangeTool { name: "ack", hears: false, exchange }
}

/// The implementation of `unsubscribe`.
pub(super) fn unsubscribe() -> impl Tool {
    #[derive(Deserialize)]
    struct Args {
        channel: String,
    }
    let exchange =
        |args: Args| Ok(Exchange::Unsubscribe { channel: name("channel", &args.channel)? });
    ExchangeTool { name: "unsubscribe", hears: false, exchange }
}

/// The implementation of `blackboard_write`.
pub(super) fn blackboard_write() -> impl Tool {
    #[derive(Deserialize)]
    struct Args {
        key: String,
        value: String,
    }
    let exchange =
        |args: Args| Ok(Exchange::Write { key: name("key", &args.key)?, value: args.value });
    ExchangeTool { name: "blackboard_write", hears: false, exchange }
}

/// The implementation of `blackboard_read`.
pub(super) fn blackboard_read() -> impl Tool {
    #[derive(Deserialize)]
    struct Args {
        key: Option<String>,
    }
    let exchange = |args: Args| {
        let key = args.key.filter(|key| !key.trim().is_empty());
        Ok(Exchange::Read { key: key.map(|key| name("key", &key)).transpose()? })
    };
    ExchangeTool { name: "blackboard_read", hears: true, exchange }
}

/// The name of a channel or key, one visible line.
fn name(what: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("{what} is required"));
    }
    let is_bad = |(at, c): (usize, char)| c.is_control() || is_hidden(text, at, c);
    if text.char_indices().any(is_bad) {
        return Err(format!("{what} must be one line of visible characters"));
    }
    Ok(text.to_owned())
}

/// The result of a call. An agent reads `answer`, which has the text of the documents.
fn result_of(exchange: &Exchange, heard: Heard) -> CallResult {
    let name = exchange.name();
    let answer = match heard {
        Heard::Refused(failure) => return Refusal::Failed(failure).into(),
        Heard::Published(seq) => {
            let answer = format!("Published to channel \"{name}\".");
            return CallResult::success(json!({"answer": answer, "id": Message::id(seq)}));
        }
        Heard::Messages { messages, more } => {
            let answer = pending(name, &messages, more);
            return CallResult::success(json!({"answer": answer, "more": more}));
        }
        Heard::Subscribed => format!("Subscribed to channel \"{name}\"."),
        Heard::Acknowledged(seq) => {
            format!("Acknowledged the messages of \"{name}\" up to {}.", Message::id(seq))
        }
        Heard::Unsubscribed => format!("Unsubscribed from channel \"{name}\"."),
        Heard::Written => format!("Wrote \"{name}\" to blackboard."),
        Heard::Value(Some(value)) => format!("{name}: {value}"),
        Heard::Value(None) => format!("Key \"{name}\" not found on blackboard."),
        Heard::Keys(keys) => listed(&keys),
    };
    CallResult::success(json!({ "answer": answer }))
}

/// The lines of a text, at every character that shows one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.split(ends).filter(|line| !line.is_empty())
}

/// The list of messages. The author is one line, and later lines of a message are indented, so that none looks like that of
/// another author.
fn pending(channel: &str, messages: &[Message], more: usize) -> String {
    if messages.is_empty() {
        return format!("Subscribed to \"{channel}\". No pending messages.");
    }
    let mut text = format!("Subscribed to \"{channel}\". Pending messages:");
    for Message { seq, author, data, .. } in messages {
        let data = lines(data).collect::<Vec<_>>().join("\n    ");
        let author = lines(author).collect::<Vec<_>>().join(" ");
        text += &format!("\n- [{author}]: {data} ({})", Message::id(*seq));
    }
    if more > 0 {
        text += &format!("\n{more} more wait; check again.");
    }
    text
}

fn listed(keys: &[(String, Arc<str>)]) -> String {
    if keys.is_empty() {
        return "Blackboard is empty.".to_owned();
    }
    let line = |(key, value): &(String, Arc<str>)| {
        let start = cut_to_chars(value, LISTED);
        format!("- {key}: {}", lines(&start).collect::<Vec<_>>().join("\n    "))
    };
    format!("Blackboard keys:\n{}", keys.iter().map(line).collect::<Vec<_>>().join("\n"))
}
