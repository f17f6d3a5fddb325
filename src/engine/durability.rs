use super::dispatcher::Dispatcher;
use crate::definition::StepKind;
use crate::evidence::{Payload, Record};
use crate::run::Event;
use crate::value::{Json, Money};

const REQUEST: &str = "http:request";

impl Dispatcher {
    /// What must be on disk before anything follows from it (DESIGN §4).
    pub(super) fn is_durable(&self, event: &Event) -> bool {
        match event {
            Event::RunStarted { .. } | Event::RunEnded { .. } | Event::Answered { .. } => true,
            Event::CancelRequested { .. } | Event::Reset { .. } => true,
            Event::Started { instance, .. } => {
                let step = &self.setup.plan.step(self.folded.state.instance(*instance).step).step;
                let sends = match &step.kind {
                    StepKind::Http(http) => http.method != "GET",
                    // Its method may be known only when it is called.
                    StepKind::Tool { tool, .. } => tool.as_str() == REQUEST,
                    _ => false,
                };
                !step.details().retry_safe || sends
            }
            Event::Recorded { record, .. } => match &**record {
                // Money was spent.
                Record::ModelCall { usage, .. } | Record::Compression { usage, .. } => {
                    usage.cost_usd.is_some_and(|cost| cost > Money::ZERO)
                }
                Record::ToolCall { tool, args, .. } => tool == REQUEST && !is_get(args),
                _ => false,
            },
            _ => false,
        }
    }
}

/// Whether a request only asks, as far as its arguments tell.
fn is_get(args: &Payload) -> bool {
    let method = |args: &Json| args.get("method").and_then(Json::as_str).map(str::to_owned);
    args.as_inline().is_some_and(|args| method(args).is_none_or(|method| method == "GET"))
}
