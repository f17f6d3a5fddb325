//! Decodes `timeout:`, `retry:`, `recovery:` and `budget:`.

use super::{Decoder, Fields, Node};
use crate::definition::keys::choice_tables::RECOVERY_ACTION;
use crate::definition::keys::step_parts;
use crate::definition::model::{
    Backoff, RecoveryAction, RecoveryRule, RetryPolicy, Timeout, UNLIMITED_QUESTIONS,
};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{OutcomeKind, OutcomeSelector, SpecialistId};
use std::time::Duration;

impl Decoder {
    /// Decodes `timeout:`: a duration for one attempt, or `{attempt, idle}`.
    pub(crate) fn timeout(&mut self, node: &Node) -> Timeout {
        if node.as_map().is_none() {
            return Timeout { attempt: self.duration(node, "timeout"), idle: None };
        }
        Timeout::from_node(node, self).unwrap_or_default()
    }

    /// Decodes `retry:`. Without `on`, steps that run a process also retry after a non-zero exit.
    pub(crate) fn retry(&mut self, node: &Node, retries_exit: bool) -> Option<RetryPolicy> {
        if node.as_map().is_none() {
            self.wrong_type(node, "retry", "a map");
            return None;
        }
        let fields = self.fields(node, &step_parts::RETRY)?;
        let max = self.required(&fields, "max").and_then(|_| fields.integer("max", self));
        let on = match fields.get("on") {
            Some(node) => self.outcomes(node),
            None => default_retries(retries_exit),
        };
        let delays = self.delays(&fields);
        Some(RetryPolicy {
            max: max?,
            on,
            backoff: delays.0.unwrap_or_default(),
            initial: delays.1.unwrap_or(Duration::from_secs(1)),
            max_delay: delays.2.unwrap_or(Duration::from_secs(60)),
        })
    }

    pub(super) fn delays(
        &mut self,
        fields: &Fields<'_>,
    ) -> (Option<Backoff>, Option<Duration>, Option<Duration>) {
        let backoff = fields.choice("backoff", self);
        (backoff, fields.duration("initial", self), fields.duration("maxDelay", self))
    }

    /// Decodes `recovery:`, a list of rows.
    pub(crate) fn recovery(&mut self, node: &Node, specialist: bool) -> Box<[RecoveryRule]> {
        let Some(rows) = node.as_seq() else {
            self.wrong_type(node, "recovery", "a list of rows");
            return Box::default();
        };
        rows.iter().filter_map(|row| self.recovery_row(row, specialist)).collect()
    }

    fn recovery_row(&mut self, node: &Node, specialist: bool) -> Option<RecoveryRule> {
        let fields = self.fields(node, &step_parts::RECOVERY)?;
        let on = self.required(&fields, "on").map(|node| self.outcomes(node));
        let action = self.required(&fields, "do");
        let needs_specialist = action.and_then(|node| self.one_of(node, "do", RECOVERY_ACTION));
        let name = action.and_then(Node::as_text).unwrap_or_default();
        if let (Some(node), Some(true), false) = (action, needs_specialist, specialist) {
            let message = format!("`{name}` is only available for specialist steps");
            self.push(
                Diagnostic::error(Code::MISPLACED_KEY, node.span, message)
                    .help("use `retry`, `askUser` or `fail`"),
            );
        }
        let to = match name {
            "switchSpecialist" => self.required_in(&fields, "to", "a row with `switchSpecialist`"),
            _ => {
                if let (Some(to), Some(_)) = (fields.get("to"), needs_specialist) {
                    let message = format!("`to` is not available for `{name}`");
                    self.push(
                        Diagnostic::error(Code::MISPLACED_KEY, to.span, message)
                            .help("remove it, or use `switchSpecialist`"),
                    );
                }
                None
            }
        };
        let max = fields.integer("max", self);
        let delays = self.delays(&fields);
        let span = to.map_or(node.span, |to| to.span);
        let id = to.and_then(|node| self.switched_to(node));
        let action = match name {
            "retry" => RecoveryAction::Retry,
            "rework" => RecoveryAction::Rework,
            "escalateModel" => RecoveryAction::EscalateModel,
            "changeStrategy" => RecoveryAction::ChangeStrategy,
            "switchSpecialist" => RecoveryAction::SwitchSpecialist(id?),
            "askUser" => RecoveryAction::AskUser,
            "fail" => RecoveryAction::Fail,
            _ => return None,
        };
        let once = if action == RecoveryAction::AskUser { UNLIMITED_QUESTIONS } else { 1 };
        let max = max.unwrap_or(once);
        let delayed = action == RecoveryAction::Retry || delays != (None, None, None);
        let delay = delayed.then(|| RetryPolicy {
            max,
            on: Vec::new(),
            backoff: delays.0.unwrap_or_default(),
            initial: delays.1.unwrap_or(Duration::from_secs(1)),
            max_delay: delays.2.unwrap_or(Duration::from_secs(60)),
        });
        Some(RecoveryRule { on: on?, action, max, delay, span })
    }

    fn switched_to(&mut self, node: &Node) -> Option<SpecialistId> {
        let text = self.text(node, "to")?;
        let id = SpecialistId::new(text);
        if let Err(error) = &id {
            let message = format!("`{text}` cannot be the id of a specialist");
            let help = format!("use {}", error.expected);
            self.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
        }
        id.ok()
    }

    fn outcomes(&mut self, node: &Node) -> Vec<OutcomeSelector> {
        let mut found = Vec::new();
        for item in self.list(node, "on") {
            let Some(text) = self.text(item, "on") else { continue };
            match OutcomeSelector::parse(text) {
                Some(selector) => found.push(selector),
                None => {
                    let names = OutcomeSelector::NAMES;
                    let help = match self.nearest(text, names) {
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

fn default_retries(retries_exit: bool) -> Vec<OutcomeSelector> {
    let mut on = vec![
        OutcomeSelector::Kind(OutcomeKind::Transient),
        OutcomeSelector::Kind(OutcomeKind::Timeout),
    ];
    if retries_exit {
        on.push(OutcomeSelector::AnyExit);
    }
    on
}
