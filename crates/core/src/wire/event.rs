//! The envelope of public events.

use super::Body;
use crate::redaction::Masked;
use kb_base::value::{RunId, StepId, Timestamp};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The version of the public forms; every event carries it as `v`.
pub const VERSION: u32 = 1;

/// One public event. Its JSON is one object: `v`, `type`, `time`, `run`, `seq`; `step`, `instance`,
/// `iteration` and `attempt` if it belongs to a step instance; and the fields of its [`Body`].
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Time of the decision.
    pub at: Timestamp,
    /// Id of the run.
    pub run: RunId,
    /// Number of the stored event that it comes from; several public events can share one. `None`
    /// for events that are not stored.
    pub seq: Option<u64>,
    /// The step instance that it belongs to, if any.
    pub place: Option<InstanceRef>,
    /// Content of the event.
    pub body: Body,
}

/// A step instance in one iteration and attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRef {
    /// Id of the step.
    pub step: StepId,
    /// Name of the instance: the step id, or an item such as `review[src/a.rs]`.
    pub instance: std::sync::Arc<str>,
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Number of the attempt in the iteration, from 1; `None` before the first.
    pub attempt: Option<u32>,
}

impl Event {
    /// An event for a piece of model text.
    pub fn token(at: Timestamp, run: RunId, place: InstanceRef, text: Masked<String>) -> Event {
        let body = Body::StepToken { text: text.into_inner() };
        Event { at, run, seq: None, place: Some(place), body }
    }
}

/// The JSON form of an event. The body comes last, so that all lines start with the same keys.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Event", description = "One line of `--json` and of `kb run events`.")]
pub(super) struct Line<'a> {
    /// Version of the event format.
    #[schemars(extend("const" = 1))]
    v: u32,
    #[serde(rename = "type")]
    #[schemars(skip)]
    kind: &'static str,
    /// Time in RFC 3339, UTC.
    time: String,
    /// Id of the run.
    run: &'a str,
    /// Number of the stored event; absent if the event is not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Id of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    /// Name of the step instance: the step id, or `step[item]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    /// Number of the iteration, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration: Option<u32>,
    /// Number of the attempt in the iteration, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(flatten)]
    body: &'a Body,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = self.place.as_ref();
        let line = Line {
            v: VERSION,
            kind: self.body.kind(),
            time: self.at.rfc3339(),
            run: self.run.as_str(),
            seq: self.seq,
            step: place.map(|place| place.step.as_str()),
            instance: place.map(|place| &*place.instance),
            iteration: place.map(|place| place.iteration),
            attempt: place.and_then(|place| place.attempt),
            body: &self.body,
        };
        line.serialize(serializer)
    }
}
