//! Decodes plugins (`kb.plugin/1`).

use super::{Decoder, Fields, Node, Secrets, Unread};
use crate::definition::keys::KeyType::{
    AnyMap, Constant, Expression as Condition, List, Map, OneOf, Pattern, Scalar, Text,
};
use crate::definition::keys::{Named, keys};
use crate::definition::model::{NetworkAccess, Plugin, Probe};
use crate::definition::schema::Schema;
use crate::expression::{Expression, ValueTemplate};
use crate::toolspec::{PLUGINS, ToolLevel, ToolSpec, built_in};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{DefinitionId, Digest, Json, ToolName};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

keys! {
    /// A plugin: a tool that the project defines, in `.kb/plugins/`. Its name is `plugin:ID`.
    struct PluginKeys(): PLUGIN = ("plugin", "a plugin") {
        /// Kind of the file and version of the format.
        _schema: Unread = "schema" as Constant("kb.plugin/1"), required, example("kb.plugin/1");
        /// Unique id of the plugin.
        id: DefinitionId = "id" as Pattern("^[a-z][a-z0-9_-]{0,63}$") => id, required, example("deploy");
        /// What the tool does and when to use it, for models and people.
        description: String = "description", required, example("Deploy a build to an environment.");
        /// Program and arguments, without placeholders. It runs in the project root, reads the input as JSON on stdin and writes the output as JSON on stdout.
        argv: Vec<String> = "argv" as List(&Scalar) => argv, required, example("[python3, tools/deploy.py]");
        /// Arguments of a call.
        input: Option<Schema> = "input" as Map(&PLUGIN_INPUT) => input, default("no arguments");
        /// Result of a call.
        output: Schema = "output" as Map(&PLUGIN_OUTPUT) => output, required;
        /// Risk level of a call.
        level: ToolLevel = "level", default("critical");
        /// The network that the program can use.
        network: NetworkAccess = "network", default("none");
        /// Time limit of a call.
        timeout: Duration = "timeout", default("2m");
        /// Checks after each successful call that show whether it had its effect.
        probes: Vec<Probe> = "probes" as List(const { &Map(&PROBE) }) => probes,
            example("[{tool: fs:exists, input: {path: \"{{output.path}}\"}, expect: \"{{result.exists}}\"}]");
    }

    /// The other form of a plugin file: several tools. Each is named `plugin:ID` with its own id.
    struct ManifestKeys(): PLUGIN_MANIFEST = ("pluginManifest", "a manifest of tools") {
        /// Kind of the file and version of the format.
        _schema: Unread = "schema" as Constant("kb.plugin/1"), example("kb.plugin/1");
        /// Program of the tools that name none; the variable `KB_TOOL` is the id of the tool.
        argv: Option<Vec<String>> = "argv" as List(&Scalar) => own_argv, example("[python3, tools/deploy.py]");
        /// Risk level of the tools that name none.
        level: ToolLevel = "level", default("critical");
        /// The network of the tools that name none.
        network: NetworkAccess = "network", default("none");
        /// Time limit of a call of the tools that name none.
        timeout: Duration = "timeout", default("2m");
        /// The tools.
        _entries: Unread = "tools" as List(const { &Map(&MANIFEST_TOOL) }), required,
            example("[{id: deploy, output: {schema: {url: string}}}]");
    }

    /// A tool of a manifest.
    struct EntryKeys(): MANIFEST_TOOL = ("manifestTool", "a tool of a manifest") {
        /// Unique id of the tool.
        id: DefinitionId = "id" as Pattern("^[a-z][a-z0-9_-]{0,63}$") => id, required, example("deploy");
        /// What the tool does and when to use it, for models and people.
        description: Option<String> = "description", example("Deploy a build to an environment.");
        /// As `argv` of a plugin. Without a program a call fails.
        argv: Option<Vec<String>> = "argv" as List(&Scalar) => own_argv,
            default("as in the manifest"), example("[python3, tools/deploy.py]");
        /// Arguments of a call.
        input: Option<Schema> = "input" as Map(&PLUGIN_INPUT) => input, default("any arguments");
        /// Result of a call. Without a schema, claims about it are `inconclusive`.
        output: Option<Schema> = "output" as Map(&PLUGIN_OUTPUT) => output, default("any JSON value");
        /// Risk level of a call.
        level: Option<ToolLevel> = "level", default("as in the manifest");
        /// The network that the program can use.
        network: Option<NetworkAccess> = "network", default("as in the manifest");
        /// Time limit of a call.
        timeout: Option<Duration> = "timeout", default("as in the manifest");
        /// Checks after each successful call.
        probes: Vec<Probe> = "probes" as List(const { &Map(&PROBE) }) => probes,
            example("[{tool: fs:list, argsTemplate: {path: build}, expect: {empty: true}}]");
    }

    /// Arguments of a plugin.
    struct InputKeys(): PLUGIN_INPUT = ("pluginInput", "`input`") {
        /// Schema of the arguments; a map.
        schema: Schema = "schema" => arguments_schema, required, example("{environment: string}");
    }

    /// Result of a plugin.
    struct OutputKeys(): PLUGIN_OUTPUT = ("pluginOutput", "`output`") {
        /// Schema of the output. A call with another output fails.
        schema: Schema = "schema", required, example("{url: string}");
    }

    /// A call of a tool that changes nothing, and what its result must be.
    struct ProbeKeys(): PROBE = ("probe", "a probe") {
        /// Name of the probe in messages.
        id: Option<String> = "id", default("the tool"), example("reachable");
        /// The tool to call: one that reads files, or a request with GET or HEAD.
        tool: ToolName = "tool" as Text => probe_tool, required, example("fs:exists"), names(Named::Tool);
        /// Its arguments; placeholders read `input` and `output` of the call.
        _input: Unread = "input" as AnyMap, example("{url: \"{{output.url}}\"}");
        /// The same as `input`, in the spelling of manifests.
        _args_template: Unread = "argsTemplate" as AnyMap, example("{path: build}");
        /// Condition over `input`, `output` and `result`, the result of the probe; or a map.
        _expect: Unread = "expect" as OneOf(const { &[Condition, Map(&PROBE_EXPECT)] }), required,
            example("\"{{result.status}} == 200\"");
    }

    /// What the result of a probe must be.
    struct ExpectKeys(): PROBE_EXPECT = ("probeExpect", "the expectation of a probe") {
        /// Whether the list or text that the probe finds has nothing in it: the entries, the matches, the content.
        empty: bool = "empty", required, example("true");
    }
}

/// Decodes a plugin file (`kb.plugin/1`) with this path and digest: one tool, or the manifest of several.
pub(crate) fn plugins(
    root: &Node,
    origin: (&str, Digest),
    decoder: &mut Decoder,
) -> Option<Vec<Plugin>> {
    if root.get("tools").is_none() {
        let fields = decoder.fields(root, &PLUGIN)?;
        decoder.schema_version(&fields, "kb.plugin/1", "a plugin");
        let mut own = PluginKeys::of(&fields, decoder)?;
        if fields.get("input").is_none() {
            let none = json!({"type": "object", "additionalProperties": false});
            own.input = Schema::new(none).ok();
        }
        let json = own.output.json().clone();
        return Some(plugin(own, json, origin, fields.span).into_iter().collect());
    }
    let fields = decoder.fields(root, &PLUGIN_MANIFEST)?;
    if fields.get("schema").is_some() {
        decoder.schema_version(&fields, "kb.plugin/1", "a manifest of tools");
    }
    let manifest = ManifestKeys::of(&fields, decoder)?;
    let tools = decoder.required(&fields, "tools")?;
    let items = decoder.list(tools, "tools");
    let found = items.iter().filter_map(|item| tool(item, &manifest, origin, decoder));
    Some(found.collect())
}

/// A tool of a manifest, which names what the tool does not.
fn tool(
    node: &Node,
    manifest: &ManifestKeys,
    origin: (&str, Digest),
    decoder: &mut Decoder,
) -> Option<Plugin> {
    let fields = decoder.fields(node, &MANIFEST_TOOL)?;
    let own = EntryKeys::of(&fields, decoder)?;
    let argv = own.argv.or_else(|| manifest.argv.clone());
    if argv.is_none() {
        let message = format!("the tool `{}` has no program, so each call of it fails", own.id);
        let found = Diagnostic::warning(Code::NO_EFFECT, fields.span, message);
        decoder.push(found.help("add `argv: [PROGRAM, …]` to the tool or to the manifest"));
    }
    let any = || Schema::new(json!({"type": "object"})).ok();
    let input = if fields.get("input").is_none() { any() } else { own.input };
    let json = own.output.as_ref().map_or(Json::Null, |schema| schema.json().clone());
    let own = PluginKeys {
        _schema: Unread,
        id: own.id,
        description: own.description.unwrap_or_else(|| "A tool of this project.".to_owned()),
        argv: argv.unwrap_or_default(),
        input,
        output: own.output.or_else(|| Schema::new(json!({})).ok())?,
        level: own.level.unwrap_or(manifest.level),
        network: own.network.unwrap_or(manifest.network),
        timeout: own.timeout.unwrap_or(manifest.timeout),
        probes: own.probes,
    };
    plugin(own, json, origin, fields.span)
}

/// The plugin with these keys; `json` is the schema of its output as models see it.
fn plugin(
    own: PluginKeys,
    json: Json,
    (path, digest): (&str, Digest),
    span: Span,
) -> Option<Plugin> {
    let PluginKeys { id, description, argv, output, level, network, timeout, probes, .. } = own;
    let (name, input) = (format!("{}{id}", PLUGINS.prefix), own.input?);
    let spec = ToolSpec::plugin(&name, &description, level, input.json().clone(), json);
    let leaves_sandbox = network == NetworkAccess::Open;
    let spec = Arc::new(ToolSpec { leaves_sandbox, ..spec });
    let path = path.to_owned();
    Some(Plugin { spec, id, argv, input, output, network, timeout, probes, digest, path, span })
}

/// The ids of the tools of a file, as they are written.
pub(crate) fn written_ids(root: &Node) -> Vec<String> {
    let tools = root.get("tools").and_then(Node::as_seq).unwrap_or_default();
    let ids = std::iter::once(root).filter(|_| tools.is_empty()).chain(tools);
    ids.filter_map(|node| node.get("id")?.as_text()).map(str::to_owned).collect()
}

fn id(node: &Node, key: &str, decoder: &mut Decoder) -> Option<DefinitionId> {
    let text = decoder.text(node, key)?;
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
fn argv(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<String>> {
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

/// `argv` of a manifest or of one of its tools; empty if it is refused.
fn own_argv(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Vec<String>> {
    Some(argv(node, key, decoder).unwrap_or_default())
}

fn input(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Schema> {
    InputKeys::from_node(node, decoder).map(|own| own.schema)
}

fn output(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Schema> {
    OutputKeys::from_node(node, decoder).map(|own| own.schema)
}

/// The schema of the arguments, which are a map.
fn arguments_schema(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Schema> {
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

fn probes(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<Probe> {
    let mut found: Vec<Probe> = Vec::new();
    for item in decoder.list(node, key) {
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
    let fields = decoder.fields(node, &PROBE)?;
    let own = ProbeKeys::of(&fields, decoder);
    let tool = own.as_ref().map(|own| &own.tool);
    let known = decoder.names.params.clone();
    decoder.names.params = ["input", "output"].map(str::to_owned).into();
    let (input, template) = (fields.get("input"), fields.get("argsTemplate"));
    if let (Some(_), Some(template)) = (input, template) {
        let message = "`input` and `argsTemplate` are the same key";
        let found = Diagnostic::error(Code::DUPLICATE_KEY, template.span, message);
        decoder.push(found.help("keep one of the two; `input` is the usual spelling"));
    }
    let input = match input.or(template) {
        Some(node) => {
            arguments(node, tool, &fields, decoder);
            decoder.value_template(node, Secrets::Refused)
        }
        None => Some(ValueTemplate::literal(json!({}))),
    };
    decoder.names.params.insert("result".to_owned());
    let expect = decoder.required(&fields, "expect");
    let expect = expect.and_then(|node| match node.as_map() {
        Some(_) => emptiness(node, tool, decoder),
        None => decoder.expression(node, "expect"),
    });
    decoder.names.params = known;
    let ProbeKeys { id, tool, .. } = own?;
    let id = id.unwrap_or_else(|| tool.to_string());
    Some(Probe { id, tool, input: input?, expect: expect? })
}

/// The condition that the list or text in the result of a tool is empty, or is not.
fn emptiness(node: &Node, tool: Option<&ToolName>, decoder: &mut Decoder) -> Option<Expression> {
    let ExpectKeys { empty } = ExpectKeys::from_node(node, decoder)?;
    let spec = built_in().find(tool?.as_str())?;
    let Some(found) = spec.found_values() else {
        let message = format!("the result of `{}` is neither a list nor a text", spec.name);
        let at = node.get("empty").map_or(node.span, |empty| empty.span);
        decoder.bad_value(at, message, "write `expect` as an expression".to_owned());
        return None;
    };
    let compared = if empty { "==" } else { ">" };
    let source = format!("result.{found} | length {compared} 0");
    Expression::parse(&source, node.origin(), &decoder.names, decoder.style).ok()
}

fn probe_tool(node: &Node, key: &str, decoder: &mut Decoder) -> Option<ToolName> {
    let text = decoder.text(node, key)?;
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
