//! Decodes `timeout:`, `retry:`, `recovery:` and `budget:`.

use super::{Decoder, Node};
use crate::definition::keys::KeyType::Integer;
use crate::definition::keys::{Named, keys};
use crate::definition::model::duration_policy::{OUTCOMES, RETRY};
use crate::definition::model::{
    Delays, Located, RecoveryAction, RecoveryKind, RecoveryRule, RetryPolicy, Timeout,
    UNLIMITED_QUESTIONS,
};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{OutcomeKind, OutcomeSelector, SpecialistId};

keys! {
    /// One rule of the recovery table. The first rule that matches the outcome and has attempts left applies.
    struct RowKeys(): RECOVERY = ("recovery", "a row of `recovery`") {
        /// Outcomes that the rule applies to; `*` is any.
        on: Vec<OutcomeSelector> = "on" as OUTCOMES => outcomes, required, example("[transient, timeout]");
        /// What follows the outcome.
        action: Located<RecoveryKind> = "do", required, example("retry");
        /// How often the rule applies.
        max: Option<u32> = "max" as Integer(0, 1000), default("1; 1000 for `askUser`"), example("2");
        /// Id of the specialist for `switchSpecialist`.
        to: Option<Located<String>> = "to", example("senior"), names(Named::Specialist);
    } with {
        /// How long it waits before the attempt.
        delays: Delays,
    }
}

fn outcomes(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<OutcomeSelector>> {
    Some(decoder.outcomes(node))
}

/// Decodes `timeout:`: a duration for one attempt, or `{attempt, idle}`.
pub(super) fn timeout(node: &Node, key: &str, decoder: &mut Decoder) -> Timeout {
    if node.as_map().is_none() {
        return Timeout { attempt: decoder.duration(node, key), idle: None };
    }
    Timeout::from_node(node, decoder).unwrap_or_default()
}

impl Decoder {
    /// Decodes `retry:`. Without `on`, steps that run a process also retry after a non-zero exit.
    pub(crate) fn retry(&mut self, node: &Node, retries_exit: bool) -> Option<RetryPolicy> {
        if node.as_map().is_none() {
            self.wrong_type(node, "retry", "a map");
            return None;
        }
        let fields = self.fields(node, &RETRY)?;
        let mut policy = RetryPolicy::of(&fields, self)?;
        if fields.get("on").is_none() {
            policy.on = default_retries(retries_exit);
        }
        Some(policy)
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
        let fields = self.fields(node, &RECOVERY)?;
        let row = RowKeys::of(&fields, self)?;
        let kind = row.action.value;
        let name = kind.as_str();
        if kind.needs_specialist() && !specialist {
            let message = format!("`{name}` is only available for specialist steps");
            self.push(
                Diagnostic::error(Code::MISPLACED_KEY, row.action.span, message)
                    .help("use `retry`, `askUser` or `fail`"),
            );
        }
        let switches = kind == RecoveryKind::SwitchSpecialist;
        if switches {
            self.required_in(&fields, "to", "a row with `switchSpecialist`");
        } else if let Some(to) = fields.get("to") {
            let message = format!("`to` is not available for `{name}`");
            self.push(
                Diagnostic::error(Code::MISPLACED_KEY, to.span, message)
                    .help("remove it, or use `switchSpecialist`"),
            );
        }
        let to = row.to.filter(|_| switches);
        let span = to.as_ref().map_or(node.span, |to| to.span);
        let action = match kind {
            RecoveryKind::Retry => RecoveryAction::Retry,
            RecoveryKind::Rework => RecoveryAction::Rework,
            RecoveryKind::EscalateModel => RecoveryAction::EscalateModel,
            RecoveryKind::ChangeStrategy => RecoveryAction::ChangeStrategy,
            RecoveryKind::SwitchSpecialist => {
                RecoveryAction::SwitchSpecialist(self.switched_to(&to?)?)
            }
            RecoveryKind::AskUser => RecoveryAction::AskUser,
            RecoveryKind::Fail => RecoveryAction::Fail,
        };
        let once = if kind == RecoveryKind::AskUser { UNLIMITED_QUESTIONS } else { 1 };
        let delayed = Delays::KEYS.iter().any(|key| fields.get(key.name).is_some());
        let delay = (delayed || kind == RecoveryKind::Retry).then_some(row.delays);
        Some(RecoveryRule { on: row.on, action, max: row.max.unwrap_or(once), delay, span })
    }

    fn switched_to(&mut self, to: &Located<String>) -> Option<SpecialistId> {
        let id = SpecialistId::new(&to.value);
        if let Err(error) = &id {
            let message = format!("`{}` cannot be the id of a specialist", to.value);
            let help = format!("use {}", error.expected);
            self.push(Diagnostic::error(Code::BAD_ID, to.span, message).help(help));
        }
        id.ok()
    }

    pub(crate) fn outcomes(&mut self, node: &Node) -> Vec<OutcomeSelector> {
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
