//! [`ScriptPlayer`]: a provider that replays a script.

use super::fit::Fit;
use super::status::error_of_status;
use super::{AgentEvent, CallOrigin, ChatReply, ChatRequest, ModelError, ModelProvider, ModelRef};
use futures::future::BoxFuture;
use kb_base::value::{AttemptName, Json, Money, PlacedStep, Tier, Usage};
use kb_clock::RunClock;
use kb_core::evidence::CallRequest;
use kb_language::definition::{Script, ScriptError, ScriptTurn};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Replays a script.
///
/// The turn is selected from the [`CallOrigin`] alone, so a resumed run gets the same responses. The most
/// exact [name](AttemptName) of the attempt applies. An attempt without a name of its own starts at the first
/// turn of its step. A missing turn is an error; no response is made up.
#[derive(Debug, Clone)]
pub struct ScriptPlayer {
    script: Arc<Script>,
    clock: RunClock,
    fit: Arc<Fit>,
}

impl ScriptPlayer {
    /// A player without state between turns, in the time of a run.
    pub fn new(script: Arc<Script>, clock: RunClock) -> Self {
        ScriptPlayer { script, clock, fit: Arc::default() }
    }

    /// The same player, which notes in `fit` where a recording no longer fits.
    #[must_use]
    pub fn noting(self, fit: Arc<Fit>) -> Self {
        ScriptPlayer { fit, ..self }
    }

    fn turns(&self, origin: &CallOrigin) -> Option<(&str, &Vec<ScriptTurn>)> {
        let steps = self.script.steps.iter().map(|(key, turns)| (key.as_str(), turns));
        AttemptName::most_exact(steps, &origin.place)
    }

    fn turn(&self, request: &ChatRequest) -> Result<&ScriptTurn, ModelError> {
        let origin = &request.origin;
        let Some((key, turns)) = self.turns(origin) else {
            return Err(self.missing(origin, "no key matches"));
        };
        self.fit.compare(key, turns, request);
        let index = (origin.turn.max(1) - 1) as usize;
        turns.get(index).ok_or_else(|| {
            let count = match turns.len() {
                1 => "1 turn".to_owned(),
                n => format!("{n} turns"),
            };
            // Without a key of its own, a later attempt plays the turns of the first one again.
            let PlacedStep { step, attempt: n, .. } = &origin.place.own;
            let again = if *n > 1 && !key.contains('#') {
                format!(
                    ", which attempt {n} starts again; turns for attempt {n} belong under `{step}#{n}`"
                )
            } else {
                String::new()
            };
            self.missing(origin, &format!("`{key}` has {count}{again}"))
        })
    }

    fn missing(&self, origin: &CallOrigin, why: &str) -> ModelError {
        let keys: Vec<String> = self.script.steps.keys().map(|key| format!("`{key}`")).collect();
        let keys = if keys.is_empty() {
            "the script is empty".to_owned()
        } else {
            format!("its keys are {}", keys.join(", "))
        };
        let (attempt, own) = (origin.place.own.attempt, origin.place.own.instance());
        let above = if origin.place.callers.is_empty() {
            String::new()
        } else {
            format!(" (`{}`)", origin.place)
        };
        ModelError::ScriptEnded {
            message: format!(
                "the script has no turn {} for attempt {attempt} of `{own}`{above}: {why}; {keys}",
                origin.turn
            ),
        }
    }

    async fn play(
        &self,
        request: ChatRequest,
        on_token: &(dyn Fn(&str) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ChatReply, ModelError> {
        let turn = self.turn(&request)?;
        let delay = Duration::from_millis(turn.delay_ms.into());
        wait(&self.clock, delay, &request, cancel).await?;
        if let Some(error) = &turn.error {
            return Err(failure(error));
        }
        let reply = reply(turn, &request)?;
        reply.text.split_inclusive(char::is_whitespace).for_each(on_token);
        Ok(reply)
    }
}

impl ModelProvider for ScriptPlayer {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.play(request, on_token, cancel))
    }

    fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError> {
        Ok(ModelRef { name: model.unwrap_or("script").to_owned(), tier: Some(tier) })
    }

    /// A turn that the script does not have is one of an agent if another one of the attempt is.
    fn played_events(&self, origin: &CallOrigin) -> Option<Result<Vec<AgentEvent>, ModelError>> {
        let (_, turns) = self.turns(origin)?;
        let index = (origin.turn.max(1) - 1) as usize;
        turns.iter().find(|turn| turn.agent.is_some())?;
        let events = turns.get(index).and_then(|turn| turn.agent.as_deref()).unwrap_or_default();
        let events =
            events.iter().filter_map(|own| AgentEvent::of(own, &origin.params).transpose());
        Some(events.collect::<Result<_, _>>().map_err(|why| unfilled(origin, &why)))
    }
}

async fn wait(
    clock: &RunClock,
    delay: Duration,
    request: &ChatRequest,
    cancel: &CancellationToken,
) -> Result<(), ModelError> {
    if cancel.is_cancelled() {
        return Err(ModelError::Cancelled);
    }
    if delay.is_zero() {
        return Ok(());
    }
    let limit = request.timeout;
    let ends = if delay > limit {
        Err(ModelError::Timeout { model: request.model.name.clone(), limit })
    } else {
        Ok(())
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ModelError::Cancelled),
        () = clock.sleep(delay.min(limit)) => ends,
    }
}

fn failure(error: &ScriptError) -> ModelError {
    let message = error.message.clone().unwrap_or_else(|| match error.status {
        0 => "the response was interrupted".to_owned(),
        status => format!("the model answered with status {status}"),
    });
    let retry_after = error.retry_after.map(Duration::from_secs_f64);
    error_of_status(error.status, retry_after, message)
}

fn reply(turn: &ScriptTurn, request: &ChatRequest) -> Result<ChatReply, ModelError> {
    let origin = &request.origin;
    let calls = turn.calls.iter().enumerate().map(|(i, call)| {
        let args = call.args_with(&origin.params).map_err(|why| unfilled(origin, &why))?;
        Ok(CallRequest {
            id: format!("script-{}-{}", origin.turn, i + 1),
            tool: call.tool.clone(),
            args,
        })
    });
    let calls = calls.collect::<Result<Vec<_>, ModelError>>()?;
    let submitted: Option<Json> =
        turn.output_with(&origin.params).transpose().map_err(|why| unfilled(origin, &why))?;
    Ok(ChatReply {
        text: turn.say.clone().unwrap_or_default(),
        calls,
        usage: usage(turn),
        model: request.model.name.clone(),
        cut_short: false,
        submitted,
        reasoning: None,
    })
}

fn unfilled(origin: &CallOrigin, why: &kb_base::value::Failure) -> ModelError {
    let message = format!(
        "turn {} of `{}` in the script: {}",
        origin.turn, origin.place.own.step, why.message
    );
    ModelError::Refused { message, status: None }
}

/// The scripted token counts, without cost.
fn usage(turn: &ScriptTurn) -> Usage {
    let tokens = turn.usage.unwrap_or_default();
    Usage {
        prompt_tokens: tokens.prompt.into(),
        completion_tokens: tokens.completion.into(),
        cost_usd: Some(Money::ZERO),
        model_calls: 1,
        ..Usage::default()
    }
}
