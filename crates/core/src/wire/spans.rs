//! A run as spans of OpenTelemetry, in the JSON form of OTLP.
//!
//! Ids are functions of run, step, iteration and attempt: a run that is continued by another process, or
//! exported twice, has the same ids. A span has names, numbers and statuses, but no prompts, arguments or outputs.

use super::otlp::{attribute, cut, message, nanos, span_id, tokens};
use super::{
    Body, ErrorView, Event, InstanceRef, InvocationStatus, RecoveryView, RunStatus, StepStatus,
    UsageView,
};
use kb_base::value::{Digest, Json, RunId, Timestamp};
use serde_json::json;
use std::collections::BTreeMap;

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;

/// The place of a run in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The run that nothing else executes; it names the trace.
    pub root: RunId,
    /// Run, step instance and iteration that execute this run as a child run.
    pub parent: Option<(RunId, String, u32)>,
}

/// Collects the spans of one run from its events.
#[derive(Debug)]
pub struct Spans {
    context: TraceContext,
    run: RunId,
    definition: String,
    /// Start of the run, or of its continuation after an end.
    began: Option<Timestamp>,
    /// Number of ends so far.
    ends: u32,
    steps: BTreeMap<Key, Open>,
    attempts: BTreeMap<Key, Open>,
    done: Vec<Json>,
}

/// Name of a step instance, and its iteration.
type Key = (String, u32);

/// A span that has not ended.
#[derive(Debug)]
struct Open {
    start: Timestamp,
    /// Time of the newest event, from which a model call is counted.
    last: Timestamp,
    attempt: u32,
    attributes: Vec<Json>,
    events: Vec<Json>,
}

impl Spans {
    /// No span yet.
    pub fn new(run: RunId, context: TraceContext) -> Spans {
        Spans {
            context,
            run,
            definition: String::new(),
            began: None,
            ends: 0,
            steps: BTreeMap::new(),
            attempts: BTreeMap::new(),
            done: Vec::new(),
        }
    }

    /// Adds an event, in the order of the journal.
    pub fn add(&mut self, event: &Event) {
        self.began.get_or_insert(event.at);
        if let Body::RunStart { definition, .. } = &event.body {
            self.definition.clone_from(definition);
        }
        if let Some(place) = &event.place {
            self.add_placed(event, place);
        }
        if let Body::RunEnd { status, error, usage, .. } = &event.body {
            self.end_run(event.at, *status, error.as_ref(), usage);
        }
    }

    fn add_placed(&mut self, event: &Event, place: &InstanceRef) {
        let key = (place.instance.to_string(), place.iteration);
        match &event.body {
            Body::StepStart { .. } => self.start(event, place, &key),
            Body::ModelCall { .. } => self.model_call(event, &key),
            Body::ToolResult { .. } => self.tool_result(event, &key),
            Body::AttemptEnd { outcome, error, usage, .. } => {
                let Some(mut open) = self.attempts.remove(&key) else { return };
                open.attributes.push(attribute("kb.outcome", json!(outcome.to_string())));
                open.attributes.extend(tokens(usage));
                let failed = error.as_ref().map(|error| message(Some(error)));
                self.end_attempt(&key, open, event.at, failed.as_deref());
            }
            Body::VerificationComplete { verdict, confidence, reason, .. } => {
                let Some(open) = self.steps.get_mut(&key) else { return };
                let mut attributes = vec![
                    attribute("kb.verdict", json!(verdict)),
                    attribute("kb.confidence", json!(confidence)),
                ];
                attributes
                    .extend(reason.as_ref().map(|text| attribute("kb.reason", json!(cut(text)))));
                open.events.push(json!({"timeUnixNano": nanos(event.at), "name": "kb.verdict", "attributes": attributes}));
            }
            Body::RecoveryApplied(RecoveryView { row, taken, reason, .. }) => {
                let Some(open) = self.steps.get_mut(&key) else { return };
                let attributes = [
                    attribute("kb.recovery", json!(row)),
                    attribute("kb.recovery.taken", json!(taken)),
                    attribute("kb.reason", json!(cut(reason))),
                ];
                open.events.push(json!({"timeUnixNano": nanos(event.at), "name": "kb.recovery", "attributes": attributes}));
            }
            Body::AskOpened { .. } | Body::AskAnswered { .. } => {
                let Some(open) = self.steps.get_mut(&key) else { return };
                let name = if matches!(event.body, Body::AskOpened { .. }) {
                    "kb.ask.opened"
                } else {
                    "kb.ask.answered"
                };
                open.events.push(json!({"timeUnixNano": nanos(event.at), "name": name}));
            }
            Body::StepEnd { status, error, usage, .. } => {
                if let Some(open) = self.attempts.remove(&key) {
                    self.end_attempt(&key, open, event.at, None);
                }
                let Some(open) = self.steps.remove(&key) else { return };
                self.end_step(&key, open, event.at, *status, error.as_ref(), usage);
            }
            // Nothing else begins or ends a span, or happens in one.
            _ => {}
        }
    }

    fn start(&mut self, event: &Event, place: &InstanceRef, key: &Key) {
        let Body::StepStart { kind, specialist, tier } = &event.body else { return };
        let mut attributes = vec![attribute("kb.step.kind", json!(kind))];
        attributes.extend(specialist.as_ref().map(|id| attribute("gen_ai.agent.name", json!(id))));
        attributes.extend(tier.map(|tier| attribute("kb.tier", json!(tier))));
        let attempt = place.attempt.unwrap_or(1);
        let open = |attributes| Open {
            start: event.at,
            last: event.at,
            attempt,
            attributes,
            events: Vec::new(),
        };
        self.steps.entry(key.clone()).or_insert_with(|| open(attributes.clone()));
        // A start without an end belongs to a process that was killed.
        if let Some(earlier) = self.attempts.insert(key.clone(), open(attributes)) {
            self.end_attempt(key, earlier, event.at, Some("the process was interrupted"));
        }
    }

    fn model_call(&mut self, event: &Event, key: &Key) {
        let Body::ModelCall { turn, model, usage, cost_usd, .. } = &event.body else { return };
        let Some(open) = self.attempts.get_mut(key) else { return };
        let (start, attempt) = (open.last, open.attempt);
        open.last = event.at;
        let mut attributes = vec![
            attribute("gen_ai.operation.name", json!("chat")),
            attribute("gen_ai.request.model", json!(model)),
        ];
        attributes.extend(tokens(usage));
        attributes.extend(cost_usd.map(|cost| attribute("kb.cost_usd", json!(cost))));
        let parent = self.attempt_id(key, attempt);
        let own = format!("model {} {} {attempt} {turn}", key.0, key.1);
        let name = format!("chat {model}");
        self.push(&own, parent, (name, CLIENT), (start, event.at), (attributes, &[]), None);
    }

    fn tool_result(&mut self, event: &Event, key: &Key) {
        let Body::ToolResult { id, tool, status, duration_ms, bytes, error, .. } = &event.body
        else {
            return;
        };
        let Some(open) = self.attempts.get_mut(key) else { return };
        let attempt = open.attempt;
        open.last = event.at;
        let start = Timestamp(event.at.0.saturating_sub(*duration_ms as i64));
        let attributes = vec![
            attribute("gen_ai.operation.name", json!("execute_tool")),
            attribute("gen_ai.tool.name", json!(tool)),
            attribute("gen_ai.tool.call.id", json!(id)),
            attribute("kb.result.bytes", json!(bytes)),
        ];
        let failed = (*status != InvocationStatus::Success).then(|| message(error.as_ref()));
        let parent = self.attempt_id(key, attempt);
        let own = format!("tool {} {} {attempt} {id}", key.0, key.1);
        let name = format!("execute_tool {tool}");
        self.push(&own, parent, (name, INTERNAL), (start, event.at), (attributes, &[]), failed);
    }

    fn end_attempt(&mut self, key: &Key, open: Open, end: Timestamp, failed: Option<&str>) {
        let Open { start, attempt, mut attributes, events, .. } = open;
        attributes.push(attribute("kb.attempt", json!(attempt)));
        let own = format!("attempt {} {} {attempt}", key.0, key.1);
        let parent = self.step_id(key);
        let name = format!("{} attempt {attempt}", key.0);
        let failed = failed.map(str::to_owned);
        self.push(&own, parent, (name, INTERNAL), (start, end), (attributes, &events), failed);
    }

    fn end_step(
        &mut self,
        key: &Key,
        open: Open,
        end: Timestamp,
        status: StepStatus,
        error: Option<&ErrorView>,
        usage: &UsageView,
    ) {
        let Open { start, mut attributes, events, .. } = open;
        attributes.push(attribute("kb.iteration", json!(key.1)));
        attributes.push(attribute("kb.status", json!(status.as_str())));
        attributes.extend(tokens(usage));
        attributes.extend(usage.cost_usd.map(|cost| attribute("kb.cost_usd", json!(cost))));
        let failed = (status == StepStatus::Failed).then(|| message(error));
        let (own, parent) = (format!("step {} {}", key.0, key.1), self.run_id(self.ends));
        let name = (key.0.clone(), INTERNAL);
        self.push(&own, parent, name, (start, end), (attributes, &events), failed);
    }

    fn end_run(
        &mut self,
        end: Timestamp,
        status: RunStatus,
        error: Option<&ErrorView>,
        usage: &UsageView,
    ) {
        // What was reset while it was open has no end of its own.
        for (key, open) in std::mem::take(&mut self.attempts) {
            self.end_attempt(&key, open, end, None);
        }
        for (key, open) in std::mem::take(&mut self.steps) {
            self.end_step(&key, open, end, StepStatus::Cancelled, None, &UsageView::default());
        }
        let mut attributes = vec![
            attribute("kb.run", json!(self.run.as_str())),
            attribute("kb.playbook", json!(self.definition)),
            attribute("kb.status", json!(status.as_str())),
        ];
        attributes.extend(tokens(usage));
        attributes.extend(usage.cost_usd.map(|cost| attribute("kb.cost_usd", json!(cost))));
        let failed = (status == RunStatus::Failed).then(|| message(error));
        let parent = self.context.parent.as_ref().map(|(run, instance, iteration)| {
            span_id(run, &format!("step {instance} {iteration}"))
        });
        let (own, name) = (format!("run {}", self.ends), self.definition.clone());
        let start = self.began.take().unwrap_or(end);
        let id = span_id(&self.run, &own);
        let (name, time) = ((name, INTERNAL), (start, end));
        let mut span = self.span((id, parent), name, time, (attributes, &[]), failed);
        if self.ends > 0 {
            // A run that was continued after its end has a span for each end.
            let earlier = json!({"traceId": self.trace_id(), "spanId": self.run_id(self.ends - 1)});
            span["links"] = json!([earlier]);
        }
        self.done.push(span);
        self.ends += 1;
    }

    fn push(
        &mut self,
        own: &str,
        parent: String,
        name: (String, u8),
        time: (Timestamp, Timestamp),
        facts: (Vec<Json>, &[Json]),
        failed: Option<String>,
    ) {
        let id = span_id(&self.run, own);
        let span = self.span((id, Some(parent)), name, time, facts, failed);
        self.done.push(span);
    }

    fn span(
        &self,
        (id, parent): (String, Option<String>),
        (name, kind): (String, u8),
        (start, end): (Timestamp, Timestamp),
        (attributes, events): (Vec<Json>, &[Json]),
        failed: Option<String>,
    ) -> Json {
        let mut span = json!({
            "traceId": self.trace_id(),
            "spanId": id,
            "name": cut(&name),
            "kind": kind,
            "startTimeUnixNano": nanos(start),
            "endTimeUnixNano": nanos(end.max(start)),
            "attributes": attributes,
            "status": match failed {
                Some(message) => json!({"code": 2, "message": cut(&message)}),
                None => json!({"code": 1}),
            },
        });
        if let Some(parent) = parent {
            span["parentSpanId"] = json!(parent);
        }
        if !events.is_empty() {
            span["events"] = json!(events);
        }
        span
    }

    /// Number of ends of the run so far.
    pub fn ends(&self) -> u32 {
        self.ends
    }

    /// Forgets the spans up to now, such as those that were exported at an earlier end.
    pub fn forget(&mut self) {
        self.done.clear();
    }

    /// The spans that have ended.
    pub fn ended(self) -> Vec<Json> {
        self.done
    }

    fn trace_id(&self) -> String {
        Digest::of(format!("trace {}", self.context.root)).short(32)
    }

    fn run_id(&self, ends: u32) -> String {
        span_id(&self.run, &format!("run {ends}"))
    }

    fn step_id(&self, key: &Key) -> String {
        span_id(&self.run, &format!("step {} {}", key.0, key.1))
    }

    fn attempt_id(&self, key: &Key, attempt: u32) -> String {
        span_id(&self.run, &format!("attempt {} {} {attempt}", key.0, key.1))
    }
}
