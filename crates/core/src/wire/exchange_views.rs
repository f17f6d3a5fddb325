//! Public forms of what the steps of a run say to each other.

use super::Body;
use crate::evidence::{Exchange, Message};
use schemars::JsonSchema;
use serde::Serialize;

/// A message on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// `ps-N`, with the number of the message in its run, from 1.
    pub id: String,
    /// Name of the channel.
    pub channel: String,
    /// The text.
    pub data: String,
    /// The step instance that sent it.
    pub author_agent_id: String,
}

/// A subscriber of a channel and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriberView {
    /// Name of the channel.
    pub channel: String,
    /// The step instance.
    pub agent_id: String,
    /// Whether the messages that it had not acknowledged were returned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    pub check: bool,
    /// Id of the last message that the answer contained or that it acknowledged; messages of other channels count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ack: Option<String>,
}

/// A value of the blackboard that was written or read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlackboardView {
    /// Name of the value; absent if all were listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The value that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The step instance.
    pub agent_id: String,
}

/// The public event of what a step said or asked.
pub(super) fn exchange_body(author: &str, exchange: &Exchange, seq: u64) -> Body {
    let agent_id = author.to_owned();
    let position = |channel: &String, check: bool, seq: Option<u64>| SubscriberView {
        channel: channel.clone(),
        agent_id: agent_id.clone(),
        check,
        last_ack: seq.filter(|seq| *seq > 0).map(Message::id),
    };
    match exchange {
        Exchange::Publish { channel, message } => Body::ChannelPublish(MessageView {
            id: Message::id(seq),
            channel: channel.clone(),
            data: message.clone(),
            author_agent_id: agent_id,
        }),
        Exchange::Subscribe { channel, check, .. } => {
            Body::ChannelSubscribe(position(channel, *check, Some(seq)))
        }
        Exchange::Ack { channel, .. } => Body::ChannelAck(position(channel, false, Some(seq))),
        Exchange::Unsubscribe { channel } => {
            Body::ChannelUnsubscribe(position(channel, false, None))
        }
        Exchange::Write { key, value } => Body::BlackboardWrite(BlackboardView {
            key: Some(key.clone()),
            value: Some(value.clone()),
            agent_id,
        }),
        Exchange::Read { key } => {
            Body::BlackboardRead(BlackboardView { key: key.clone(), value: None, agent_id })
        }
    }
}
