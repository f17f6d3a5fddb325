//! [`Phase`]: the phases of a specialist with `agentLoop`.

use serde::{Deserialize, Serialize};

/// A phase of an attempt of a specialist with `agentLoop`, in the order in which they follow each other.
/// `Execute` and `Critique` alternate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The model states the task and its requirements.
    Understand,
    /// The model lists the steps of a complex task.
    Plan,
    /// The model calls tools and submits an output.
    Execute,
    /// The model reviews its output.
    Critique,
    /// The output is the result.
    Finish,
}

impl Phase {
    /// The name of the phase.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Understand => "understand",
            Phase::Plan => "plan",
            Phase::Execute => "execute",
            Phase::Critique => "critique",
            Phase::Finish => "finish",
        }
    }

    /// An estimate of how much of the work is done when the phase begins, in percent. It never falls: each further round
    /// begins where the review before it began.
    pub fn percent_done(self, round: u32) -> u8 {
        let reviewed = |round: u32| 100 - (30u8 >> round.saturating_sub(1).min(7));
        match self {
            Phase::Understand => 0,
            Phase::Plan => 10,
            Phase::Execute if round < 2 => 20,
            Phase::Execute => reviewed(round - 1),
            Phase::Critique => reviewed(round),
            Phase::Finish => 100,
        }
    }

    /// The same estimate before a tool call, by the share of the permitted calls that were made before. Without phases the
    /// calls are all that is known.
    pub fn percent_before_call(within: Option<(Phase, u32)>, made: u32, limit: u32) -> u8 {
        let (start, end) = match within {
            Some((phase, round)) => {
                (phase.percent_done(round), Phase::Critique.percent_done(round))
            }
            None => (0, 100),
        };
        let span = u64::from(end.saturating_sub(start));
        let share = u64::from(made.min(limit)) * span / u64::from(limit.max(1));
        start + u8::try_from(share).unwrap_or_default()
    }

    /// The phase that usually follows; `None` after the last.
    pub fn next(self) -> Option<Phase> {
        match self {
            Phase::Understand | Phase::Plan => Some(Phase::Execute),
            Phase::Execute => Some(Phase::Critique),
            Phase::Critique => Some(Phase::Finish),
            Phase::Finish => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn calls_count_between_two_phases() {
        let first = |made| Phase::percent_before_call(Some((Phase::Execute, 1)), made, 10);
        let second = |made| Phase::percent_before_call(Some((Phase::Execute, 2)), made, 10);
        let alone = |made| Phase::percent_before_call(None, made, 10);
        assert_eq!([0, 5, 10, 99].map(first), [20, 45, 70, 70]);
        assert_eq!([5, 10].map(second), [77, 85]);
        assert_eq!([0, 3, 9].map(alone), [0, 30, 90]);
        assert_eq!(Phase::percent_before_call(None, 0, 0), 0);
    }

    #[test]
    fn the_estimate_grows_with_phases_and_rounds_and_ends_at_100() {
        let rounds = (1..20).flat_map(|round| [(Phase::Execute, round), (Phase::Critique, round)]);
        let all = [(Phase::Understand, 1), (Phase::Plan, 1)].into_iter().chain(rounds);
        let percents: Vec<u8> = all
            .chain([(Phase::Finish, 19)])
            .map(|(phase, round)| phase.percent_done(round))
            .collect();
        assert!(percents.is_sorted(), "{percents:?}");
        assert_eq!(percents[..6], [0, 10, 20, 70, 70, 85]);
        assert_eq!(percents.last(), Some(&100));
    }
}
