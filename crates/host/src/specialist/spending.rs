//! Model and tool calls of an attempt against the budgets of the run.

use super::account::{Amount, Exhausted, Left, Need};
use super::approval;
use super::compression::estimated_tokens;
use super::handover::HISTORY_CALL;
use super::ledger::{ORCHESTRATOR, Payer, Reservation};
use super::report::StopReason;
use super::runner::Attempt;
use crate::llm::{ChatReply, ChatRequest, ModelRef, cost};
use kb_attempt::Request;
use kb_base::value::{BYTES_PER_TOKEN, Digest, Money, Usage};
use kb_core::evidence::{CallRef, Note, Record};
use kb_language::definition::{JudgeCheck, ModelPrice};

/// Assumed maximum tokens of a response without `maxTokens`.
const RESPONSE_TOKENS: u32 = 4_096;

/// Most tokens of a response of a model whose sizes are not known, under a budget without `maxTokens`.
const RESPONSE_MOST: u32 = 16_384;

fn prompt_tokens(request: &ChatRequest) -> u64 {
    let tools: usize = request.tools.iter().map(|tool| format!("{tool:?}").len()).sum();
    u64::from(estimated_tokens(&request.messages)) + tools as u64 / 4
}

/// The most that a model call can use: a token for each byte of the prompt, and a response of that many tokens.
pub(super) fn most_of(
    estimate: &Usage,
    response: Option<u32>,
    price: Option<&ModelPrice>,
) -> Amount {
    let completion = response.unwrap_or(RESPONSE_TOKENS * BYTES_PER_TOKEN as u32);
    let mut most = Usage {
        prompt_tokens: estimate.prompt_tokens * BYTES_PER_TOKEN as u64,
        completion_tokens: u64::from(completion).max(estimate.completion_tokens),
        ..*estimate
    };
    most.cost_usd = price.map(|price| cost(price, &most));
    Amount::of(&most)
}

/// What a request is expected to use.
#[derive(Debug, Clone, Copy)]
struct Expected {
    model: Digest,
    max_tokens: Option<u32>,
    usage: Usage,
    price: Option<ModelPrice>,
}

impl Expected {
    fn of(request: &ChatRequest, price: Option<ModelPrice>) -> Expected {
        let mut usage = Usage {
            prompt_tokens: prompt_tokens(request),
            completion_tokens: u64::from(request.max_tokens.unwrap_or(RESPONSE_TOKENS)),
            model_calls: 1,
            ..Usage::NONE
        };
        usage.cost_usd = price.map(|price| cost(&price, &usage));
        let model = Digest::of(request.model.name.as_bytes());
        Expected { model, max_tokens: request.max_tokens, usage, price }
    }

    /// With a limit of the response that what is left affords. Below a usual response there is no use in a call,
    /// and its reservation says so.
    fn within(left: Left, request: &ChatRequest, price: Option<ModelPrice>) -> Expected {
        let expected = Expected::of(request, price);
        let prompt = Usage { prompt_tokens: expected.usage.prompt_tokens, ..Usage::NONE };
        let price = price.filter(|price| price.output > 0.0);
        let by_cost = price.zip(left.cost).map(|(price, left)| {
            let rest = Money(left.0 - cost(&price, &prompt).0).usd().max(0.0);
            (rest / price.output * 1e6) as u64
        });
        let by_tokens = left.tokens.map(|left| left.saturating_sub(prompt.prompt_tokens));
        let Some(most) = [by_cost, by_tokens].into_iter().flatten().min() else { return expected };
        let most = u32::try_from(most).unwrap_or(u32::MAX).max(RESPONSE_TOKENS);
        let max_tokens = expected.max_tokens.unwrap_or(RESPONSE_MOST).min(most);
        expected.with_limit(max_tokens)
    }

    fn with_limit(mut self, max_tokens: u32) -> Expected {
        self.max_tokens = Some(max_tokens);
        self.usage.completion_tokens = u64::from(max_tokens);
        self.usage.cost_usd = self.price.map(|price| cost(&price, &self.usage));
        self
    }

    fn need(&self) -> Need {
        let at_most = most_of(&self.usage, self.max_tokens, self.price.as_ref());
        Need { amount: Amount::of(&self.usage), at_most, model: Some(self.model) }
    }
}

/// A reserved model call, and the usage that it is expected to have at most.
pub(super) struct ReservedCall {
    /// `None` if nothing is limited.
    reservation: Option<Reservation>,
    estimate: Usage,
}

impl Attempt<'_> {
    /// Who pays: the step and the specialist; for a summary of the history not the specialist.
    fn payer(&self, is_history: bool) -> Payer<'_> {
        let Request { run, instance, .. } = self.request;
        let own = self.work.specialist.id.as_str();
        Payer {
            run: Some(run),
            step: Some(&instance.step),
            share: Some(if is_history { ORCHESTRATOR } else { own }),
        }
    }

    /// Reserves a model call and records the reservation, so that a call that a crash interrupts is
    /// counted; `None` if nothing is limited and the call is free. Unless the author chose the limit of its
    /// response, the request gets one that the budgets still afford.
    pub(super) async fn reserve(
        &mut self,
        request: &mut ChatRequest,
    ) -> Result<Option<ReservedCall>, StopReason> {
        let payer = self.payer(request.origin.place.own.step.ends_with(HISTORY_CALL));
        let limited = self.ledger.limits(payer);
        let price = self.provider.price(&request.model);
        if !limited && price.is_some_and(|price| price.input == 0.0 && price.output == 0.0) {
            return Ok(None);
        }
        if price.is_none() && self.ledger.limits_cost(payer) {
            self.may_be_unpriced(&request.model)?;
        }
        let mut expected = Expected::of(request, price);
        let reservation = if limited {
            let is_chosen = self.work.specialist.model.max_tokens.is_some();
            let need = |left| {
                if !is_chosen {
                    expected = Expected::within(left, request, price);
                }
                expected.need()
            };
            let reserved = self.ledger.reserve_estimate(payer, need).await;
            Some(reserved.map_err(StopReason::Budget)?)
        } else {
            None
        };
        request.max_tokens = expected.max_tokens;
        let estimate = expected.usage;
        self.record(Record::Reservation { usage: Some(estimate) }).await?;
        Ok(Some(ReservedCall { reservation, estimate }))
    }

    /// Asks a person whether a model may be called whose cost no budget can limit.
    fn may_be_unpriced(&self, model: &ModelRef) -> Result<(), StopReason> {
        let call = CallRef::of_model(self.request.attempt, &model.name);
        let user = format!("`{}`", self.work.specialist.id);
        if self.permission(call, model, &user)? {
            Ok(())
        } else {
            Err(StopReason::Unpriced(model.name.clone()))
        }
    }

    /// Asks a person before the attempt whether the judge of its gate may be called, if the cost is limited and
    /// the price of its model is unknown. After a rejection the judge is not called, and its check is inconclusive.
    pub(super) fn may_be_judged(&self, defaults: &JudgeCheck) -> Result<(), StopReason> {
        let Some(judge) = &self.work.judge else { return Ok(()) };
        let (judge, choice) = (judge.or(defaults), &self.work.specialist.model);
        let tier = judge.tier.unwrap_or(JudgeCheck::tier_above(choice.tier));
        // A judge that is not configured is a finding of the gate.
        let Ok(model) = self.provider.resolve(tier, judge.model.as_deref()) else { return Ok(()) };
        if self.provider.price(&model).is_some() || !self.ledger.limits_cost(self.payer(true)) {
            return Ok(());
        }
        let call = CallRef::of_judge(self.request.attempt, &model.name);
        self.permission(call, &model, "the judge").map(drop)
    }

    /// Whether a person permitted the calls of a model in this run; asks if there is no decision.
    fn permission(&self, call: CallRef, model: &ModelRef, user: &str) -> Result<bool, StopReason> {
        if let Some(permitted) = self.conversation.decisions().about_model(&call.args_hash) {
            self.ledger.decide_model(call.args_hash, permitted);
        }
        let decided = self.ledger.decision_on_model(&call.args_hash);
        decided
            .ok_or_else(|| StopReason::Asks(Box::new(approval::unpriced(call, &model.name, user))))
    }

    /// Settles a call: at its usage, at zero if the model was not reached or its provider refused the call, else
    /// at its reservation.
    pub(super) async fn settle(
        &mut self,
        reserved: Option<ReservedCall>,
        reply: &Result<ChatReply, StopReason>,
    ) -> Result<(), StopReason> {
        let Some(ReservedCall { reservation, estimate }) = reserved else { return Ok(()) };
        let spent = match reply {
            Ok(reply) => Amount::of(&reply.usage),
            Err(StopReason::Model(error)) if error.is_free() => {
                if let Some(reservation) = reservation {
                    reservation.release();
                }
                return self.record(Record::Reservation { usage: None }).await;
            }
            // The reservation stays open, and its record counts.
            Err(_) => {
                let text = format!(
                    "a model call was stopped; its usage is estimated at {} tokens",
                    estimate.total_tokens()
                );
                drop(reservation);
                // The journal may be closed: the estimate is in the outcome as well.
                let _ = self.record(Record::Note(Note::warning(text))).await;
                return Ok(());
            }
        };
        for text in reservation.map(|own| own.settle(spent)).unwrap_or_default() {
            self.record(Record::BudgetWarning { text }).await?;
        }
        Ok(())
    }

    /// Tells that a call counts whose process was killed.
    pub(super) async fn note_lost_call(&mut self) -> Result<(), StopReason> {
        let Some(lost) = self.conversation.reserved().filter(|_| !self.work.history.is_empty())
        else {
            return Ok(());
        };
        let text = format!(
            "a model call was interrupted by a crash; its usage is estimated at {} tokens",
            lost.total_tokens()
        );
        self.record(Record::Note(Note::warning(text))).await
    }

    /// Counts a tool call against the budgets.
    pub(super) async fn spend_tool_call(&self) -> Result<(), StopReason> {
        let payer = self.payer(false);
        if !self.ledger.limits(payer) {
            return Ok(());
        }
        let call = Amount { tool_calls: 1, ..Amount::default() };
        let reserved: Result<Reservation, Exhausted> = self.ledger.reserve(payer, call).await;
        reserved.map_err(StopReason::Budget)?.settle(call);
        Ok(())
    }
}
