//! Decodes `verify:`.

use super::{Decoder, Node};
use crate::definition::model::gate::VERIFY;
use crate::definition::model::{ClaimPolicy, FailurePolicy, Verify};
use kb_base::diagnostic::{Code, Diagnostic};

/// The gate of a step without `verify:`.
pub(crate) fn default_verify(specialist: bool) -> Verify {
    Verify {
        claims: if specialist { ClaimPolicy::Strict } else { ClaimPolicy::None },
        expect_changes: None,
        commentary: Vec::new(),
        checks: Vec::new(),
        on_failed: None,
        on_inconclusive: None,
        on_unchecked: None,
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
    let Some(fields) = decoder.fields(node, &VERIFY) else { return verify };
    if let Some(found) = Verify::of(&fields, decoder) {
        let claims = fields.get("claims").map_or(verify.claims, |_| found.claims);
        verify = Verify { claims, ..found };
    }
    if let Some(node) = fields.get("checks") {
        about_work(node, specialist, decoder);
    }
    let needs_specialist =
        matches!(verify.on_failed, Some(FailurePolicy::Rework | FailurePolicy::EscalateModel));
    if let Some(node) = fields.get("onFailed").filter(|_| needs_specialist && !specialist) {
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
    verify
}

/// Reports checks that cannot be about the work of the step.
pub(super) fn about_work(checks: &Node, specialist: bool, decoder: &mut Decoder) {
    let mut judges =
        checks.as_seq().into_iter().flatten().filter(|check| check.get("judge").is_some());
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
            Diagnostic::error(Code::MISPLACED_KEY, checks.span, message)
                .help("remove the check, or use a specialist step"),
        );
    }
}
