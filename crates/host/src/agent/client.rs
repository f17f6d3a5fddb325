//! What the client offers to an agent, and the events that it makes of what the agent says.

use super::asked::{Asked, Wanted};
use super::offered_tools::Called;
use super::report::Update;
use kb_base::value::Json;
use kb_jsonrpc::{Answerer, NO_METHOD, refusal};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;

/// The code of the answer to a request with wrong parameters.
const BAD_PARAMS: i64 = -32602;

/// What an agent says by itself.
#[derive(Debug)]
pub(crate) enum Event {
    /// It tells something.
    Told(Update),
    /// It asks for something and waits.
    Asked(Asked),
    /// It calls a tool of the specialist and waits.
    Called(Called),
}

/// The client of one session. What concerns another session is refused or not heard.
pub(super) struct Client {
    pub(super) events: mpsc::Sender<Event>,
    pub(super) session: Arc<OnceLock<String>>,
}

impl Client {
    fn is_own(&self, params: &Json) -> bool {
        let of = params.get("sessionId").and_then(Json::as_str);
        of.is_some() && of == self.session.get().map(String::as_str)
    }
}

impl Answerer for Client {
    async fn request(&mut self, id: Json, method: String, params: Json) -> Option<String> {
        let what = match Wanted::of(&method, &params) {
            None => {
                return Some(refusal(&id, NO_METHOD, "this client does not offer the method"));
            }
            Some(_) if !self.is_own(&params) => {
                return Some(refusal(&id, BAD_PARAMS, "this client has no such session"));
            }
            Some(Err(why)) => return Some(refusal(&id, BAD_PARAMS, &why)),
            Some(Ok(what)) => what,
        };
        // It is lost after the end of the attempt.
        let _ = self.events.send(Event::Asked(Asked { id, what })).await;
        None
    }

    async fn notification(&mut self, method: String, params: Json) {
        if method != "session/update" || !self.is_own(&params) {
            return;
        }
        match params.get("update").map(Update::of) {
            None | Some(Update::Other) => {}
            Some(update) => {
                let _ = self.events.send(Event::Told(update)).await;
            }
        }
    }
}
