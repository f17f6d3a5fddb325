//! `approve:`: waits for the approval of a person.

use super::execution::{Ask, Execution, OnTimeout, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{self, Choice, Map, OneOf};
use crate::definition::keys::{KeySpec, KeyTable, choices, key, table};
use crate::definition::model::NotYet;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use crate::value::one_line;
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
}

choices! {
    /// The values of `onTimeout`.
    ON_TIMEOUT, ON_TIMEOUT_NAMES: OnTimeout = {
        "approve" => OnTimeout::Approve,
        "reject" => OnTimeout::Reject,
        "fail" => OnTimeout::Fail,
    }
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
        Choice(ON_TIMEOUT_NAMES),
        "What follows when the time limit has passed; needs a `timeout`.",
    )
    .default("fail"),
];

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
    fn decode(
        node: &Node,
        _: &Fields<'_>,
        decoder: &mut Decoder,
        _: &mut Vec<NotYet>,
    ) -> Option<Box<ApproveStep>> {
        if node.as_text().is_some() {
            let message = decoder.template(node, "approve", Secrets::Refused)?;
            let approve = ApproveStep { message, timeout: None, on_timeout: OnTimeout::default() };
            return Some(Box::new(approve));
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
        let on_timeout = fields.choice("onTimeout", ON_TIMEOUT, decoder);
        if let (Some((key, _)), None) = (fields.entry("onTimeout"), fields.get("timeout")) {
            let message = "`onTimeout` needs a `timeout`".to_owned();
            decoder.bad_value(
                key.span,
                message,
                "add `timeout: 30m`, or remove the key".to_owned(),
            );
        }
        let on_timeout = on_timeout.unwrap_or_default();
        Some(Box::new(ApproveStep { message: message?, timeout, on_timeout }))
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Ask(Ask {
            text: &self.message,
            answer: None,
            timeout: self.timeout,
            on_timeout: self.on_timeout,
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
