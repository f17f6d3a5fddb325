//! The MCP servers of a project: their pins, what they declare now, and calls without a run.

use super::error::{ResourceKind, ServiceError};
use super::hook_secrets::{learn_secrets, secrets_of};
use super::plugins::{PluginTest, called_once, exists};
use super::project::Project;
use super::runs::{pinned_tools, server_secrets};
use kb_attempt::replace_file;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_core::redaction::{Mask, Redactor};
use kb_host::tool::{ServerPlace, connect};
use kb_language::definition::{
    LOCK_PATH, McpLock, McpPin, McpServer, PinnedServer, ToolChange, ToolDeclaration,
};
use kb_language::toolspec::{ToolLevel, ToolNamespace, ToolSpec};
use serde::Serialize;
use std::sync::Arc;

/// A server, as `kb mcp list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerView {
    /// The name in `mcp:NAME:TOOL`.
    pub name: String,
    /// Program and arguments; empty for a server with a URL.
    pub command: Vec<String>,
    /// The address of a server that is spoken to over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether its tools are pinned.
    pub pin: PinState,
    /// Number of pinned tools.
    pub tools: usize,
    /// The file that defines it.
    pub path: String,
}

/// Whether the tools of a server are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PinState {
    /// They are.
    Pinned,
    /// They are not.
    NotPinned,
    /// Those of another command or address are.
    OtherCommand,
}

impl PinState {
    /// The state in words.
    pub fn as_str(self) -> &'static str {
        match self {
            PinState::Pinned => "pinned",
            PinState::NotPinned => "not pinned",
            PinState::OtherCommand => "pinned for another command or address",
        }
    }
}

/// A tool of a server, as `kb mcp tools` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerTool {
    /// The name in an allow-list.
    pub tool: String,
    /// What it does, as its server says.
    pub description: String,
    /// The risk level.
    pub level: ToolLevel,
    /// Digest of its declaration.
    pub sha256: String,
    /// JSON Schema of the arguments.
    pub input: Json,
    /// JSON Schema of the result; null if the server declares none.
    pub output: Json,
}

/// A difference between a pin and what a server declares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDifference {
    /// The name in an allow-list.
    pub tool: String,
    /// What differs, in words.
    pub change: String,
    /// Each part that differs, as pinned and as declared; empty for a tool that is new or missing.
    pub parts: Vec<PartDifference>,
}

/// A part of a declaration that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartDifference {
    /// Such as `description`.
    pub part: String,
    /// As it is pinned; null if it is not there.
    pub pinned: Json,
    /// As the server declares it.
    pub declared: Json,
}

/// What was pinned.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pinned {
    /// The server.
    pub name: String,
    /// What a run can call now.
    pub tools: Vec<ServerTool>,
    /// How they differ from the earlier pin; empty without one.
    pub differences: Vec<ToolDifference>,
    /// Whether there was an earlier pin.
    pub was_pinned: bool,
}

/// The servers of the project.
pub fn list_servers(project: &Project) -> Vec<ServerView> {
    let view = |server: &Arc<McpServer>| {
        let pin = project.catalog.lock.servers.get(&server.name);
        ServerView {
            name: server.name.clone(),
            command: server.endpoint.argv().to_vec(),
            url: server.endpoint.url().map(str::to_owned),
            pin: state_of(server, pin),
            tools: pin.map_or(0, |pin| pin.tools.len()),
            path: project.sources().get(server.span.source).path.to_string(),
        }
    };
    project.catalog.servers.values().map(view).collect()
}

fn state_of(server: &McpServer, pin: Option<&McpPin>) -> PinState {
    match pin {
        None => PinState::NotPinned,
        Some(pin) if pin.endpoint != server.endpoint => PinState::OtherCommand,
        Some(_) => PinState::Pinned,
    }
}

/// The tools that a server declares now.
pub async fn server_tools(project: &Project, name: &str) -> Result<Vec<ServerTool>, ServiceError> {
    let declared = declared_now(project, &find(project, name)?).await?;
    Ok(declared.iter().map(|tool| shown(name, tool)).collect())
}

/// How the tools that a server declares now differ from those that are pinned.
pub async fn diff_server(
    project: &Project,
    name: &str,
) -> Result<Vec<ToolDifference>, ServiceError> {
    let server = find(project, name)?;
    let pin = pin_of(project, &server)?;
    let declared = declared_now(project, &server).await?;
    Ok(differences(name, &pin.changes(&declared)))
}

/// Starts a server and pins the tools that it declares.
pub async fn pin_server(project: &Project, name: &str) -> Result<Pinned, ServiceError> {
    let server = find(project, name)?;
    let declared = declared_now(project, &server).await?;
    // Other commands may have pinned meanwhile.
    let path = project.context.root.join(LOCK_PATH);
    let refused = |why: String| {
        let message = format!("`{LOCK_PATH}` cannot be used: {why}");
        let help = "restore it from version control, or delete it and pin again";
        ServiceError::refused(Failure::new(Code::MCP_LOCK, message).help(help))
    };
    let mut lock = match std::fs::read_to_string(&path) {
        Ok(text) => McpLock::parse(&text).map_err(refused)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => McpLock::default(),
        Err(error) => return Err(refused(error.to_string())),
    };
    let pin = McpPin::new(server.endpoint.clone(), (*declared).clone());
    let tools = pin.tools.iter().map(|tool| shown(name, tool)).collect();
    let earlier = lock.servers.insert(server.name.clone(), pin);
    let changes = earlier.as_ref().map(|earlier| earlier.changes(&declared)).unwrap_or_default();
    replace_file(&path, lock.text().as_bytes()).map_err(|error| refused(error.to_string()))?;
    let (differences, was_pinned) = (differences(name, &changes), earlier.is_some());
    Ok(Pinned { name: name.to_owned(), tools, differences, was_pinned })
}

/// Calls a pinned tool, as a `tool` step does, without a run.
pub async fn call_server(
    project: &Project,
    tool: &str,
    input: Json,
) -> Result<PluginTest, ServiceError> {
    let name = ToolNamespace::server_of(tool).ok_or_else(|| {
        let message = format!("`{tool}` is not the name of a tool of an MCP server");
        let help = "write `mcp:SERVER:TOOL`; `kb mcp list` shows the servers";
        ServiceError::refused(Failure::new(Code::NO_MCP_SERVER, message).help(help))
    })?;
    let server = find(project, name)?;
    let pin = pin_of(project, &server)?.clone();
    let own = Arc::new(PinnedServer { server, pin });
    let mut started = None;
    let called = called_once(project, tool, input, |redactor| {
        let (tools, servers) = pinned_tools(vec![own], &Arc::new(secrets_of(project, redactor)));
        started = Some(servers);
        tools
    })
    .await;
    if let Some(servers) = started {
        servers.close().await;
    }
    called
}

/// The servers that cannot be used as they are, each with what is wrong and the fix.
pub(super) fn problems_of_servers(project: &Project) -> Vec<(String, String, String)> {
    let problem = |view: ServerView| {
        let program = view.command.first();
        if let Some(program) = program.filter(|program| !exists(project, program)) {
            let help = "install the program, or correct `command` of the server".to_owned();
            return Some((view.name, format!("the program `{program}` does not exist"), help));
        }
        let help = format!("`kb mcp pin {}` pins its tools", view.name);
        (view.pin != PinState::Pinned)
            .then(|| (view.name.clone(), format!("its tools are {}", view.pin.as_str()), help))
    };
    list_servers(project).into_iter().filter_map(problem).collect()
}

fn find(project: &Project, name: &str) -> Result<Arc<McpServer>, ServiceError> {
    project.require_valid_settings()?;
    let all = &project.catalog.servers;
    let unknown = || ServiceError::unknown(ResourceKind::McpServer, name, all.keys().cloned());
    all.get(name).cloned().ok_or_else(unknown)
}

fn pin_of<'p>(project: &'p Project, server: &McpServer) -> Result<&'p McpPin, ServiceError> {
    let pin = project.catalog.lock.servers.get(&server.name);
    match pin.filter(|_| state_of(server, pin) == PinState::Pinned) {
        Some(pin) => Ok(pin),
        None => {
            let name = &server.name;
            let state = state_of(server, pin).as_str();
            let message = format!("the tools of the MCP server `{name}` are {state}");
            let help = format!("`kb mcp pin {name}` starts it, shows its tools and pins them");
            Err(ServiceError::refused(Failure::new(Code::MCP_NOT_PINNED, message).help(help)))
        }
    }
}

/// Starts a server in its sandbox and ends it again.
async fn declared_now(
    project: &Project,
    server: &Arc<McpServer>,
) -> Result<Arc<Vec<ToolDeclaration>>, ServiceError> {
    let redactor = Arc::new(Redactor::default());
    project.context.environment.redactors.register(&redactor);
    learn_secrets(project, &redactor);
    let settings = &project.catalog.settings;
    let processes = project.context.processes(settings).map_err(|error| {
        let root = project.context.root.display();
        let message = format!("the project folder `{root}` cannot be opened: {error}");
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    let secrets = server_secrets(&Arc::new(secrets_of(project, redactor.clone())));
    let asked = async {
        let place = ServerPlace::of(&processes).await?;
        let connection = connect(server, place, &secrets).await?;
        let tools = connection.tools().await.map_err(|fault| fault.failure(&server.name));
        connection.close().await;
        tools
    };
    let declared = asked.await;
    let declared =
        declared.map_err(|failure| ServiceError::refused(failure).masked_by(&redactor))?;
    let has_secret = |tool: &&ToolDeclaration| {
        let json = Json::Object(tool.json().clone());
        redactor.mask_json(&json) != json
    };
    if let Some(tool) = declared.iter().find(has_secret) {
        let message = format!(
            "the MCP server `{}` declares `{}` with a secret in it",
            server.name,
            tool.name()
        );
        let help = "a pin is no secret: tell who maintains the server, or give it no secret";
        return Err(ServiceError::refused(Failure::new(Code::MCP_ANSWER, message).help(help)));
    }
    Ok(declared)
}

fn shown(server: &str, tool: &ToolDeclaration) -> ServerTool {
    let ToolSpec { name, description, level, input, output, .. } = tool.spec(server);
    let sha256 = tool.digest().to_string();
    let (tool, description) = (name.into_owned(), description.into_owned());
    ServerTool { tool, description, level, sha256, input, output }
}

fn differences(server: &str, changes: &[ToolChange]) -> Vec<ToolDifference> {
    let part = |(part, pinned, declared): (&str, Option<&Json>, Option<&Json>)| PartDifference {
        part: part.to_owned(),
        pinned: pinned.cloned().unwrap_or_default(),
        declared: declared.cloned().unwrap_or_default(),
    };
    let difference = |change: &ToolChange| ToolDifference {
        tool: format!("{}{}", ToolNamespace::of_server(server, None).prefix, change.tool()),
        change: change.to_string(),
        parts: change.parts().into_iter().map(part).collect(),
    };
    changes.iter().map(difference).collect()
}
