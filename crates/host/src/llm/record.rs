//! [`Recording`]: a provider that keeps the responses of another one, to write them as a script.

use super::fit;
use super::yaml::yaml;
use super::{
    AgentEvent, CallOrigin, ChatReply, ChatRequest, ModelError, ModelLimits, ModelProvider,
    ModelRef,
};
use futures::future::BoxFuture;
use kb_attempt::replace_file;
use kb_base::value::{Json, JsonMap, Tier};
use kb_core::evidence::CallRequest;
use kb_core::redaction::Redactor;
use kb_language::definition::ModelPrice;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum delay in a script, in milliseconds.
const LONGEST_DELAY_MS: u64 = 3_600_000;

/// The responses of models in a run, to write them as a script (`--record FILE`). The processes of a run
/// that waited for a person share them.
///
/// The key of a turn is the name of its attempt, in child runs behind the steps above: `fix#2/review`. A response
/// that never arrived because the run was stopped is not recorded. Secrets that a model repeats are
/// masked, because people share scripts.
#[derive(Debug, Default)]
pub struct RecordedTurns {
    turns: Mutex<BTreeMap<String, BTreeMap<u32, Json>>>,
    /// What was given up to the last turn, by key.
    given: Mutex<BTreeMap<String, Vec<String>>>,
    /// Files that coding agents wrote and whose content is not in the script.
    left_out: Mutex<BTreeSet<String>>,
}

/// Calls another provider and keeps every response.
pub struct Recording {
    inner: Arc<dyn ModelProvider>,
    redactor: Arc<Redactor>,
    turns: Arc<RecordedTurns>,
}

impl Recording {
    /// An empty recording of that provider.
    pub fn new(inner: Arc<dyn ModelProvider>, redactor: Arc<Redactor>) -> Self {
        Recording { inner, redactor, turns: Arc::default() }
    }

    /// The same, after the turns of earlier processes of the run.
    pub fn after(self, turns: Arc<RecordedTurns>) -> Self {
        Recording { turns, ..self }
    }

    /// The responses so far as `kb.script/1`.
    pub fn script(&self) -> String {
        self.turns.script(&self.redactor)
    }

    /// Writes the script atomically: the file is complete or absent.
    pub fn write_to(&self, path: &Path) -> std::io::Result<()> {
        self.turns.write_to(path, &self.redactor)
    }
}

impl RecordedTurns {
    /// The responses so far as `kb.script/1`.
    pub fn script(&self, redactor: &Redactor) -> String {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |key: &str| redactor.mask_text(key).into_owned();
        let turns =
            turns.iter().map(|(instance, turns)| (key(instance), in_order(turns, redactor)));
        let steps: JsonMap = turns.collect();
        yaml(&json!({"schema": "kb.script/1", "steps": steps}))
    }

    /// Writes the script atomically: the file is complete or absent.
    pub fn write_to(&self, path: &Path, redactor: &Redactor) -> std::io::Result<()> {
        replace_file(path, self.script(redactor).as_bytes())
    }

    /// Adds what the model was given since the turn before.
    fn add_given(&self, origin: &CallOrigin, given: Vec<String>, turn: &mut Json) {
        let mut all = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.entry(origin.place.to_string()).or_default();
        turn["given"] = json!(fit::added(given.clone(), before));
        *before = given;
    }

    fn keep(&self, origin: &CallOrigin, turn: Json) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.entry(origin.place.to_string()).or_default().insert(origin.turn, turn);
    }

    /// Keeps one thing that a coding agent does in a turn.
    pub fn keep_event(&self, origin: &CallOrigin, event: &AgentEvent) {
        let event = event.to_json(literal);
        self.with_turn(origin, |turn| {
            let waited = turn.remove(WAITS).is_some();
            let events = turn.entry(AGENT).or_insert_with(|| json!([]));
            let Some(events) = events.as_array_mut() else { return };
            // The agent asks again for what a person has decided meanwhile.
            if !(waited && events.last() == Some(&event)) {
                events.push(event);
            }
        });
    }

    /// Keeps that a turn waits for a person. It continues later.
    pub fn keep_question(&self, origin: &CallOrigin) {
        self.with_turn(origin, |turn| {
            turn.insert(WAITS.into(), json!(true));
        });
    }

    /// Keeps how the turn of a coding agent ended. `given` is what it was given, if a replay gets the same.
    pub fn keep_end(
        &self,
        origin: &CallOrigin,
        request: Option<&ChatRequest>,
        end: Result<&ChatReply, &ModelError>,
    ) {
        let Some(mut end) = end.map_or_else(failed, |reply| Some(response(reply))) else { return };
        if let Some(request) = request {
            self.add_given(origin, fit::given(request), &mut end);
        }
        self.with_turn(origin, |turn| {
            turn.entry(AGENT).or_insert_with(|| json!([]));
            turn.extend(end.as_object().cloned().unwrap_or_default());
        });
    }

    /// Keeps that the content of a file that a coding agent wrote is not in the script.
    pub fn keep_left_out(&self, path: &str) {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }

    /// The files that coding agents wrote and whose content is not in the script.
    pub fn left_out(&self) -> Vec<String> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn with_turn(&self, origin: &CallOrigin, change: impl FnOnce(&mut JsonMap)) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = turns.entry(origin.place.to_string()).or_default();
        let turn = turns.entry(origin.turn).or_insert_with(|| json!({}));
        if let Some(turn) = turn.as_object_mut() {
            change(turn);
        }
    }
}

/// The key of what a coding agent did.
const AGENT: &str = "agent";
/// The key of a turn that waits for a person. It is not written.
const WAITS: &str = "waits";

/// All turns in order; a turn that was not recorded becomes an interrupted response.
fn in_order(turns: &BTreeMap<u32, Json>, redactor: &Redactor) -> Json {
    let last = turns.last_key_value().map_or(0, |(turn, _)| *turn);
    let missing = || json!({"error": {"status": 0, "message": "this turn was not recorded"}});
    let turn = |turn| turns.get(&turn).map_or_else(missing, |turn| masked(turn, redactor));
    (1..=last).map(turn).collect()
}

/// Masks what a turn holds of a model. Numbers that `kb` or the provider counted stay, even if a secret has the same
/// digits.
fn masked(turn: &Json, redactor: &Redactor) -> Json {
    let mut turn = turn.clone();
    if let Some(message) = turn.pointer_mut("/error/message") {
        *message = redactor.mask_json(message);
    }
    turn.as_object_mut().and_then(|turn| turn.remove(WAITS));
    let parts = turn.as_object_mut().into_iter().flatten();
    for (_, part) in parts.filter(|(key, _)| !["error", "usage", "delayMs"].contains(&key.as_str()))
    {
        *part = redactor.mask_json(part);
    }
    turn
}

impl ModelProvider for Recording {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let (origin, given) = (request.origin.clone(), fit::given(&request));
            let answer = self.inner.chat(request, on_token, cancel).await;
            let turn = match &answer {
                Ok(reply) => Some(response(reply)),
                Err(error) => failed(error),
            };
            if let Some(mut turn) = turn {
                self.turns.add_given(&origin, given, &mut turn);
                self.turns.keep(&origin, turn);
            }
            answer
        })
    }

    fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError> {
        self.inner.resolve(tier, model)
    }

    fn price(&self, model: &ModelRef) -> Option<ModelPrice> {
        self.inner.price(model)
    }

    fn provider_of(&self, model: &ModelRef) -> Option<String> {
        self.inner.provider_of(model)
    }

    fn limits(&self, model: &ModelRef) -> ModelLimits {
        self.inner.limits(model)
    }

    fn kept_turns(&self) -> Option<&RecordedTurns> {
        Some(&self.turns)
    }

    fn played_events(&self, origin: &CallOrigin) -> Option<Result<Vec<AgentEvent>, ModelError>> {
        self.inner.played_events(origin)
    }
}

fn response(reply: &ChatReply) -> Json {
    let mut turn = JsonMap::new();
    let (calls, output) = split_submission(reply);
    if !reply.text.is_empty() || (calls.is_empty() && output.is_none()) {
        turn.insert("say".into(), json!(reply.text));
    }
    if !calls.is_empty() {
        let call = |call: &CallRequest| json!({"tool": call.tool, "args": literal(&call.args)});
        turn.insert("calls".into(), calls.iter().map(call).collect());
    }
    if let Some(output) = output {
        turn.insert("output".into(), literal(output));
    }
    let usage = &reply.usage;
    if usage.total_tokens() > 0 {
        let count = |tokens: u64| tokens.min(u32::MAX.into());
        let (prompt, completion) = (count(usage.prompt_tokens), count(usage.completion_tokens));
        turn.insert("usage".into(), json!({"prompt": prompt, "completion": completion}));
    }
    Json::Object(turn)
}

/// Separates the submitted output from the other calls, as in a script: `submit_output` with an object
/// as the last call.
fn split_submission(reply: &ChatReply) -> (&[CallRequest], Option<&Json>) {
    match (&reply.submitted, reply.calls.as_slice()) {
        (Some(output), calls) => (calls, Some(output)),
        (None, [before @ .., last])
            if last.tool == "submit_output"
                && last.args.is_object()
                && before.iter().all(|call| call.tool != "submit_output") =>
        {
            (before, Some(&last.args))
        }
        (None, calls) => (calls, None),
    }
}

fn failed(error: &ModelError) -> Option<Json> {
    let turn = |status: u16, message: &str, retry_after: Option<Duration>| {
        let mut error = json!({"status": status, "message": message});
        if let Some(wait) = retry_after {
            error["retryAfter"] = json!(wait.as_secs_f64().ceil() as u64);
        }
        json!({"error": error})
    };
    match error {
        ModelError::Transient { message, status, retry_after } => {
            Some(turn(status.unwrap_or(0), message, *retry_after))
        }
        ModelError::Unreachable { message } => Some(turn(0, message, None)),
        ModelError::Refused { message, status } => Some(turn(status.unwrap_or(400), message, None)),
        ModelError::Timeout { limit, .. } => {
            let delay = (limit.as_millis() as u64).saturating_add(1).min(LONGEST_DELAY_MS);
            Some(json!({"say": "", "delayMs": delay}))
        }
        ModelError::NoModel { .. } | ModelError::ScriptEnded { .. } | ModelError::Cancelled => None,
    }
}

/// The value with every text escaped that would be read as a placeholder: it becomes
/// `{text, raw: true}`, as does the text of an object that has this form already.
fn literal(value: &Json) -> Json {
    let raw = |text: &Json| json!({"text": text, "raw": true});
    match value {
        Json::String(text) if ["{{", "<<", "\\{", "\\<"].iter().any(|sign| text.contains(sign)) => {
            raw(value)
        }
        Json::Object(map) => {
            let looks_raw = map.len() == 2 && map.get("raw").is_some_and(Json::is_boolean);
            let entry = |(key, item): (&String, &Json)| {
                let item = if looks_raw && key == "text" && item.is_string() {
                    raw(item)
                } else {
                    literal(item)
                };
                (key.clone(), item)
            };
            Json::Object(map.iter().map(entry).collect())
        }
        Json::Array(items) => items.iter().map(literal).collect(),
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_turn_has_a_secret() {
        let redactor = Redactor::default();
        assert!(redactor.add("KEY", "swordfish-0815"));
        // The value in hex, as a model can call a tool.
        let hex = "73776f7264666973682d30383135";
        let said = json!({
            "say": hex, "calls": [{"tool": hex}], "given": [format!("{hex} 1")],
            "error": {"status": 500, "message": hex}, "usage": {"prompt": 815},
        });
        let masked = masked(&said, &redactor);
        assert!(!masked.to_string().contains(hex), "{masked}");
        assert_eq!(masked["usage"], said["usage"]);
        assert_eq!(masked["error"]["status"], 500);
    }
}
