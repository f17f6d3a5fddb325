//! One model call: the request, the fallback model, and the record of the response.

use super::cut_off;
use super::messages::merged;
use super::phases::answer_schema;
use super::prompt::turn_message;
use super::prompt_record::model_call;
use super::report::{StopReason, repair};
use super::runner::Attempt;
use super::submit::SUBMIT;
use super::turn::{Mode, Offer, Turn};
use crate::llm::{
    CallOrigin, ChatReply, ChatRequest, Message, ModelError, ModelLimits, ModelRef, ToolDescription,
};
use kb_attempt::Progress;
use kb_core::evidence::{CallRequest, Note, Record};
use kb_language::definition::Reasoning;

impl Attempt<'_> {
    pub(super) async fn call_model(&mut self, turn: Turn) -> Result<(), StopReason> {
        self.note_repair(turn).await?;
        let model = self.model().await?;
        let mut request = self.chat_request(turn, model);
        let reply = match self.chat_in_any_mode(&mut request).await {
            Err(StopReason::Model(error)) if self.may_fall_back(&error) => {
                let spare = self.fall_back(error).await?;
                request = self.chat_request(turn, spare);
                self.chat_in_any_mode(&mut request).await?
            }
            other => other?,
        };
        self.response_limit = request.max_tokens;
        let note = self.note_of_cut_answer(turn.mode, &reply);
        self.record(response_record(&request, reply)).await?;
        match note {
            Some(note) => self.record(Record::Note(note)).await,
            None => Ok(()),
        }
    }

    /// Calls the model, and once more without the structured-output mode if a call in that mode is refused.
    async fn chat_in_any_mode(
        &mut self,
        request: &mut ChatRequest,
    ) -> Result<ChatReply, StopReason> {
        match self.chat(request).await {
            Err(StopReason::Model(error @ ModelError::Refused { .. }))
                if request.response_schema.is_some() =>
            {
                // Some servers lack that mode; the last message asks for the same JSON object.
                let text =
                    format!("repeating the call without the structured-output mode: {error}");
                self.record(Record::Note(Note::info(text))).await?;
                request.response_schema = None;
                self.chat(request).await
            }
            other => other,
        }
    }

    /// The warning about an answer to the question of a phase that was cut off. The work continues with what is
    /// there of it.
    fn note_of_cut_answer(&self, mode: Mode, reply: &ChatReply) -> Option<Note> {
        let Mode::Answer(phase) = mode else { return None };
        let limit = cut_off::Limit::Specialist(&self.work.specialist, self.response_limit);
        let cut = cut_off::coded(&reply.model, reply.usage.completion_tokens, limit);
        let text = format!("{cut}; the rest of the answer to `{}` is missing", phase.as_str());
        reply.cut_short.then(|| Note::warning(text))
    }

    pub(super) async fn note_repair(&mut self, turn: Turn) -> Result<(), StopReason> {
        let (Mode::Repair | Mode::Structured) = turn.mode else { return Ok(()) };
        let Some(text) = repair(&self.conversation) else { return Ok(()) };
        self.record(Record::Note(Note::info(text))).await
    }

    /// The model of this attempt, chosen on the first call.
    async fn model(&mut self) -> Result<ModelRef, StopReason> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let choice = &self.work.specialist.model;
        let resolved = self.provider.resolve(choice.tier, choice.model.as_deref());
        let model = match resolved.and_then(|model| self.of_its_provider(model)) {
            Ok(model) => model,
            Err(error) if self.may_fall_back(&error) => self.fall_back(error).await?,
            Err(error) => return Err(StopReason::Model(error)),
        };
        self.model = Some(model.clone());
        Ok(model)
    }

    /// The model, if the provider serves it that the specialist names.
    fn of_its_provider(&self, model: ModelRef) -> Result<ModelRef, ModelError> {
        let wanted = self.work.specialist.model.provider.as_deref();
        let found = self.provider.provider_of(&model);
        match wanted.zip(found) {
            Some((wanted, found)) if !wanted.eq_ignore_ascii_case(&found) => {
                Err(ModelError::NoModel {
                    message: format!(
                        "the specialist wants the provider `{wanted}`, and `{found}` serves the model `{}`",
                        model.name
                    ),
                    help: format!(
                        "configure `{wanted}` in `llm.tiers` of the settings, or remove `provider` from the specialist"
                    ),
                })
            }
            _ => Ok(model),
        }
    }

    fn may_fall_back(&self, error: &ModelError) -> bool {
        let worth = matches!(
            error,
            ModelError::Refused { .. }
                | ModelError::Unreachable { .. }
                | ModelError::Transient { .. }
                | ModelError::NoModel { .. }
        );
        worth && !self.fell_back && self.work.specialist.model.fallback.is_some()
    }

    /// Switches to the fallback model for the rest of the attempt; without one, the error stands.
    async fn fall_back(&mut self, error: ModelError) -> Result<ModelRef, StopReason> {
        self.fell_back = true;
        let choice = &self.work.specialist.model;
        let Ok(model) = self.provider.resolve(choice.tier, choice.fallback.as_deref()) else {
            return Err(StopReason::Model(error));
        };
        let model = match self.of_its_provider(model) {
            Ok(model) => model,
            Err(why) => {
                let text = format!("the fallback model is not called: {why}");
                self.record(Record::Note(Note::warning(text))).await?;
                return Err(StopReason::Model(error));
            }
        };
        let text = format!("calling the fallback model `{}`: {error}", model.name);
        self.record(Record::Note(Note::info(text))).await?;
        self.model = Some(model.clone());
        Ok(model)
    }

    pub(super) async fn chat(
        &mut self,
        request: &mut ChatRequest,
    ) -> Result<ChatReply, StopReason> {
        let reserved = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => return Err(StopReason::Cancelled),
            reserved = self.reserve(request) => reserved?,
        };
        let reply = self.send(request).await;
        self.settle(reserved, &reply).await?;
        reply
    }

    async fn send(&mut self, request: &ChatRequest) -> Result<ChatReply, StopReason> {
        let specialist = &self.work.specialist;
        let ledger = self.ledger.clone();
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => return Err(StopReason::Cancelled),
            () = ledger.pace().wait(Some((specialist.id.as_str(), specialist.global))) => {}
            _woken = self.deadline.passed() => return Err(StopReason::TimedOut),
        }
        let recorder = self.context.recorder.clone();
        recorder.progress(Progress::Model(request.model.name.clone()));
        let on_token = |token: &str| recorder.progress(Progress::Token(token.to_owned()));
        let cancel = self.context.cancel.child_token();
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(StopReason::Cancelled),
            reply = self.provider.chat(request.clone(), &on_token, &cancel) => match reply {
                Err(ModelError::Cancelled) => Err(StopReason::Cancelled),
                other => other.map_err(StopReason::Model),
            },
            _woken = self.deadline.passed() => Err(StopReason::TimedOut),
        }
    }

    fn chat_request(&self, turn: Turn, model: ModelRef) -> ChatRequest {
        let choice = &self.work.specialist.model;
        let submission = &self.conversation.brief().submission;
        let messages = match turn.offer {
            Offer::None => self.conversation.messages_as_text(),
            Offer::All | Offer::SubmitOnly => self.conversation.messages(),
        };
        let limits = self.provider.limits(&model);
        let reasoning = choice.reasoning.or(self.reasoning);
        ChatRequest {
            model,
            messages: merged(
                messages.into_iter().chain(turn_message(turn.mode, submission).map(Message::User)),
            ),
            tools: self.offered(turn.offer),
            response_schema: match turn.mode {
                Mode::Structured => Some(submission.schema().clone()),
                Mode::Answer(phase) => answer_schema(phase),
                _ => None,
            },
            temperature: choice.temperature,
            max_tokens: response_limit(choice.max_tokens, reasoning, limits),
            reasoning,
            timeout: self.work.specialist.limits.timeout,
            origin: CallOrigin {
                place: self.request.place(),
                turn: self.conversation.turns() + 1,
                params: self.work.params.clone(),
            },
        }
    }

    fn offered(&self, offer: Offer) -> Vec<ToolDescription> {
        let submit = || self.conversation.brief().submission.tool();
        match offer {
            Offer::All => self.tools.iter().cloned().chain([submit()]).collect(),
            Offer::SubmitOnly => vec![submit()],
            Offer::None => Vec::new(),
        }
    }
}

/// Maximum tokens of a response of a known model without `maxTokens`.
const RESPONSE_TOKENS: u32 = 16_384;

/// The maximum tokens of a response with its reasoning, as far as the sizes of the model are known.
fn response_limit(
    own: Option<u32>,
    reasoning: Option<Reasoning>,
    limits: ModelLimits,
) -> Option<u32> {
    let most = limits.output.or(limits.window.map(|window| window / 2));
    let response = own.or(most.map(|most| most.min(RESPONSE_TOKENS)))?;
    let thought = match reasoning {
        Some(Reasoning::Low) => 4_096,
        Some(Reasoning::High) => 32_768,
        Some(Reasoning::Medium) => 12_288,
        None if limits.reasons => 12_288,
        None => 0,
    };
    // A limit that the author chose is kept, even if it is above that of the table.
    Some(response.saturating_add(thought).min(most.unwrap_or(u32::MAX)).max(own.unwrap_or(0)))
}

fn response_record(request: &ChatRequest, mut reply: ChatReply) -> Record {
    let mut calls = std::mem::take(&mut reply.calls);
    calls.extend(reply.submitted.take().map(|output| CallRequest {
        id: SUBMIT.to_owned(),
        tool: SUBMIT.to_owned(),
        args: output,
    }));
    model_call(request, reply, calls)
}
