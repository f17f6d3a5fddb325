//! The effects of phases on a [`Conversation`], and the records of their beginnings.

use super::conversation::Conversation;
use super::pending_call::PendingCall;
use super::phases::{CRITIQUE, EXECUTE, PLAN, UNDERSTAND, bounded, steps};
use super::submit::SUBMIT;
use super::text_form::json_candidates;
use crate::llm::Message;
use kb_base::value::{Json, json_text};
use kb_core::evidence::{CallRequest, Phase, Record};

impl Conversation {
    /// The record of the beginning of a phase.
    pub(super) fn entering(&self, phase: Phase) -> Record {
        let results = &self.phases;
        let round = match phase {
            Phase::Execute => self.counts.round + 1,
            _ => self.counts.round.max(1),
        };
        let previous = match phase {
            Phase::Understand | Phase::Critique => None,
            Phase::Plan => results.understanding.clone(),
            Phase::Execute if round > 1 => results.critique.clone(),
            Phase::Execute => results.plan.clone().or_else(|| results.understanding.clone()),
            Phase::Finish => self.reason_to_finish(),
        };
        Record::Phase { phase, round, previous }
    }

    fn reason_to_finish(&self) -> Option<String> {
        let phases = self.counts.phases.filter(|phases| phases.critique)?;
        let critique = self.phases.critique.as_deref().unwrap_or_default();
        Some(match self.output {
            None => {
                "the improvement was not submitted; the output before it is the result".to_owned()
            }
            Some(_) if !self.counts.answered => "the limit of model calls is reached".to_owned(),
            Some(_) if !self.counts.improve => "the review asks for no improvement".to_owned(),
            Some(_) if self.counts.round >= phases.rounds => {
                format!(
                    "the limit of {} rounds is reached; the review asks for: {critique}",
                    phases.rounds
                )
            }
            Some(_) => {
                format!("the limit of model calls is reached; the review asks for: {critique}")
            }
        })
    }

    /// A phase began.
    pub(super) fn entered(&mut self, phase: Phase, round: u32) {
        self.counts.phase = Some(phase);
        self.counts.answered = false;
        match phase {
            Phase::Understand => self.say(UNDERSTAND),
            Phase::Plan => self.say(PLAN),
            Phase::Critique => self.say(CRITIQUE),
            Phase::Execute => self.begin_round(round),
            Phase::Finish => {
                if self.output.is_none()
                    && let Some((output, own)) = self.phases.draft.take()
                {
                    (self.output, self.handover.own) = (Some(output), own);
                }
            }
        }
    }

    fn begin_round(&mut self, round: u32) {
        self.counts.round = round;
        (self.counts.invalid, self.counts.silent, self.counts.improve) = (0, 0, false);
        if let Some(output) = self.output.take() {
            self.phases.draft = Some((output, std::mem::take(&mut self.handover.own)));
        }
        match &self.phases.critique {
            None => self.say(EXECUTE),
            Some(critique) => self.say(&format!(
                "Improve the output. Your review says:\n\n{critique}\n\nUse tool calls as needed, then submit \
                 the whole improved output."
            )),
        }
    }

    /// The model answered the question of a phase. Tool calls in the response are not executed.
    pub(super) fn phase_answered(&mut self, phase: Phase, text: &str, calls: &[CallRequest]) {
        // Models that know nothing but tool calls, and scripts, submit the answer.
        let submitted = calls.iter().find(|call| call.tool == SUBMIT && text.trim().is_empty());
        let text = submitted.map_or_else(|| text.to_owned(), |call| json_text(&call.args));
        self.add_response(&text);
        self.counts.answered = true;
        let answer = json_candidates(&text).into_iter().find(Json::is_object).unwrap_or_default();
        let words = |key: &str| answer[key].as_str().map_or(text.trim(), str::trim);
        match phase {
            Phase::Understand => {
                self.phases.understanding = bounded(words("understanding"));
                self.counts.complex = answer["complex"].as_bool().unwrap_or(true);
            }
            Phase::Plan => self.phases.plan = bounded(&steps(&answer).unwrap_or(text)),
            Phase::Critique => {
                let improve = ["needsImprovement", "needs_improvement"];
                self.counts.improve = improve.iter().any(|key| answer[*key] == true);
                self.phases.critique = bounded(words("critique"));
            }
            Phase::Execute | Phase::Finish => {}
        }
        let kept = [&self.phases.understanding, &self.phases.plan].into_iter().flatten();
        let kept = kept.map(String::as_str).collect::<Vec<_>>().join("\n\n");
        self.plan = Some(kept).filter(|text| !text.is_empty());
    }

    /// The call that submitted a valid output. It is answered if the conversation continues.
    pub(super) fn accepted(&mut self, call: PendingCall) {
        let later = std::mem::take(&mut self.pending);
        self.incomplete = None;
        if self.counts.phases.is_some() {
            self.answer(call, "the output is valid".to_owned());
            for call in later {
                self.answer(call, "not executed: the output was submitted before".to_owned());
            }
        }
    }

    fn say(&mut self, text: &str) {
        self.body.push(Message::User(text.to_owned()));
    }
}
