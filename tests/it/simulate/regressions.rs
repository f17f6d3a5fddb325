//! Cases that failed before, as the reducer printed them.

use super::case::{Case, End, Kind, Loop, Spec, Turn};
use super::coverage::Coverage;
use super::simulation::simulate;
use kb::definition::{HookEvent, InconclusivePolicy, OnItemError};
use kb::evidence::Verdict;
use kb::expression::Strength;
use kb::value::{OutcomeKind, OutcomeSelector};

const FAILS: End =
    End { outcome: OutcomeKind::Exit(1), verdict: Verdict::Passed, words: 0, retry_after_ms: None };

fn check(max_parallel: u32, fail_fast: bool, steps: Vec<Spec>, turns: &[Turn]) {
    let inconclusive = InconclusivePolicy::Warn;
    let turns = turns.to_vec();
    let limited_by_processors = false;
    let case = Case {
        steps,
        max_parallel,
        limited_by_processors,
        fail_fast,
        inconclusive,
        concludes: true,
        turns,
    };
    if let Err(fault) = simulate(&case, &mut Coverage::default()) {
        panic!("{fault}\n{}", super::shrink::show(&case));
    }
}

fn run(id: &str) -> Spec {
    Spec { kind: Kind::Run, ..Spec::new(id) }
}

fn needs(on: &str, spec: Spec) -> Spec {
    Spec { edges: vec![(on.to_owned(), Strength::Needs)], ..spec }
}

fn each(tolerates: bool, ends: Vec<Vec<End>>, spec: Spec) -> Spec {
    let on_error = if tolerates { OnItemError::Continue } else { OnItemError::Fail };
    Spec { for_each: Some(Loop { max_parallel: None, on_error }), ends, ..spec }
}

const NEXT: Turn = Turn::Answer(0);

#[test]
fn a_retry_that_finds_the_run_not_ended_goes_on_with_it() {
    check(1, false, vec![run("s0")], &[Turn::Retry(None)]);
    check(1, false, vec![run("s0")], &[Turn::Retry(Some(0)), NEXT, Turn::Retry(Some(0))]);
}

#[test]
fn an_evaluation_that_comes_before_its_time_starts_nothing() {
    let asks = |spec: Spec| Spec { condition: Some(true), ..spec };
    let steps = vec![run("s0"), needs("s0", asks(run("s1")))];
    // Both answers are lost with their owner, and the later one comes once more.
    let turns = [Turn::Together(9), NEXT, NEXT, Turn::Crash, Turn::Repeat(1)];
    check(1, false, steps, &turns);
}

#[test]
fn an_answer_to_an_earlier_iteration_is_no_answer_to_this_one() {
    let fails = Spec { ends: vec![vec![FAILS]], heals: true, ..run("s0") };
    // The first failure comes once more when the second iteration has begun.
    let turns = [NEXT, NEXT, Turn::Retry(None), Turn::Repeat(0)];
    check(1, false, vec![fails], &turns);
    let turns = [NEXT, NEXT, Turn::Retry(Some(0)), NEXT, Turn::Repeat(1)];
    check(1, false, vec![run("s0")], &turns);
    // The list of before comes when that of now is asked for.
    let turns = [NEXT, NEXT, NEXT, NEXT, Turn::Retry(Some(0)), Turn::Repeat(0)];
    check(1, false, vec![each(true, vec![Vec::new()], run("s0"))], &turns);
}

#[test]
fn an_item_is_not_tried_again_once_another_has_failed_their_step() {
    let ends = vec![vec![FAILS], vec![End { outcome: OutcomeKind::Stuck, ..FAILS }]];
    let retry = Some((2, OutcomeSelector::AnyExit));
    let steps = vec![each(false, ends, Spec { retry, ..run("s0") })];
    // The second item fails for good, then the first fails in a way that could be tried again.
    check(2, false, steps, &[NEXT, Turn::Answer(1)]);
}

#[test]
fn what_failed_before_a_retry_and_stays_does_not_cut_the_retry_short() {
    let fails = Spec { ends: vec![vec![FAILS]], ..run("s1") };
    let steps = vec![run("s0"), fails];
    check(1, true, steps.clone(), &[NEXT, NEXT, NEXT, Turn::Retry(Some(0))]);
    let steps = vec![each(true, vec![Vec::new()], run("s0")), steps[1].clone()];
    check(1, true, steps, &[NEXT, NEXT, NEXT, Turn::Retry(Some(0))]);
}

#[test]
fn items_of_a_finally_step_wait_for_what_goes_back_with_them() {
    let finally = |spec: Spec| Spec { finally: true, ..spec };
    let failing = each(true, vec![vec![FAILS]], run("f1"));
    let steps = vec![run("s0"), finally(run("f0")), finally(needs("f0", failing))];
    check(1, false, steps, &[NEXT, NEXT, NEXT, NEXT, NEXT, NEXT, Turn::Retry(Some(2))]);
}

#[test]
fn a_wait_until_a_moment_that_has_passed_is_over_at_once() {
    for kind in [Kind::Wait, Kind::Ask { times_out: true }] {
        let waits = |id: &str| Spec { kind, ..Spec::new(id) };
        // The moment of the first step is lost in a crash, and is told again when that of the second one,
        // which is later, has come.
        let (second, lost) = (Turn::Answer(1), Turn::Repeat(0));
        let turns = [Turn::Together(1), NEXT, Turn::Crash, second, second, lost];
        check(2, false, vec![waits("s0"), waits("s1")], &turns);
    }
}

#[test]
fn attempts_that_cancel_child_runs_share_their_locks() {
    let child = Spec { kind: Kind::Child(2), exclusive: true, ..Spec::new("s3") };
    let steps = vec![each(true, vec![Vec::new(), Vec::new()], child)];
    check(1, false, steps.clone(), &[NEXT, NEXT, Turn::Expire]);
    check(1, false, steps, &[NEXT, NEXT, Turn::Cancel]);
    // A hook waits for all of them, also for the one that was late.
    let child = Spec { kind: Kind::Child(2), exclusive: true, ..Spec::new("s0") };
    let hook = Some((Some("s1".to_owned()), HookEvent::Cancel));
    let hook = Spec { exclusive: true, finally: true, hook, ..run("f0") };
    let steps = vec![child, Spec { exclusive: true, ..run("s1") }, hook];
    check(3, false, steps, &[NEXT, Turn::Expire, NEXT]);
}

#[test]
fn a_verdict_that_comes_twice_counts_once() {
    let ends = vec![vec![End::WELL, End { verdict: Verdict::Failed, ..End::WELL }]];
    let gate = Spec { kind: Kind::Gate, repeat: Some((2, 2)), ends, ..Spec::new("s0") };
    // The verdict comes again while the loop condition is evaluated.
    check(1, false, vec![gate], &[NEXT, Turn::Repeat(0)]);
    let own = Spec { kind: Kind::Gate, merges: Some(true), ..Spec::new("s0") };
    check(1, false, vec![own], &[NEXT, Turn::Repeat(0)]);
}
