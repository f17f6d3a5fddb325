//! What the steps of a run say to each other while they work: messages on channels, and values on the blackboard.

use kb_base::value::Failure;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a step says to the other steps of its run, or asks what they said. It is part of the journal's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "exchange")]
pub enum Exchange {
    /// Sends a message to a channel.
    Publish {
        /// Name of the channel.
        channel: String,
        /// The text that subscribers receive.
        message: String,
    },
    /// Receives the messages of a channel from now on, and asks for those that were not acknowledged.
    Subscribe {
        /// Name of the channel.
        channel: String,
        /// Whether the messages are returned.
        check: bool,
        /// Whether the returned messages are acknowledged at once.
        ack: bool,
    },
    /// Acknowledges messages of a channel, which are not returned again.
    Ack {
        /// Name of the channel.
        channel: String,
        /// Number of the last acknowledged message; `None` for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        through: Option<u64>,
    },
    /// Receives the messages of a channel no more.
    Unsubscribe {
        /// Name of the channel.
        channel: String,
    },
    /// Writes a value of the blackboard.
    Write {
        /// Name of the value.
        key: String,
        /// The text that takes the place of the earlier one.
        value: String,
    },
    /// Reads a value of the blackboard.
    Read {
        /// Name of the value; `None` lists all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
}

impl Exchange {
    /// The channel or key that it is about; empty if it lists all keys.
    pub fn name(&self) -> &str {
        match self {
            Exchange::Publish { channel, .. }
            | Exchange::Subscribe { channel, .. }
            | Exchange::Ack { channel, .. }
            | Exchange::Unsubscribe { channel } => channel,
            Exchange::Write { key, .. } => key,
            Exchange::Read { key } => key.as_deref().unwrap_or_default(),
        }
    }
}

/// The answer to an [`Exchange`], once its event is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// The message has this number, from 1 in the run.
    Published(u64),
    /// The step receives the messages of the channel.
    Subscribed,
    /// Messages that were not acknowledged, oldest first.
    Messages {
        /// As many as one answer contains.
        messages: Vec<Message>,
        /// Number of those that wait after them.
        more: usize,
    },
    /// All messages up to this number are acknowledged.
    Acknowledged(u64),
    /// The step does not receive the messages of the channel.
    Unsubscribed,
    /// The value was written.
    Written,
    /// The value of a key; `None` if nothing was written to it.
    Value(Option<Arc<str>>),
    /// All keys of the blackboard, each with its value.
    Keys(Vec<(String, Arc<str>)>),
    /// Nothing was done, for this reason.
    Refused(Box<Failure>),
}

/// A message on a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number in the run, from 1.
    pub seq: u64,
    /// Name of the channel.
    pub channel: String,
    /// The step or item that sent it.
    pub author: Arc<str>,
    /// The text.
    pub data: Arc<str>,
}

impl Message {
    /// The id of the message with this number: `ps-N`.
    pub fn id(seq: u64) -> String {
        format!("ps-{seq}")
    }
}
