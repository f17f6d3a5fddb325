//! How far the effect of a tool call can be proven: the three tiers of tools.

use super::finding::Finding;
use crate::evidence::{EvidenceKind, Invocation};
use kb_language::definition::Schema;
use kb_language::toolspec::{self, EvidenceTier, ToolSpec, plugin_id};

/// The entry of the tool of a recorded call.
pub(super) fn tool_of(call: &Invocation) -> &'static ToolSpec {
    toolspec::assumed(&call.tool)
}

/// The tier of a recorded call.
pub(super) fn tier_of(call: &Invocation) -> EvidenceTier {
    match plugin_id(&call.tool) {
        Some(_) => EvidenceTier::Receipt,
        None => tool_of(call).tier,
    }
}

/// The verdict over a successful call. `schema` is that of the output of a plugin.
pub(super) fn finding(call: &Invocation, schema: Option<&Schema>) -> Finding {
    let (tool, id) = (&call.tool, &call.id);
    match tier_of(call) {
        EvidenceTier::Recorded => Finding::passed(),
        EvidenceTier::Receipt => plugin(call, schema),
        EvidenceTier::Remote => Finding::inconclusive(format!(
            "`{tool}` was called (call `{id}`), but its effect is remote and cannot be checked"
        )),
    }
}

/// The verdict over a successful call of a plugin: a receipt, an output that satisfies the schema, and
/// evidence. Probes decide; without one, evidence is needed.
fn plugin(call: &Invocation, schema: Option<&Schema>) -> Finding {
    let (tool, id) = (&call.tool, &call.id);
    let unknown = |what: &str| Finding::inconclusive(format!("`{tool}` (call `{id}`): {what}"));
    if !call.evidence.iter().any(|e| e.kind == EvidenceKind::Receipt) {
        return unknown("the call has no receipt");
    }
    let Some(schema) = schema else { return unknown("the schema of its output is not known") };
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
    match has_evidence {
        true => Finding::passed(),
        false => Finding::inconclusive(format!(
            "`{tool}` returned a valid output (call `{id}`), but no evidence of its effect; add `probes` \
             to the plugin"
        )),
    }
}
