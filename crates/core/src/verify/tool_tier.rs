//! How far the effect of a tool call can be proven.

use super::finding::Finding;
use crate::evidence::{EvidenceKind, Invocation};
use kb_language::definition::Schema;
use kb_language::toolspec::{EvidenceTier, ToolSpec};

/// The verdict over a successful call of this tool.
pub(super) fn finding(spec: &ToolSpec, call: &Invocation) -> Finding {
    let (tool, id) = (&call.tool, &call.id);
    match spec.tier {
        EvidenceTier::Recorded => Finding::passed(),
        EvidenceTier::Receipt => proven(spec, call),
        EvidenceTier::Remote if has(call, EvidenceKind::Probe) => proven(spec, call),
        EvidenceTier::Remote => Finding::inconclusive(format!(
            "`{tool}` was called (call `{id}`), but its effect is remote and cannot be checked"
        )),
    }
}

fn has(call: &Invocation, kind: EvidenceKind) -> bool {
    call.evidence.iter().any(|evidence| evidence.kind == kind)
}

/// The verdict over a successful call with evidence: a receipt, an output that satisfies the schema, and
/// evidence. Probes decide; without one, evidence is needed.
fn proven(spec: &ToolSpec, call: &Invocation) -> Finding {
    let (tool, id) = (&call.tool, &call.id);
    let unknown = |what: &str| Finding::inconclusive(format!("`{tool}` (call `{id}`): {what}"));
    if !has(call, EvidenceKind::Receipt) {
        return unknown("the call has no receipt");
    }
    let Ok(schema) = Schema::new(spec.output.clone()) else {
        return unknown("the schema of its output is not known");
    };
    let Some(output) = &call.output else {
        return unknown("its output is too large to be recorded");
    };
    if let Some(found) = schema.violations(output).first() {
        return Finding::failed(format!(
            "the recorded output of `{tool}` (call `{id}`) does not match its schema: output{}: {}",
            found.pointer, found.message
        ));
    }
    let probes = || call.evidence.iter().filter(|e| e.kind == EvidenceKind::Probe);
    let ended = |result: &str| {
        probes().find_map(|probe| probe.reference.strip_suffix(&format!(": {result}")))
    };
    if let Some(name) = ended("failed") {
        return Finding::failed(format!("the probe `{name}` of `{tool}` failed (call `{id}`)"));
    }
    if let Some(name) = ended("inconclusive") {
        return Finding::inconclusive(format!(
            "the probe `{name}` of `{tool}` could not decide (call `{id}`)"
        ));
    }
    let has_evidence =
        call.evidence.iter().any(|e| e.kind != EvidenceKind::Receipt) || !call.changes.is_empty();
    if has_evidence {
        Finding::passed()
    } else {
        Finding::inconclusive(format!(
            "`{tool}` returned a valid output (call `{id}`), but no evidence of its effect; add `probes` \
             to the plugin"
        ))
    }
}
