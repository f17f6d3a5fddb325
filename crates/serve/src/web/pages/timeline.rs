//! When each step of a run executed, as bars.

use super::format::{duration, part, short};
use kb_base::value::Timestamp;
use kb_core::wire::{RunView, StepStatus};
use serde::Serialize;

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

/// The bars of the steps and items that have started.
pub(super) fn timeline(run: &RunView, selected: Option<&str>, now: Timestamp) -> Timeline {
    let at = |text: &Option<String>| text.as_deref().and_then(Timestamp::parse);
    let began = Timestamp::parse(&run.started_at).unwrap_or(Timestamp(0));
    let last = run.steps.iter().filter_map(|step| at(&step.ended_at)).max();
    let end = if run.status.has_ended() { at(&run.ended_at).max(last) } else { Some(now) };
    let whole = (end.unwrap_or(began).since(began).as_millis() as u64).max(1);
    let scale = |time: Timestamp| (time.since(began).as_millis() as u64).min(whole) * SPAN / whole;
    let started = run.steps.iter().filter_map(|step| Some((step, at(&step.started_at)?)));
    let bars: Vec<Bar> = started
        .take(MOST)
        .enumerate()
        .map(|(index, (step, from))| {
            let until = at(&step.ended_at).or(end).unwrap_or(from);
            let (x, right) = (scale(from), scale(until.max(from)));
            Bar {
                name: step.instance.clone(),
                short: short(&step.instance, 24),
                status: step.status,
                detail: duration(until.since(from).as_millis() as u64),
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
