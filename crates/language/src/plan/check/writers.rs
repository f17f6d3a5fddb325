//! Unordered steps that can change the same files.

use crate::plan::{Plan, StepIx};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeSet;

/// One warning per phase for steps that can change files and have no order. `run` steps count only
/// together with a specialist or tool that writes. Steps with `workspace:` are not reported.
pub(super) fn check(plan: &Plan) -> Vec<Diagnostic> {
    [false, true].into_iter().filter_map(|finally| check_phase(plan, finally)).collect()
}

fn check_phase(plan: &Plan, finally: bool) -> Option<Diagnostic> {
    let order: Vec<StepIx> =
        plan.order().iter().copied().filter(|&ix| plan.step(ix).is_finally() == finally).collect();
    let loose: Vec<StepIx> = unordered(plan, &order).into_iter().collect();
    let writer = loose.iter().copied().find(|&ix| is_writer(plan, ix))?;
    Some(warning(plan, writer, &loose))
}

fn is_writer(plan: &Plan, ix: StepIx) -> bool {
    let step = plan.step(ix);
    step.step.details().workspace.is_none() && step.writes()
}

fn is_shell(plan: &Plan, ix: StepIx) -> bool {
    let step = &plan.step(ix).step;
    step.details().workspace.is_none() && step.kind.effects().runs_program
}

/// The writers, and the shells beside them, that have an unordered partner.
///
/// Two neighbours among the writers in topological order are unordered wherever any two writers are,
/// and each stretch between two neighbours is walked once forward and once back, so that the whole
/// costs no more than the graph has steps and edges.
fn unordered(plan: &Plan, order: &[StepIx]) -> BTreeSet<StepIx> {
    let writers: Vec<usize> = (0..order.len()).filter(|&i| is_writer(plan, order[i])).collect();
    let mut loose = BTreeSet::new();
    if writers.is_empty() {
        return loose;
    }
    let mut mark = vec![(0u32, 0u32); plan.steps().len()];
    for stretch in 0..=writers.len() {
        let before = stretch.checked_sub(1).map(|i| writers[i]);
        let after = writers.get(stretch).copied();
        let (from, to) = (before.unwrap_or(0), after.unwrap_or(order.len() - 1));
        let number = stretch as u32 + 1;
        let span = &order[from..=to];
        if let Some(start) = before {
            mark[order[start].at()].0 = number;
            spread_forward(plan, span, number, &mut mark);
        }
        if let Some(end) = after {
            mark[order[end].at()].1 = number;
            spread_back(plan, span, number, &mut mark);
        }
        if let (Some(start), Some(end)) = (before, after)
            && mark[order[end].at()].0 != number
        {
            loose.extend([order[start], order[end]]);
        }
        for &ix in span.iter().filter(|&&ix| is_shell(plan, ix)) {
            let (behind, ahead) = mark[ix.at()];
            if let Some(start) = before.filter(|_| behind != number) {
                loose.extend([ix, order[start]]);
            }
            if let Some(end) = after.filter(|_| ahead != number) {
                loose.extend([ix, order[end]]);
            }
        }
    }
    loose
}

fn spread_forward(plan: &Plan, span: &[StepIx], number: u32, mark: &mut [(u32, u32)]) {
    for &ix in span {
        if plan.dependencies(ix).any(|dependency| mark[dependency.on.at()].0 == number) {
            mark[ix.at()].0 = number;
        }
    }
}

fn spread_back(plan: &Plan, span: &[StepIx], number: u32, mark: &mut [(u32, u32)]) {
    for &ix in span.iter().rev() {
        if plan.dependents(ix).any(|next| mark[next.step.at()].1 == number) {
            mark[ix.at()].1 = number;
        }
    }
}

const SHOWN: usize = 4;

fn warning(plan: &Plan, writer: StepIx, loose: &[StepIx]) -> Diagnostic {
    let id = |ix: StepIx| &plan.step(ix).step.id;
    let names: Vec<String> = loose.iter().take(SHOWN).map(|&ix| format!("`{}`", id(ix))).collect();
    let more = match loose.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message =
        format!("{}{more} may change the same files and nothing orders them", names.join(", "));
    let first = Diagnostic::warning(Code::UNORDERED_WRITERS, plan.step(writer).step.span, message)
        .caption("may write files or run commands")
        .help(
            "order them with `dependsOn`, or say `workspace: exclusive` (one at a time) or \
             `workspace: shared` (side by side)",
        );
    loose
        .iter()
        .filter(|&&ix| ix != writer)
        .take(SHOWN - 1)
        .fold(first, |d, &ix| d.label(plan.step(ix).step.span, "and this one may too"))
}
