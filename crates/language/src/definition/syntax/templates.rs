//! Decodes texts and values with placeholders, and refuses secrets where they are not allowed.

use super::{Decoder, Key, Node, Scalar, ScalarKind, Value};
use crate::expression::{
    Expression, Reference, Root, Template, ValueMap, ValueTemplate, foreign_placeholders,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{Json, JsonMap};
use smol_str::SmolStr;

/// Whether references to secrets are allowed at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    Allowed,
    Refused,
}

/// Help text that lists where secrets are allowed.
pub(crate) const SECRET_POSITIONS: &str =
    "secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool";

impl Decoder {
    /// Decodes a text with placeholders, or `{text, raw: true}`.
    pub(crate) fn template(
        &mut self,
        node: &Node,
        key: &str,
        secrets: Secrets,
    ) -> Option<Template> {
        if let Some((text, raw)) = self.raw_text(node) {
            return if raw {
                Some(Template::literal(text.as_text()?))
            } else {
                self.template(text, key, secrets)
            };
        }
        let text = self.text(node, key)?;
        self.parse_template(text, node, secrets)
    }

    /// Like [`Decoder::template`], but also accepts numbers and booleans as their source text.
    pub(crate) fn scalar_template(
        &mut self,
        node: &Node,
        key: &str,
        secrets: Secrets,
    ) -> Option<Template> {
        match &node.value {
            Value::Scalar(Scalar { text, kind, .. })
                if !matches!(kind, ScalarKind::Text | ScalarKind::Null) =>
            {
                Some(Template::literal(text.as_str()))
            }
            _ => self.template(node, key, secrets),
        }
    }

    /// Decodes any value; its texts can contain placeholders.
    pub(crate) fn value_template(
        &mut self,
        node: &Node,
        secrets: Secrets,
    ) -> Option<ValueTemplate> {
        if let Some((text, raw)) = self.raw_text(node) {
            return if raw {
                Some(ValueTemplate::literal(text.to_json()))
            } else {
                self.value_template(text, secrets)
            };
        }
        match &node.value {
            Value::Invalid => None,
            Value::Scalar(Scalar { kind: ScalarKind::Text, text, .. }) => {
                let template = self.parse_template(text, node, secrets)?;
                Some(match template.as_literal() {
                    Some(text) => ValueTemplate::literal(Json::String(text.to_owned())),
                    None => ValueTemplate::Text(template),
                })
            }
            Value::Scalar(_) => Some(ValueTemplate::literal(node.to_json())),
            Value::Seq(items) => {
                let count = items.len();
                let items: Vec<ValueTemplate> =
                    items.iter().filter_map(|item| self.value_template(item, secrets)).collect();
                (items.len() == count).then(|| fold_list(items))
            }
            Value::Map(entries) => {
                let items = self.values(entries, secrets);
                (items.len() == entries.len()).then(|| fold_map(items))
            }
        }
    }

    /// Decodes a map of templates, in the order of the file.
    pub(crate) fn template_map(
        &mut self,
        node: &Node,
        key: &str,
        secrets: Secrets,
    ) -> Vec<(String, Template)> {
        let Some(entries) = node.as_map() else {
            self.wrong_type(node, key, "a map");
            return Vec::new();
        };
        entries
            .iter()
            .filter_map(|(own, item)| {
                Some((own.text.to_string(), self.scalar_template(item, &own.text, secrets)?))
            })
            .collect()
    }

    /// Decodes a map of values with placeholders, in the order of the file.
    pub(crate) fn value_map(&mut self, node: &Node, key: &str, secrets: Secrets) -> ValueMap {
        let Some(entries) = node.as_map() else {
            self.wrong_type(node, key, "a map");
            return Box::default();
        };
        self.values(entries, secrets).into()
    }

    fn values(
        &mut self,
        entries: &[(Key, Node)],
        secrets: Secrets,
    ) -> Vec<(SmolStr, ValueTemplate)> {
        let mut values = Vec::with_capacity(entries.len());
        for (own, item) in entries {
            values.extend(self.value_template(item, secrets).map(|item| (own.text.clone(), item)));
        }
        values
    }

    /// Decodes an expression.
    pub(crate) fn expression(&mut self, node: &Node, key: &str) -> Option<Expression> {
        let source = match &node.value {
            Value::Scalar(Scalar {
                text, kind: ScalarKind::Text | ScalarKind::Bool(_), ..
            }) => text,
            _ => {
                self.wrong_type(node, key, "an expression as a text");
                return None;
            }
        };
        match Expression::parse(source, node.origin(), &self.names, self.style) {
            Ok(expression) => {
                self.refuse_secrets(expression.references().iter(), Secrets::Refused);
                Some(expression)
            }
            Err(found) => {
                self.extend(found);
                None
            }
        }
    }

    fn parse_template(&mut self, text: &str, node: &Node, secrets: Secrets) -> Option<Template> {
        if !text.contains(['{', '<', '$']) {
            return Some(Template::literal(text));
        }
        let parsed = self.parse_placeholders(text, node, secrets)?;
        if !self.is_code {
            self.warn_of_foreign_placeholders(text, node);
        }
        Some(parsed)
    }

    /// Warns of texts that look like placeholders of other tools.
    fn warn_of_foreign_placeholders(&mut self, text: &str, node: &Node) {
        for found in foreign_placeholders(text, &self.names, self.style) {
            let span = match node.origin().verbatim {
                Some(start) => {
                    let start = start as usize;
                    Span::new(node.span.source, start + found.at.start, start + found.at.end)
                }
                None => node.span,
            };
            let written = &text[found.at];
            let message = format!("`{written}` is not a placeholder of `kb` and stays as it is");
            let help = format!("{}; for literal text, write `{{text: …, raw: true}}`", found.fix);
            self.push(Diagnostic::warning(Code::FOREIGN_PLACEHOLDER, span, message).help(help));
        }
    }

    fn parse_placeholders(
        &mut self,
        text: &str,
        node: &Node,
        secrets: Secrets,
    ) -> Option<Template> {
        match Template::parse(text, node.origin(), &self.names, self.style) {
            Ok(template) => {
                self.refuse_secrets(template.references(), secrets);
                Some(template)
            }
            Err(found) => {
                self.extend(found);
                None
            }
        }
    }

    /// The parts of a map that is exactly `{text, raw}`.
    fn raw_text<'n>(&mut self, node: &'n Node) -> Option<(&'n Node, bool)> {
        let entries = node.as_map()?;
        let (text, raw) = (node.get("text")?, node.get("raw")?);
        match &raw.value {
            Value::Scalar(Scalar { kind: ScalarKind::Bool(raw), .. })
                if entries.len() == 2 && text.as_text().is_some() =>
            {
                Some((text, *raw))
            }
            _ => None,
        }
    }

    fn refuse_secrets<'r>(
        &mut self,
        references: impl Iterator<Item = &'r Reference>,
        secrets: Secrets,
    ) {
        if secrets == Secrets::Allowed {
            return;
        }
        for reference in references {
            let name = match &reference.root {
                Root::Secret(name) => format!("secrets.{name}"),
                Root::Param(name) if self.secret_params.contains(&**name) => name.to_string(),
                Root::Params => match self.secret_params.first() {
                    Some(name) => name.clone(),
                    None => continue,
                },
                // Checked when every `env:` has been decoded.
                Root::Env(name) => {
                    self.env_reads.push((name.to_string(), reference.span));
                    continue;
                }
                _ => continue,
            };
            let message = format!("the secret `{name}` is not allowed here");
            self.push(
                Diagnostic::error(Code::SECRET_MISPLACED, reference.span, message)
                    .help(SECRET_POSITIONS),
            );
        }
    }
}

fn fold_list(items: Vec<ValueTemplate>) -> ValueTemplate {
    if !items.iter().all(|item| matches!(item, ValueTemplate::Literal(_))) {
        return ValueTemplate::List(items.into());
    }
    ValueTemplate::literal(Json::Array(items.into_iter().map(literal).collect()))
}

fn fold_map(items: Vec<(SmolStr, ValueTemplate)>) -> ValueTemplate {
    if !items.iter().all(|(_, item)| matches!(item, ValueTemplate::Literal(_))) {
        return ValueTemplate::Map(items.into());
    }
    let map =
        items.into_iter().map(|(key, item)| (key.to_string(), literal(item))).collect::<JsonMap>();
    ValueTemplate::literal(Json::Object(map))
}

fn literal(template: ValueTemplate) -> Json {
    match template {
        ValueTemplate::Literal(value) => *value,
        _ => Json::Null,
    }
}
