//! Drawing for the terminal.

use super::label::{items, kind_and_worker};
use crate::definition::{OnError, RunIf};
use crate::expression::Strength;
use crate::plan::{ConfinedAhead, ConfinedStep, ConfinedSteps, Plan, PlanStep, StepIx};
use kb_base::value::one_line;
use std::fmt::Write as _;

/// One line per step, in a possible order of execution. A bracket joins steps that can run at the
/// same time.
pub fn text(plan: &Plan) -> String {
    let playbook = plan.playbook();
    let mut out = heading(plan);
    let widths = Widths::of(plan);
    let confined = plan.confined_steps();
    let mut in_finally = false;
    for level in plan.levels() {
        if !in_finally && level.first().is_some_and(|&ix| plan.step(ix).is_finally()) {
            in_finally = true;
            out.push_str("\nfinally, however the others end\n");
        }
        for (i, &ix) in level.iter().enumerate() {
            let ConfinedSteps { own, children } = &confined[ix.at()];
            let line = line(plan, ix, &widths, own.as_ref());
            let line = format!("{} {line}", bracket(i, level.len()));
            let _ = writeln!(out, "  {}", line.trim_end());
            for child in children {
                let _ = writeln!(out, "      {}  {}", child.path, in_sandbox(child));
            }
        }
    }
    if !playbook.outputs.is_empty() {
        let names: Vec<&str> = playbook.outputs.iter().map(|(name, _)| &**name).collect();
        let _ = writeln!(out, "\noutputs  {}", one_line(&names.join(", "), 200));
    }
    out
}

fn heading(plan: &Plan) -> String {
    let playbook = plan.playbook();
    let count = plan.steps().len();
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let longest = plan.critical_path(|_| 1).len();
    let name = match one_line(&playbook.name, 80) {
        name if name == *playbook.id.as_str() => String::new(),
        name => format!(" · {name}"),
    };
    format!("{}{name} · {steps}, at most {longest} one after the other\n\n", playbook.id)
}

fn bracket(i: usize, of: usize) -> char {
    match (i, of) {
        (_, 1) => '─',
        (0, _) => '┌',
        (i, of) if i + 1 == of => '└',
        _ => '│',
    }
}

/// Column widths. Very long ids do not widen the columns.
struct Widths {
    id: usize,
    kind: usize,
}

impl Widths {
    fn of(plan: &Plan) -> Widths {
        let widest = |width: fn(&PlanStep) -> usize, most| {
            plan.steps().iter().map(width).filter(|&width| width <= most).max().unwrap_or(0)
        };
        Widths {
            id: widest(|step| step.step.id.as_str().len(), 32),
            kind: widest(|step| kind_and_worker(step).chars().count(), 36),
        }
    }
}

fn in_sandbox(step: &ConfinedStep<'_>) -> String {
    format!("sandbox: {}", ConfinedAhead::line(&step.causes).unwrap_or_default())
}

fn line(plan: &Plan, ix: StepIx, widths: &Widths, sandbox: Option<&ConfinedStep<'_>>) -> String {
    let step = plan.step(ix);
    let (id, kind) = (step.step.id.as_str(), kind_and_worker(step));
    let mut line = format!("{id:<0$}  {kind:<1$}", widths.id, widths.kind);
    for note in notes(plan, ix).into_iter().chain(sandbox.map(in_sandbox)) {
        line.push_str("  ");
        line.push_str(&note);
    }
    line
}

fn notes(plan: &Plan, ix: StepIx) -> Vec<String> {
    let step = plan.step(ix);
    let mut notes = Vec::new();
    if plan.dependencies(ix).next().is_some() {
        notes.push(format!("← {}", dependencies(plan, ix)));
    }
    let own = &step.step;
    notes.extend(own.condition.iter().map(|c| format!("if {}", one_line(c.source(), 80))));
    notes.extend(own.for_each.iter().map(|each| format!("for each of {}", items(&each.items))));
    notes.extend(match own.run_if {
        RunIf::AllSucceeded => None,
        RunIf::NoneFailed => Some("runIf noneFailed".to_owned()),
        RunIf::AnySucceeded => Some("runIf anySucceeded".to_owned()),
        RunIf::AllDone => Some("runIf allDone".to_owned()),
    });
    notes.extend(own.details().hook.iter().map(|hook| format!("hook {hook}")));
    notes.extend((own.on_error == OnError::Continue).then(|| "failure tolerated".to_owned()));
    notes.extend(match own.verify().map_or(0, |verify| verify.checks.len()) {
        0 => None,
        1 => Some("1 check".to_owned()),
        n => Some(format!("{n} checks")),
    });
    notes
}

fn dependencies(plan: &Plan, ix: StepIx) -> String {
    const SHOWN: usize = 6;
    let mut names: Vec<String> = plan
        .dependencies(ix)
        .take(SHOWN)
        .map(|dependency| {
            let id = &plan.step(dependency.on).step.id;
            match dependency.strength {
                Strength::Needs => id.to_string(),
                weaker => format!("{id} ({})", weaker.as_str()),
            }
        })
        .collect();
    let more = plan.dependencies(ix).count().saturating_sub(SHOWN);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}
