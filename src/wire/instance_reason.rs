//! Why a step instance was skipped or blocked, or what it waits for.

use crate::plan::Plan;
use crate::run::{Instance, InstanceIx, Items, State, StepStatus};

/// The reason, for people; `None` for an instance that needs none or has an error.
pub(super) fn reason(plan: &Plan, state: &State, instance: &Instance) -> Option<String> {
    if let Some(run) = instance.kept_from() {
        return Some(format!("kept from run {run}"));
    }
    if let Some((run, _)) = instance.cached_from() {
        return Some(format!("from the cache (run {run})"));
    }
    match instance.status {
        StepStatus::Skipped if instance.is_deselected() => Some("not selected".to_owned()),
        StepStatus::Skipped => Some(skipped(plan, state, instance)),
        StepStatus::Blocked => {
            let causes = named(plan, state, instance, |status| {
                matches!(status, StepStatus::Failed | StepStatus::Blocked | StepStatus::Cancelled)
            });
            (!causes.is_empty()).then(|| causes.join(", "))
        }
        StepStatus::Waiting => Some(match (instance.question(), instance.due()) {
            (Some(question), _) => question.text.clone(),
            (None, Some(due)) => format!("waits until {}", seconds(&due.rfc3339())),
            (None, None) => "waits for an approval".to_owned(),
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

fn skipped(plan: &Plan, state: &State, instance: &Instance) -> String {
    let causes = named(plan, state, instance, |status| status == StepStatus::Skipped);
    let condition = plan.step(instance.step).step.condition.as_ref();
    match (causes.is_empty(), condition) {
        (false, _) => causes.join(", "),
        (true, Some(condition)) => format!("`condition` is false: {}", condition.source()),
        (true, None) => "not needed".to_owned(),
    }
}

/// The dependencies with such a status, each as `NAME was STATUS`.
fn named(
    plan: &Plan,
    state: &State,
    instance: &Instance,
    include: impl Fn(StepStatus) -> bool,
) -> Vec<String> {
    let on = plan.dependencies(instance.step).map(|dependency| dependency.on);
    let status = on.map(|on| (on, state.instance(InstanceIx(on.0)).status));
    let found = status.filter(|(_, status)| include(*status));
    let text = |(on, status): (_, StepStatus)| {
        let verb = if status == StepStatus::Failed { "" } else { "was " };
        format!("`{}` {verb}{}", plan.step(on).step.id, status.as_str())
    };
    found.map(text).collect()
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
