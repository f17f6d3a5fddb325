//! [`ToolServer`]: the tools of a specialist as an MCP server, for the agent that does its work.
//!
//! The agent starts `kb mcp relay SOCKET`, which connects its standard input and output to a socket in the temporary
//! directory of the agent. What calls a tool is a program of others: its messages are limited, and its calls are passed on
//! as events, which the attempt answers under the policy.

use super::client::Event;
use super::offered_tools::{OfferedTool, SERVER};
use super::tool_client::{Shared, answer};
use kb_base::value::Json;
use serde_json::json;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// The name of the socket.
const SOCKET: &str = "kb-tools";
/// Maximum number of programs that are connected.
const CONNECTIONS: usize = 16;
/// Maximum length of the path of a socket, which some systems cut without an error.
const PATH_BYTES: usize = 100;

/// What a session offers to its agent.
#[derive(Debug, Clone)]
pub(crate) struct ToolOffer {
    /// A folder that the processes of the agent see and others do not.
    pub(crate) folder: PathBuf,
    /// The program that relays.
    pub(crate) program: PathBuf,
    /// What the agent may call, with names that differ.
    pub(crate) tools: Vec<OfferedTool>,
}

/// A socket whose connections are served until it is dropped.
pub(super) struct ToolServer {
    socket: PathBuf,
    program: PathBuf,
    served: JoinHandle<()>,
}

impl ToolServer {
    /// Begins to listen. Calls become events.
    pub(super) fn start(
        offer: ToolOffer,
        events: mpsc::WeakSender<Event>,
    ) -> io::Result<ToolServer> {
        let ToolOffer { folder, program, tools } = offer;
        let socket = folder.join(SOCKET);
        // Of an earlier session with the same folder.
        let _ = std::fs::remove_file(&socket);
        let (short, _open) = short(&socket)?;
        let listener = UnixListener::bind(short)?;
        let shared = Arc::new(Shared { tools, events });
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let served = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok(place) = places.clone().acquire_owned().await {
                let Ok((stream, _)) = listener.accept().await else { return };
                let shared = shared.clone();
                open.spawn(async move {
                    let _place = place;
                    answer(stream, &shared).await;
                });
                while open.try_join_next().is_some() {}
            }
        });
        Ok(ToolServer { socket, program, served })
    }

    /// The server as `session/new` names it.
    pub(super) fn declaration(&self) -> Json {
        let socket = self.socket.display().to_string();
        json!({
            "name": SERVER,
            "command": self.program.display().to_string(),
            "args": ["mcp", "relay", socket],
            "env": [],
        })
    }
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        self.served.abort();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// A path of a socket that systems accept: a long one by the open folder, which is returned too.
fn short(socket: &Path) -> io::Result<(PathBuf, Option<File>)> {
    use std::os::fd::AsRawFd;
    if socket.as_os_str().len() <= PATH_BYTES {
        return Ok((socket.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    let by_number = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
    Ok((by_number.join(name), Some(folder)))
}

/// Connects standard input and output to the socket of a session, until one of them ends. The program of
/// `kb mcp relay`.
pub async fn relay(socket: &Path) -> io::Result<()> {
    let (short, _open) = short(socket)?;
    let stream = tokio::net::UnixStream::connect(short).await?;
    let (mut read, mut write) = stream.into_split();
    let (mut input, mut output) = (tokio::io::stdin(), tokio::io::stdout());
    tokio::select! {
        sent = tokio::io::copy(&mut input, &mut write) => sent.map(drop),
        received = copy_at_once(&mut read, &mut output) => received,
    }
}

/// Copies without waiting for more: a client waits for an answer before it sends more.
async fn copy_at_once(
    from: &mut (impl tokio::io::AsyncRead + Unpin),
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
) -> io::Result<()> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
        to.flush().await?;
    }
}
