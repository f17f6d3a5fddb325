//! Decodes servers of the Model Context Protocol: `mcp` of the settings, and `mcpServers` of a specialist.

use super::environment::is_variable;
use super::{Decoder, Fields, Node};
use crate::definition::keys::choice_tables::SERVER_TRANSPORT;
use crate::definition::keys::mcp as keys;
use crate::definition::mcp::{is_server_name, with_server};
use crate::definition::model::{McpServer, NetworkAccess, ServerValue, Specialist};
use crate::definition::notify::{is_reference, is_url};
use crate::toolspec::ToolNamespace;
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const START_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);
const RESULT_KIB: u32 = 256;
const TOOLS: u32 = 200;

/// Decodes `mcp:` of the settings. Call it after `secrets:`, whose names it refers to.
pub(crate) fn mcp(node: &Node, decoder: &mut Decoder) -> BTreeMap<String, Arc<McpServer>> {
    let mut found = BTreeMap::new();
    let Some(fields) = decoder.fields(node, &keys::MCP) else { return found };
    let Some(node) = fields.get("servers") else { return found };
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "servers", "a map from names to servers");
        return found;
    };
    for (key, node) in entries {
        if !is_server_name(&key.text) {
            bad_name(&key.text, key.span, decoder);
            continue;
        }
        let what = format!("the MCP server `{}`", key.text);
        let Some(fields) = decoder.fields_of(node, &what, &keys::MCP_SERVER) else { continue };
        if let Some(server) = server(&fields, &key.text, decoder) {
            found.insert(server.name.clone(), Arc::new(server));
        }
    }
    found
}

/// Decodes `mcpServers:` of a specialist, whose tools it can name from here on.
pub(crate) fn mcp_servers(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "mcpServers", "a list of servers");
        return;
    };
    for item in items {
        let server = match item.as_text() {
            Some(name) => of_settings(name, item, decoder),
            None => defined(item, decoder),
        };
        let Some(server) = server else { continue };
        if let Some(other) = found.mcp_servers.iter().find(|own| own.name == server.name) {
            let message = format!("two MCP servers have the name `{}`", server.name);
            let diagnostic = Diagnostic::error(Code::MCP_SERVERS_DIFFER, item.span, message);
            let diagnostic = diagnostic.label(other.span, "also defined here");
            decoder.push(diagnostic.help("give each server a name of its own"));
            continue;
        }
        decoder.tools = with_server(&decoder.tools, &server, &decoder.pinned);
        found.mcp_servers.push(server);
    }
}

/// Puts the tools of the servers that a specialist defines or names on its allow-list, unless it names some of them.
pub(crate) fn allow_own(node: Option<&Node>, found: &mut Specialist, decoder: &mut Decoder) {
    let listed = node.map(named).unwrap_or_default();
    for server in found.mcp_servers.clone() {
        let prefix = ToolNamespace::of_server(&server.name, None).prefix;
        if !listed.iter().any(|name| name.starts_with(&*prefix)) {
            // Without a pin it is a warning: files of other programs name servers that this project may not have pinned.
            let all = format!("{prefix}*");
            let meant = decoder.tools.allowed_by(&all);
            let tools = decoder.restricted_tools(&all, server.span, meant);
            found.tools.extend(tools);
        }
    }
}

/// The entries of an allow-list as they are written.
fn named(node: &Node) -> Vec<&str> {
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
    items.iter().filter_map(Node::as_text).flat_map(|text| text.split(',')).map(str::trim).collect()
}

fn of_settings(name: &str, node: &Node, decoder: &mut Decoder) -> Option<Arc<McpServer>> {
    let servers = decoder.servers.clone();
    if let Some(server) = servers.get(name) {
        return Some(Arc::new(McpServer { span: node.span, ..(**server).clone() }));
    }
    let message = format!("no MCP server of the settings has the name `{name}`");
    let help = match decoder.nearest(name, servers.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "define it below `mcp.servers` in the settings, or write `{name, command}` here"
            .to_owned(),
    };
    decoder.push(Diagnostic::error(Code::NO_MCP_SERVER, node.span, message).help(help));
    None
}

fn defined(node: &Node, decoder: &mut Decoder) -> Option<Arc<McpServer>> {
    let fields = decoder.fields(node, &keys::MCP_SERVER_ITEM)?;
    let named = decoder.required(&fields, "name")?;
    let name = decoder.text(named, "name")?.to_owned();
    if !is_server_name(&name) {
        bad_name(&name, named.span, decoder);
        return None;
    }
    let server = server(&fields, &name, decoder)?;
    let of_settings = decoder.servers.get(&name).filter(|own| !own.is_same(&server));
    if of_settings.is_some() {
        let message = format!("the settings define the MCP server `{name}` differently");
        let help =
            format!("write `{name}` alone to use that of the settings, or take another name");
        decoder.push(Diagnostic::error(Code::MCP_SERVERS_DIFFER, node.span, message).help(help));
        return None;
    }
    Some(Arc::new(server))
}

fn bad_name(name: &str, span: kb_base::diagnostic::Span, decoder: &mut Decoder) {
    let message = format!("`{name}` cannot be the name of an MCP server");
    let help = "use a lower-case letter, then at most 31 lower-case letters, digits, `_` and `-`";
    decoder.push(Diagnostic::error(Code::BAD_ID, span, message).help(help));
}

/// Decodes a server; `None` for one with errors, and for one that is spoken to over HTTP.
fn server(fields: &Fields<'_>, name: &str, decoder: &mut Decoder) -> Option<McpServer> {
    decoder.unsupported(fields);
    let over_http = fields.one_of("transport", SERVER_TRANSPORT, decoder);
    let (command, url) = (fields.get("command"), fields.get("url"));
    let meant = ["command", "url"];
    if command.is_some() == url.is_some() {
        if !fields.was_meant(&meant) {
            let message = format!("the MCP server `{name}` needs exactly one of `command`, `url`");
            let help = "write `command: [PROGRAM, ARGUMENT]`";
            decoder.push(Diagnostic::error(Code::MISSING_KEY, fields.span, message).help(help));
        }
        return None;
    }
    if over_http.is_some_and(|over_http| over_http != url.is_some()) {
        let message =
            format!("`transport` of the MCP server `{name}` does not fit to its other keys");
        let help = "`stdio` has a `command`, `http` and `sse` have a `url`".to_owned();
        decoder.bad_value(fields.span, message, help);
        return None;
    }
    if let Some(node) = url
        && let Some(text) = decoder.text(node, "url")
        && !is_url(text)
    {
        let help = "write the whole address, such as `http://localhost:3000`".to_owned();
        decoder.bad_value(node.span, format!("`{text}` is not a URL"), help);
    }
    let mut argv =
        command.map(|node| command_of(node, "an MCP server", decoder)).unwrap_or_default();
    let can_start = command.is_none() || !argv.is_empty();
    argv.extend(fields.texts("args", decoder));
    let env = fields.get("env").map(|node| variables(node, decoder)).unwrap_or_default();
    let server = McpServer {
        name: name.to_owned(),
        argv,
        env,
        network: fields.choice("network", decoder).unwrap_or(NetworkAccess::None),
        start_timeout: fields.duration("startTimeout", decoder).unwrap_or(START_TIMEOUT),
        timeout: fields.duration("timeout", decoder).unwrap_or(TIMEOUT),
        max_result: fields.integer("maxResultKib", decoder).unwrap_or(RESULT_KIB) as usize * 1024,
        max_tools: fields.integer("maxTools", decoder).unwrap_or(TOOLS) as usize,
        span: fields.span,
    };
    (can_start && url.is_none()).then_some(server)
}

/// Program and arguments, which are literal: a person reads them before they are executed.
pub(super) fn command_of(node: &Node, what: &str, decoder: &mut Decoder) -> Vec<String> {
    let words: Vec<String> = match node.as_text() {
        Some(text) if text.contains(['"', '\'', '\\', '$']) => {
            let message = "`command` is split at its spaces; no shell reads it".to_owned();
            let help = "write a list: `[PROGRAM, ARGUMENT]`".to_owned();
            decoder.bad_value(node.span, message, help);
            return Vec::new();
        }
        Some(text) => text.split_whitespace().map(str::to_owned).collect(),
        None => decoder.texts(node, "command"),
    };
    if words.is_empty() && node.as_map().is_some() {
        return words;
    }
    if words.iter().any(|word| word.contains("{{")) {
        let message = format!("`command` of {what} cannot contain placeholders");
        let help = "give values to the program in `env`";
        decoder.push(Diagnostic::error(Code::VALUE_AS_CODE, node.span, message).help(help));
        return Vec::new();
    }
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        let help = "write the name or path of a program".to_owned();
        decoder.bad_value(node.span, "the program is empty".to_owned(), help);
        return Vec::new();
    }
    words
}

/// Decodes `env:` of a program of others.
pub(super) fn variables(node: &Node, decoder: &mut Decoder) -> Vec<(String, ServerValue)> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "env", "a map from variables to values");
        return Vec::new();
    };
    let mut env = Vec::new();
    for (key, node) in entries {
        if !is_variable(&key.text) {
            let message = format!("`{}` cannot be the name of a variable", key.text);
            let help = "use letters, digits and `_`; the first character cannot be a digit";
            decoder.push(Diagnostic::error(Code::BAD_ID, key.span, message).help(help));
            continue;
        }
        let Some(text) = decoder.scalar(node, &key.text) else { continue };
        let value = if is_reference(text) {
            ServerValue::Secret(text.to_owned())
        } else if text.contains("{{") {
            let Some(name) = secret_name(text, node, decoder) else { continue };
            ServerValue::Secret(name)
        } else {
            ServerValue::Text(text.to_owned())
        };
        env.push((key.text.to_string(), value));
    }
    env
}

/// The name in `{{secrets.NAME}}`, if the settings have such a secret.
fn secret_name(text: &str, node: &Node, decoder: &mut Decoder) -> Option<String> {
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    let name = inner.and_then(|inner| inner.trim().strip_prefix("secrets."));
    let known = name.filter(|name| decoder.names.secrets.contains(*name));
    if known.is_none() {
        let message = "the value refers to no secret of the settings".to_owned();
        let help =
            "write `{{secrets.NAME}}`, `env:NAME` or `file:PATH`, and nothing else".to_owned();
        decoder.bad_value(node.span, message, help);
    }
    known.map(str::to_owned)
}
