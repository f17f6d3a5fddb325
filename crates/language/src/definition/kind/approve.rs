//! `approve:`: waits for the approval of a person.

use super::execution::{Ask, Execution, OnReject, OnTimeout, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{self, Integer, Map, OneOf};
use crate::definition::keys::{KeySpec, Named, key, keys};
use crate::definition::model::Located;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::value::{StepId, one_line};
use std::time::Duration;

keys! {
    /// The request of an `approve` step.
    pub struct ApproveStep(Debug, Clone): APPROVE = ("approve", "`approve`") {
        /// What is to be approved.
        message: Template = "message", required, example("\"Deploy?\"");
        /// How long the request waits.
        timeout: Option<Duration> = "timeout", default("unlimited"), example("1h");
        /// What follows when the time limit has passed; needs a `timeout`.
        on_timeout: OnTimeout = "onTimeout", default("fail");
        /// The step that is done again after a rejection; without it, the step fails.
        on_reject: Option<OnReject> = "onReject" as Map(&ON_REJECT) => on_reject, example("{retry: draft}");
    }

    /// What follows a rejection.
    struct Rejection(): ON_REJECT = ("onReject", "`onReject`") {
        /// Id of an earlier step, which starts again with all steps between it and this one.
        step: Located<String> = "retry", required, example("draft"), names(Named::EarlierStep);
        /// How often the work goes back; then a rejection fails the step.
        max: u32 = "max" as Integer(1, 1000), default("3");
    }
}

impl StepType for Box<ApproveStep> {
    const KEYS: &'static [KeySpec] = &[key(
        "approve",
        OneOf(const { &[KeyType::Text, Map(&APPROVE)] }),
        "Approval by a person.",
    )
    .example("{message: \"Deploy?\"}")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules::waiting(waiting_exclusions!(
        "approve",
        "write it in `approve: {message: ..., timeout: ...}`",
        "remove it; the output of a `approve` step has a fixed form"
    ));

    /// Decodes a text (the message) or a map.
    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Box<ApproveStep>> {
        if node.as_text().is_some() {
            let message = decoder.template(node, "approve", Secrets::Refused)?;
            return Some(Box::new(ApproveStep {
                message,
                timeout: None,
                on_timeout: OnTimeout::default(),
                on_reject: None,
            }));
        }
        if node.as_map().is_none() {
            decoder.wrong_type(node, "approve", "a text (the message) or a map");
            return None;
        }
        let fields = decoder.fields(node, &APPROVE)?;
        let found = ApproveStep::of(&fields, decoder);
        if let (Some((key, _)), None) = (fields.entry("onTimeout"), fields.get("timeout")) {
            let message = "`onTimeout` needs a `timeout`".to_owned();
            decoder.bad_value(
                key.span,
                message,
                "add `timeout: 30m`, or remove the key".to_owned(),
            );
        }
        found.map(Box::new)
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Ask(Ask {
            text: &self.message,
            answer: None,
            timeout: self.timeout,
            on_timeout: self.on_timeout,
            on_reject: self.on_reject.as_ref(),
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        vec![self.message.references().collect()]
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::Keys(vec!["approved", "by", "comment"])
    }

    fn worker(&self) -> String {
        String::new()
    }

    fn detail(&self) -> String {
        self.message.as_literal().map(|text| one_line(text, 40)).unwrap_or_default()
    }
}

fn on_reject(node: &Node, key: &str, decoder: &mut Decoder) -> Option<OnReject> {
    if node.as_map().is_none() {
        decoder.wrong_type(node, key, "a map, such as `{retry: draft, max: 3}`");
        return None;
    }
    let Rejection { step: Located { value, span }, max } = Rejection::from_node(node, decoder)?;
    let id = StepId::new(&value);
    if let Err(error) = &id {
        let message = "`onReject.retry` cannot be the id of a step".to_owned();
        decoder.bad_value(span, message, format!("use {}", error.expected));
    }
    Some(OnReject { step: id.ok()?, span, max })
}
