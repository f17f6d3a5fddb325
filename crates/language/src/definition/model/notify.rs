//! `notify:` of the settings: who is notified of which runs, and how.

use super::trigger::PayloadPath;
use kb_base::value::JsonMap;

/// An entry of `notify` in the settings: a receiver, and the ends of runs of which it is notified.
#[derive(Debug, Clone, PartialEq)]
pub struct NotifyHook {
    /// Name, unique in the settings. Default: the kind and the position, such as `webhook-1`.
    pub name: String,
    /// The events of which it is notified.
    pub on: Vec<NotifyEvent>,
    /// Ids of the playbooks whose runs count; empty: all.
    pub playbooks: Vec<String>,
    /// What is called or started.
    pub target: NotifyTarget,
}

/// What happened to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotifyEvent {
    /// The run ended and every failed step was tolerated.
    Succeeded,
    /// A step failed and was not tolerated, or the run itself failed.
    Failed,
    /// A person stopped it.
    Cancelled,
    /// It waits for a person.
    Waiting,
}

impl NotifyEvent {
    /// The name in the settings, which is the name of the run status.
    pub fn as_str(self) -> &'static str {
        match self {
            NotifyEvent::Succeeded => "succeeded",
            NotifyEvent::Failed => "failed",
            NotifyEvent::Cancelled => "cancelled",
            NotifyEvent::Waiting => "waiting",
        }
    }
}

/// What a hook calls or starts.
#[derive(Debug, Clone, PartialEq)]
pub enum NotifyTarget {
    /// A request to an address.
    Webhook {
        /// A URL, or a reference (`env:NAME`, `file:PATH`) to it.
        url: String,
        /// The name of a secret of the settings, or a reference, that signs the request.
        secret: Option<String>,
    },
    /// Program and arguments; the notification is its standard input.
    Command(Vec<String>),
    /// A run of another playbook.
    Playbook {
        /// Id of the playbook.
        id: String,
        /// Parameters with fixed values.
        params: JsonMap,
        /// Parameters whose value is a part of the notification.
        payload: Vec<(String, PayloadPath)>,
    },
}

impl NotifyTarget {
    /// The key of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            NotifyTarget::Webhook { .. } => "webhook",
            NotifyTarget::Command(_) => "command",
            NotifyTarget::Playbook { .. } => "playbook",
        }
    }
}
