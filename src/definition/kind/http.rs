//! `http:`: one HTTP request.

use super::spec::Kind;
use crate::definition::check::url;
use crate::definition::keys::step_parts;
use crate::definition::model::{HttpStep, NotYet, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::diagnostic::{Code, Diagnostic};

pub(super) static HTTP: Kind = Kind { starts_process: |_| false, ..Kind::new("http", decode) };

fn decode(
    node: &Node,
    _: &Fields<'_>,
    decoder: &mut Decoder,
    _: &mut Vec<NotYet>,
) -> Option<StepKind> {
    request(node, decoder).map(|http| StepKind::Http(http.into()))
}

fn request(node: &Node, decoder: &mut Decoder) -> Option<HttpStep> {
    if let Some(text) = node.as_text() {
        let message = "`http` takes a map, found a text";
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                .help(format!("write `http: {{url: \"{text}\"}}`")),
        );
        return None;
    }
    let fields = decoder.fields(node, &step_parts::HTTP)?;
    let method = fields.get("method").and_then(|node| method(node, decoder));
    let url = decoder.required(&fields, "url").and_then(|node| {
        let template = decoder.template(node, "url", Secrets::Refused)?;
        let text = template.as_literal().or(node.as_text()).unwrap_or_default().to_owned();
        url::check(&text, template.as_literal().is_some(), node, decoder);
        Some(template)
    });
    let headers =
        fields.get("headers").map(|n| decoder.template_map(n, "headers", Secrets::Allowed));
    let query = fields.get("query").map(|n| decoder.value_map(n, "query", Secrets::Allowed));
    let body = fields.get("body").map(|n| decoder.value_template(n, Secrets::Allowed));
    let expect = fields.get("expect").map(|node| {
        let items = decoder.list(node, "expect");
        items
            .iter()
            .filter_map(|item| decoder.integer(item, "expect", 100, 599))
            .collect::<Vec<_>>()
    });
    Some(HttpStep {
        method: method.unwrap_or_else(|| "GET".to_owned()),
        url: url?,
        headers: headers.unwrap_or_default(),
        query: query.unwrap_or_default(),
        body: match body {
            Some(body) => Some(body?),
            None => None,
        },
        expect: expect.unwrap_or_default().into_iter().map(|status| status as u16).collect(),
    })
}

fn method(node: &Node, decoder: &mut Decoder) -> Option<String> {
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let text = decoder.text(node, "method")?.to_ascii_uppercase();
    if METHODS.contains(&text.as_str()) {
        return Some(text);
    }
    let message = format!("`{text}` is not an HTTP method");
    decoder.bad_value(node.span, message, format!("write one of {}", METHODS.join(", ")));
    None
}
