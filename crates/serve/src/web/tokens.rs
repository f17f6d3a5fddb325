//! What the models of a run write at the moment, for the streams that ask for it. It is not stored: the process that
//! drives the run sends it, and what a stream does not read in time is lost.

use super::form::Form;
use axum::body::Bytes;
use kb_core::redaction::Masked;
use kb_service::service::Progress;
use kb_service::service::runs::ActivityReceiver;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Interval of the reads. Pieces that a model wrote in between are one event.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of pieces of one read.
const MOST_PIECES: usize = 4096;
/// Number of events that a slow stream can be behind.
const BEHIND: usize = 64;

/// An event `step:token` in the forms of streams.
#[derive(Debug, Clone)]
pub(super) struct TokenLine {
    sse: Bytes,
    jsonl: Bytes,
}

impl TokenLine {
    /// The event from its JSON. It has no number.
    pub(super) fn new(json: &str) -> TokenLine {
        TokenLine { sse: format!("data: {json}\n\n").into(), jsonl: format!("{json}\n").into() }
    }

    /// The event as it is sent.
    pub(super) fn bytes(&self, form: Form) -> Bytes {
        match form {
            Form::Sse => self.sse.clone(),
            Form::Jsonl => self.jsonl.clone(),
        }
    }
}

/// The texts of the models of one run, while a stream wants them.
#[derive(Debug)]
pub(super) struct Tokens {
    lines: broadcast::Sender<TokenLine>,
    _reading: DropGuard,
}

impl Tokens {
    /// Begins to receive. `event` is the JSON of the event for a text of a step instance; `None` leaves it out. Must be
    /// called in a tokio runtime.
    pub(super) fn start(
        receiver: ActivityReceiver,
        event: impl Fn(&str, Masked<String>) -> Option<String> + Send + 'static,
    ) -> Tokens {
        let (lines, stop) = (broadcast::Sender::new(BEHIND), CancellationToken::new());
        tokio::spawn(receive(receiver, event, lines.clone(), stop.clone()));
        Tokens { lines, _reading: stop.drop_guard() }
    }

    /// What is written from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<TokenLine> {
        self.lines.subscribe()
    }
}

async fn receive(
    receiver: ActivityReceiver,
    event: impl Fn(&str, Masked<String>) -> Option<String> + Send,
    lines: broadcast::Sender<TokenLine>,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
        for (instance, text) in written(&receiver) {
            if let Some(json) = event(&instance, text) {
                let _ = lines.send(TokenLine::new(&json));
            }
        }
    }
}

/// What arrived since the last read: the text of each step instance, in the order of the first pieces.
fn written(receiver: &ActivityReceiver) -> Vec<(String, Masked<String>)> {
    let mut texts: Vec<(String, Masked<String>)> = Vec::new();
    for _ in 0..MOST_PIECES {
        let Some(activity) = receiver.next() else { break };
        let Some(piece) = activity.progress.map(Progress::into_token).transpose() else { continue };
        match texts.iter_mut().find(|(instance, _)| *instance == activity.instance) {
            Some((_, text)) => text.push(&piece),
            None => texts.push((activity.instance, piece)),
        }
    }
    texts
}
