//! The line about a revised plan.

use super::table::plain;
use kb_base::value::one_line;
use kb_core::wire::PlanRevisionView;

/// `plan revised (1, 80 %): … +new -old`
pub(in crate::cli) fn plan_revised(revision: &PlanRevisionView) -> String {
    let marked = |mark: char, steps: &[String]| -> String {
        steps.iter().map(|step| format!(" {mark}{}", plain(step))).collect()
    };
    let takes = revision.takes.as_ref();
    let takes = takes.map(|own| format!(" ({} for {})", plain(&own.action), plain(&own.step)));
    format!(
        "plan revised ({}, {:.0} %): {}{};{}{} after run {}",
        revision.number,
        revision.confidence * 100.0,
        plain(&one_line(&revision.reason, 200)),
        takes.unwrap_or_default(),
        marked('+', &revision.added),
        marked('-', &revision.removed),
        revision.run
    )
}
