//! Calls of tools that an output does not mention: what failed, was denied or cannot be checked.

use super::call_claim::CallClaim;
use super::finding::Finding;
use super::gate::Gate;
use super::normalized_path::normalized;
use super::tool_tier::finding;
use crate::evidence::{CheckDetail, EvidenceKind, Invocation, InvocationStatus, Purpose, Verdict};
use kb_base::value::Json;
use kb_language::definition::ClaimPolicy;
use kb_language::toolspec::EvidenceTier;
use serde_json::json;

/// The details of calls that no claim is about. Of each tool, and of each target of a tool that writes, the last call
/// decides: what was repeated with success is no failure.
pub(super) fn call_outcomes(gate: &Gate, claimed: &[CallClaim]) -> Vec<CheckDetail> {
    if gate.claims == ClaimPolicy::None {
        return Vec::new();
    }
    let executed: Vec<&Invocation> =
        gate.trace.iter().filter(|call| call.purpose == Purpose::Execution).collect();
    let is_same = |one: &Invocation, other: &Invocation| {
        let spec = gate.tools.entry(&one.tool);
        let target = |call: &Invocation| {
            spec.subject.iter().find_map(|name| call.args.get(&**name)).cloned()
        };
        one.tool == other.tool && (!spec.writes || target(one) == target(other))
    };
    let is_last = |at: usize| executed[at + 1..].iter().all(|call| !is_same(executed[at], call));
    let is_claimed =
        |call: &Invocation| claimed.iter().any(|claim| claim.is_about(call, &gate.tools));
    let last = (0..executed.len()).filter(|at| is_last(*at)).map(|at| executed[at]);
    let last = last.filter(|call| call.is_tool_call());
    let open = unrepeated_probes(&executed);
    last.map(|call| (call, outcome(gate, call)))
        .chain(open.into_iter().map(|(call, finding)| (call, Some(finding))))
        .filter(|(call, _)| !is_claimed(call))
        .filter_map(|(call, finding)| {
            let finding = finding?.under(gate.claims);
            let evidence = json!({"calls": [call.id], "status": call.status.as_str()});
            Some(finding.into_detail(format!("call {}", call.tool), Some(evidence)))
        })
        .collect()
}

/// Whether a call of the step changed the file that a failed call was to change.
fn is_changed(gate: &Gate, call: &Invocation) -> bool {
    let Some(path) = call.args.get("path").and_then(Json::as_str) else { return false };
    let path = normalized(path, &gate.root);
    gate.trace.iter().flat_map(|call| &call.changes).any(|change| change.path == path)
}

/// What the last call of a tool means; `None` if it is an ordinary call of a built-in tool.
fn outcome(gate: &Gate, call: &Invocation) -> Option<Finding> {
    let (tool, id, spec) = (&call.tool, &call.id, gate.tools.entry(&call.tool));
    let doubt = |how: &str| {
        Some(Finding::inconclusive(format!(
            "the last call of `{tool}` {how} (call `{id}`), and no later call of it succeeded"
        )))
    };
    match (call.status, spec.tier) {
        (InvocationStatus::Denied, _) => doubt("was denied"),
        (InvocationStatus::Failed, EvidenceTier::Recorded)
            if spec.writes && call.process.is_none() && !is_changed(gate, call) =>
        {
            doubt("failed")
        }
        // Listed only: what the files are is known from the record.
        (InvocationStatus::Failed, EvidenceTier::Recorded) if call.process.is_none() => {
            Some(Finding::unchecked(format!(
                "the last call of `{tool}` failed (call `{id}`), and no claim says so"
            )))
        }
        (_, EvidenceTier::Recorded) => None,
        (InvocationStatus::Failed, EvidenceTier::Receipt) => Some(Finding::failed(format!(
            "the last call of `{tool}` failed (call `{id}`), and no claim says so"
        ))),
        (InvocationStatus::Failed, _) => doubt("failed"),
        (InvocationStatus::Timeout, _) => doubt("timed out"),
        (InvocationStatus::Unknown, _) => doubt("has an unknown outcome"),
        (InvocationStatus::Success, EvidenceTier::Remote) if call.http_error().is_some() => {
            let status = call.http_error().unwrap_or_default();
            doubt(&format!("was answered with status {status}"))
        }
        (InvocationStatus::Success, EvidenceTier::Remote) if !spec.sends(&call.args) => {
            Some(Finding::unchecked(format!(
                "the answer to `{tool}` is remote, and what the output says about it was not checked"
            )))
        }
        (InvocationStatus::Success, EvidenceTier::Remote) => Some(finding(&spec, call)),
        // A plugin without evidence is common; that its probe failed is a fact.
        (InvocationStatus::Success, EvidenceTier::Receipt) => {
            let finding = finding(&spec, call);
            let is_open = finding.verdict == Verdict::Inconclusive;
            let reason = finding.reason.clone().filter(|_| is_open);
            Some(reason.map_or(finding, Finding::unchecked))
        }
    }
}

/// The calls whose probe showed that the effect is missing, and that were not repeated with success: a later call
/// with other arguments has another effect. The last call of each tool is left out.
fn unrepeated_probes<'c>(executed: &[&'c Invocation]) -> Vec<(&'c Invocation, Finding)> {
    let has_failed_probe = |call: &Invocation| {
        let mut probes = call.evidence.iter().filter(|e| e.kind == EvidenceKind::Probe);
        call.status == InvocationStatus::Failed && probes.any(|p| p.reference.ends_with(": failed"))
    };
    let open = executed.iter().enumerate().filter(|(at, call)| {
        let later = || executed[at + 1..].iter().filter(|later| later.tool == call.tool);
        let is_same = |later: &&&Invocation| later.args_hash == call.args_hash;
        has_failed_probe(call) && later().next().is_some() && later().find(is_same).is_none()
    });
    open.map(|(_, call)| {
        let reason = format!(
            "the effect of `{}` was missing (call `{}`), and the call was not repeated",
            call.tool, call.id
        );
        (*call, Finding::inconclusive(reason))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{EvidenceKind, EvidenceRef};
    use kb_base::value::{Digest, Timestamp};
    use std::sync::Arc;

    fn call(tool: &str, args: kb_base::value::Json) -> Invocation {
        Invocation {
            id: "1".to_owned(),
            tool: tool.to_owned(),
            args_hash: Digest::of_json(&args),
            args,
            at: Timestamp(0),
            duration_ms: 0,
            purpose: Purpose::Execution,
            status: InvocationStatus::Success,
            changes: Vec::new(),
            evidence: Vec::new(),
            process: None,
            output: Some(Arc::new(json!({"ok": true}))),
            bytes: 1,
        }
    }

    #[test]
    fn a_successful_call_of_an_unknown_tool_proves_nothing() {
        let receipt = EvidenceRef {
            kind: EvidenceKind::Receipt,
            reference: "r-1".to_owned(),
            sha256: None,
            status: None,
        };
        let file = EvidenceRef { kind: EvidenceKind::File, ..receipt.clone() };
        let evidence = vec![receipt, file];
        for args in [json!({}), json!({"method": "GET"})] {
            let order = Invocation { evidence: evidence.clone(), ..call("shop:order", args) };
            let gate = gate(order);
            let found = call_outcomes(&gate, &[]);
            let verdicts: Vec<_> = found.iter().map(|d| (d.verdict, d.warning)).collect();
            assert_eq!(verdicts, [(Verdict::Inconclusive, false)], "{found:?}");
        }
        let read = call("http:fetch", json!({"url": "http://a.b"}));
        assert_eq!(call_outcomes(&gate(read), &[])[0].verdict, Verdict::Unchecked);
    }

    fn gate(call: Invocation) -> Gate {
        Gate {
            criteria: Vec::new(),
            claims: ClaimPolicy::Strict,
            expect_changes: false,
            changes_declared: false,
            after_refuted: false,
            output: Arc::new(json!({})),
            output_schema: None,
            trace: vec![call],
            unwatched: false,
            root: String::new(),
            test_commands: Vec::new(),
            looks_up_names: false,
            earlier: Vec::new(),
            excused: Vec::new(),
            asked: Default::default(),
            tools: Default::default(),
        }
    }
}
