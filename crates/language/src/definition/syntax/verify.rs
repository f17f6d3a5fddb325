//! Decodes `verify:`.

use super::{Decoder, Node};
use crate::definition::gate_check::{Check, checks};
use crate::definition::keys;
use crate::definition::model::{ClaimPolicy, FailurePolicy, Undecided, Verify};
use kb_base::diagnostic::{Code, Diagnostic};

/// The gate of a step without `verify:`.
pub(crate) fn default_verify(specialist: bool) -> Verify {
    Verify {
        claims: if specialist { ClaimPolicy::Strict } else { ClaimPolicy::None },
        expect_changes: None,
        commentary: Vec::new(),
        checks: Vec::new(),
        on_failed: None,
        undecided: Undecided::default(),
        max_reworks: 2,
    }
}

/// Decodes `verify:`.
pub(crate) fn verify(node: &Node, specialist: bool, decoder: &mut Decoder) -> Verify {
    let mut verify = default_verify(specialist);
    if node.as_seq().is_some() {
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, "`verify` takes a map, found a list")
                .help("write `verify: {checks: [...]}`"),
        );
        return verify;
    }
    let Some(fields) = decoder.fields(node, &keys::checks::VERIFY) else { return verify };
    verify.claims = fields.choice("claims", decoder).unwrap_or(verify.claims);
    verify.expect_changes = fields.boolean("expectChanges", decoder);
    verify.commentary = fields.texts("commentary", decoder);
    if let Some(node) = fields.get("checks") {
        verify.checks = work_checks(node, "checks", specialist, decoder);
    }
    if let Some(node) = fields.get("onFailed") {
        verify.on_failed = on_failed(node, specialist, decoder);
    }
    verify.undecided = Undecided {
        inconclusive: fields.choice("onInconclusive", decoder),
        unchecked: fields.choice("onUnchecked", decoder),
    };
    verify.max_reworks = fields.integer("maxReworks", decoder).unwrap_or(2);
    verify
}

/// Decodes the checks about the work of a step.
pub(super) fn work_checks(
    node: &Node,
    key: &str,
    specialist: bool,
    decoder: &mut Decoder,
) -> Vec<Check> {
    let found = checks(node, key, decoder);
    let mut judges =
        node.as_seq().into_iter().flatten().filter(|check| check.get("judge").is_some());
    let has_judge = judges.next().is_some();
    if let Some(second) = judges.next() {
        let message = "a gate asks one judge, and this is a second one";
        decoder.push(
            Diagnostic::error(Code::MISPLACED_KEY, second.span, message)
                .help("keep one `judge` check with the strictest limits"),
        );
    }
    if has_judge && !specialist {
        let message = "`judge` reviews the answer of a specialist, and this step has none";
        decoder.push(
            Diagnostic::error(Code::MISPLACED_KEY, node.span, message)
                .help("remove the check, or use a specialist step"),
        );
    }
    found
}

fn on_failed(node: &Node, specialist: bool, decoder: &mut Decoder) -> Option<FailurePolicy> {
    let policy = decoder.choice(node, "onFailed")?;
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
    }
    Some(policy)
}
