//! `notify:` of the settings: who is notified of which runs, and how.

use super::keys::KeyType::{Any, Choice, ListOrOne, Map, MapOf, OneOf, Pattern, Text};
use super::keys::{KeyRule, Named, choice_table, keys};
use super::model::PayloadPath;
use super::syntax::environment::is_variable;
use super::syntax::{Decoder, Node};
use kb_base::diagnostic::{Code, Diagnostic};
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

choice_table! {
    /// `on` of `notify`.
    NOTIFY_EVENT, NOTIFY_EVENT_NAMES: &'static [NotifyEvent] = {
        "ended" => &[NotifyEvent::Succeeded, NotifyEvent::Failed, NotifyEvent::Cancelled],
        "succeeded" => &[NotifyEvent::Succeeded],
        "failed" => &[NotifyEvent::Failed],
        "cancelled" => &[NotifyEvent::Cancelled],
        "waiting" => &[NotifyEvent::Waiting],
        "recovered" => &[NotifyEvent::Recovered],
        "stopped" => &[NotifyEvent::Stopped],
        "missed" => &[NotifyEvent::Missed],
    }
}

/// What a hook calls or starts.
#[derive(Debug, Clone, PartialEq)]
pub enum NotifyTarget {
    /// A request to an address.
    Webhook(NotifyWebhook),
    /// Program and arguments; the notification is its standard input.
    Command(Vec<String>),
    /// A run of another playbook.
    Playbook(NotifyPlaybook),
}

keys! {
    /// A request to an address.
    pub struct NotifyWebhook(Debug, Clone, PartialEq): NOTIFY_WEBHOOK = ("notifyWebhook", "`webhook` of `notify`") {
        /// The address, or a reference to it: `env:NAME` or `file:PATH`.
        url: String = "url" as Pattern("^(https?://|env:|file:).+") => url, required, example("env:HOOK_URL");
        /// Name of a secret of the settings, `env:NAME` or `file:PATH`; it signs the request.
        secret: Option<String> = "secret" => secret, default("not signed"), example("HOOK"), names(Named::Secret);
    }

    /// A playbook that is run.
    pub struct NotifyPlaybook(Debug, Clone, PartialEq): NOTIFY_PLAYBOOK = ("notifyPlaybook", "`playbook` of `notify`") {
        /// Id of the playbook.
        id: String = "id", required, example("report");
        /// Parameters with fixed values.
        params: JsonMap = "params" as MapOf(&Any) => params, example("{channel: ops}");
        /// Parameters whose values are parts of the notification, such as `data.run`.
        payload: Vec<(String, PayloadPath)> = "payload" as MapOf(&Text) => payload, example("{source: data.run}");
    }
}

impl NotifyTarget {
    /// The key of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            NotifyTarget::Webhook(_) => "webhook",
            NotifyTarget::Command(_) => "command",
            NotifyTarget::Playbook(_) => "playbook",
        }
    }
}

/// The keys of which a hook has exactly one.
const TARGETS: &[&str] = &["webhook", "command", "playbook"];

keys! {
    /// Tells a web service, a program or a playbook about runs and triggers while `kb serve` runs.
    struct HookKeys(): NOTIFY = ("notify", "a hook of `notify`", rule KeyRule::ExactlyOne(TARGETS)) {
        /// Name of the hook.
        name: Option<String> = "name" as Pattern("^[a-z][a-z0-9_-]{0,63}$"),
            default("the kind and the position, such as `webhook-1`"), example("on-call");
        /// Events to notify it of; `ended` is every end of a run.
        on: Option<Vec<NotifyEvent>> = "on" as ListOrOne(&Choice(NOTIFY_EVENT_NAMES)) => events,
            default("`[failed, waiting, recovered, stopped, missed]`; of a `playbook` `[failed, waiting]`"),
            example("[ended, waiting]");
        /// Ids of the playbooks whose runs and triggers count.
        playbooks: Vec<String> = "playbooks", default("all"), example("[nightly]");
        /// A request to an address, signed as in Standard Webhooks. A text is short for `{url: TEXT}`.
        webhook: Option<NotifyTarget> = "webhook" as OneOf(const { &[Text, Map(&NOTIFY_WEBHOOK)] }) => webhook,
            example("{url: \"https://hooks.example.com/kb\", secret: HOOK}");
        /// Program and arguments. Its standard input is the notification as JSON.
        command: Vec<String> = "command", example("[./notify.sh, ops]");
        /// A playbook that is run. A text is short for `{id: TEXT}`.
        playbook: Option<NotifyTarget> = "playbook" as OneOf(const { &[Text, Map(&NOTIFY_PLAYBOOK)] }) => playbook,
            example("{id: report, payload: {source: data.run}}"), names(Named::Playbook);
    }
}

/// Decodes `notify:`. Call it after `secrets:`, whose names it refers to.
pub(crate) fn notify(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<NotifyHook> {
    let mut found: Vec<NotifyHook> = Vec::new();
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
    for (index, item) in items.iter().enumerate() {
        let Some(hook) = hook(item, index + 1, decoder) else { continue };
        if found.iter().any(|other| other.name == hook.name) {
            let message = format!("two hooks of `notify` have the name `{}`", hook.name);
            let help = "give each hook a `name` of its own";
            decoder.push(Diagnostic::error(Code::BAD_SETTING, item.span, message).help(help));
            continue;
        }
        found.push(hook);
    }
    found
}

fn hook(node: &Node, position: usize, decoder: &mut Decoder) -> Option<NotifyHook> {
    let fields = decoder.fields(node, &NOTIFY)?;
    let found = HookKeys::of(&fields, decoder)?;
    if TARGETS.iter().filter(|key| fields.get(key).is_some()).count() != 1 {
        if !fields.was_meant(TARGETS) {
            let message =
                "a hook of `notify` needs exactly one of `webhook`, `command`, `playbook`";
            let help = "write one hook for each";
            decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
        }
        return None;
    }
    let command = Some(found.command).filter(|argv| !argv.is_empty()).map(NotifyTarget::Command);
    let target = found.webhook.or(command).or(found.playbook)?;
    let on = found.on.unwrap_or_else(|| match target {
        // A playbook gets the run that it is about.
        NotifyTarget::Playbook(_) => vec![NotifyEvent::Failed, NotifyEvent::Waiting],
        NotifyTarget::Webhook(_) | NotifyTarget::Command(_) => NotifyEvent::DEFAULT.to_vec(),
    });
    let name = found.name.unwrap_or_else(|| format!("{}-{position}", target.kind()));
    Some(NotifyHook { name, on, playbooks: found.playbooks, target })
}

fn events(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Vec<NotifyEvent>> {
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node)).iter();
    let found = items.filter_map(|item| decoder.one_of(item, key, NOTIFY_EVENT));
    Some(found.flatten().copied().collect())
}

fn webhook(node: &Node, _: &str, decoder: &mut Decoder) -> Option<NotifyTarget> {
    let found = match node.as_map() {
        None => NotifyWebhook { url: url(node, "url", decoder)?, secret: None },
        Some(_) => NotifyWebhook::from_node(node, decoder)?,
    };
    Some(NotifyTarget::Webhook(found))
}

/// Decodes `url`: an address or a reference to one.
fn url(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, key)?;
    if !is_url(text) && !is_reference(text) {
        // The text may be a secret, so the message does not quote it.
        let message = "`url` is neither a URL nor a reference".to_owned();
        let help = "write `https://…`, `env:NAME` or `file:PATH`".to_owned();
        decoder.bad_value(node.span, message, help);
        return None;
    }
    Some(text.to_owned())
}

/// Decodes `secret`: the name of a secret of the settings, or a reference.
fn secret(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    let name = decoder.text(node, key)?;
    if !is_reference(name) && !decoder.names.secrets.contains(name) {
        let message = "`secret` names no secret of the settings";
        let known = decoder.names.secrets.clone();
        let near = decoder.nearest(name, known.iter().map(String::as_str));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                "write `env:NAME`, `file:PATH`, or a name below `secrets`; never the value itself"
                    .to_owned()
            }
        };
        decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
        return None;
    }
    Some(name.to_owned())
}

/// Whether a text is an address of the web.
pub(crate) fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Whether a text is `env:NAME` or `file:PATH`.
pub(crate) fn is_reference(text: &str) -> bool {
    match text.split_once(':') {
        Some(("env", name)) => is_variable(name),
        Some(("file", path)) => !path.is_empty(),
        _ => false,
    }
}

fn playbook(node: &Node, key: &str, decoder: &mut Decoder) -> Option<NotifyTarget> {
    let found = match node.as_map() {
        None => {
            let id = decoder.text(node, key)?.to_owned();
            NotifyPlaybook { id, params: JsonMap::new(), payload: Vec::new() }
        }
        Some(_) => NotifyPlaybook::from_node(node, decoder)?,
    };
    Some(NotifyTarget::Playbook(found))
}

/// Decodes `params`: fixed values.
fn params(node: &Node, key: &str, decoder: &mut Decoder) -> JsonMap {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, key, "a map from parameters to values");
        return JsonMap::new();
    };
    entries.iter().map(|(name, value)| (name.text.to_string(), value.to_json())).collect()
}

/// Decodes `payload`: paths into the notification.
fn payload(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<(String, PayloadPath)> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, key, "a map from parameters to paths");
        return Vec::new();
    };
    let mut paths = Vec::new();
    for (name, value) in entries {
        let Some(text) = decoder.text(value, key) else { continue };
        match PayloadPath::parse(text) {
            Some(path) => paths.push((name.text.to_string(), path)),
            None => decoder.bad_value(
                value.span,
                format!("`{text}` is not a path into a notification"),
                "write names with dots, such as `data.run`".to_owned(),
            ),
        }
    }
    paths
}
