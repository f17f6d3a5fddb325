//! Which inputs, events, effects and turns have been seen. The lists and the matches come from one
//! place, so that a new variant does not compile until it stands here, and fails until it is made.

use super::case::Turn;
use kb::run::{Effect, Event, Input};
use std::collections::BTreeMap;

macro_rules! variants {
    ($list:ident, $name:ident, $kind:ident: $($variant:ident)*) => {
        const $list: &[&str] = &[$(concat!(stringify!($kind), "::", stringify!($variant))),*];

        fn $name(value: &$kind) -> &'static str {
            match value {
                $($kind::$variant { .. } => {
                    concat!(stringify!($kind), "::", stringify!($variant))
                })*
            }
        }
    };
}

variants!(INPUTS, input, Input: Started Recovered Evaluated Recorded Exchanged AttemptEnded Judged TimerDue
    Merged Gathered Answered ReplyRefused WaitOpened ChildWaits ChildMoved UntilEvaluated CancelRequested Expired Drain Reset Concluded);
variants!(EVENTS, event, Event: RunStarted RunResumed Evaluated Expanded Ready Started Continued Recorded Exchanged
    AttemptEnded Judged Recovered Waiting Answered TimerSet Asked PassEnded Ended Reset SentBack CancelRequested TimedOut Draining
    RunEnded Kept Skipped Merging Merged PlanRevised);
variants!(EFFECTS, effect, Effect: Evaluate EvaluateUntil Execute Verify Timer Merge Gather Cancel Conclude Leave);
variants!(TURNS, turn, Turn: Answer Together Repeat Alarm Record Ask Crash PowerCut Cancel Expire Drain
    Person Child Retry RetryAlone);

/// Which steps took stored results.
const HITS: [&str; 3] = ["a hit", "a hit with a gate", "a hit of a specialist"];

/// How often each was seen.
#[derive(Default)]
pub(super) struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    fn count(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    pub(super) fn input(&mut self, of: &Input) {
        self.count(input(of));
    }

    pub(super) fn event(&mut self, of: &Event) {
        self.count(event(of));
    }

    pub(super) fn effect(&mut self, of: &Effect) {
        self.count(effect(of));
    }

    pub(super) fn turn(&mut self, of: &Turn) {
        self.count(turn(of));
    }

    /// A specialist has a gate of its own.
    pub(super) fn hit(&mut self, specialist: bool, gate: bool) {
        self.count(HITS[usize::from(specialist) + usize::from(gate)]);
    }

    /// What was never seen.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let all = [INPUTS, EVENTS, EFFECTS, TURNS, &HITS].concat();
        all.into_iter().filter(|name| !self.0.contains_key(name)).collect()
    }

    pub(super) fn add(&mut self, other: Coverage) {
        other.0.into_iter().for_each(|(name, count)| *self.0.entry(name).or_default() += count);
    }
}
