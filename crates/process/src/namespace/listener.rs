//! The thread that receives the reports of a namespace worker.

use super::message::Report;
use super::socket;
use rustix::fd::OwnedFd;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The socket to a worker, and the thread that receives its reports.
#[derive(Debug)]
pub(super) struct Listener {
    socket: Arc<OwnedFd>,
    reports: UnboundedReceiver<Received>,
}

/// A report of a worker, with the descriptor that it carried.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) report: Report,
    pub(super) descriptor: Option<OwnedFd>,
}

impl Received {
    /// Waits for the next report and blocks the thread. Returns `None` if the worker has ended.
    pub(super) fn on(socket: &OwnedFd) -> io::Result<Option<Received>> {
        let (mut message, mut descriptors) = ([0; Report::SIZE], Vec::new());
        let length = socket::receive(socket, &mut message, &mut descriptors)?;
        let report = Report::decode(&message[..length]);
        Ok(report.map(|report| Received { report, descriptor: descriptors.pop() }))
    }
}

impl Listener {
    /// Starts the thread.
    pub(super) fn of(socket: OwnedFd) -> io::Result<Listener> {
        let (sender, reports) = unbounded_channel();
        let socket = Arc::new(socket);
        let shared = socket.clone();
        std::thread::Builder::new()
            .name("kb-listen".into())
            .spawn(move || listen(&shared, &sender))?;
        Ok(Listener { socket, reports })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The next report, or `None` if the worker has ended. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Received> {
        self.reports.recv().await
    }
}

impl Drop for Listener {
    /// Shuts the connection down, which ends the worker and the thread.
    fn drop(&mut self) {
        let _ = shutdown(&*self.socket, Shutdown::Both);
    }
}

fn listen(socket: &OwnedFd, reports: &UnboundedSender<Received>) {
    loop {
        match Received::on(socket) {
            Ok(Some(received)) => {
                if reports.send(received).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(None) | Err(_) => break,
        }
    }
}
