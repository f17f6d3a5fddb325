//! When each step of a run executed, as bars.

use super::format::{duration, part, short};
use kb_base::value::Timestamp;
use kb_core::wire::{Body, RunView, StepStatus};
use kb_engine::inspect::InspectError;
use kb_service::service::Reader;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where the bars begin.
const LEFT: u64 = 200;
/// Width of the whole time.
const SPAN: u64 = 760;
const ROW: usize = 30;
/// Maximum number of bars.
const MOST: usize = 500;

/// Bars for the templates.
#[derive(Debug, Serialize)]
pub(super) struct Timeline {
    width: u64,
    height: usize,
    ticks: Vec<Tick>,
    bars: Vec<Bar>,
}

#[derive(Debug, Serialize)]
struct Tick {
    x: u64,
    label: String,
}

#[derive(Debug, Serialize)]
struct Bar {
    name: String,
    short: String,
    status: StepStatus,
    detail: String,
    x: u64,
    y: usize,
    width: u64,
    href: String,
    selected: bool,
}

/// When the iterations of each step ran that a rejection or a goal repeated: begin, end and status.
pub(super) type Earlier = BTreeMap<String, Vec<(Timestamp, Timestamp, StepStatus)>>;

/// Reads the iterations before the last one of each step; nothing of a run without any.
pub(super) fn earlier(run: &RunView, mut reader: Reader) -> Result<Earlier, InspectError> {
    let mut ended = Earlier::new();
    if run.steps.iter().all(|step| step.iteration <= 1) {
        return Ok(ended);
    }
    let mut began: BTreeMap<(String, u32), Timestamp> = BTreeMap::new();
    while let Some(events) = reader.next_events()? {
        for event in events {
            let Some(place) = &event.place else { continue };
            let (name, iteration) = (place.instance.to_string(), place.iteration);
            match &event.body {
                Body::StepStart { .. } => {
                    began.entry((name, iteration)).or_insert(event.at);
                }
                Body::StepEnd { status, .. } => {
                    let from = began.get(&(name.clone(), iteration)).copied();
                    let from = from.unwrap_or(event.at);
                    ended.entry(name).or_default().push((from, event.at, *status));
                }
                _ => {}
            }
        }
    }
    Ok(ended)
}

/// The bars of the steps and items that have started.
pub(super) fn timeline(
    run: &RunView,
    earlier: &Earlier,
    selected: Option<&str>,
    now: Timestamp,
) -> Timeline {
    let at = |text: &Option<String>| text.as_deref().and_then(Timestamp::parse);
    let began = Timestamp::parse(&run.started_at).unwrap_or(Timestamp(0));
    let last = run.steps.iter().filter_map(|step| at(&step.ended_at)).max();
    let end = if run.status.has_ended() { at(&run.ended_at).max(last) } else { Some(now) };
    let whole = (end.unwrap_or(began).since(began).as_millis() as u64).max(1);
    let scale = |time: Timestamp| (time.since(began).as_millis() as u64).min(whole) * SPAN / whole;
    let started = run.steps.iter().filter_map(|step| Some((step, at(&step.started_at)?)));
    // Each iteration has a row, because a bar is followed by its time.
    let rows = started.flat_map(|(step, from)| {
        let last = (from, at(&step.ended_at).or(end).unwrap_or(from), step.status);
        let of_step = earlier.get(&step.instance).map(Vec::as_slice).unwrap_or_default();
        let before = of_step.iter().filter(move |one| one.0 < from).copied();
        let all: Vec<_> = before.chain([last]).collect();
        let count = all.len();
        all.into_iter().enumerate().map(move |(at, one)| (step, one, (count > 1).then_some(at + 1)))
    });
    let bars: Vec<Bar> = rows
        .take(MOST)
        .enumerate()
        .map(|(index, (step, (from, until, status), iteration))| {
            let (x, right) = (scale(from), scale(until.max(from)));
            let time = duration(until.since(from).as_millis() as u64);
            Bar {
                name: step.instance.clone(),
                short: short(&step.instance, 24),
                status,
                detail: iteration
                    .map_or(time.clone(), |number| format!("{time}, iteration {number}")),
                x: LEFT + x,
                y: 30 + index * ROW,
                width: (right - x).max(3),
                href: format!("/runs/{}?view=timeline&step={}#step", run.run, part(&step.instance)),
                selected: selected == Some(step.instance.as_str()),
            }
        })
        .collect();
    let tick = |part: u64| Tick { x: LEFT + SPAN * part / 4, label: duration(whole * part / 4) };
    let ticks = (0..=4).map(tick).collect();
    Timeline { width: LEFT + SPAN + 90, height: 40 + bars.len() * ROW, ticks, bars }
}
