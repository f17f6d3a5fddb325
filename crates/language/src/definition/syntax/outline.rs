//! [`Outline`]: the names that a definition declares, collected before its templates are parsed.

use super::hooks::HookNode;
use super::{Decoder, Node};
use crate::expression::bare_names;
use kb_base::diagnostic::Span;
use kb_base::value::StepId;
use smol_str::SmolStr;
use std::collections::BTreeSet;

/// The names that a definition declares. They are collected before the templates that refer to them
/// are parsed.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Step ids of `steps`, in the order of the file.
    pub(crate) steps: Vec<Name>,
    /// Step ids of `finally` and of all `hooks`.
    pub(crate) finally: Vec<Name>,
    /// Names of declared parameters.
    pub(crate) params: Vec<Name>,
    /// Parameters inferred from the prompts of a workflow, each with the position of its first use.
    pub(crate) inferred: Vec<Name>,
}

/// A name with its position.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: SmolStr,
    pub(crate) span: Span,
}

impl Outline {
    /// Collects the names. Malformed values are skipped here and reported by the decoders.
    pub(crate) fn of(root: &Node, hooks: &[HookNode], infer: bool) -> Outline {
        let mut outline = Outline {
            steps: names(root.get("steps"), "id"),
            finally: names(root.get("finally"), "id"),
            params: names(root.get("params"), "name"),
            inferred: Vec::new(),
        };
        outline.finally.extend(hooks.iter().filter_map(|hook| name(&hook.node, "id")));
        if infer && root.get("params").is_none() {
            outline.infer(root);
        }
        outline
    }

    /// The ids of all steps, `finally` and hooks included.
    pub(crate) fn all_steps(&self) -> impl Iterator<Item = &Name> {
        self.steps.iter().chain(&self.finally)
    }

    fn infer(&mut self, root: &Node) {
        let steps: BTreeSet<String> = self
            .all_steps()
            .flat_map(|name| [name.text.to_string(), name.text.replace('-', "_")])
            .collect();
        let mut seen = BTreeSet::new();
        for step in items(root.get("steps")).iter().chain(items(root.get("finally"))) {
            let for_each = step.get("forEach").or_else(|| step.get("for_each"));
            let item = for_each.and_then(|node| node.get("as")).and_then(Node::as_text);
            for prompt in ["prompt", "task"].iter().filter_map(|key| step.get(key)) {
                let Some(text) = prompt.as_text() else { continue };
                for (range, name) in bare_names(text) {
                    let reserved = crate::expression::RESERVED_ROOTS.contains(&name.as_str());
                    let is_item = item == Some(name.as_str());
                    let known = steps.contains(&name) || reserved || is_item;
                    if known || !seen.insert(name.clone()) {
                        continue;
                    }
                    let span = match prompt.origin().verbatim {
                        Some(start) => {
                            let start = start as usize;
                            Span::new(prompt.span.source, start + range.start, start + range.end)
                        }
                        None => prompt.span,
                    };
                    self.inferred.push(Name { text: name.as_str().into(), span });
                }
            }
        }
    }

    /// Declares the names for the templates that the decoder parses.
    pub(crate) fn declare(&self, root: &Node, decoder: &mut Decoder) {
        let names = &mut decoder.names;
        names.steps = self.all_steps().filter_map(|name| StepId::new(&name.text).ok()).collect();
        names.params =
            self.params.iter().chain(&self.inferred).map(|name| name.text.to_string()).collect();
        names.env = variables(root.get("env"));
        names.env.extend(variables(root.get("defaults").and_then(|node| node.get("env"))));
        for step in items(root.get("steps")).iter().chain(items(root.get("finally"))) {
            let list = ["forEach", "for_each", "matrix"].iter().find_map(|key| step.get(key));
            if let (Some(id), Some(list)) = (step.get("id").and_then(Node::as_text), list) {
                let has_keys = list.get("key").is_some() || step.get("matrix").is_some();
                names.lists.insert(id.to_owned(), has_keys);
            }
            let Some(id) = step.get("id").and_then(Node::as_text) else { continue };
            // The output of a specialist always has a summary.
            let is_specialist = ["specialist", "agent"].iter().any(|key| step.get(key).is_some());
            let always = is_specialist.then_some("summary");
            let schema = step.get("output").and_then(|output| output.get("schema"));
            let fields = schema.and_then(|own| own.get("properties").or(Some(own)));
            let fields = fields.and_then(Node::as_map).unwrap_or_default().iter();
            let fields = fields.map(|(key, _)| key.text.trim_end_matches('?'));
            let keys = items(step.get("outputs")).iter().filter_map(Node::as_text);
            let keys = keys.chain(fields).chain(always).map(str::to_owned);
            let keys: Vec<String> = keys.collect();
            if !keys.is_empty() {
                names.outputs.insert(id.to_owned(), keys);
            }
        }
        for param in items(root.get("params")) {
            let text = |key| param.get(key).and_then(Node::as_text);
            if let (Some(name), Some("secret")) = (text("name"), text("type")) {
                decoder.secret_params.insert(name.to_owned());
            }
        }
    }
}

/// The names of an `env:` map.
pub(crate) fn variables(node: Option<&Node>) -> BTreeSet<String> {
    let entries = node.and_then(Node::as_map).unwrap_or_default();
    entries.iter().map(|(key, _)| key.text.to_string()).collect()
}

fn items(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_seq).unwrap_or_default()
}

fn names(list: Option<&Node>, key: &str) -> Vec<Name> {
    let items = items(list);
    let mut names = Vec::with_capacity(items.len());
    names.extend(items.iter().filter_map(|item| name(item, key)));
    names
}

fn name(item: &Node, key: &str) -> Option<Name> {
    let node = item.get(key)?;
    node.as_text().map(|text| Name { text: text.into(), span: node.span })
}
