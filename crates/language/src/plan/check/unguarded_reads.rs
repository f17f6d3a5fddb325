//! Reads of outputs that may not exist.

use super::subject::Subject;
use crate::definition::{OnError, RunIf};
use crate::expression::Strength;
use crate::plan::reads::{Read, ReadContext};
use crate::plan::{Dependency, Plan, PlanStep, StepIx};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeSet;

/// A read of a step that may be skipped, or whose failure is tolerated, needs a guard: the condition of
/// the reader, `default`, `is defined`, or a join under which the reader runs only if the step ran.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let skips = SkipAnalysis::of(subject.plan);
    let mut problems = Vec::new();
    for (ix, step) in subject.plan.iter() {
        let reads = &subject.reads[ix.at()];
        let asked: BTreeSet<&str> = reads
            .iter()
            .filter(|read| read.context == ReadContext::Condition)
            .map(|read| read.step.as_str())
            .collect();
        let open = reads.iter().filter(|read| {
            read.context != ReadContext::Condition && !asked.contains(read.step.as_str())
        });
        problems.extend(unguarded(subject, &skips, Some((ix, step)), open, reads));
    }
    let outputs = &subject.outputs;
    problems.extend(unguarded(subject, &skips, None, outputs.iter(), outputs));
    problems
}

/// Which steps may be skipped.
struct SkipAnalysis {
    /// For each step, the step whose condition causes the skip.
    skipped_by: Vec<Option<StepIx>>,
}

/// Why an output may not exist.
#[derive(Clone, Copy)]
enum NoOutput {
    Skipped(StepIx),
    Tolerated,
}

impl SkipAnalysis {
    fn of(plan: &Plan) -> SkipAnalysis {
        let mut skipped_by = vec![None; plan.steps().len()];
        for &ix in plan.order() {
            skipped_by[ix.at()] = skipped_by_of(plan, ix, &skipped_by);
        }
        SkipAnalysis { skipped_by }
    }

    /// Why a field of a step may not exist when `reader` runs; without a reader, at the end of the run.
    fn gap(
        &self,
        subject: &Subject<'_>,
        reader: Option<StepIx>,
        target: StepIx,
        field: Option<&str>,
    ) -> Option<NoOutput> {
        let tolerated = subject.plan.step(target).step.on_error == OnError::Continue;
        let implied = || {
            reader.is_some_and(|reader| {
                hook_implies(subject.plan, reader, target) || join_implies(subject, reader, target)
            })
        };
        match (field, self.skipped_by[target.at()]) {
            (
                Some("output" | "byKey" | "handoff" | "stdout" | "stderr" | "exitCode" | "errors"),
                Some(by),
            ) if !implied() => Some(NoOutput::Skipped(by)),
            // A failed process still has an exit code, stdout and stderr.
            (Some("output" | "byKey"), _) if tolerated => Some(NoOutput::Tolerated),
            _ => None,
        }
    }
}

fn skipped_by_of(plan: &Plan, ix: StepIx, known: &[Option<StepIx>]) -> Option<StepIx> {
    let step = plan.step(ix);
    let mut dependencies = plan.dependencies(ix);
    if step.step.condition.is_some() {
        return Some(ix);
    }
    match step.step.run_if {
        RunIf::AllSucceeded => dependencies
            .filter(|dependency| dependency.strength == Strength::Needs)
            .find_map(|dependency| known[dependency.on.at()]),
        RunIf::AnySucceeded => dependencies.next().map(|_| ix),
        RunIf::NoneFailed | RunIf::AllDone => None,
    }
}

/// Whether a join counts the outcome of this dependency.
fn counts(dependency: Dependency) -> bool {
    dependency.strength != Strength::Watch
}

/// Whether `reader` runs only if `target` was not skipped: there is a chain of steps each of which is
/// skipped, blocked or cancelled if the one before it was skipped.
fn join_implies(subject: &Subject<'_>, reader: StepIx, target: StepIx) -> bool {
    subject.walk_back(target, reader, |at, dependency| {
        let step = subject.plan.step(at);
        match step.step.run_if {
            RunIf::AllSucceeded => dependency.strength == Strength::Needs,
            RunIf::AnySucceeded => {
                counts(dependency)
                    && subject.plan.dependencies(at).filter(|d| counts(*d)).count() == 1
            }
            RunIf::NoneFailed | RunIf::AllDone => false,
        }
    })
}

/// Whether `reader` is a hook that runs only after `target` ran.
fn hook_implies(plan: &Plan, reader: StepIx, target: StepIx) -> bool {
    let hook = plan.step(reader).step.details().hook.as_deref();
    hook.and_then(|hook| hook.of.as_ref()).is_some_and(|of| *of == plan.step(target).step.id)
}

fn unguarded<'a>(
    subject: &Subject<'a>,
    skips: &SkipAnalysis,
    reader: Option<(StepIx, &PlanStep)>,
    open: impl Iterator<Item = &'a Read<'a>>,
    all: &[Read<'_>],
) -> Vec<Diagnostic> {
    let mut reported = BTreeSet::new();
    let mut problems = Vec::new();
    for read in open {
        let Some(target) = subject.plan.find(read.step.as_str()) else { continue };
        let ix = reader.map(|(ix, _)| ix);
        let guarded = read.reference.guarded || guarded_beside(read, all);
        if guarded || ix == Some(target) || reported.contains(&target) {
            continue;
        }
        let Some(gap) = skips.gap(subject, ix, target, read.field()) else { continue };
        reported.insert(target);
        problems.push(problem(subject.plan, reader.map(|(_, step)| step), read, target, gap));
    }
    problems
}

/// Whether the same text also asks whether the value is there: `a.output if a.output is defined`.
fn guarded_beside(read: &Read<'_>, all: &[Read<'_>]) -> bool {
    all.iter().any(|other| {
        other.text == read.text
            && other.step == read.step
            && other.reference.guarded
            && read.reference.path().starts_with(&other.reference.path())
    })
}

fn problem(
    plan: &Plan,
    reader: Option<&PlanStep>,
    read: &Read<'_>,
    target: StepIx,
    gap: NoOutput,
) -> Diagnostic {
    let id = &read.step;
    let who = reader.map_or_else(|| "`outputs`".to_owned(), |step| format!("`{}`", step.step.id));
    let path = read.reference.path().join(".");
    // In a template, a `-` would subtract.
    let root = id.as_str().replace('-', "_");
    let (message, caption) = match gap {
        NoOutput::Skipped(_) => (
            format!("{who} reads `{id}.{path}`, but `{id}` may be skipped"),
            format!("nothing is there when `{id}` was skipped"),
        ),
        NoOutput::Tolerated => (
            format!("{who} reads `{id}.{path}`, but `{id}` may fail and be tolerated"),
            format!("nothing is there when `{id}` failed"),
        ),
    };
    let default = format!("`{{{{ {root}.{path} | default('') }}}}`");
    let help = match (reader, gap) {
        (None, _) => format!("write {default}"),
        (Some(_), NoOutput::Skipped(_)) => {
            format!("write {default}, or name `{id}` in the condition of {who}")
        }
        (Some(_), NoOutput::Tolerated) => format!(
            "write {default}, or give {who} the condition `{{{{{root}.status}}}} == 'succeeded'`"
        ),
    };
    let (span, text) = cause(plan, target, gap);
    Diagnostic::error(Code::UNGUARDED_READ, read.reference.span, message)
        .caption(caption)
        .label(span, text)
        .help(help)
}

fn cause(plan: &Plan, target: StepIx, gap: NoOutput) -> (kb_base::diagnostic::Span, String) {
    let NoOutput::Skipped(by) = gap else {
        let text = "`onError: continue` lets the run go on when this fails";
        return (plan.step(target).step.span, text.to_owned());
    };
    let origin = &plan.step(by).step;
    let follows = if by == target {
        String::new()
    } else {
        format!(", and `{}` needs it", plan.step(target).step.id)
    };
    match &origin.condition {
        Some(condition) => {
            (condition.span(), format!("`{}` is skipped where this is false{follows}", origin.id))
        }
        None => (
            origin.span,
            format!("`runIf: anySucceeded` skips `{}` where nothing succeeded{follows}", origin.id),
        ),
    }
}
