//! Decodes `on:`, the triggers of a playbook. Start at [`triggers`].

use super::trigger_schedule as schedule;
use super::trigger_values::{constants, payload, require_values, when};
use super::{Decoder, Fields, Node};
use crate::definition::check::pattern;
use crate::definition::keys::KeyTable;
use crate::definition::keys::trigger as keys;
use crate::definition::model::{
    FileTrigger, HeaderSignature, Param, ParamType, PayloadPath, RunEnd, RunTrigger, Trigger,
    TriggerSource, Webhook, WebhookForm, is_topic,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{DefinitionId, JsonMap};

/// Decodes `on:`; `id` is the id of the playbook.
pub(crate) fn triggers(
    node: &Node,
    id: Option<&DefinitionId>,
    params: &[Param],
    decoder: &mut Decoder,
) -> Vec<Trigger> {
    let Some(fields) = decoder.fields(node, &keys::TRIGGERS) else { return Vec::new() };
    decoder.unsupported(&fields);
    let mut found: Vec<Trigger> = Vec::new();
    for (spec, _, node) in fields.iter() {
        let items = match node.as_seq() {
            Some(items) => items,
            None => std::slice::from_ref(node),
        };
        for item in items.iter().filter(|item| !item.is_null()) {
            let Some(trigger) = trigger(spec.name, item, id, params, decoder) else { continue };
            match found.iter().find(|other| other.name == trigger.name) {
                Some(first) => {
                    let message = format!("two triggers have the name `{}`", trigger.name);
                    decoder.push(
                        Diagnostic::error(Code::BAD_TRIGGER, trigger.span, message)
                            .label(first.span, "the first one")
                            .help("give each trigger a `name` of its own"),
                    );
                }
                None => found.push(trigger),
            }
        }
    }
    found
}

/// The trigger of a workflow with `trigger: auto`: messages whose topic is its id. Parameters come from
/// the fields of the message with their names.
pub(crate) fn automatic(id: &DefinitionId, params: &[Param], span: Span) -> Trigger {
    let wanted = params.iter().filter(|param| param.kind != ParamType::Secret);
    let path = |param: &Param| {
        let path = PayloadPath::parse(&format!("message.{}", param.name))?;
        Some((param.name.clone(), path))
    };
    let source = TriggerSource::Message { topic: id.to_string() };
    Trigger {
        name: "auto".to_owned(),
        overlap: source.default_overlap(),
        source,
        when: None,
        pause_after: None,
        params: JsonMap::new(),
        payload: wanted.filter_map(path).collect(),
        span,
    }
}

fn trigger(
    kind: &'static str,
    node: &Node,
    id: Option<&DefinitionId>,
    params: &[Param],
    decoder: &mut Decoder,
) -> Option<Trigger> {
    let (table, short): (&'static KeyTable, &'static str) = match kind {
        "schedule" => (&keys::SCHEDULE, "cron"),
        "webhook" => (&keys::WEBHOOK, ""),
        "file" => (&keys::FILE, "paths"),
        "message" => (&keys::MESSAGE, "topic"),
        _ => (&keys::RUN, "playbook"),
    };
    if short.is_empty() || node.as_map().is_some() {
        let fields = decoder.fields(node, table)?;
        let source = if kind == "schedule" {
            schedule::of_map(node, &fields, decoder)
        } else {
            let main = decoder.required(&fields, short_or(short, "secret")).cloned();
            main.and_then(|main| source(kind, &main, Some(&fields), id, decoder))
        };
        let trigger = common(kind, source, &fields, node.span, params, decoder);
        return trigger;
    }
    let source = source(kind, node, None, id, decoder)?;
    let name = kind.to_owned();
    let trigger = Trigger {
        name,
        overlap: source.default_overlap(),
        source,
        when: None,
        pause_after: None,
        params: JsonMap::new(),
        payload: Vec::new(),
        span: node.span,
    };
    require_values(&trigger, params, decoder);
    Some(trigger)
}

fn short_or(short: &'static str, other: &'static str) -> &'static str {
    if short.is_empty() { other } else { short }
}

/// What a trigger reacts to. `main` is the value of its main key, `fields` are its other keys.
fn source(
    kind: &str,
    main: &Node,
    fields: Option<&Fields<'_>>,
    id: Option<&DefinitionId>,
    decoder: &mut Decoder,
) -> Option<TriggerSource> {
    match kind {
        "schedule" => schedule::of_text(main, decoder),
        "webhook" => webhook(main, fields?, id, decoder),
        "file" => {
            let paths: Vec<String> = decoder.texts(main, "paths");
            paths.iter().for_each(|path| pattern::project_glob(path, main.span, decoder));
            (!paths.is_empty()).then_some(TriggerSource::File(FileTrigger { paths }))
        }
        "message" => {
            let topic = decoder.text(main, "topic")?.to_owned();
            if !is_topic(&topic) {
                let message = format!("`{topic}` cannot be a topic");
                let help = "use letters, digits, `.`, `_`, `-` and `/`, at most 128".to_owned();
                decoder.bad_value(main.span, message, help);
                return None;
            }
            Some(TriggerSource::Message { topic })
        }
        _ => {
            let text = decoder.text(main, "playbook")?;
            let Ok(playbook) = DefinitionId::new(text) else {
                let message = format!("`{text}` cannot be the id of a playbook");
                decoder.bad_value(main.span, message, "write the id of a playbook".to_owned());
                return None;
            };
            let statuses = fields.and_then(|fields| fields.get("status"));
            let statuses = statuses.map(|node| {
                let items = decoder.list(node, "status");
                items.iter().filter_map(|item| decoder.choice(item, "status")).collect()
            });
            let statuses = statuses.unwrap_or_else(|| vec![RunEnd::Succeeded]);
            Some(TriggerSource::Run(RunTrigger { playbook, statuses, span: main.span }))
        }
    }
}

fn webhook(
    secret: &Node,
    fields: &Fields<'_>,
    id: Option<&DefinitionId>,
    decoder: &mut Decoder,
) -> Option<TriggerSource> {
    let form = fields.get("form").and_then(|node| webhook_form(node, decoder)).unwrap_or_default();
    let secrets: Vec<String> = decoder.texts(secret, "secret");
    for name in &secrets {
        if !decoder.names.secrets.contains(name) {
            let known: Vec<String> = decoder.names.secrets.iter().cloned().collect();
            let near = decoder.nearest(name, known.iter().map(String::as_str));
            let help = match (near, name.split_once(':')) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, None) => {
                    format!("declare it in the settings: `secrets: {{{name}: env:{name}}}`")
                }
                (None, Some((source, place))) => {
                    let own = if source == "env" { place } else { "HOOK_SECRET" };
                    format!(
                        "name it, `secret: {own}`, and declare it in the settings: `secrets: {{{own}: {name}}}`"
                    )
                }
            };
            let message = format!("the settings declare no secret `{name}`");
            decoder.push(Diagnostic::error(Code::BAD_TRIGGER, secret.span, message).help(help));
        }
    }
    if secrets.len() > 2 {
        let message = format!("`secret` names {} secrets", secrets.len());
        let help = "at most two sign requests: the current one and the next one".to_owned();
        decoder.bad_value(secret.span, message, help);
    }
    let path = match fields.get("path") {
        None => id?.to_string(),
        Some(node) => {
            let text = decoder.text(node, "path")?;
            if DefinitionId::new(text).is_err() {
                let help = "use a lower-case letter, then letters, digits, `_` and `-`".to_owned();
                decoder.bad_value(
                    node.span,
                    format!("`{text}` cannot be the path of a webhook"),
                    help,
                );
                return None;
            }
            text.to_owned()
        }
    };
    Some(TriggerSource::Webhook(Webhook { path, form, secrets }))
}

fn webhook_form(node: &Node, decoder: &mut Decoder) -> Option<WebhookForm> {
    if node.as_map().is_none() {
        return decoder.choice(node, "form").map(WebhookForm::Named);
    }
    let fields = decoder.fields(node, &keys::SIGNATURE)?;
    decoder.required(&fields, "header");
    let mut name = |key: &str| {
        let node = fields.get(key)?;
        let text = decoder.text(node, key)?;
        let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.len() <= 64
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !is_name {
            let help = "use letters, digits and `-`, such as `X-Signature`".to_owned();
            decoder.bad_value(node.span, format!("`{text}` cannot be the name of a header"), help);
        }
        is_name.then(|| text.to_ascii_lowercase())
    };
    let (header, timestamp) = (name("header"), name("timestamp"));
    Some(WebhookForm::Header(HeaderSignature {
        header: header?,
        prefix: fields.text("prefix", decoder).unwrap_or_default().to_owned(),
        encoding: fields.choice("encoding", decoder).unwrap_or_default(),
        timestamp,
    }))
}

/// The keys that all kinds have.
fn common(
    kind: &str,
    source: Option<TriggerSource>,
    fields: &Fields<'_>,
    span: Span,
    params: &[Param],
    decoder: &mut Decoder,
) -> Option<Trigger> {
    let name = match fields.get("name") {
        None => kind.to_owned(),
        Some(node) => {
            let text = decoder.text(node, "name")?;
            if DefinitionId::new(text).is_err() {
                let help = "use a lower-case letter, then letters, digits, `_` and `-`".to_owned();
                decoder.bad_value(
                    node.span,
                    format!("`{text}` cannot be the name of a trigger"),
                    help,
                );
            }
            text.to_owned()
        }
    };
    let constants = fields.get("params").map(|node| constants(node, params, decoder));
    let payload = fields.get("payload").map(|node| payload(node, source.as_ref(), params, decoder));
    let overlap = fields.choice("overlap", decoder);
    let when = match kind {
        "schedule" => None,
        _ => fields.get("when").and_then(|node| when(node, source.as_ref(), decoder)),
    };
    let source = source?;
    let trigger = Trigger {
        name,
        overlap: overlap.unwrap_or_else(|| source.default_overlap()),
        source,
        when,
        pause_after: fields.integer("pauseAfter", decoder),
        params: constants.unwrap_or_default(),
        payload: payload.unwrap_or_default(),
        span,
    };
    if let Some((name, _)) = trigger.payload.iter().find(|(n, _)| trigger.params.contains_key(n)) {
        let message = format!("`{name}` has a fixed value and a part of the payload");
        decoder.push(
            Diagnostic::error(Code::TRIGGER_PARAM, span, message).help("keep one of the two"),
        );
    }
    require_values(&trigger, params, decoder);
    Some(trigger)
}
