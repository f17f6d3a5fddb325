//! Decodes plugins (`kb.plugin/1`).

use super::{Decoder, Fields, Node, Secrets};
use crate::definition::keys;
use crate::definition::model::{NetworkAccess, Plugin, Probe};
use crate::definition::schema::Schema;
use crate::expression::{Expression, ValueTemplate};
use crate::toolspec::{PLUGINS, ToolLevel, ToolSpec, built_in};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{DefinitionId, Digest, Json, ToolName};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The default time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Decodes a plugin file (`kb.plugin/1`) with this path and digest: one tool, or the manifest of several.
pub(crate) fn plugins(
    root: &Node,
    origin: (&str, Digest),
    decoder: &mut Decoder,
) -> Option<Vec<Plugin>> {
    if root.get("tools").is_none() {
        let fields = decoder.fields(root, &keys::plugin::PLUGIN)?;
        decoder.schema_version(&fields, "kb.plugin/1", "a plugin");
        for name in ["id", "description", "argv", "output"] {
            decoder.required(&fields, name);
        }
        return Some(tool(&fields, None, origin, decoder).into_iter().collect());
    }
    let manifest = decoder.fields(root, &keys::plugin::PLUGIN_MANIFEST)?;
    if manifest.get("schema").is_some() {
        decoder.schema_version(&manifest, "kb.plugin/1", "a manifest of tools");
    }
    let items = decoder.list(manifest.get("tools")?, "tools");
    let found = items.iter().filter_map(|item| {
        let fields = decoder.fields(item, &keys::plugin::MANIFEST_TOOL)?;
        decoder.required(&fields, "id");
        tool(&fields, Some(&manifest), origin, decoder)
    });
    Some(found.collect())
}

/// The ids of the tools of a file, as they are written.
pub(crate) fn written_ids(root: &Node) -> Vec<String> {
    let tools = root.get("tools").and_then(Node::as_seq).unwrap_or_default();
    let ids = std::iter::once(root).filter(|_| tools.is_empty()).chain(tools);
    ids.filter_map(|node| node.get("id")?.as_text()).map(str::to_owned).collect()
}

/// A tool: a whole file, or an entry of a manifest, which names what the entry does not.
fn tool(
    fields: &Fields<'_>,
    manifest: Option<&Fields<'_>>,
    (path, digest): (&str, Digest),
    decoder: &mut Decoder,
) -> Option<Plugin> {
    let id = fields.get("id").and_then(|node| id(node, decoder));
    let description = fields.get("description").map(|node| decoder.text(node, "description"));
    let argv = fields.get("argv").or_else(|| manifest?.get("argv"));
    let argv = argv.map(|node| argv_of(node, decoder));
    let input = match (fields.get("input"), manifest) {
        (Some(node), _) => input_schema(node, decoder),
        (None, Some(_)) => Schema::new(json!({"type": "object"})).ok(),
        (None, None) => Schema::new(json!({"type": "object", "additionalProperties": false})).ok(),
    };
    let output = fields.get("output").map(|node| {
        let inner = decoder.fields(node, &keys::plugin::PLUGIN_OUTPUT)?;
        Schema::decode(decoder.required_in(&inner, "schema", "output")?, decoder)
    });
    let of = [Some(fields), manifest];
    let level = of.iter().flatten().find_map(|of| of.choice("level", decoder));
    let network = of.iter().flatten().find_map(|of| of.choice("network", decoder));
    let timeout = of.iter().flatten().find_map(|of| of.duration("timeout", decoder));
    let network = network.unwrap_or(NetworkAccess::None);
    let probes = fields.get("probes").map(|node| probes(node, decoder)).unwrap_or_default();
    let (id, input) = (id?, input?);
    if let (None, Some(_)) = (&argv, manifest) {
        let message = format!("the tool `{id}` has no program, so each call of it fails");
        let found = Diagnostic::warning(Code::NO_EFFECT, fields.span, message);
        decoder.push(found.help("add `argv: [PROGRAM, …]` to the tool or to the manifest"));
    }
    let description = description.unwrap_or(Some("A tool of this project."))?;
    let (json, output) = match output {
        Some(schema) => (schema.as_ref()?.json().clone(), schema?),
        None => (Json::Null, Schema::new(json!({})).ok()?),
    };
    let name = format!("{}{id}", PLUGINS.prefix);
    let level = level.unwrap_or(ToolLevel::Critical);
    let spec = ToolSpec::plugin(&name, description, level, input.json().clone(), json);
    Some(Plugin {
        spec: Arc::new(ToolSpec { leaves_sandbox: network == NetworkAccess::Open, ..spec }),
        id,
        argv: argv.unwrap_or(Some(Vec::new()))?,
        input,
        output,
        network,
        timeout: timeout.unwrap_or(TIMEOUT),
        probes,
        digest,
        path: path.to_owned(),
        span: fields.span,
    })
}

fn id(node: &Node, decoder: &mut Decoder) -> Option<DefinitionId> {
    let text = decoder.text(node, "id")?;
    match DefinitionId::new(text) {
        Ok(id) => Some(id),
        Err(error) => {
            let message = format!("`{text}` cannot be the id of a plugin");
            let help = format!("use {}", error.expected);
            decoder.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
            None
        }
    }
}

/// Program and arguments, which are literal: values reach the program on stdin.
fn argv_of(node: &Node, decoder: &mut Decoder) -> Option<Vec<String>> {
    let Some(items) = node.as_seq().filter(|items| !items.is_empty()) else {
        let message =
            format!("`argv` takes a list (a program and its arguments), found {}", node.kind());
        let found = Diagnostic::error(Code::WRONG_TYPE, node.span, message);
        decoder.push(found.help("write `[python3, tools/deploy.py]`"));
        return None;
    };
    let mut words = Vec::new();
    for item in items {
        let Some(word) = decoder.scalar(item, "argv") else { continue };
        if word.contains("{{") || word.contains("<<") {
            let message = "`argv` of a plugin cannot contain placeholders";
            let help = "the program reads the arguments of a call as JSON on stdin";
            let found = Diagnostic::error(Code::VALUE_AS_CODE, item.span, message);
            decoder.push(found.help(help));
        }
        words.push(word.to_owned());
    }
    if words.first().is_some_and(|program| program.trim().is_empty()) {
        let help = "write the name or path of a program".to_owned();
        decoder.bad_value(node.span, "the program is empty".to_owned(), help);
    }
    (words.len() == items.len()).then_some(words)
}

/// The schema of the arguments, which are a map.
fn input_schema(node: &Node, decoder: &mut Decoder) -> Option<Schema> {
    let fields = decoder.fields(node, &keys::plugin::PLUGIN_INPUT)?;
    let node = decoder.required_in(&fields, "schema", "input")?;
    let schema = Schema::decode(node, decoder)?;
    if schema.json().get("type").and_then(Json::as_str) != Some("object") {
        let message = "the arguments of a plugin are a map, so its `input` needs `type: object`";
        decoder.push(
            Diagnostic::error(Code::BAD_SCHEMA, node.span, message)
                .help("write `{type: object, properties: …}`, or the short form `{name: string}`"),
        );
        return None;
    }
    Some(schema)
}

fn probes(node: &Node, decoder: &mut Decoder) -> Vec<Probe> {
    let mut found: Vec<Probe> = Vec::new();
    for item in decoder.list(node, "probes") {
        let Some(probe) = probe(item, decoder) else { continue };
        if found.iter().any(|other| other.id == probe.id) {
            let message = format!("two probes have the name `{}`", probe.id);
            let diagnostic = Diagnostic::error(Code::DUPLICATE_DEFINITION, item.span, message);
            decoder.push(diagnostic.help("give each probe its own `id`"));
        }
        found.push(probe);
    }
    found
}

fn probe(node: &Node, decoder: &mut Decoder) -> Option<Probe> {
    let fields = decoder.fields(node, &keys::plugin::PROBE)?;
    let known = decoder.names.params.clone();
    decoder.names.params = ["input", "output"].map(str::to_owned).into();
    let tool = decoder.required(&fields, "tool").and_then(|node| probe_tool(node, decoder));
    let (input, template) = (fields.get("input"), fields.get("argsTemplate"));
    if let (Some(_), Some(template)) = (input, template) {
        let message = "`input` and `argsTemplate` are the same key";
        let found = Diagnostic::error(Code::DUPLICATE_KEY, template.span, message);
        decoder.push(found.help("keep one of the two; `input` is the usual spelling"));
    }
    let input = match input.or(template) {
        Some(node) => {
            arguments(node, tool.as_ref(), &fields, decoder);
            decoder.value_template(node, Secrets::Refused)
        }
        None => Some(ValueTemplate::literal(json!({}))),
    };
    decoder.names.params.insert("result".to_owned());
    let expect = decoder.required(&fields, "expect");
    let expect = expect.and_then(|node| match node.as_map() {
        Some(_) => emptiness(node, tool.as_ref(), decoder),
        None => decoder.expression(node, "expect"),
    });
    decoder.names.params = known;
    let (tool, id) = (tool?, fields.text("id", decoder));
    let id = id.unwrap_or_else(|| tool.to_string());
    Some(Probe { id, tool, input: input?, expect: expect? })
}

/// The condition that the list or text in the result of a tool is empty, or is not.
fn emptiness(node: &Node, tool: Option<&ToolName>, decoder: &mut Decoder) -> Option<Expression> {
    let fields = decoder.fields(node, &keys::plugin::PROBE_EXPECT)?;
    let node = decoder.required(&fields, "empty")?;
    let empty = decoder.boolean(node, "empty")?;
    let spec = built_in().find(tool?.as_str())?;
    let Some(found) = spec.found_values() else {
        let message = format!("the result of `{}` is neither a list nor a text", spec.name);
        decoder.bad_value(node.span, message, "write `expect` as an expression".to_owned());
        return None;
    };
    let compared = if empty { "==" } else { ">" };
    let source = format!("result.{found} | length {compared} 0");
    Expression::parse(&source, node.origin(), &decoder.names, decoder.style).ok()
}

fn probe_tool(node: &Node, decoder: &mut Decoder) -> Option<ToolName> {
    let text = decoder.text(node, "tool")?;
    if !built_in().find(text).is_some_and(|spec| spec.may_probe()) {
        let message = format!("a probe cannot call `{text}`");
        let able = built_in().tools().filter(|spec| spec.may_probe()).map(|spec| &*spec.name);
        let help = format!("tools that change nothing: {}", able.collect::<Vec<_>>().join(", "));
        decoder.bad_value(node.span, message, help);
        return None;
    }
    ToolName::new(text).ok()
}

/// Checks the names of the arguments, and that a request changes nothing.
fn arguments(node: &Node, tool: Option<&ToolName>, fields: &Fields<'_>, decoder: &mut Decoder) {
    if node.as_map().is_none() {
        decoder.wrong_type(node, "input", "a map");
        return;
    }
    let Some(spec) = tool.and_then(|tool| built_in().find(tool.as_str())) else { return };
    crate::definition::check::tool_input::check(spec, fields.span, Some(node), decoder);
    let method = node.get("method");
    if let Some(method) = method.filter(|m| !matches!(m.as_text(), Some("GET" | "HEAD"))) {
        let help = "write `GET` or `HEAD`: a probe changes nothing".to_owned();
        decoder.bad_value(method.span, "a probe cannot send this request".to_owned(), help);
    }
}
