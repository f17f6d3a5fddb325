//! Decodes `verify:`.

use super::{Decoder, Node};
use crate::definition::gate_check::checks;
use crate::definition::keys;
use crate::definition::keys::choices::{CLAIMS, ON_FAILED, ON_INCONCLUSIVE};
use crate::definition::model::{ClaimPolicy, FailurePolicy, InconclusivePolicy, NotYet, Verify};
use crate::diagnostic::{Code, Diagnostic};

/// The gate of a step without `verify:`.
pub(crate) fn default_verify(specialist: bool) -> Verify {
    Verify {
        claims: if specialist { ClaimPolicy::Strict } else { ClaimPolicy::None },
        expect_changes: None,
        checks: Vec::new(),
        on_failed: if specialist { FailurePolicy::Rework } else { FailurePolicy::Fail },
        on_inconclusive: None,
        max_reworks: 2,
    }
}

/// Decodes `verify:`.
pub(crate) fn verify(
    node: &Node,
    specialist: bool,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Verify {
    let mut verify = default_verify(specialist);
    if node.as_seq().is_some() {
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, "`verify` takes a map, found a list")
                .help("write `verify: {checks: [...]}`"),
        );
        return verify;
    }
    let Some(fields) = decoder.fields(node, &keys::checks::VERIFY) else { return verify };
    verify.claims = fields.choice("claims", CLAIMS, decoder).unwrap_or(verify.claims);
    verify.expect_changes = fields.boolean("expectChanges", decoder);
    if let Some(node) = fields.get("checks") {
        verify.checks = checks(node, "checks", decoder, not_yet);
    }
    if let Some(node) = fields.get("onFailed") {
        verify.on_failed =
            on_failed(node, specialist, decoder, not_yet).unwrap_or(verify.on_failed);
    }
    verify.on_inconclusive =
        fields.get("onInconclusive").and_then(|node| on_inconclusive(node, decoder, not_yet));
    verify.max_reworks = fields.integer("maxReworks", decoder).unwrap_or(2);
    verify
}

fn on_failed(
    node: &Node,
    specialist: bool,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Option<FailurePolicy> {
    let policy = decoder.one_of(node, "onFailed", ON_FAILED)?;
    if !specialist && matches!(policy, FailurePolicy::Rework | FailurePolicy::EscalateModel) {
        let text = node.as_text().unwrap_or_default();
        decoder.push(
            Diagnostic::error(
                Code::MISPLACED_KEY,
                node.span,
                format!("`{text}` is only available for specialist steps"),
            )
            .help("use `retry`, `warn` or `fail`"),
        );
    } else if policy == FailurePolicy::EscalateModel {
        decoder.not_yet("escalateModel", node.span, Some(not_yet));
    }
    Some(policy)
}

fn on_inconclusive(
    node: &Node,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Option<InconclusivePolicy> {
    let policy = decoder.one_of(node, "onInconclusive", ON_INCONCLUSIVE)?;
    if policy == InconclusivePolicy::AskUser {
        decoder.not_yet("askUser", node.span, Some(not_yet));
    }
    Some(policy)
}
