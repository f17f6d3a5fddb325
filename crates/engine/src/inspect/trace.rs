//! A recorded run as a trace of OpenTelemetry.

use super::InspectError;
use super::reader::Reader;
use crate::journal::{Journal, JournalError};
use kb_base::value::{Json, RunId};
use kb_core::wire::{Body, Spans, TraceContext};
use std::sync::Arc;

/// Maximum number of runs that execute each other.
const DEEPEST: usize = 64;

/// Which spans of a run a trace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracePart {
    /// All that have ended.
    All,
    /// Those since the end before the last one: what an exporter that has sent the earlier ones sends now.
    LastEnd,
}

/// The spans of a run. A child run has the trace of the run that executes it.
pub fn trace(
    journal: &Arc<dyn Journal>,
    run: &str,
    part: TracePart,
) -> Result<Vec<Json>, InspectError> {
    let mut reader = Reader::open(journal.clone(), run)?;
    let context = context(journal, &reader)?;
    let mut spans = Spans::new(reader.run().clone(), context);
    let mut after_end = false;
    while let Some(events) = reader.next_events()? {
        for event in events {
            if std::mem::take(&mut after_end) && part == TracePart::LastEnd {
                spans.forget();
            }
            let ends = spans.ends();
            spans.add(&event);
            after_end = spans.ends() > ends;
        }
    }
    Ok(spans.ended())
}

/// The run at the root of the trace, and the step that executes this run.
fn context(journal: &Arc<dyn Journal>, reader: &Reader) -> Result<TraceContext, InspectError> {
    let (mut root, mut parent) = (reader.run().clone(), None);
    let mut above = reader.parent().cloned();
    for _ in 0..DEEPEST {
        let Some(view) = above else { break };
        let mut outer = match Reader::open(journal.clone(), &view.run) {
            Ok(outer) => outer,
            // The parent was removed: the trace starts here.
            Err(
                InspectError::UnknownRun { .. } | InspectError::Journal(JournalError::NoRun(_)),
            ) => break,
            Err(error) => return Err(error),
        };
        if parent.is_none() {
            let iteration = iteration_of(&mut outer, reader.run())?;
            parent = Some((outer.run().clone(), view.instance.clone(), iteration));
        }
        root = outer.run().clone();
        above = outer.parent().cloned();
    }
    Ok(TraceContext { root, parent })
}

/// The iteration of the step that started a child run.
fn iteration_of(outer: &mut Reader, child: &RunId) -> Result<u32, InspectError> {
    while let Some(events) = outer.next_events()? {
        for event in events {
            let is_start =
                matches!(&event.body, Body::ChildStart { child: own, .. } if own == child.as_str());
            if let Some(place) = event.place.filter(|_| is_start) {
                return Ok(place.iteration);
            }
        }
    }
    Ok(1)
}
