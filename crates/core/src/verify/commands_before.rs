//! The commands that the checks of a step need to have executed before it.

use super::check::Criterion;
use kb_language::definition::Check;
use kb_language::expression::Scope;
use std::time::Duration;

/// The commands of checks that compare with the time before the step, each with its time limit. A
/// command that reads the output of the step itself cannot run before it; its check is then
/// inconclusive.
pub fn commands_before(
    checks: &[Check],
    scope: &dyn Scope,
) -> Vec<(Vec<String>, Option<Duration>)> {
    let command = |check: &Check| {
        let Check::Command(declared) = check else { return None };
        declared.compares_with_before()?;
        let Criterion::Command(command) = Criterion::resolve(check, scope) else { return None };
        Some((command.argv, command.timeout))
    };
    checks.iter().filter_map(command).collect()
}
