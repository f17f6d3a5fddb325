//! Which events must be synced to disk (fsync) before anything follows from them.
//!
//! Attempts are executed at least once (at-least-once delivery): one that was running when `kb` was killed
//! is executed again, unless its step has `retrySafe: false`.

use kb_base::value::{Money, Usage};
use kb_core::evidence::Record;
use kb_core::run::{Event, State};
use kb_language::plan::Plan;
use kb_language::toolspec::ToolCatalog;

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
        Event::Recorded { record, .. } => is_durable_record(record, plan.tools()),
        Event::RunResumed { .. }
        | Event::Continued { .. }
        | Event::Exchanged { .. }
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
        | Event::PlanRevised { .. }
        | Event::TimedOut { .. }
        | Event::Draining { .. } => false,
    }
}

fn is_durable_record(record: &Record, tools: &ToolCatalog) -> bool {
    let costs = |usage: &Usage| usage.cost_usd.is_some_and(|cost| cost > Money::ZERO);
    match record {
        Record::ModelCall { usage, .. } | Record::Compression { usage, .. } => costs(usage),
        Record::ToolCall { tool, args, .. } => {
            let spec = tools.entry(tool);
            args.as_inline().map_or(spec.network, |args| spec.sends(args))
        }
        Record::ToolResult { .. }
        | Record::Approval { .. }
        | Record::Reservation { .. }
        | Record::BudgetWarning { .. }
        | Record::Phase { .. }
        | Record::Recall { .. }
        | Record::Delegate { .. }
        | Record::DelegateEnded { .. }
        | Record::Output { .. }
        | Record::Observed { .. }
        | Record::ChildRun { .. }
        | Record::ChildRunEnded { .. }
        | Record::CacheHit(_)
        | Record::Note(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_durable_record;
    use kb_core::evidence::{Payload, Record};
    use kb_language::toolspec::built_in;
    use serde_json::json;

    #[test]
    fn calls_that_may_change_something_elsewhere_are_synced() {
        let call = |tool: &str, args| {
            let (id, tool, args) = ("1".to_owned(), tool.to_owned(), Payload::inline(args));
            let call = Record::ToolCall { turn: 1, id, tool, args, percent_done: None };
            is_durable_record(&call, built_in())
        };
        for tool in ["plugin:deploy", "mcp:shop:order", "not a tool"] {
            assert!(call(tool, json!({"item": 1})), "{tool}");
            assert!(call(tool, json!({"method": "GET"})), "{tool}");
        }
        assert!(call("http:request", json!({"method": "POST", "url": "http://a.b"})));
        assert!(call("http:request", json!({"method": 7, "url": "http://a.b"})));
        assert!(!call("http:request", json!({"url": "http://a.b"})));
        assert!(!call("fs:write", json!({"path": "a", "content": ""})));
    }
}
