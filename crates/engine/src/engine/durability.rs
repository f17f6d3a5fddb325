//! Which events must be synced to disk (fsync) before anything follows from them.
//!
//! Attempts are executed at least once (at-least-once delivery): one that was running when `kb` was killed
//! is executed again, unless its step has `retrySafe: false`.

use kb_base::value::{Json, Money, Usage};
use kb_core::evidence::{Payload, Record};
use kb_core::run::{Event, State};
use kb_language::plan::Plan;
use kb_language::toolspec;

/// Whether an event must be synced before its effects: decisions of people, the start and end of a
/// run, money spent, and the start of work that must not be repeated.
pub(super) fn is_durable(plan: &Plan, state: &State, event: &Event) -> bool {
    match event {
        // The end of a child run is reported with that of its parent, whose events follow in the same WAL.
        Event::RunStarted { .. } | Event::RunEnded { .. } => !state.is_child(),
        Event::Answered { .. }
        | Event::CancelRequested { .. }
        | Event::Reset { .. }
        | Event::SentBack { .. } => true,
        Event::Started { instance, .. } => {
            let step = &plan.step(state.instance(*instance).step).step;
            !step.details().retry_safe || step.kind.effects().sends_request
        }
        Event::Recorded { record, .. } => is_durable_record(record),
        Event::RunResumed { .. }
        | Event::Continued { .. }
        | Event::Evaluated { .. }
        | Event::Expanded { .. }
        | Event::Ready { .. }
        | Event::AttemptEnded { .. }
        | Event::Judged { .. }
        | Event::Recovered { .. }
        | Event::Waiting { .. }
        | Event::TimerSet { .. }
        | Event::PassEnded { .. }
        | Event::Asked { .. }
        | Event::Merging { .. }
        | Event::Merged { .. }
        | Event::Ended { .. }
        | Event::Kept { .. }
        | Event::Skipped { .. }
        | Event::TimedOut { .. }
        | Event::Draining { .. } => false,
    }
}

fn is_durable_record(record: &Record) -> bool {
    let costs = |usage: &Usage| usage.cost_usd.is_some_and(|cost| cost > Money::ZERO);
    match record {
        Record::ModelCall { usage, .. } | Record::Compression { usage, .. } => costs(usage),
        Record::ToolCall { tool, args, .. } => uses_network(tool) && !is_get(args),
        Record::ToolResult { .. }
        | Record::Approval { .. }
        | Record::Reservation { .. }
        | Record::BudgetWarning { .. }
        | Record::Phase { .. }
        | Record::Output { .. }
        | Record::Observed { .. }
        | Record::ChildRun { .. }
        | Record::ChildRunEnded { .. }
        | Record::CacheHit(_)
        | Record::Note(_) => false,
    }
}

fn uses_network(tool: &str) -> bool {
    toolspec::assumed(tool).network
}

/// Whether the arguments of a request name the method `GET`, or none.
fn is_get(args: &Payload) -> bool {
    let method = |args: &Json| args.get("method").and_then(Json::as_str).map(str::to_owned);
    args.as_inline().is_some_and(|args| method(args).is_none_or(|method| method == "GET"))
}
