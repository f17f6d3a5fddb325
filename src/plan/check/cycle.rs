use crate::diagnostic::{Code, Diagnostic, Span};
use crate::plan::{Plan, StepIx};

/// A circle as a path, with a label at each of its edges. Each step waits for the next one.
/// `span` says where an edge is written, from who waits for what.
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
        _ => format!("steps wait for each other: `{path}`"),
    };
    let problem = Diagnostic::error(Code::CIRCULAR_DEPENDENCY, span, message)
        .caption(caption.unwrap_or_default())
        .help(match cycle {
            [_] => "take the reference out; a gate under `verify` may read the step itself",
            _ => "take one of these references out, or read the earlier result under `verify`, which orders nothing",
        });
    edges.fold(problem, |problem, (span, text)| problem.label(span, text))
}
