//! `http:`: one HTTP request.

use super::execution::{Effects, Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::check::url;
use crate::definition::keys::KeyType::{
    self, Any, Integer, ListOrOne, Map, MapOf, ScalarTemplate, Text,
};
use crate::definition::keys::{KeySpec, KeyTable, key, table};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template, ValueMap, ValueTemplate};
use kb_base::diagnostic::{Code, Diagnostic};

/// `http:`: the request of an `http` step.
#[derive(Debug, Clone)]
pub struct HttpStep {
    /// Method in upper case. Default: `GET`.
    pub method: String,
    /// URL; scheme and host are literal.
    pub url: Template,
    /// Request headers, in the order of the file.
    pub headers: Vec<(String, Template)>,
    /// Query parameters, in the order of the file.
    pub query: ValueMap,
    /// Request body; text is sent as it is, other values as JSON.
    pub body: Option<ValueTemplate>,
    /// Statuses that count as success; empty: 200–299.
    pub expect: Vec<u16>,
}

static HTTP: KeyTable = table("http", "`http`", "The request of an `http` step.", &[HTTP_KEYS]);

const HTTP_KEYS: &[KeySpec] = &[
    key("method", Text, "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.")
        .example("POST")
        .default("GET"),
    key("url", KeyType::Template, "URL; scheme and host are literal.")
        .required()
        .example("\"https://example.org/items/{{id}}\""),
    key("headers", MapOf(&ScalarTemplate), "Request headers.")
        .example("{Authorization: \"Bearer {{secrets.TOKEN}}\"}"),
    key("query", MapOf(&Any), "Query parameters.").example("{page: 1}"),
    key("body", Any, "Request body; text is sent as it is, other values as JSON.")
        .example("{title: \"{{name}}\"}"),
    key("expect", ListOrOne(&Integer(100, 599)), "Statuses that count as success.")
        .default("200–299")
        .example("[200, 404]"),
];

impl StepType for Box<HttpStep> {
    const KEYS: &'static [KeySpec] =
        &[key("http", Map(&HTTP), "HTTP request to send.")
            .example("{url: \"https://example.org/\"}")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules { starts_process: |_| false, ..KindRules::PROCESS };

    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Box<HttpStep>> {
        request(node, decoder).map(Box::new)
    }

    fn execution(&self) -> Execution<'_> {
        let sends_request = self.method != "GET";
        Execution::Attempt(Effects { sends_request, reads_others: true, ..Effects::default() })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        let mut texts = vec![self.url.references().collect()];
        texts.extend(self.headers.iter().map(|(_, value)| value.references().collect()));
        texts.extend(self.query.iter().map(|(_, value)| value.references()));
        texts.extend(self.body.iter().map(|body| body.references()));
        texts
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::Keys(vec!["status", "headers", "body"])
    }

    fn worker(&self) -> String {
        self.method.clone()
    }
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
    let fields = decoder.fields(node, &HTTP)?;
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
