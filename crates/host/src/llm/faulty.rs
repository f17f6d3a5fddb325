//! [`FaultyModel`]: a provider with the faults that a test injects.

use super::status::error_of_status;
use super::{
    AgentEvent, CallOrigin, ChatReply, ChatRequest, ModelError, ModelLimits, ModelProvider,
    ModelRef,
};
use futures::future::BoxFuture;
use kb_base::value::Tier;
use kb_clock::RunClock;
use kb_language::definition::{ModelFault, ModelPrice};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum number of turns in which a lying model looks for its output.
const LONGEST_LIE: u32 = 1000;

/// A fault of one model call.
#[derive(Debug, Clone)]
pub struct CallFault {
    /// Step or item.
    pub step: String,
    /// How many attempts have the fault, from the first.
    pub attempts: u32,
    /// Number of the turn, from 1.
    pub turn: u32,
    /// How the call fails.
    pub fault: ModelFault,
    /// Set when the fault occurs.
    pub occurred: Arc<AtomicBool>,
}

impl CallFault {
    fn concerns(&self, origin: &CallOrigin) -> bool {
        let own = &origin.place.own;
        (self.step == own.instance() || self.step == own.step)
            && own.attempt <= self.attempts
            && origin.turn == self.turn
    }
}

/// Another provider, some of whose calls fail. What fails depends on the step, attempt and turn only.
pub struct FaultyModel {
    inner: Arc<dyn ModelProvider>,
    faults: Vec<CallFault>,
    clock: RunClock,
}

impl FaultyModel {
    /// The provider with faults, in the time of a run.
    pub fn new(
        inner: Arc<dyn ModelProvider>,
        faults: Vec<CallFault>,
        clock: RunClock,
    ) -> FaultyModel {
        FaultyModel { inner, faults, clock }
    }

    async fn play(
        &self,
        request: ChatRequest,
        on_token: &(dyn Fn(&str) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ChatReply, ModelError> {
        let fault = self.faults.iter().find(|fault| fault.concerns(&request.origin));
        fault.into_iter().for_each(|fault| fault.occurred.store(true, Ordering::Relaxed));
        match fault.map(|fault| fault.fault) {
            None => self.inner.chat(request, on_token, cancel).await,
            Some(ModelFault::Status { status, retry_after }) => {
                let message = format!("the model answered with status {status} (injected)");
                Err(error_of_status(status, retry_after, message))
            }
            Some(ModelFault::Cut) => {
                let reply = self.inner.chat(request, &|_| {}, cancel).await?;
                let half = reply.text.chars().count() / 2;
                on_token(&reply.text.chars().take(half).collect::<String>());
                let message = "the response was interrupted (injected)".to_owned();
                Err(error_of_status(0, None, message))
            }
            Some(ModelFault::Slow(delay)) => {
                self.wait(delay, &request, cancel).await?;
                self.inner.chat(request, on_token, cancel).await
            }
            Some(ModelFault::Lie) => self.lie(request, cancel).await,
        }
    }

    async fn wait(
        &self,
        delay: Duration,
        request: &ChatRequest,
        cancel: &CancellationToken,
    ) -> Result<(), ModelError> {
        let limit = request.timeout;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            () = self.clock.sleep(delay.min(limit)) => {
                let model = request.model.name.clone();
                if delay > limit { Err(ModelError::Timeout { model, limit }) } else { Ok(()) }
            }
        }
    }

    /// The next reply with an output, without its tool calls.
    async fn lie(
        &self,
        request: ChatRequest,
        cancel: &CancellationToken,
    ) -> Result<ChatReply, ModelError> {
        let first = request.origin.turn;
        for turn in first..first.saturating_add(LONGEST_LIE) {
            let mut next = request.clone();
            next.origin.turn = turn;
            let is_of_agent = self.inner.played_events(&next.origin).is_some();
            let mut reply = self.inner.chat(next, &|_| {}, cancel).await?;
            reply.calls.retain(|call| call.tool == "submit_output");
            if is_of_agent || reply.submitted.is_some() || !reply.calls.is_empty() {
                return Ok(reply);
            }
        }
        let message = format!("the script has no output within {LONGEST_LIE} turns");
        Err(ModelError::ScriptEnded { message })
    }
}

impl ModelProvider for FaultyModel {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.play(request, on_token, cancel))
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

    fn played_events(&self, origin: &CallOrigin) -> Option<Result<Vec<AgentEvent>, ModelError>> {
        let lies =
            self.faults.iter().any(|own| own.fault == ModelFault::Lie && own.concerns(origin));
        let events = self.inner.played_events(origin);
        if lies { events.map(|_| Ok(Vec::new())) } else { events }
    }
}
