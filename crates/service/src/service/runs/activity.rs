//! What the steps of a run do at the moment, for `kb run watch` in another process.
//!
//! Activity is not stored. A watcher binds a datagram socket in a folder of the run below the state folder; the
//! process that drives the run looks for sockets there once a second and sends to each what its own display gets.
//! Datagrams that a watcher does not read in time are lost.

use kb_attempt::Progress;
use kb_base::value::RunId;
use kb_core::redaction::Masked;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum size of a datagram in bytes. A longer text is left out.
const DATAGRAM_BYTES: usize = 16 << 10;
/// Maximum number of watchers of a run.
const WATCHERS: usize = 16;

/// One activity of a step instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Name of the step instance.
    pub instance: String,
    /// What it does.
    pub progress: Masked<Progress>,
}

/// An activity as it arrives. Its sender masked it.
#[derive(Deserialize)]
struct Received {
    instance: String,
    progress: Progress,
}

/// Sends the activity of a run to its watchers.
pub struct ActivitySender {
    folder: PathBuf,
    watchers: Vec<(PathBuf, UnixDatagram)>,
}

impl ActivitySender {
    /// A sender for a run of the project with this state folder.
    pub fn new(state_dir: &Path, run: &RunId) -> ActivitySender {
        ActivitySender { folder: folder(state_dir, run), watchers: Vec::new() }
    }

    /// Looks for new watchers. Without any, this is one failing system call.
    pub fn find_watchers(&mut self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_known = self.watchers.iter().any(|(known, _)| *known == path);
            if !is_known && self.watchers.len() < WATCHERS {
                match connected(&path) {
                    Ok(socket) => self.watchers.push((path, socket)),
                    // Of a watcher that was killed.
                    Err(_) => drop(fs::remove_file(&path)),
                }
            }
        }
    }

    /// Sends an activity to all watchers.
    pub fn send(&mut self, instance: &str, progress: &Masked<Progress>) {
        if self.watchers.is_empty() {
            return;
        }
        let activity = Activity { instance: instance.to_owned(), progress: progress.clone() };
        let Ok(bytes) = serde_json::to_vec(&activity) else { return };
        if bytes.len() > DATAGRAM_BYTES {
            return;
        }
        self.watchers.retain(|(_, socket)| match socket.send(&bytes) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        });
    }
}

fn connected(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Receives the activity of a run.
pub struct ActivityReceiver {
    socket: UnixDatagram,
    path: PathBuf,
}

impl ActivityReceiver {
    /// A receiver for a run; `None` where no socket can be created, such as below a very long path.
    ///
    /// A process can have several receivers for one run.
    pub fn new(state_dir: &Path, run: &RunId) -> Option<ActivityReceiver> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = folder(state_dir, run);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        let path = folder.join(format!("{}-{count}", std::process::id()));
        let _ = fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(ActivityReceiver { socket, path })
    }

    /// The next activity that has arrived; `None` if there is none. What is not an activity is left out.
    pub fn next(&self) -> Option<Activity> {
        let mut buffer = [0; DATAGRAM_BYTES];
        loop {
            let count = self.socket.recv(&mut buffer).ok()?;
            if let Ok(Received { instance, progress }) = serde_json::from_slice(&buffer[..count]) {
                return Some(Activity { instance, progress: Masked::composed(progress) });
            }
        }
    }
}

impl Drop for ActivityReceiver {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // Removes only an empty folder: other watchers keep theirs.
        self.path.parent().map(fs::remove_dir);
    }
}

fn folder(state_dir: &Path, run: &RunId) -> PathBuf {
    state_dir.join("watch").join(run.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_core::redaction::Redactor;

    fn text(text: &str) -> Masked<Progress> {
        Redactor::default().mask(text.to_owned()).map(Progress::Token)
    }

    #[test]
    fn several_watchers_of_one_process_get_the_same() {
        let state = tempfile::tempdir().unwrap();
        let run = RunId::new("r1").unwrap();
        let receivers = [(); 2].map(|()| ActivityReceiver::new(state.path(), &run).unwrap());
        let mut sender = ActivitySender::new(state.path(), &run);
        sender.find_watchers();
        sender.send("a", &text("x"));
        assert!(receivers.iter().all(|receiver| receiver.next().is_some()));
    }

    #[test]
    fn a_watcher_gets_what_is_sent_while_it_watches() {
        let state = tempfile::tempdir().unwrap();
        let run = RunId::new("r1").unwrap();
        let mut sender = ActivitySender::new(state.path(), &run);
        sender.find_watchers();
        sender.send("a", &text("before"));
        let receiver = ActivityReceiver::new(state.path(), &run).unwrap();
        sender.find_watchers();
        sender.send("a", &text("one"));
        sender.send("a", &text(&"x".repeat(DATAGRAM_BYTES)));
        sender.send("b[1]", &text("two"));
        let got: Vec<Activity> = std::iter::from_fn(|| receiver.next()).collect();
        assert_eq!(got[0], Activity { instance: "a".into(), progress: text("one") });
        assert_eq!((got.len(), got[1].instance.as_str()), (2, "b[1]"));
        drop(receiver);
        sender.send("a", &text("after"));
        assert!(sender.watchers.is_empty());
        assert!(!folder(state.path(), &run).exists());
    }
}
