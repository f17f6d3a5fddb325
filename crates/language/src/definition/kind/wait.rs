//! `wait:`: a durable timer.

use super::execution::{Execution, Moment, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{self, Map, OneOf};
use crate::definition::keys::{KeySpec, key, keys};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::{Reference, Template};
use kb_base::value::{Timestamp, format_duration, one_line};
use std::time::Duration;

/// `wait:`, a durable timer.
#[derive(Debug, Clone)]
pub enum WaitStep {
    /// From the moment the step starts.
    For(Duration),
    /// A moment in RFC 3339, such as `2026-11-23T09:00:00Z`.
    Until(Template),
}

keys! {
    /// A moment to wait for.
    struct MomentKeys(): WAIT = ("wait", "`wait`") {
        /// Time in RFC 3339.
        until: Template = "until" => until, required, example("\"2026-11-23T09:00:00Z\"");
    }
}

impl StepType for Box<WaitStep> {
    const KEYS: &'static [KeySpec] =
        &[key("wait", OneOf(const { &[KeyType::Duration, Map(&WAIT)] }), "Time to wait.")
            .example("30s")];
    const OWN_KEYS: &'static [KeySpec] = &[];
    const RULES: KindRules = KindRules::waiting(waiting_exclusions!(
        "wait",
        "remove it; `wait` steps have no attempts, they only wait",
        "remove it; the output of a `wait` step has a fixed form"
    ));

    /// Decodes a duration, or `{until: TIME}`.
    fn decode(node: &Node, _: &Fields<'_>, decoder: &mut Decoder) -> Option<Box<WaitStep>> {
        if node.as_map().is_none() {
            return Some(Box::new(WaitStep::For(decoder.duration(node, "wait")?)));
        }
        let MomentKeys { until } = MomentKeys::from_node(node, decoder)?;
        Some(Box::new(WaitStep::Until(until)))
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Wait(match &**self {
            WaitStep::For(duration) => Moment::After(*duration),
            WaitStep::Until(time) => Moment::At(time),
        })
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        match &**self {
            WaitStep::For(_) => Vec::new(),
            WaitStep::Until(time) => vec![time.references().collect()],
        }
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::Any
    }

    fn worker(&self) -> String {
        match &**self {
            WaitStep::For(duration) => format_duration(*duration),
            WaitStep::Until(time) => {
                format!("until {}", one_line(time.as_literal().unwrap_or("…"), 24))
            }
        }
    }

    fn detail(&self) -> String {
        match &**self {
            WaitStep::For(duration) => format_duration(*duration),
            WaitStep::Until(time) => match time.as_literal() {
                Some(time) => format!("until {}", one_line(time, 40)),
                None => "until".to_owned(),
            },
        }
    }
}

fn until(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Template> {
    let template = decoder.template(node, key, Secrets::Refused)?;
    if let Some(text) = template.as_literal()
        && Timestamp::parse(text).is_none()
    {
        let message = format!("`{text}` is not a time");
        let help = "write a time with its zone, such as `2026-11-23T09:00:00Z`".to_owned();
        decoder.bad_value(node.span, message, help);
        return None;
    }
    Some(template)
}
