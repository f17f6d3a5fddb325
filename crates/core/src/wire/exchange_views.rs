//! Public forms of what the steps of a run say to each other.

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

/// A task that a specialist gave to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegateView {
    /// Id of the specialist that gets the task.
    pub agent: String,
    /// The start of the task.
    pub task: String,
    /// Id of the child run.
    pub child: String,
    /// Level of the child run below the first run, from 1.
    pub depth: u32,
    /// Lower is more urgent.
    pub priority: u32,
}
