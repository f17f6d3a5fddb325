//! [`audited_calls`]: every tool call of a run with the rule that permitted or refused it.

use super::{InspectError, Reader};
use kb_base::diagnostic::Code;
use kb_base::value::{Json, Timestamp};
use kb_core::evidence::InvocationStatus;
use kb_core::wire::{Body, Event};
use kb_language::toolspec::ToolLevel;
use serde::Serialize;
use std::collections::BTreeMap;

/// A tool call of a run, as it is recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditedCall {
    /// Number of the event with its result, or with its start if it has no result.
    pub seq: Option<u64>,
    /// Time of that event, in RFC 3339.
    pub time: String,
    /// The step instance.
    pub instance: String,
    /// Number of the attempt.
    pub attempt: Option<u32>,
    /// Id of the call; equal ids of different attempts are different calls.
    pub id: String,
    /// Name of the tool, as the model or the playbook wrote it.
    pub tool: String,
    /// Level of the tool; null for a tool that does not exist.
    pub level: Option<ToolLevel>,
    /// Whether a specialist requested the call; else a `tool` step did.
    pub by_model: bool,
    /// The arguments; null if they are not recorded with the call, as of a refused one.
    pub args: Option<Json>,
    /// Digest of the arguments.
    pub args_hash: Option<String>,
    /// How the call ended: `success`, `failed`, `denied`, `timeout`, `unknown`; null if its result is
    /// not recorded.
    pub status: Option<InvocationStatus>,
    /// The code of the refusal or failure.
    pub code: Option<Code>,
    /// Who approved or rejected the call, if a person did.
    pub decided_by: Option<String>,
    /// The decision of that person.
    pub approved: Option<bool>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Number of changed files.
    pub changes: usize,
}

/// Every tool call of a run, in the order of the events.
pub fn audited_calls(mut reader: Reader) -> Result<Vec<AuditedCall>, InspectError> {
    let mut calls: Vec<AuditedCall> = Vec::new();
    let mut decided: BTreeMap<String, (String, bool)> = BTreeMap::new();
    let tools = reader.plan().tools().clone();
    while let Some(events) = reader.next_events()? {
        for event in events {
            let Some(place) = &event.place else { continue };
            let instance = place.instance.to_string();
            match &event.body {
                Body::AskAnswered { approved, by, .. } => {
                    decided.insert(instance, (by.clone(), *approved));
                }
                Body::ToolCall { id, tool, turn, args, .. } => {
                    let mut call = started(&event, instance, id, tool, *turn > 0);
                    call.args = args.as_deref().cloned();
                    calls.push(call);
                }
                Body::ToolResult { .. } => ended(&mut calls, &event, instance, &mut decided),
                _ => {}
            }
        }
    }
    for call in calls.iter_mut().filter(|call| call.level.is_none()) {
        call.level = tools.find(&call.tool).map(|tool| tool.level);
    }
    Ok(calls)
}

fn started(event: &Event, instance: String, id: &str, tool: &str, by_model: bool) -> AuditedCall {
    AuditedCall {
        seq: event.seq,
        time: Timestamp::rfc3339(event.at),
        attempt: event.place.as_ref().and_then(|place| place.attempt),
        instance,
        id: id.to_owned(),
        level: None,
        tool: tool.to_owned(),
        by_model,
        args: None,
        args_hash: None,
        status: None,
        code: None,
        decided_by: None,
        approved: None,
        duration_ms: 0,
        changes: 0,
    }
}

/// Completes the call of a result. A refused call has a result without a start.
fn ended(
    calls: &mut Vec<AuditedCall>,
    event: &Event,
    instance: String,
    decided: &mut BTreeMap<String, (String, bool)>,
) {
    let Body::ToolResult { turn, id, tool, status, args_hash, error, duration_ms, changes, .. } =
        &event.body
    else {
        return;
    };
    let attempt = event.place.as_ref().and_then(|place| place.attempt);
    let is_open = |call: &&mut AuditedCall| {
        call.status.is_none()
            && call.id == *id
            && call.instance == instance
            && call.attempt == attempt
    };
    if !calls.iter_mut().rev().any(|call| is_open(&call)) {
        calls.push(started(event, instance.clone(), id, tool, *turn > 0));
    }
    let Some(call) = calls.iter_mut().rev().find(is_open) else { return };
    let decision = decided.remove(&instance);
    (call.seq, call.time) = (event.seq, Timestamp::rfc3339(event.at));
    call.args_hash = Some(args_hash.clone());
    call.status = Some(*status);
    call.code = error.as_ref().map(|error| error.code);
    call.duration_ms = *duration_ms;
    call.changes = changes.len();
    (call.decided_by, call.approved) = decision.unzip();
}
