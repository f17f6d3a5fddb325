//! Decodes `serve:` of the settings.

use super::notify::{is_reference, is_url};
use super::{Decoder, Node};
use crate::definition::keys::serve as keys;
use crate::definition::model::{Queue, Settings, TraceSettings};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;

/// Decodes `serve:`.
pub(crate) fn serve(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::SERVE) else { return };
    settings.max_runs = fields.integer("maxRuns", decoder);
    settings.projects = fields.texts("projects", decoder);
    if let Some(node) = fields.get("queues") {
        queues(node, settings, decoder);
    }
    settings.user_header = fields.get("userHeader").and_then(|node| {
        let name = decoder.text(node, "userHeader")?;
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        if is_name(name) {
            return Some(name.to_owned());
        }
        let message = "`userHeader` is not the name of a header";
        let problem = Diagnostic::error(Code::BAD_SETTING, node.span, message);
        decoder.push(problem.help("write a name such as `X-Forwarded-User`"));
        None
    });
    settings.url = fields.get("url").and_then(|node| {
        let url = decoder.text(node, "url")?.trim_end_matches('/');
        if is_url(url) {
            return Some(url.to_owned());
        }
        let problem = Diagnostic::error(Code::BAD_SETTING, node.span, "`url` is not a URL");
        decoder
            .push(problem.help("write the address of the pages, such as `https://kb.example.org`"));
        None
    });
    settings.traces = fields.get("traces").and_then(|node| traces(node, decoder)).map(Box::new);
}

fn queues(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "queues", "a map from names to queues");
        return;
    };
    for (name, node) in entries {
        let Some(fields) = decoder.fields(node, &keys::QUEUE) else { continue };
        let Some(list) = decoder.required(&fields, "playbooks") else { continue };
        let playbooks = decoder.texts(list, "playbooks");
        for id in &playbooks {
            if let Some(other) = settings.queue_of(id) {
                let message = format!(
                    "the playbook `{id}` is in the queues `{}` and `{}`",
                    other.name, name.text
                );
                let problem = Diagnostic::error(Code::BAD_SETTING, list.span, message);
                decoder.push(problem.help("name it in one queue"));
            }
        }
        settings.queues.push(Queue {
            name: name.text.to_string(),
            playbooks,
            max_runs: fields.integer("maxRuns", decoder),
            priority: fields.integer("priority", decoder).unwrap_or(Queue::PRIORITY),
        });
    }
}

/// Decodes `serve.traces:`.
fn traces(node: &Node, decoder: &mut Decoder) -> Option<TraceSettings> {
    let (endpoint, fields) = match node.as_map() {
        None => (node.clone(), None),
        Some(_) => {
            let fields = decoder.fields(node, &keys::TRACES)?;
            (decoder.required(&fields, "endpoint")?.clone(), Some(fields))
        }
    };
    let text = decoder.text(&endpoint, "endpoint")?;
    if !is_url(text) && !is_reference(text) {
        let message = "`endpoint` is neither a URL nor a reference".to_owned();
        let help = "write `http://127.0.0.1:4318`, `env:NAME` or `file:PATH`".to_owned();
        decoder.bad_value(endpoint.span, message, help);
        return None;
    }
    let mut headers = BTreeMap::new();
    let given = fields.as_ref().and_then(|fields| fields.get("headers"));
    if let Some(node) = given.filter(|node| node.as_map().is_none()) {
        decoder.wrong_type(node, "headers", "a map of texts");
    }
    for (name, node) in given.and_then(Node::as_map).into_iter().flatten() {
        if let Some(value) = decoder.text(node, "headers") {
            headers.insert(name.text.to_string(), value.to_owned());
        }
    }
    let service = fields.and_then(|fields| fields.text("service", decoder));
    let service = service.unwrap_or_else(|| "kb".to_owned());
    Some(TraceSettings { endpoint: text.to_owned(), headers, service })
}
