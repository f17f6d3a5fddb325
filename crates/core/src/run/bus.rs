//! [`Bus`]: the channels and the blackboard of a run, as its events build them up.
//!
//! Messages are numbered in the order of their events. A subscriber receives those after its subscription, in pages, and
//! acknowledges by number. Each attempt starts at its subscription again: what an earlier attempt of the step
//! acknowledged, the next one has not read.

use super::event::InstanceIx;
use crate::evidence::{Exchange, Heard, Message};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Messages of a run.
const MESSAGES: usize = 1_000;
/// Subscriptions of a run, of all steps and items together.
const SUBSCRIPTIONS: usize = 10_000;
/// Values on the blackboard.
const KEYS: usize = 200;
/// Bytes of all messages, and of all values on the blackboard with their names.
const BYTES: usize = 1 << 20;
/// Messages of one answer.
const PAGE: usize = 50;
/// Bytes of the messages of one answer; the first message is in it whatever its size is.
const PAGE_BYTES: usize = 16 << 10;

/// What the steps of a run have said to each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Bus {
    /// All messages; the one with the number N is at N - 1.
    messages: Vec<Message>,
    message_bytes: usize,
    subscriptions: BTreeMap<InstanceIx, BTreeMap<String, Subscription>>,
    board: BTreeMap<String, Arc<str>>,
    board_bytes: usize,
    /// The last call of each step or item, which a resumed attempt may repeat.
    last: BTreeMap<InstanceIx, (String, Span)>,
}

/// The position of a subscriber in the messages.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Subscription {
    /// Number of the last message before the subscription.
    since: u64,
    /// Number of the last acknowledged message.
    read: u64,
}

/// The messages that an answer is about: those after a number, up to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub(super) after: u64,
    pub(super) through: u64,
}

impl Bus {
    /// What the event of this call was about, if it is the last one of the step or item.
    pub(super) fn known(&self, ix: InstanceIx, call: &str) -> Option<Span> {
        self.last.get(&ix).filter(|(known, _)| known == call).map(|(_, span)| *span)
    }

    /// What an exchange is about.
    ///
    /// # Errors
    ///
    /// Why it is refused: a limit of the run is reached, or nothing is subscribed to.
    pub(super) fn admit(&self, ix: InstanceIx, exchange: &Exchange) -> Result<Span, Box<Failure>> {
        let last = self.messages.len() as u64;
        let read = |channel: &str| self.subscription(ix, channel).map(|own| own.read);
        match exchange {
            Exchange::Publish { message, .. } => {
                if self.messages.len() >= MESSAGES {
                    return Err(full(format!("the run has {MESSAGES} messages, its limit")));
                }
                if self.message_bytes + message.len() > BYTES {
                    return Err(full(format!("the messages of the run exceed {BYTES} bytes")));
                }
                Ok(Span { after: last, through: last + 1 })
            }
            Exchange::Subscribe { channel, check, .. } => {
                let Some(read) = read(channel) else {
                    let all: usize = self.subscriptions.values().map(BTreeMap::len).sum();
                    return if all < SUBSCRIPTIONS {
                        Ok(Span { after: last, through: last })
                    } else {
                        Err(full(format!("the run has {SUBSCRIPTIONS} subscriptions, its limit")))
                    };
                };
                let through = if *check { self.end_of_page(channel, read) } else { read };
                Ok(Span { after: read, through })
            }
            Exchange::Ack { channel, through } => {
                let after = read(channel).ok_or_else(|| not_subscribed(channel))?;
                Ok(Span { after, through: through.unwrap_or(last).clamp(after, last) })
            }
            Exchange::Unsubscribe { .. } | Exchange::Read { .. } => Ok(Span::default()),
            Exchange::Write { key, value } => {
                let before = self.board.get(key).map(|old| old.len());
                if before.is_none() && self.board.len() >= KEYS {
                    return Err(full(format!("the blackboard has {KEYS} keys, its limit")));
                }
                let freed = before.unwrap_or(0);
                if self.board_bytes - freed + key.len() + value.len() > BYTES {
                    return Err(full(format!("the values of the blackboard exceed {BYTES} bytes")));
                }
                Ok(Span::default())
            }
        }
    }

    /// Folds an exchange. `author` is the name of the step or item.
    pub(super) fn apply(
        &mut self,
        (ix, author): (InstanceIx, &str),
        call: &str,
        exchange: &Exchange,
        through: u64,
    ) {
        let mut after = 0;
        match exchange {
            Exchange::Publish { channel, message } => {
                self.message_bytes += message.len();
                let (channel, data) = (channel.clone(), Arc::from(message.as_str()));
                self.messages.push(Message { seq: through, channel, author: author.into(), data });
            }
            Exchange::Subscribe { channel, check, ack } => {
                let all = self.subscriptions.entry(ix).or_default();
                let new = Subscription { since: through, read: through };
                let own = all.entry(channel.clone()).or_insert(new);
                after = own.read;
                if *check && *ack {
                    own.read = through;
                }
            }
            Exchange::Ack { channel, .. } => {
                if let Some(own) = self.subscription_mut(ix, channel) {
                    (after, own.read) = (own.read, through);
                }
            }
            Exchange::Unsubscribe { channel } => {
                self.subscriptions.get_mut(&ix).map(|all| all.remove(channel));
            }
            Exchange::Write { key, value } => {
                let old = self.board.insert(key.clone(), Arc::from(value.as_str()));
                let before = old.map_or(0, |old| key.len() + old.len());
                self.board_bytes = self.board_bytes + key.len() + value.len() - before;
            }
            Exchange::Read { .. } => {}
        }
        self.last.insert(ix, (call.to_owned(), Span { after, through }));
    }

    /// The answer to an exchange whose event is folded.
    pub(super) fn answer(&self, exchange: &Exchange, span: Span) -> Heard {
        match exchange {
            Exchange::Publish { .. } => Heard::Published(span.through),
            Exchange::Subscribe { check: false, .. } => Heard::Subscribed,
            Exchange::Subscribe { channel, .. } => {
                let page = self.of_channel(channel, span.after);
                let messages = page.take_while(|own| own.seq <= span.through).cloned().collect();
                Heard::Messages { messages, more: self.of_channel(channel, span.through).count() }
            }
            Exchange::Ack { .. } => Heard::Acknowledged(span.through),
            Exchange::Unsubscribe { .. } => Heard::Unsubscribed,
            Exchange::Write { .. } => Heard::Written,
            Exchange::Read { key: Some(key) } => Heard::Value(self.board.get(key).cloned()),
            Exchange::Read { key: None } => {
                let all = self.board.iter().map(|(key, value)| (key.clone(), value.clone()));
                Heard::Keys(all.collect())
            }
        }
    }

    /// A new attempt of a step or item starts: it has read nothing, and its calls have ids of their own.
    pub(super) fn restart(&mut self, ix: InstanceIx) {
        self.last.remove(&ix);
        for own in self.subscriptions.get_mut(&ix).into_iter().flat_map(BTreeMap::values_mut) {
            own.read = own.since;
        }
    }

    fn subscription(&self, ix: InstanceIx, channel: &str) -> Option<&Subscription> {
        self.subscriptions.get(&ix)?.get(channel)
    }

    fn subscription_mut(&mut self, ix: InstanceIx, channel: &str) -> Option<&mut Subscription> {
        self.subscriptions.get_mut(&ix)?.get_mut(channel)
    }

    /// The messages of a channel after this number.
    fn of_channel<'a>(&'a self, channel: &'a str, after: u64) -> impl Iterator<Item = &'a Message> {
        let later = self.messages.iter().skip(after as usize);
        later.filter(move |message| message.channel == channel)
    }

    /// Number of the last message of one answer; of the last message of the run, if the answer has all of the channel.
    fn end_of_page(&self, channel: &str, after: u64) -> u64 {
        let (mut end, mut count, mut bytes) = (after, 0, 0);
        for message in self.of_channel(channel, after) {
            bytes += message.data.len();
            if count == PAGE || (count > 0 && bytes > PAGE_BYTES) {
                return end;
            }
            (end, count) = (message.seq, count + 1);
        }
        self.messages.len() as u64
    }
}

fn full(why: String) -> Box<Failure> {
    let help = "say less: pass results on as outputs and artifacts of steps";
    Box::new(Failure::new(Code::BUS_REFUSED, why).help(help))
}

fn not_subscribed(channel: &str) -> Box<Failure> {
    let message = format!("the step is not subscribed to `{channel}`");
    Box::new(Failure::new(Code::BUS_REFUSED, message).help("call `subscribe` first"))
}

#[cfg(test)]
mod tests;
