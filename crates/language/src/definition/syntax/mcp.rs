//! Decodes servers of the Model Context Protocol: `mcp` of the settings, and `mcpServers` of a specialist.

use super::environment::is_variable;
use super::{Decoder, Fields, Node};
use crate::definition::keys::KeyType::{self, Choice, Integer, Map, MapOf, OneOf, Pattern, Text};
use crate::definition::keys::{KeyRule, choice_table, keys};
use crate::definition::mcp::{is_server_name, with_server};
use crate::definition::model::{
    Located, McpServer, NetworkAccess, ServerEndpoint, ServerValue, Specialist,
};
use crate::definition::notify::{is_reference, is_url};
use crate::toolspec::ToolNamespace;
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

keys! {
    /// Servers of the Model Context Protocol, whose tools specialists can call.
    struct McpKeys(): MCP = ("mcp", "`mcp`") {
        /// Servers by name; their tools are `mcp:NAME:TOOL`.
        servers: BTreeMap<String, Arc<McpServer>> = "servers" as MapOf(const { &Map(&MCP_SERVER) }) => servers,
            example("{files: {command: [mcp-files, docs]}}");
    }

    /// A server of the Model Context Protocol.
    struct ServerKeys(): MCP_SERVER = ("mcpServer", "an MCP server", rule KeyRule::ExactlyOne(&["command", "url"])) {
        /// Program and arguments. A text is split at its spaces.
        command: Option<Vec<String>> = "command" => command, example("npx my-db-server");
        /// Further arguments.
        args: Vec<String> = "args", example("[--verbose]");
        /// Address of a server that is spoken to over HTTP.
        url: Option<String> = "url" as Pattern("^https?://") => url, example("https://mcp.example.com/mcp");
        /// Bearer token of a server with a `url`: `env:NAME`, `file:PATH` or `{{secrets.NAME}}`.
        token: Option<String> = "token" as Text => token, example("env:TICKETS_TOKEN");
        /// How the server is spoken to: on its standard input and output, or over Streamable HTTP (`http`). `sse`, the older transport, is read as `http` with a warning.
        over_http: Option<bool> = "transport" as Choice(SERVER_TRANSPORT_NAMES) => over_http,
            default("`stdio`, or `http` with a `url`");
        /// Variables of the process. A value is a text, `env:NAME`, `file:PATH` or `{{secrets.NAME}}`.
        env: Vec<(String, ServerValue)> = "env" as MapOf(&Text) => variables, example("{TOKEN: \"env:DB_TOKEN\"}");
        /// Network of the process: a private loopback interface, none, or that of this machine.
        network: NetworkAccess = "network", default("none");
        /// Time from its start until it has listed its tools.
        start_timeout: Duration = "startTimeout", default("10s");
        /// Time limit of a call.
        timeout: Duration = "timeout", default("60s"), example("90s");
        /// How long a question of the server to a person waits. Then the server learns that no person answered.
        answer_timeout: Option<Duration> = "answerTimeout", default("no limit"), example("1h");
        /// Maximum size of a result in KiB.
        max_result_kib: u32 = "maxResultKib" as Integer(1, 1024), default("256");
        /// Maximum number of tools.
        max_tools: u32 = "maxTools" as Integer(1, 1000), default("200");
    }

    /// A server of the Model Context Protocol that a specialist defines.
    struct ServerItem(): MCP_SERVER_ITEM = ("mcpServerItem", "an MCP server", rule KeyRule::ExactlyOne(&["command", "url"])) {
        /// Name of the server; its tools are `mcp:NAME:TOOL`.
        name: Located<String> = "name" as Pattern("^[a-z][a-z0-9_-]{0,31}$"), required, example("files");
    } with {
        /// What servers of the settings have too.
        server: ServerKeys,
    }
}

choice_table! {
    /// `transport` of an MCP server: whether it is spoken to over HTTP.
    SERVER_TRANSPORT, SERVER_TRANSPORT_NAMES: bool = {
        "stdio" => false,
        "http" => true,
        "sse" => true,
    }
}

/// An entry of `mcpServers` of a specialist: a server, or the name of one of the settings.
pub(crate) const SERVER_ITEM: KeyType = OneOf(const { &[Text, Map(&MCP_SERVER_ITEM)] });

/// Decodes `mcp:` of the settings. Call it after `secrets:`, whose names it refers to.
pub(crate) fn mcp(node: &Node, decoder: &mut Decoder) -> BTreeMap<String, Arc<McpServer>> {
    McpKeys::from_node(node, decoder).map(|found| found.servers).unwrap_or_default()
}

fn servers(node: &Node, key: &str, decoder: &mut Decoder) -> BTreeMap<String, Arc<McpServer>> {
    let mut found = BTreeMap::new();
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, key, "a map from names to servers");
        return found;
    };
    for (key, node) in entries {
        if !is_server_name(&key.text) {
            bad_name(&key.text, key.span, decoder);
            continue;
        }
        let what = format!("the MCP server `{}`", key.text);
        let Some(fields) = decoder.fields_of(node, &what, &MCP_SERVER) else { continue };
        let Some(own) = ServerKeys::of(&fields, decoder) else { continue };
        if let Some(server) = server(own, &fields, &key.text, decoder) {
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
    let fields = decoder.fields(node, &MCP_SERVER_ITEM)?;
    let ServerItem { name: Located { value: name, span }, server: own } =
        ServerItem::of(&fields, decoder)?;
    if !is_server_name(&name) {
        bad_name(&name, span, decoder);
        return None;
    }
    let server = server(own, &fields, &name, decoder)?;
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

/// A server; `None` for one with errors.
fn server(
    own: ServerKeys,
    fields: &Fields<'_>,
    name: &str,
    decoder: &mut Decoder,
) -> Option<McpServer> {
    let [command, url] = ["command", "url"].map(|key| fields.get(key).is_some());
    if command == url {
        if !fields.was_meant(&["command", "url"]) {
            let message = format!("the MCP server `{name}` needs exactly one of `command`, `url`");
            let help = "write `command: [PROGRAM, ARGUMENT]` or `url: https://HOST/PATH`";
            decoder.push(Diagnostic::error(Code::MISSING_KEY, fields.span, message).help(help));
        }
        return None;
    }
    if own.over_http.is_some_and(|over_http| over_http != url) {
        let message =
            format!("`transport` of the MCP server `{name}` does not fit to its other keys");
        let help = "`stdio` has a `command`, `http` and `sse` have a `url`".to_owned();
        decoder.bad_value(fields.span, message, help);
        return None;
    }
    let foreign: &[&str] = if url { &["args", "env", "network"] } else { &["token"] };
    if let Some(key) = foreign.iter().find(|key| fields.get(key).is_some()) {
        let (has, needs) = if url { ("url", "command") } else { ("command", "url") };
        let message = format!("the MCP server `{name}` has `{key}`, which needs a `{needs}`");
        decoder.bad_value(fields.span, message, format!("take out `{key}` or `{has}`"));
        return None;
    }
    let endpoint = match own.url {
        Some(url) => ServerEndpoint::Url(url),
        None => {
            let mut argv = own.command.filter(|argv| !argv.is_empty())?;
            argv.extend(own.args);
            ServerEndpoint::Command(argv)
        }
    };
    if own.token.is_some() && endpoint.url().is_some_and(|url| !protects_token(url)) {
        let message =
            format!("`token` of the MCP server `{name}` would be sent without encryption");
        let help = "write an address that begins with `https://`".to_owned();
        decoder.bad_value(fields.span, message, help);
        return None;
    }
    Some(McpServer {
        name: name.to_owned(),
        endpoint,
        token: own.token,
        env: own.env,
        network: own.network,
        start_timeout: own.start_timeout,
        timeout: own.timeout,
        answer_timeout: own.answer_timeout,
        max_result: own.max_result_kib as usize * 1024,
        max_tools: own.max_tools as usize,
        span: fields.span,
    })
}

fn url(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, key)?;
    if text.contains("{{") {
        let message = "`url` of an MCP server cannot contain placeholders";
        let help = "the address is the identity of the server in `.kb/mcp.lock`; write it out";
        decoder.push(Diagnostic::error(Code::VALUE_AS_CODE, node.span, message).help(help));
        return None;
    }
    let host = host_of(text);
    if !is_url(text) || host.is_none_or(|host| host.is_empty() || host.contains('@')) {
        // A user name and password do not belong into a message.
        let message = "`url` is not the address of a server".to_owned();
        let help = "write the whole address without a user name, such as `https://HOST/mcp`; a `token` is a key of \
                    its own"
            .to_owned();
        decoder.bad_value(node.span, message, help);
        return None;
    }
    Some(text.to_owned())
}

/// Host and port of a URL, with what is before them; `None` if it has none.
fn host_of(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split(['/', '?', '#', '\\']).next()
}

/// Whether a token can be sent to this address: it is encrypted, or stays on this machine.
fn protects_token(url: &str) -> bool {
    let host = host_of(url).unwrap_or_default();
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let bare =
        host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(bare, _)| bare);
    url.starts_with("https://") || matches!(bare, "localhost" | "127.0.0.1" | "[::1]")
}

/// A bearer token, which is never written in a definition itself.
fn token(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, key)?;
    if is_reference(text) { Some(text.to_owned()) } else { secret_name(text, node, decoder) }
}

fn over_http(node: &Node, key: &str, decoder: &mut Decoder) -> Option<bool> {
    let over_http = decoder.one_of(node, key, SERVER_TRANSPORT)?;
    if node.as_text() == Some("sse") {
        let message = "`transport: sse` is the older transport, which is not spoken; the server is spoken to over \
                       Streamable HTTP";
        let help = "write `transport: http`, and in `url` the address for it, which often ends in `/mcp` in place of \
                    `/sse`";
        decoder.push(Diagnostic::warning(Code::NO_EFFECT, node.span, message).help(help));
    }
    Some(over_http)
}

fn command(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<String>> {
    Some(command_of(node, "an MCP server", decoder))
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
pub(super) fn variables(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<(String, ServerValue)> {
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
