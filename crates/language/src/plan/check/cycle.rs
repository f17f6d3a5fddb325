//! The diagnostic of a circular dependency.

use crate::plan::{Plan, StepIx};
use kb_base::diagnostic::{Code, Diagnostic, Span};

/// Reports a cycle as a path with a label at each dependency. Each step waits for the next one. `span`
/// returns the position of a dependency, given the waiting step and the other step.
pub(in crate::plan) fn cycle(
    plan: &Plan,
    cycle: &[StepIx],
    span: impl Fn(StepIx, StepIx) -> Option<Span>,
) -> Diagnostic {
    let id = |ix: StepIx| plan.step(ix).step.id.as_str();
    let closed: Vec<StepIx> = cycle.iter().copied().chain(cycle.first().copied()).collect();
    let path = closed.iter().map(|&ix| id(ix)).collect::<Vec<_>>().join(" → ");
    let mut edges = closed.windows(2).filter_map(|pair| {
        let span = span(pair[0], pair[1])?;
        Some((span, format!("`{}` waits for `{}`", id(pair[0]), id(pair[1]))))
    });
    let (span, caption) = edges.next().unzip();
    let message = match cycle {
        [one] => format!("step `{}` waits for itself: `{path}`", id(*one)),
        _ => format!("circular dependency: steps wait for each other: `{path}`"),
    };
    let problem = Diagnostic::error(Code::CIRCULAR_DEPENDENCY, span, message)
        .caption(caption.unwrap_or_default())
        .help(match cycle {
            [_] => "remove the reference; a gate under `verify` may read the step itself",
            _ => "remove one of these references, or read the earlier result under `verify`, which creates no dependency",
        });
    edges.fold(problem, |problem, (span, text)| problem.label(span, text))
}
