//! Decodes `timeout:` and `retry:`.

use super::{Decoder, Node};
use crate::definition::model::{Backoff, RetryPolicy, Timeout};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::value::{OutcomeKind, OutcomeSelector};
use std::time::Duration;

impl Decoder {
    /// Decodes `timeout:`: a duration for one attempt, or `{attempt, idle}`.
    pub(crate) fn timeout(&mut self, node: &Node) -> Timeout {
        if node.as_map().is_none() {
            return Timeout { attempt: self.duration(node, "timeout"), idle: None };
        }
        let Some(fields) = self.fields(node, "`timeout`", &["attempt", "idle"]) else {
            return Timeout::default();
        };
        Timeout {
            attempt: fields.get("attempt").and_then(|node| self.duration(node, "attempt")),
            idle: fields.get("idle").and_then(|node| self.duration(node, "idle")),
        }
    }

    /// Decodes `retry:`. Without `on`, steps that run a process also retry after a non-zero exit.
    pub(crate) fn retry(&mut self, node: &Node, runs_process: bool) -> Option<RetryPolicy> {
        const KEYS: [&str; 5] = ["max", "on", "backoff", "initial", "maxDelay"];
        if node.as_map().is_none() {
            let message = format!("`retry` takes a map, found {}", node.kind());
            self.push(
                Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                    .help("write `retry: {max: 2}`"),
            );
            return None;
        }
        let fields = self.fields(node, "`retry`", &KEYS)?;
        let max = self.required(&fields, "max", "`retry`");
        let max = max.and_then(|node| self.integer(node, "max", 0, 1000));
        let on = match fields.get("on") {
            Some(node) => self.outcomes(node),
            None => default_retries(runs_process),
        };
        let backoff = fields.get("backoff").and_then(|node| self.backoff(node)).unwrap_or_default();
        let initial = fields.get("initial").and_then(|node| self.duration(node, "initial"));
        let max_delay = fields.get("maxDelay").and_then(|node| self.duration(node, "maxDelay"));
        Some(RetryPolicy {
            max: max?,
            on,
            backoff,
            initial: initial.unwrap_or(Duration::from_secs(1)),
            max_delay: max_delay.unwrap_or(Duration::from_secs(60)),
        })
    }

    fn backoff(&mut self, node: &Node) -> Option<Backoff> {
        let choices = [
            ("fixed", Backoff::Fixed),
            ("linear", Backoff::Linear),
            ("exponential", Backoff::Exponential),
        ];
        self.one_of(node, "backoff", &choices)
    }

    fn outcomes(&mut self, node: &Node) -> Vec<OutcomeSelector> {
        let mut found = Vec::new();
        for item in self.list(node, "on") {
            let Some(text) = self.text(item, "on") else { continue };
            match OutcomeSelector::parse(text) {
                Some(selector) => found.push(selector),
                None => {
                    let names = OutcomeSelector::NAMES;
                    let help = match nearest(text, names) {
                        Some(name) => format!("did you mean `{name}`?"),
                        None => format!("write one of {}", names.join(", ")),
                    };
                    self.bad_value(item.span, format!("`{text}` is not an outcome"), help);
                }
            }
        }
        found
    }
}

fn default_retries(runs_process: bool) -> Vec<OutcomeSelector> {
    let mut on = vec![
        OutcomeSelector::Kind(OutcomeKind::Transient),
        OutcomeSelector::Kind(OutcomeKind::Timeout),
    ];
    if runs_process {
        on.push(OutcomeSelector::AnyExit);
    }
    on
}
