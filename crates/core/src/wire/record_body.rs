//! Public events from the records of attempts.

use super::Body;
use super::exchange_views::DelegateView;
use super::parts::{
    CacheHitView, ErrorView, EvidenceView, FileChange, OutputView, PhaseView, RequestView,
    inline_or_blob,
};
use super::verdicts::VerdictsView;
use crate::evidence::{Invocation, InvocationStatus, Note, Payload, Phase, Purpose, Record};
use kb_base::diagnostic::Severity;

/// The public event of a record; `None` for records that only a resumed attempt needs.
pub(super) fn record_body(record: &Record) -> Option<Body> {
    Some(match record {
        Record::ModelCall { turn, model, tier, usage, calls, request, digests, .. } => {
            Body::ModelCall {
                turn: *turn,
                model: model.clone(),
                tier: tier.map(|tier| tier.as_str()),
                usage: (*usage).into(),
                cost_usd: usage.cost_usd.map(|cost| cost.usd()),
                calls: calls.len(),
                request_hash: request.to_string(),
                digests: digests.as_deref().map(RequestView::from),
            }
        }
        Record::ToolCall { turn, id, tool, args, percent_done } => {
            let (args, args_blob) = inline_or_blob(Some(args));
            let (turn, progress_percent) = (*turn, *percent_done);
            let (id, tool) = (id.clone(), tool.clone());
            Body::ToolCall { turn, id, tool, args, args_blob, progress_percent }
        }
        Record::ToolResult { turn, invocation, result } => tool_result(*turn, invocation, result),
        Record::Note(Note { level, text }) => Body::StepNote { level: *level, text: text.clone() },
        Record::ChildRun { run, definition } => {
            Body::ChildStart { child: run.to_string(), definition: definition.to_string() }
        }
        Record::ChildRunEnded { run, status, verdicts } => Body::ChildEnd {
            child: run.to_string(),
            status: *status,
            verdicts: verdicts.map(VerdictsView::from),
        },
        Record::Phase { phase, round, previous } => Body::AgentPhase(PhaseView {
            phase: phase.as_str(),
            round: *round,
            progress_percent: phase.percent_done(*round),
            next_milestone: phase.next().map(Phase::as_str),
            previous: previous.clone(),
        }),
        Record::BudgetWarning { text } => Body::BudgetWarning { text: text.clone() },
        Record::Recall { entries, .. } => Body::StepNote {
            level: Severity::Info,
            text: format!("shown of the memory: {}", entries.join(", ")),
        },
        Record::Delegate { agent, task, run, depth, priority, .. } => {
            Body::Delegate(DelegateView {
                agent: agent.clone(),
                task: task.clone(),
                child: run.to_string(),
                depth: *depth,
                priority: *priority,
            })
        }
        Record::CacheHit(hit) => Body::CacheHit(Box::new(CacheHitView::from(&**hit))),
        Record::Output { parts, omitted } => {
            let (output, output_blob) = inline_or_blob(Some(parts));
            Body::StepOutput(OutputView {
                output,
                output_blob,
                omitted: Some(*omitted).filter(|bytes| *bytes > 0),
            })
        }
        // `ask:answered` shows an approval.
        Record::Approval { .. }
        | Record::Reservation { .. }
        | Record::DelegateEnded { .. }
        | Record::Compression { .. }
        | Record::Observed { .. } => {
            return None;
        }
    })
}

/// Bytes of stdout of a step's own process that were not stored.
pub(super) fn stdout_cut(record: &Record) -> Option<u64> {
    let Record::ToolResult { turn: 0, invocation, .. } = record else { return None };
    let process = invocation.process.as_ref().filter(|_| invocation.purpose == Purpose::Execution);
    process.map(|process| process.stdout_cut).filter(|cut| *cut > 0)
}

fn tool_result(turn: u32, invocation: &Invocation, result: &Payload) -> Body {
    let worked = invocation.status == InvocationStatus::Success;
    let result = result.as_inline().filter(|_| !worked);
    Body::ToolResult {
        turn,
        id: invocation.id.clone(),
        tool: invocation.tool.clone(),
        status: invocation.status,
        args_hash: invocation.args_hash.to_string(),
        bytes: invocation.bytes,
        error: result.and_then(|result| ErrorView::of_result(result)),
        duration_ms: invocation.duration_ms,
        evidence: invocation.evidence.iter().map(EvidenceView::from).collect(),
        changes: invocation.changes.iter().filter_map(FileChange::of).collect(),
        process: invocation.process.clone(),
    }
}
