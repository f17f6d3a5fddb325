//! [`McpServers`]: the MCP servers of a run. Each is started at the first call of one of its tools, and ends with the
//! run.

use super::plugin_code;
use super::process_launcher::ProcessLauncher;
use super::server::{ServerPlace, ToolServer};
use super::watched_process::protected_failure;
use super::written_files::Lending;
use crate::workspace::ProtectedWatch;
use futures::future::BoxFuture;
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json};
use kb_http::HttpClient;
use kb_language::definition::{
    LOCK_PATH, McpServer, NetworkAccess, PinnedServer, ServerEndpoint, ServerValue, ToolChange,
    ToolDeclaration,
};
use kb_language::toolspec::{ToolNamespace, ToolSpec};
use kb_mcpclient::{Connection, ServerReach, ServerStart};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Gives the value of `env:NAME`, of `file:PATH` or of a secret of the settings.
pub type ServerSecrets =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, Failure>> + Send + Sync>;

/// Number of differences in a message.
const SHOWN: usize = 5;

/// The servers of a run by name, and the processes that were started.
pub struct McpServers {
    servers: BTreeMap<String, Arc<PinnedServer>>,
    secrets: ServerSecrets,
    open: Mutex<BTreeMap<Place, Arc<Slot>>>,
}

/// What a process of a server can see. Calls with the same view share a process.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    server: String,
    root: PathBuf,
    readable: Option<Vec<PathBuf>>,
    hidden: Vec<PathBuf>,
}

impl Place {
    /// The place of a server. One with a URL sees nothing of the project, wherever it is called.
    fn of(own: &PinnedServer, place: &ServerPlace<'_>) -> Place {
        let server = own.server.name.clone();
        match own.server.endpoint {
            ServerEndpoint::Command(_) => Place {
                server,
                root: place.processes.root().to_owned(),
                readable: place.processes.readable(),
                hidden: place.hidden.clone(),
            },
            ServerEndpoint::Url(_) => {
                Place { server, root: PathBuf::new(), readable: None, hidden: Vec::new() }
            }
        }
    }
}

/// A process that is started once, by the call that needs it first.
type Slot = tokio::sync::Mutex<Option<Open>>;

#[derive(Clone)]
struct Open {
    connection: Arc<Connection>,
    /// The list of tools that was compared with the pin.
    compared: Arc<Vec<ToolDeclaration>>,
}

impl McpServers {
    /// These servers. None of them is started.
    pub fn new(
        servers: impl IntoIterator<Item = Arc<PinnedServer>>,
        secrets: ServerSecrets,
    ) -> McpServers {
        let servers = servers.into_iter().map(|own| (own.server.name.clone(), own)).collect();
        McpServers { servers, secrets, open: Mutex::default() }
    }

    /// Ends the sessions with servers that have a URL, at the same time. No call begins after that. Processes end when
    /// the servers are dropped.
    pub async fn close(&self) {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        let sessions = open.into_iter().filter(|(place, _)| {
            let own = self.servers.get(&place.server);
            own.is_some_and(|own| own.server.endpoint.url().is_some())
        });
        let closed = sessions.map(|(_, slot)| async move {
            if let Some(open) = slot.lock().await.take() {
                open.connection.close().await;
            }
        });
        futures::future::join_all(closed).await;
    }

    fn server_of(&self, tool: &ToolSpec) -> Result<&Arc<PinnedServer>, Failure> {
        let name = ToolNamespace::server_of(&tool.name).unwrap_or_default();
        self.servers.get(name).ok_or_else(|| {
            let message = format!("the run has no MCP server `{name}`");
            Failure::new(Code::NO_MCP_SERVER, message)
        })
    }

    /// The running process of a server for this place, whose tools are those that are pinned.
    async fn connection(
        &self,
        own: &PinnedServer,
        place: ServerPlace<'_>,
    ) -> Result<Arc<Connection>, Failure> {
        let key = Place::of(own, &place);
        let slot = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.entry(key).or_default().clone()
        };
        let mut slot = slot.lock().await;
        let running = slot.take().filter(|open| open.connection.is_open());
        let name = &own.server.name;
        let listed = match running {
            // A server with a URL may have ended the session meanwhile; a call then begins another one.
            Some(open) => match open.connection.tools().await {
                Err(_) if !open.connection.is_open() => None,
                listed => Some((open, listed)),
            },
            None => None,
        };
        let (open, listed) = match listed {
            Some(found) => found,
            None => {
                let connection = Arc::new(connect(&own.server, place, &self.secrets).await?);
                let listed = connection.tools().await;
                (Open { connection, compared: Arc::default() }, listed)
            }
        };
        let tools = listed.map_err(|fault| fault.failure(name))?;
        if !Arc::ptr_eq(&tools, &open.compared) {
            let changes = own.pin.changes(&tools);
            if !changes.is_empty() {
                // The process stays, so that each call is refused at once.
                *slot = Some(Open { compared: Arc::default(), ..open });
                return Err(drift(name, &changes));
            }
        }
        let connection = open.connection.clone();
        *slot = Some(Open { compared: tools, ..open });
        Ok(connection)
    }
}

impl ToolServer for McpServers {
    fn call<'a>(
        &'a self,
        tool: &'a ToolSpec,
        args: &'a Json,
        place: ServerPlace<'a>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Json, Failure>> {
        Box::pin(async move {
            let own = self.server_of(tool)?;
            let (workspace, can_confine) =
                (place.processes.workspace(), place.processes.can_confine());
            let begin = || run_blocking(|| ProtectedWatch::begin(workspace, true));
            let is_process = own.server.endpoint.url().is_none();
            let watch = (is_process && !can_confine).then(begin);
            if let Some(watch) = &watch {
                watch.require_complete().map_err(|error| error.failure())?;
            }
            let talk = place.talk.clone();
            let connection = self.connection(own, place).await?;
            let name = tool.name.strip_prefix(&*tool.namespace).unwrap_or(&tool.name);
            let answer = connection.call(name, args, talk).await;
            if let Some(watch) = watch {
                let before = workspace.state_before();
                let failure = || protected_failure(&watch.end(), workspace, before);
                if let Some(failure) = run_blocking(failure) {
                    return Err(failure);
                }
            }
            answer.map_err(|fault| fault.failure(&own.server.name))
        })
    }

    fn code(&self, tool: &ToolSpec, processes: &ProcessLauncher) -> BTreeMap<String, Digest> {
        let Ok(own) = self.server_of(tool) else { return BTreeMap::new() };
        let pin = (format!("{LOCK_PATH}: {}", own.server.name), own.pin.digest());
        plugin_code::digests(pin, own.server.endpoint.argv(), processes)
    }
}

/// Starts a server, or begins to talk to one with a URL. Its host must be public, unless `tools.http.allowPrivate` has it.
pub async fn connect(
    server: &McpServer,
    place: ServerPlace<'_>,
    secrets: &ServerSecrets,
) -> Result<Connection, Failure> {
    let reach = match &server.endpoint {
        ServerEndpoint::Command(argv) => process_of(server, argv, place, secrets).await?,
        ServerEndpoint::Url(url) => {
            let token = match &server.token {
                Some(reference) => Some(secrets(reference.clone()).await?),
                None => None,
            };
            let client = HttpClient::new(place.processes.private_hosts());
            ServerReach::Http { client, url: url.clone(), token }
        }
    };
    let start = ServerStart { server, reach };
    Connection::open(start).await.map_err(|fault| fault.failure(&server.name))
}

async fn process_of(
    server: &McpServer,
    argv: &[String],
    place: ServerPlace<'_>,
    secrets: &ServerSecrets,
) -> Result<ServerReach, Failure> {
    let mut env = Vec::new();
    for (name, value) in &server.env {
        let value = match value {
            ServerValue::Text(text) => text.clone(),
            ServerValue::Secret(reference) => secrets(reference.clone()).await?,
        };
        env.push((name.clone(), value));
    }
    let (supervisor, cwd) = if is_lent(server) && place.processes.can_confine() {
        let path = place.processes.require_outside((argv, &env), Lending::MORE);
        let path = path.map_err(|why| {
            let message = format!("the MCP server `{}` {why}", server.name);
            let help = format!("install it outside of the project, or {}", Lending::MORE.instead);
            Failure::new(Code::MCP_NOT_STARTED, message).help(help)
        })?;
        env.push(path);
        (place.processes.without_workspace(server.network)?, PathBuf::from("/"))
    } else {
        let supervisor = place.processes.of_server(server.network, place.hidden)?;
        (supervisor, place.processes.root().to_owned())
    };
    Ok(ServerReach::Process { argv: argv.to_vec(), supervisor, cwd, env })
}

/// Whether a server gets what models do not have: the network of this machine, or a secret. The project does not exist for
/// it then, so that no code in it, which a model may have written, gets the same.
fn is_lent(server: &McpServer) -> bool {
    let is_secret = |value: &ServerValue| matches!(value, ServerValue::Secret(_));
    server.network == NetworkAccess::Open || server.env.iter().any(|(_, value)| is_secret(value))
}

/// The failure of each call of a server whose tools are not those that are pinned.
fn drift(server: &str, changes: &[ToolChange]) -> Failure {
    let mut shown: Vec<String> = changes.iter().take(SHOWN).map(ToString::to_string).collect();
    if changes.len() > SHOWN {
        shown.push(format!("{} more", changes.len() - SHOWN));
    }
    let message = format!(
        "the tools of the MCP server `{server}` are not those that are pinned: {}",
        shown.join("; ")
    );
    let help =
        format!("a person reads `kb mcp diff {server}` and accepts it with `kb mcp pin {server}`");
    Failure::new(Code::MCP_DRIFT, message).help(help)
}
