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

/// What happened to a run or to triggers.
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
    /// A run succeeded after the one before it had failed, or a trigger starts runs again.
    Recovered,
    /// An enabled trigger starts no runs any more: it is paused after failures, changed, broken or removed.
    Stopped,
    /// Times of a schedule passed without a run.
    Missed,
}

impl NotifyEvent {
    /// All events of which a hook is notified unless it says otherwise: those after which a person may have to act.
    pub const DEFAULT: [NotifyEvent; 5] = [
        NotifyEvent::Failed,
        NotifyEvent::Waiting,
        NotifyEvent::Recovered,
        NotifyEvent::Stopped,
        NotifyEvent::Missed,
    ];

    /// The name in the settings; for the end of a run that of its status.
    pub fn as_str(self) -> &'static str {
        match self {
            NotifyEvent::Succeeded => "succeeded",
            NotifyEvent::Failed => "failed",
            NotifyEvent::Cancelled => "cancelled",
            NotifyEvent::Waiting => "waiting",
            NotifyEvent::Recovered => "recovered",
            NotifyEvent::Stopped => "stopped",
            NotifyEvent::Missed => "missed",
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
