//! Public events of what the steps of a run say to each other.

use super::Body;
use super::exchange_views::{BlackboardView, MessageView, SubscriberView};
use crate::evidence::{Exchange, Message};

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
