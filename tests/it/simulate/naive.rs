//! The expected result of a case, computed from the tables of the language only: without queue, state
//! machine or time.

use super::case::{Case, End, Spec};
use kb::definition::{FailurePolicy, HookEvent, InconclusivePolicy, RecoveryAction, RunIf};
use kb::evidence::Verdict;
use kb::expression::Strength;
use kb::run::{RunStatus, StepStatus};
use kb::value::{OutcomeKind, OutcomeSelector, Tier};
use std::collections::BTreeMap;

/// How a step ended, and whether its failure is tolerated.
pub(super) type Ended = (StepStatus, bool);

/// What the tables need to know of a run beside its case.
pub(super) struct Known<'a> {
    /// Steps that did not go back with the last reset, as they ended before it.
    pub(super) kept: &'a BTreeMap<usize, Ended>,
    /// In which iteration a step is, or an item of it.
    pub(super) iteration: &'a dyn Fn(usize, Option<usize>) -> u32,
    /// Whether a step has started, in its present iteration.
    pub(super) started: &'a dyn Fn(usize) -> bool,
    /// Whether a person refused it, in its present iteration.
    pub(super) refused: &'a dyn Fn(usize, Option<usize>) -> bool,
    /// Whether its first attempt took a stored result.
    pub(super) took: &'a dyn Fn(usize, Option<usize>) -> bool,
    /// Whether it has the result of an earlier run.
    pub(super) had: &'a dyn Fn(usize, Option<usize>) -> bool,
}

/// The end of every step, and of the run.
pub(super) fn expect(case: &Case, known: &Known<'_>) -> (Vec<StepStatus>, RunStatus) {
    let mut ended: Vec<Ended> = Vec::new();
    for (i, spec) in case.steps.iter().enumerate() {
        let end = known.kept.get(&i).copied().unwrap_or_else(|| {
            let joined = joined(case, spec, |on| ended[on]);
            // A step with the result of an earlier run has no events.
            let end = |at| {
                if (known.had)(at, None) {
                    ((StepStatus::Skipped, false), false)
                } else {
                    known_end(case, at, &ended, known)
                }
            };
            let status = if hook_skips(case, spec, |at| Some(end(at))) {
                StepStatus::Skipped
            } else {
                joined.unwrap_or_else(|| alone(case, i, known))
            };
            (status, status == StepStatus::Failed && spec.tolerated)
        });
        ended.push(end);
    }
    let fails = |(spec, end): (&Spec, &Ended)| !spec.finally && *end == (StepStatus::Failed, false);
    let left_out = |(spec, (status, _)): (&Spec, &Ended)| {
        !spec.finally && matches!(status, StepStatus::Blocked | StepStatus::Cancelled)
    };
    let all = || case.steps.iter().zip(&ended);
    let failed = all().any(fails) || all().any(left_out) || !case.concludes;
    let status = if failed { RunStatus::Failed } else { RunStatus::Succeeded };
    (ended.into_iter().map(|(status, _)| status).collect(), status)
}

/// How a step ended, and whether it started before that: one whose list cannot be evaluated has not.
fn known_end(case: &Case, at: usize, ended: &[Ended], known: &Known<'_>) -> (Ended, bool) {
    let spec = &case.steps[at];
    let asks = spec.is_conditional() || spec.for_each.is_some();
    let end = ended[at];
    let started = match end.0 {
        StepStatus::Succeeded | StepStatus::Failed => !asks || spec.evaluates,
        StepStatus::Cancelled => (known.started)(at),
        _ => false,
    };
    (end, started)
}

/// Whether the event of a hook did not happen. `end` tells how a main step ended and whether it had
/// started.
pub(super) fn hook_skips(
    case: &Case,
    spec: &Spec,
    end: impl Fn(usize) -> Option<(Ended, bool)>,
) -> bool {
    let Some((of, on)) = &spec.hook else { return false };
    let position = |id: &String| case.steps.iter().position(|other| other.id == *id);
    let (status, started) = match of.as_ref().and_then(position) {
        Some(at) => match end(at) {
            Some((end, started)) => (end.0, started),
            None => return false,
        },
        None => {
            let main = (0..case.steps.len()).filter(|at| !case.steps[*at].finally);
            let failed = main.filter_map(end).any(|(end, _)| end == (StepStatus::Failed, false));
            (if failed { StepStatus::Failed } else { StepStatus::Succeeded }, true)
        }
    };
    match on {
        HookEvent::Start => !started,
        HookEvent::Success => status != StepStatus::Succeeded,
        HookEvent::Failure => status != StepStatus::Failed,
        HookEvent::Cancel => status != StepStatus::Cancelled || !started,
    }
}

/// How the ends of its dependencies end a step, where they do.
pub(super) fn joined(
    case: &Case,
    spec: &Spec,
    ended: impl Fn(usize) -> Ended,
) -> Option<StepStatus> {
    let (mut s, mut f, mut k, mut x) = (0, 0, 0, 0);
    for (on, how) in &spec.edges {
        let on = case.steps.iter().position(|other| other.id == *on).expect("a step that is there");
        match ended(on) {
            _ if *how == Strength::Watch => {}
            (StepStatus::Skipped, _) if *how == Strength::MaySkip => {}
            (StepStatus::Succeeded, _) | (StepStatus::Failed, true) => s += 1,
            (StepStatus::Failed | StepStatus::Blocked, _) => f += 1,
            (StepStatus::Skipped, _) => k += 1,
            _ => x += 1,
        }
    }
    match spec.run_if {
        _ if spec.edges.is_empty() => None,
        RunIf::AllDone => None,
        RunIf::AnySucceeded => (s == 0).then_some(StepStatus::Skipped),
        RunIf::NoneFailed => (x + f > 0).then_some(StepStatus::Blocked),
        RunIf::AllSucceeded if x > 0 => Some(StepStatus::Cancelled),
        RunIf::AllSucceeded if f > 0 => Some(StepStatus::Blocked),
        RunIf::AllSucceeded => (k > 0).then_some(StepStatus::Skipped),
    }
}

/// How a step ends that its dependencies let run.
fn alone(case: &Case, at: usize, known: &Known<'_>) -> StepStatus {
    let spec = &case.steps[at];
    let asks = spec.is_conditional() || spec.for_each.is_some();
    if asks && !spec.evaluates {
        return StepStatus::Failed;
    }
    if !spec.holds() {
        return StepStatus::Skipped;
    }
    // A question has no attempts: its text is rendered, or not.
    let well = |item: Option<usize>| {
        let iteration = (known.iteration)(at, item);
        (known.had)(at, item)
            || !(known.refused)(at, item)
                && works(case, spec, item.unwrap_or(0), iteration, (known.took)(at, item))
    };
    let merges = spec.can_merge((known.iteration)(at, None));
    let works = match spec.for_each {
        None => well(None) && ((known.had)(at, None) || merges),
        Some(each) => {
            let all = (0..spec.ends.len()).all(|item| well(Some(item)));
            (all || !each.on_error.fails_the_step()) && merges && spec.gathers
        }
    };
    if works { StepStatus::Succeeded } else { StepStatus::Failed }
}

/// Whether every pass of its loop is good enough, up to the one after which `until` is true.
fn works(case: &Case, spec: &Spec, item: usize, iteration: u32, took: bool) -> bool {
    let (max, done_at) = spec.repeat.unwrap_or((1, 1));
    let mut entry = 0;
    (1..=done_at.min(max)).all(|_| match pass(case, spec, item, iteration, entry, took) {
        Some(next) => {
            entry = next;
            true
        }
        None => false,
    }) && done_at <= max
}

/// The number of attempts until one is good enough, counted on from `first`; none where the table of
/// recovery allows no more before that.
fn pass(
    case: &Case,
    spec: &Spec,
    item: usize,
    iteration: u32,
    first: usize,
    took: bool,
) -> Option<usize> {
    let mut rows = rows(case, spec);
    let mut tier = Tier::Medium;
    'attempts: for entry in first.. {
        let end = spec.end(item, iteration, entry);
        let Some(outcome) = failure(case, spec, end) else { return Some(entry + 1) };
        // The step has not done its work yet.
        if took && entry == 0 {
            continue 'attempts;
        }
        if spec.max_attempts.is_some_and(|max| (entry - first) as u32 + 1 >= max) {
            return None;
        }
        for row in rows.iter_mut().filter(|row| row.on.iter().any(|on| on.matches(outcome))) {
            let same = row.before == Some((outcome, end.words));
            let applies = match row.action {
                Action::Fail => return None,
                Action::Again | Action::Ask => true,
                Action::Learn | Action::Switch => !same,
                // No ladder is named, so that it is small, medium, large.
                Action::Larger => tier != Tier::Large,
            };
            if row.left == 0 || !applies {
                continue;
            }
            row.left -= 1;
            row.before = Some((outcome, end.words));
            match row.action {
                Action::Larger => {
                    tier = if tier == Tier::Small { Tier::Medium } else { Tier::Large }
                }
                Action::Switch => tier = Tier::Medium,
                _ => {}
            }
            continue 'attempts;
        }
        return None;
    }
    unreachable!("every table ends")
}

enum Action {
    Again,
    Learn,
    Larger,
    Switch,
    Ask,
    Fail,
}

/// A row of a recovery table, and what is left of it.
struct Left {
    on: Vec<OutcomeSelector>,
    action: Action,
    left: u32,
    before: Option<(OutcomeKind, u8)>,
}

/// The recovery table of a step, as the language reference describes it.
fn rows(case: &Case, spec: &Spec) -> Vec<Left> {
    let row =
        |on: &[OutcomeSelector], action, left| Left { on: on.to_vec(), action, left, before: None };
    let of = OutcomeSelector::Kind;
    let by_default = spec.is_specialist() && spec.recovery.is_none();
    let mut rows = Vec::new();
    match spec.retry {
        Some((max, on)) => rows.push(row(&[on], Action::Again, max)),
        None if by_default => {
            rows.push(row(&[of(OutcomeKind::Transient)], Action::Again, 2));
        }
        None => {}
    }
    for given in spec.recovery.iter().flatten() {
        let action = match given.action {
            RecoveryAction::Retry => Action::Again,
            RecoveryAction::Rework | RecoveryAction::ChangeStrategy => Action::Learn,
            RecoveryAction::EscalateModel => Action::Larger,
            RecoveryAction::SwitchSpecialist(_) => Action::Switch,
            RecoveryAction::AskUser => Action::Ask,
            RecoveryAction::Fail => Action::Fail,
        };
        rows.push(row(&[given.on], action, given.max));
    }
    let refuted = [of(OutcomeKind::GateFailed), of(OutcomeKind::ValidationFailed)];
    let on_failed = spec.gate.and_then(|gate| gate.on_failed);
    let max = spec.gate.map_or(2, |gate| gate.max_reworks);
    match on_failed {
        Some(FailurePolicy::Rework) if spec.is_specialist() => {
            rows.push(row(&refuted, Action::Learn, max));
        }
        None if by_default => rows.push(row(&refuted, Action::Learn, max)),
        Some(FailurePolicy::Rework | FailurePolicy::Retry) => {
            rows.push(row(&refuted, Action::Again, max));
        }
        Some(FailurePolicy::EscalateModel) if spec.is_specialist() => {
            rows.push(row(&refuted, Action::Larger, max));
        }
        Some(FailurePolicy::EscalateModel | FailurePolicy::Warn | FailurePolicy::Fail) | None => {}
    }
    if by_default && spec.retry.is_none() && on_failed.is_none() {
        let lost = [of(OutcomeKind::Stuck), of(OutcomeKind::ToolError)];
        rows.push(row(&lost, Action::Learn, 1));
    }
    if case.on_inconclusive(spec) == InconclusivePolicy::AskUser {
        rows.push(row(&[of(OutcomeKind::GateInconclusive)], Action::Ask, 1000));
        rows.push(row(&[of(OutcomeKind::GateUnchecked)], Action::Ask, 1000));
    }
    rows
}

/// Why an attempt was not good enough.
fn failure(case: &Case, spec: &Spec, end: End) -> Option<OutcomeKind> {
    match end.verdict {
        _ if end.outcome != OutcomeKind::Ok && spec.kind != super::case::Kind::Gate => {
            Some(end.outcome)
        }
        _ if !spec.is_verified() => None,
        verdict if case.lets_pass(spec, verdict) => None,
        Verdict::Failed => Some(OutcomeKind::GateFailed),
        Verdict::Unchecked => Some(OutcomeKind::GateUnchecked),
        _ => Some(OutcomeKind::GateInconclusive),
    }
}

/// The most attempts of one iteration, without those that a person asked for.
pub(super) fn most_attempts(case: &Case, spec: &Spec) -> u32 {
    let rows = rows(case, spec);
    // A person's approvals are counted apart.
    let asks = |row: &&Left| !matches!(row.action, Action::Ask | Action::Fail);
    let more: u32 = rows.iter().filter(asks).map(|row| row.left).sum();
    let (passes, _) = spec.repeat.unwrap_or((1, 1));
    passes * spec.max_attempts.unwrap_or(u32::MAX).min(1 + more)
}
