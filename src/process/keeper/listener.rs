use super::message::Report;
use super::socket;
use crate::task::follow_up;
use rustix::fd::OwnedFd;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The line to one cell, and the thread that waits for what comes on it.
///
/// That thread goes on with whatever its news wakes: as a rule it takes in a step's output, stores
/// its end and starts the next step, all on the processor that the last process has just left.
#[derive(Debug)]
pub(super) struct Listener {
    socket: Arc<OwnedFd>,
    reports: UnboundedReceiver<Heard>,
}

/// What a cell has told, with the descriptor that came along.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) report: Report,
    pub(super) descriptor: Option<OwnedFd>,
}

impl Heard {
    /// Waits for the next report; none where the cell is gone.
    pub(super) fn on(socket: &OwnedFd) -> io::Result<Option<Heard>> {
        let (mut message, mut descriptors) = ([0; Report::SIZE], Vec::new());
        let length = socket::receive(socket, &mut message, &mut descriptors)?;
        let report = Report::decode(&message[..length]);
        Ok(report.map(|report| Heard { report, descriptor: descriptors.pop() }))
    }
}

impl Listener {
    /// Begins to listen.
    pub(super) fn of(socket: OwnedFd) -> io::Result<Listener> {
        let (sender, reports) = unbounded_channel();
        let socket = Arc::new(socket);
        let line = socket.clone();
        std::thread::Builder::new()
            .name("kb-listen".into())
            .spawn(move || listen(&line, &sender))?;
        Ok(Listener { socket, reports })
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The next report; none where the cell is gone. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        self.reports.recv().await
    }
}

impl Drop for Listener {
    /// The cell and the thread see that nobody is there any more; the last of them closes the line.
    fn drop(&mut self) {
        let _ = shutdown(&*self.socket, Shutdown::Both);
    }
}

fn listen(socket: &OwnedFd, reports: &UnboundedSender<Heard>) {
    loop {
        match Heard::on(socket) {
            Ok(Some(heard)) => follow_up(|| drop(reports.send(heard))),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(None) | Err(_) => break,
        }
    }
}
