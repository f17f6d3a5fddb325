//! Why a step instance was skipped or blocked, or what it waits for.

use crate::run::{Instance, InstanceIx, Items, State, StepStatus};
use kb_language::plan::{Plan, StepIx};

/// The human-readable reason; `None` for an instance that needs none or has an error.
pub(super) fn reason(plan: &Plan, state: &State, instance: &Instance) -> Option<String> {
    if let Some(run) = instance.kept_from() {
        return Some(format!("kept from run {run}"));
    }
    if let Some(run) = instance.verified_from() {
        let again = if instance.verification().is_some() { ", verified again" } else { "" };
        return Some(format!("kept from run {run}{again}"));
    }
    if let Some((run, _)) = instance.cached_from() {
        return Some(format!("from the cache (run {run})"));
    }
    if instance.is_merging() && !instance.status.has_ended() {
        return Some("merging its changes into the project".to_owned());
    }
    match instance.status {
        StepStatus::Skipped if instance.is_deselected() => Some("not selected".to_owned()),
        StepStatus::Skipped | StepStatus::Blocked => {
            let status_of = |on: StepIx| state.instance(InstanceIx(on.0)).status;
            let why = not_run(plan, instance.step, instance.status, status_of);
            let is_skipped = instance.status == StepStatus::Skipped;
            why.or_else(|| is_skipped.then(|| "not needed".to_owned()))
        }
        StepStatus::Waiting => Some(match (instance.question(), instance.due()) {
            (Some(question), _) => question.text.clone(),
            (None, Some(due)) => format!("waits until {}", seconds(&due.rfc3339())),
            (None, None) => match instance.failure().filter(|_| instance.needs_budget()) {
                Some(failure) => failure.message.clone(),
                None => "waits for an approval".to_owned(),
            },
        }),
        StepStatus::Failed | StepStatus::Cancelled => {
            instance.items().map(|items| item_counts(state, items))
        }
        StepStatus::Pending
        | StepStatus::Ready
        | StepStatus::Running
        | StepStatus::Verifying
        | StepStatus::Succeeded => None,
    }
}

/// Why an instance was skipped or blocked: its dependencies with such a status, each as `NAME was STATUS`, or
/// the condition of its step.
pub(super) fn not_run(
    plan: &Plan,
    step: StepIx,
    status: StepStatus,
    status_of: impl Fn(StepIx) -> StepStatus,
) -> Option<String> {
    let causes: &[StepStatus] = match status {
        StepStatus::Skipped => &[StepStatus::Skipped],
        StepStatus::Blocked => &[StepStatus::Failed, StepStatus::Blocked, StepStatus::Cancelled],
        StepStatus::Pending
        | StepStatus::Ready
        | StepStatus::Running
        | StepStatus::Verifying
        | StepStatus::Waiting
        | StepStatus::Succeeded
        | StepStatus::Failed
        | StepStatus::Cancelled => return None,
    };
    let on = plan.dependencies(step).map(|dependency| (dependency.on, status_of(dependency.on)));
    let text = |(on, status): (_, StepStatus)| {
        let verb = if status == StepStatus::Failed { "" } else { "was " };
        format!("`{}` {verb}{}", plan.step(on).step.id, status.as_str())
    };
    let found: Vec<String> = on.filter(|(_, status)| causes.contains(status)).map(text).collect();
    let condition = plan.step(step).step.condition.as_ref();
    match (found.is_empty(), condition.filter(|_| status == StepStatus::Skipped)) {
        (false, _) => Some(found.join(", ")),
        (true, Some(condition)) => Some(format!("`condition` is false: {}", condition.source())),
        (true, None) => None,
    }
}

/// The number of items by status, such as `4 items failed, 16 cancelled`.
fn item_counts(state: &State, items: &Items) -> String {
    let count = |wanted| items.all().filter(|ix| state.instance(*ix).status == wanted).count();
    let order =
        [StepStatus::Failed, StepStatus::Blocked, StepStatus::Cancelled, StepStatus::Succeeded];
    let counts: Vec<(usize, &str)> = order
        .map(|status| (count(status), status.as_str()))
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .collect();
    let text = |(at, (n, status)): (usize, &(usize, &str))| match (at, n) {
        (0, 1) => format!("1 item {status}"),
        (0, n) => format!("{n} items {status}"),
        (_, n) => format!("{n} {status}"),
    };
    counts.iter().enumerate().map(text).collect::<Vec<_>>().join(", ")
}

/// A time in RFC 3339 without its milliseconds.
fn seconds(time: &str) -> String {
    time.get(..19).map_or(time.to_owned(), |seconds| format!("{seconds}Z"))
}
