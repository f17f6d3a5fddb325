//! `http:`: one HTTP request.

use super::execution::{Effects, Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::check::url;
use crate::definition::keys::KeyType::{Any, Integer, ListOrOne, Map, MapOf, ScalarTemplate};
use crate::definition::keys::{KeySpec, key, keys};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template, ValueMap, ValueTemplate};
use kb_base::diagnostic::{Code, Diagnostic};

keys! {
    /// The request of an `http` step.
    pub struct HttpStep(Debug, Clone): HTTP = ("http", "`http`") {
        /// GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
        method: String = "method", default("GET"), example("POST");
        /// URL; scheme and host are literal.
        url: Template = "url" => address, required, example("\"https://example.org/items/{{id}}\"");
        /// Request headers.
        headers: Vec<(String, Template)> = "headers" as MapOf(&ScalarTemplate) => headers,
            example("{Authorization: \"Bearer {{secrets.TOKEN}}\"}");
        /// Query parameters.
        query: ValueMap = "query" as MapOf(&Any) => query, example("{page: 1}");
        /// Request body; text is sent as it is, other values as JSON.
        body: Option<ValueTemplate> = "body" => body, example("{title: \"{{name}}\"}");
        /// Statuses that count as success.
        expect: Vec<u16> = "expect" as ListOrOne(&Integer(100, 599)), default("200–299"), example("[200, 404]");
    }
}

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
    let found = HttpStep::of(&fields, decoder);
    let method = fields.get("method").and_then(|node| Some((node, node.as_text()?)));
    let is_known = |text: &str| METHODS.contains(&text.to_ascii_uppercase().as_str());
    if let Some((node, text)) = method.filter(|(_, text)| !is_known(text)) {
        let message = format!("`{text}` is not an HTTP method");
        decoder.bad_value(node.span, message, format!("write one of {}", METHODS.join(", ")));
    }
    found.map(|found| HttpStep { method: found.method.to_ascii_uppercase(), ..found })
}

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

fn address(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Template> {
    let template = decoder.template(node, key, Secrets::Refused)?;
    let text = template.as_literal().or(node.as_text()).unwrap_or_default().to_owned();
    url::check(&text, template.as_literal().is_some(), node, decoder);
    Some(template)
}

fn headers(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<(String, Template)> {
    decoder.template_map(node, key, Secrets::Allowed)
}

fn query(node: &Node, key: &str, decoder: &mut Decoder) -> ValueMap {
    decoder.value_map(node, key, Secrets::Allowed)
}

fn body(node: &Node, _: &str, decoder: &mut Decoder) -> Option<ValueTemplate> {
    decoder.value_template(node, Secrets::Allowed)
}
