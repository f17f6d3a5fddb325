//! Decodes `notify:` of the settings.

use super::environment::is_variable;
use super::{Decoder, Node};
use crate::definition::keys::choice_tables::NOTIFY_EVENT;
use crate::definition::keys::notify as keys;
use crate::definition::model::{NotifyEvent, NotifyHook, NotifyTarget, PayloadPath};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::JsonMap;

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
    let fields = decoder.fields(node, &keys::NOTIFY)?;
    let targets = ["webhook", "command", "playbook"].map(|key| fields.get(key));
    let target = match targets {
        [Some(node), None, None] => webhook(node, decoder),
        [None, Some(node), None] => {
            Some(NotifyTarget::Command(decoder.texts(node, "command"))).filter(is_usable)
        }
        [None, None, Some(node)] => playbook(node, decoder),
        _ if fields.was_meant(&["webhook", "command", "playbook"]) => None,
        _ => {
            let message =
                "a hook of `notify` needs exactly one of `webhook`, `command`, `playbook`";
            let help = "write one hook for each";
            decoder.push(Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help));
            None
        }
    };
    let mut on: Vec<NotifyEvent> = Vec::new();
    if let Some(list) = fields.get("on") {
        for one in list.as_seq().unwrap_or(std::slice::from_ref(list)) {
            on.extend(decoder.one_of(one, "on", NOTIFY_EVENT).unwrap_or_default());
        }
    } else {
        // A playbook gets the run that it is about.
        let of_runs = [NotifyEvent::Failed, NotifyEvent::Waiting];
        let is_playbook = targets[2].is_some();
        on.extend(if is_playbook { &of_runs[..] } else { &NotifyEvent::DEFAULT });
    }
    let playbooks = fields.texts("playbooks", decoder);
    let target = target?;
    let name = fields.text("name", decoder);
    let name = name.unwrap_or_else(|| format!("{}-{position}", target.kind()));
    Some(NotifyHook { name, on, playbooks, target })
}

fn is_usable(target: &NotifyTarget) -> bool {
    !matches!(target, NotifyTarget::Command(argv) if argv.is_empty())
}

fn webhook(node: &Node, decoder: &mut Decoder) -> Option<NotifyTarget> {
    let (url, secret) = match node.as_map() {
        None => (node.clone(), None),
        Some(_) => {
            let fields = decoder.fields(node, &keys::NOTIFY_WEBHOOK)?;
            (decoder.required(&fields, "url")?.clone(), fields.get("secret").cloned())
        }
    };
    let text = decoder.text(&url, "url")?;
    if !is_url(text) && !is_reference(text) {
        // The text may be a secret, so the message does not quote it.
        let message = "`url` is neither a URL nor a reference".to_owned();
        let help = "write `https://…`, `env:NAME` or `file:PATH`".to_owned();
        decoder.bad_value(url.span, message, help);
        return None;
    }
    let secret = match &secret {
        None => None,
        Some(node) => {
            let name = decoder.text(node, "secret")?;
            if !is_reference(name) && !decoder.names.secrets.contains(name) {
                let message = "`secret` names no secret of the settings";
                let known = decoder.names.secrets.clone();
                let near = decoder.nearest(name, known.iter().map(String::as_str));
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write `env:NAME`, `file:PATH`, or a name below `secrets`; never the value itself".to_owned(),
                };
                let problem = Diagnostic::error(Code::BAD_SETTING, node.span, message).help(help);
                decoder.push(problem);
                return None;
            }
            Some(name.to_owned())
        }
    };
    Some(NotifyTarget::Webhook { url: text.to_owned(), secret })
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

fn playbook(node: &Node, decoder: &mut Decoder) -> Option<NotifyTarget> {
    if node.as_map().is_none() {
        let id = decoder.text(node, "playbook")?.to_owned();
        return Some(NotifyTarget::Playbook { id, params: JsonMap::new(), payload: Vec::new() });
    }
    let fields = decoder.fields(node, &keys::NOTIFY_PLAYBOOK)?;
    let id = decoder.required(&fields, "id").and_then(|node| decoder.text(node, "id"));
    let mut params = JsonMap::new();
    let mut payload = Vec::new();
    if let Some(node) = fields.get("params") {
        match node.as_map() {
            Some(map) => params.extend(map.iter().map(|(k, v)| (k.text.to_string(), v.to_json()))),
            None => decoder.wrong_type(node, "params", "a map from parameters to values"),
        }
    }
    if let Some(node) = fields.get("payload") {
        let Some(map) = node.as_map() else {
            decoder.wrong_type(node, "payload", "a map from parameters to paths");
            return None;
        };
        for (key, value) in map {
            let Some(text) = decoder.text(value, "payload") else { continue };
            match PayloadPath::parse(text) {
                Some(path) => payload.push((key.text.to_string(), path)),
                None => decoder.bad_value(
                    value.span,
                    format!("`{text}` is not a path into a notification"),
                    "write names with dots, such as `data.run`".to_owned(),
                ),
            }
        }
    }
    Some(NotifyTarget::Playbook { id: id?.to_owned(), params, payload })
}
