//! `approve:`: waits for the approval of a person.

use super::execution::{Ask, Execution, OnReject, OnTimeout, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{self, Map, OneOf};
use crate::definition::keys::{KeySpec, KeyTable, choice, key, table};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::value::{StepId, one_line};
use std::time::Duration;

/// `approve:`, a request for approval. Its output is `{approved, by, comment}`.
#[derive(Debug, Clone)]
pub struct ApproveStep {
    /// What is to be approved.
    pub message: Template,
    /// How long it waits; without a bound where absent.
    pub timeout: Option<Duration>,
    /// What follows when the timeout passes without a decision.
    pub on_timeout: OnTimeout,
    /// What follows a rejection by a person; without it the step fails.
    pub on_reject: Option<OnReject>,
}

static APPROVE: KeyTable =
    table("approve", "`approve`", "The request of an `approve` step.", &[APPROVE_KEYS]);

const APPROVE_KEYS: &[KeySpec] = &[
    key("message", KeyType::Template, "What is to be approved.").required().example("\"Deploy?\""),
    key("timeout", KeyType::Duration, "How long the request waits.")
        .default("unlimited")
        .example("1h"),
    key(
        "onTimeout",
        choice::<OnTimeout>(),
        "What follows when the time limit has passed; needs a `timeout`.",
    )
    .default("fail"),
    key(
        "onReject",
        Map(&ON_REJECT),
        "The step that is done again after a rejection; without it, the step fails.",
    )
    .example("{retry: draft}"),
];

static ON_REJECT: KeyTable =
    table("onReject", "`onReject`", "What follows a rejection.", &[ON_REJECT_KEYS]);

const ON_REJECT_KEYS: &[KeySpec] = &[
    key(
        "retry",
        KeyType::Text,
        "Id of an earlier step, which starts again with all steps between it and this one.",
    )
    .required()
    .example("draft"),
    key(
        "max",
        KeyType::Integer(1, 1000),
        "How often the work goes back; then a rejection fails the step.",
    )
    .default("3"),
];

/// How often a rejection sends the work back by default.
const DEFAULT_RETURNS: u32 = 3;

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
        let message = decoder
            .required(&fields, "message")
            .and_then(|node| decoder.template(node, "message", Secrets::Refused));
        let timeout = fields.duration("timeout", decoder);
        let on_timeout = fields.choice("onTimeout", decoder);
        if let (Some((key, _)), None) = (fields.entry("onTimeout"), fields.get("timeout")) {
            let message = "`onTimeout` needs a `timeout`".to_owned();
            decoder.bad_value(
                key.span,
                message,
                "add `timeout: 30m`, or remove the key".to_owned(),
            );
        }
        let on_timeout = on_timeout.unwrap_or_default();
        let on_reject = fields.get("onReject").and_then(|node| on_reject(node, decoder));
        Some(Box::new(ApproveStep { message: message?, timeout, on_timeout, on_reject }))
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

fn on_reject(node: &Node, decoder: &mut Decoder) -> Option<OnReject> {
    if node.as_map().is_none() {
        decoder.wrong_type(node, "onReject", "a map, such as `{retry: draft, max: 3}`");
        return None;
    }
    let fields = decoder.fields(node, &ON_REJECT)?;
    let max = fields.integer("max", decoder).unwrap_or(DEFAULT_RETURNS);
    let step = decoder.required(&fields, "retry")?;
    let id = StepId::new(decoder.text(step, "retry")?);
    if let Err(error) = &id {
        let message = "`onReject.retry` cannot be the id of a step".to_owned();
        decoder.bad_value(step.span, message, format!("use {}", error.expected));
    }
    Some(OnReject { step: id.ok()?, span: step.span, max })
}
