//! Time of decisions and of the fold over events.

use crate::shape::Shape;
use divan::Bencher;
use divan::counter::ItemsCount;
use kb::engine::Folded;
use kb::evidence::Payload;
use kb::journal::StoredEvent;
use kb::plan::Plan;
use kb::redaction::{Masked, Redactor};
use kb::run::{AttemptReport, Effect, Envelope, Event, Input, Rules, State, decide};
use kb::value::{Digest, Json, OutcomeKind, Timestamp, Usage};
use serde_json::json;
use std::sync::Arc;

/// Sixteen at a time, so that slots are neither free nor the only thing that is looked at.
const RULES: Rules = Rules {
    max_parallel: 16,
    limited_by_processors: false,
    undecided: kb::definition::Undecided { inconclusive: None, unchecked: None },
    limits: kb::value::RunLimits { cost: None, max_tokens: None, max_tool_calls: None },
    is_child: false,
};

/// Runs a plan in which every step succeeds at once; the events, and how many inputs it took.
fn simulate(plan: &Plan, output: &Payload) -> (Vec<Masked<Event>>, usize) {
    let mut state = State::new(plan, RULES);
    let mut events = Vec::new();
    let digest = Digest::of("seed");
    let null = || Redactor::default().mask(Json::Null);
    let mut inputs =
        vec![Input::Started { digest, params: null(), environment: null(), presets: Vec::new() }];
    let mut count = 0;
    while let Some(input) = inputs.pop() {
        count += 1;
        let envelope = Envelope { at: Timestamp(count as i64), epoch: 1, input };
        let decision = decide(plan, &mut state, envelope);
        events.extend(decision.events);
        inputs.extend(decision.effects.into_iter().filter_map(|effect| answer(effect, output)));
    }
    assert!(state.status().has_ended(), "the run does not end");
    (events, count)
}

fn answer(effect: Effect, output: &Payload) -> Option<Input> {
    match effect {
        Effect::Execute { instance, attempt, iteration, .. } => {
            let report = AttemptReport {
                outcome: OutcomeKind::Ok,
                output: Some(output.clone()),
                streams: None,
                failure: None,
                retry_after_ms: None,
                usage: Usage::NONE,
                handoff: None,
            };
            let report = Redactor::default().mask(report);
            Some(Input::AttemptEnded { instance, iteration, attempt, report })
        }
        Effect::Conclude { iteration } => {
            let outputs = Ok(Redactor::default().mask(output.clone()));
            Some(Input::Concluded { iteration, outputs })
        }
        _ => None,
    }
}

/// The same as one figure, the best of a few rounds.
pub(crate) fn inputs_per_second(shape: Shape, steps: usize) -> f64 {
    let plan = shape.plan(steps);
    let output = Payload::inline(json!({"v0": 1}));
    let rounds = (0..5).map(|_| {
        let began = std::time::Instant::now();
        let inputs = simulate(&plan, &output).1;
        inputs as f64 / began.elapsed().as_secs_f64()
    });
    rounds.fold(0.0, f64::max)
}

/// Goal: a million inputs a second.
#[divan::bench(args = Shape::ALL, sample_count = 20)]
fn decide_10000_steps(bencher: Bencher, shape: &Shape) {
    let plan = shape.plan(10_000);
    let output = Payload::inline(json!({"v0": 1}));
    let inputs = simulate(&plan, &output).1;
    bencher.counter(ItemsCount::new(inputs)).bench(|| simulate(&plan, &output));
}

/// What a resumed run does before its first new step.
#[divan::bench(args = Shape::ALL, sample_count = 20)]
fn fold_10000_steps(bencher: Bencher, shape: &Shape) {
    let plan: Arc<Plan> = shape.plan(10_000);
    let (events, _) = simulate(&plan, &Payload::inline(json!({"v0": 1})));
    let stored: Vec<StoredEvent> = (1..)
        .zip(events)
        .map(|(seq, event)| StoredEvent {
            seq,
            at: Timestamp(seq as i64),
            epoch: 1,
            event,
            digest: None,
        })
        .collect();
    bencher.counter(ItemsCount::new(stored.len())).bench(|| Folded::of(&plan, RULES, &stored));
}
