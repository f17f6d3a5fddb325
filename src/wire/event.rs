use super::Body;
use crate::value::{RunId, StepId, Timestamp};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The version of the public forms; every event carries it as `v`.
pub const VERSION: u32 = 1;

/// One public event. Its JSON is one object: `v`, `type`, `time`, `run`, `seq`, where it has one
/// `step`, `instance`, `iteration`, `attempt`, and the fields of its [`Body`].
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it was decided.
    pub at: Timestamp,
    /// Which run.
    pub run: RunId,
    /// The journal's number of the transition it comes from, shared by all events of one; `None`
    /// where nothing is stored.
    pub seq: Option<u64>,
    /// Which instance, where it is about one.
    pub place: Option<InstanceRef>,
    /// What it says.
    pub body: Body,
}

/// Where in a run something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRef {
    /// The step.
    pub step: StepId,
    /// The step, or one item of it: `review[src/a.rs]`.
    pub instance: std::sync::Arc<str>,
    /// From 1.
    pub iteration: u32,
    /// From 1 in each iteration; `None` before the first.
    pub attempt: Option<u32>,
}

impl Event {
    /// A piece of text that a model just wrote.
    pub fn token(at: Timestamp, run: RunId, place: InstanceRef, text: impl Into<String>) -> Event {
        let body = Body::StepToken { text: text.into() };
        Event { at, run, seq: None, place: Some(place), body }
    }
}

/// An event as it is written. The body is flattened last, so that every line begins alike.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Event", description = "One line of `--json` and of `kb run events`.")]
pub(super) struct Line<'a> {
    /// Version of this form.
    #[schemars(extend("const" = 1))]
    v: u32,
    #[serde(rename = "type")]
    #[schemars(skip)]
    kind: &'static str,
    /// RFC 3339, UTC.
    time: String,
    /// The run's id.
    run: &'a str,
    /// The journal's number of the transition; absent where nothing is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// The step's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    /// The step, or one item of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'a str>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration: Option<u32>,
    /// From 1 in each iteration.
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
