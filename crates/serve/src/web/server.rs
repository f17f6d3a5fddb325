//! [`Server`]: binds an address, writes the files that its users read, and serves until it is stopped.

use super::connection;
use super::hosts::Hosts;
use super::kept_session;
use super::mcp_messages::McpMessages;
use super::openapi;
use super::router;
use super::secret;
use super::state::WebState;
use super::watching;
use crate::serve::{ADDRESS_FILE, SharedProject, address_in};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Timestamp};
use kb_clock::Clock;
use kb_service::service::ServiceError;
use kb_service::trigger::{Role, TriggerStore};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The port, unless another one is asked for.
const PORT: u16 = 7900;
/// The file in a state folder with a token of the role `admin`, for programs of the same user.
const TOKEN_FILE: &str = "serve.token";
/// The name of the token in [`TOKEN_FILE`].
const OWNER: &str = "owner";

/// Where the server listens.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The address; by default the loopback interface.
    pub address: IpAddr,
    /// The port; `None`: 7900, or a free one if that is in use.
    pub port: Option<u16>,
    /// The names under which it may be addressed, besides those of the loopback interface.
    pub hosts: Vec<String>,
}

impl Default for Listen {
    fn default() -> Self {
        Listen { address: IpAddr::from([127, 0, 0, 1]), port: None, hosts: Vec::new() }
    }
}

/// A server that accepts requests.
pub struct Server {
    state: Arc<WebState>,
    address: SocketAddr,
    files: Vec<PathBuf>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens and serves until `stop` is cancelled. Must be called in a tokio runtime.
    pub async fn start(
        projects: Vec<SharedProject>,
        listen: &Listen,
        clock: Clock,
        stop: CancellationToken,
    ) -> Result<Server, ServiceError> {
        Server::start_with(projects, listen, clock, stop, None).await
    }

    /// The same, which also answers clients of the Model Context Protocol.
    pub async fn start_with(
        projects: Vec<SharedProject>,
        listen: &Listen,
        clock: Clock,
        stop: CancellationToken,
        mcp: Option<Arc<dyn McpMessages>>,
    ) -> Result<Server, ServiceError> {
        if !listen.address.is_loopback() && listen.hosts.is_empty() {
            let message = format!("`{}` can be reached by other machines", listen.address);
            let failure = Failure::new(Code::ADDRESS_UNUSABLE, message);
            let help = "name the hosts under which it may be addressed: `--host NAME`";
            return Err(ServiceError::refused(failure.help(help)));
        }
        let listener = bind(listen).await?;
        let address = listener.local_addr().map_err(|error| unusable(listen, PORT, &error))?;
        let user = projects.first().map(|project| project.context.environment.user());
        let hosts = Hosts::new(address.port(), &listen.hosts);
        let user = user.unwrap_or_default();
        let document = format!("{:#}\n", openapi::document());
        let port = address.port();
        let state = WebState::new(projects, hosts, port, user, clock, stop.clone(), document);
        let state = Arc::new(state.with_mcp(mcp));
        let mut files = Vec::new();
        for project in state.projects() {
            let folder = &project.shared.context.state_dir;
            keep_token(folder, &project.shared.store, state.clock().wall())?;
            let path = folder.join(ADDRESS_FILE);
            write(&path, &format!("http://{address}\n")).map_err(|error| file(&path, &error))?;
            files.push(path);
        }
        tokio::spawn(watching::watch_changes(state.clone()));
        let accepting = tokio::spawn(connection::accept(listener, router::router(&state), stop));
        Ok(Server { state, address, files, accepting })
    }

    /// The address of the pages and of the API.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address that opens a session of the role `admin`, once, within five minutes. The code is in the
    /// fragment, which browsers do not send.
    pub fn login_url(&self) -> Result<String, ServiceError> {
        let Some(project) = self.state.projects().first() else { return Ok(self.url()) };
        let code = kept_session::new_code(&project.shared.store, self.state.clock().wall())?;
        Ok(format!("{}/login#{code}", self.url()))
    }

    /// Waits until all connections are closed after the stop.
    pub async fn stopped(self) {
        let _ = self.accepting.await;
        for path in &self.files {
            let _ = fs::remove_file(path);
        }
    }
}

/// The address that opens a session at the server that serves a state folder now, as [`Server::login_url`] makes it;
/// `None` if none listens.
pub fn login_url_of(
    state_dir: &Path,
    store: &TriggerStore,
    now: Timestamp,
) -> Result<Option<String>, ServiceError> {
    let Some(url) = address_in(state_dir) else { return Ok(None) };
    let code = kept_session::new_code(store, now)?;
    Ok(Some(format!("{url}/login#{code}")))
}

async fn bind(listen: &Listen) -> Result<TcpListener, ServiceError> {
    let port = listen.port.unwrap_or(PORT);
    match TcpListener::bind((listen.address, port)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && listen.port.is_none() => {
            let any = TcpListener::bind((listen.address, 0)).await;
            any.map_err(|error| unusable(listen, 0, &error))
        }
        Err(error) => Err(unusable(listen, port, &error)),
    }
}

fn unusable(listen: &Listen, port: u16, error: &io::Error) -> ServiceError {
    let message = format!("cannot listen on {}: {error}", SocketAddr::new(listen.address, port));
    let failure = Failure::new(Code::ADDRESS_UNUSABLE, message);
    ServiceError::environment(failure.help("`--port 0` takes any free port"))
}

fn file(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("cannot write `{}`: {error}", path.display());
    ServiceError::environment(Failure::new(Code::FILE_UNREADABLE, message))
}

/// Makes sure that the token file has a valid token that only this user can read.
fn keep_token(folder: &Path, store: &TriggerStore, now: Timestamp) -> Result<(), ServiceError> {
    let path = folder.join(TOKEN_FILE);
    let found = fs::read_to_string(&path).unwrap_or_default();
    let row = store.token(&secret::digest(found.trim()))?;
    if row.is_some_and(|row| row.is_valid(now) && row.role == Role::Admin) {
        return Ok(());
    }
    store.revoke_token(OWNER)?;
    let token = secret::new_token(store, OWNER, Role::Admin, None, now)?;
    write(&path, &format!("{}\n", token.text)).map_err(|error| file(&path, &error))
}

/// Writes a file of mode 0600. A file with other rights is replaced.
fn write(path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}
