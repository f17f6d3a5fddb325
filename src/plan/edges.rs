//! Dependencies of a step, from `dependsOn` and from references.

use super::Dependency;
use super::StepIx;
use super::index::StepIndex;
use super::reads::{Read, ReadContext};
use crate::definition::{Step, StepPhase};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::expression::Strength;
use crate::value::StepId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How one step refers to another.
#[derive(Default)]
struct Mentions {
    depends_on: Option<Span>,
    condition: Option<(Strength, Span)>,
    work: Option<(Strength, Span)>,
}

impl Mentions {
    /// `dependsOn` first, then references in the condition, then references in the work.
    fn strongest(&self) -> Option<(Strength, Span)> {
        let explicit = self.depends_on.map(|span| (Strength::Needs, span));
        explicit.or(self.condition).or(self.work)
    }
}

/// The dependencies of a step in plan order, at most one per other step. A reference from a `finally`
/// step to a main step creates no dependency: all main steps have ended by then.
pub(super) fn of_step(
    step: &Step,
    reads: &[Read<'_>],
    steps: &[&Arc<Step>],
    index: &StepIndex,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Dependency> {
    let find = |id: &StepId| index.find(id.as_str(), |ix| steps[ix.at()].id.as_str());
    let mentions = mentions(step, reads, &find);
    let mut dependencies = Vec::with_capacity(mentions.len());
    for (on, found) in mentions {
        let Some((strength, span)) = found.strongest() else { continue };
        let target = steps[on.at()];
        match (step.phase, target.phase) {
            (StepPhase::Main, StepPhase::Finally) => problems.push(runs_later(step, target, span)),
            (StepPhase::Finally, StepPhase::Main) => {}
            _ => dependencies.push(Dependency { on, strength }),
        }
    }
    dependencies
}

/// The position of the text that creates a dependency.
pub(super) fn span(
    step: &Step,
    reads: &[Read<'_>],
    find: &dyn Fn(&StepId) -> Option<StepIx>,
    on: StepIx,
) -> Option<Span> {
    mentions(step, reads, find).get(&on)?.strongest().map(|(_, span)| span)
}

fn mentions(
    step: &Step,
    reads: &[Read<'_>],
    find: &dyn Fn(&StepId) -> Option<StepIx>,
) -> BTreeMap<StepIx, Mentions> {
    let mut mentions: BTreeMap<StepIx, Mentions> = BTreeMap::new();
    for (id, span) in &step.depends_on {
        if let Some(on) = find(id) {
            mentions.entry(on).or_default().depends_on.get_or_insert(*span);
        }
    }
    for read in reads {
        if let Some(on) = find(read.step) {
            mention(mentions.entry(on).or_default(), read);
        }
    }
    mentions
}

fn mention(mentions: &mut Mentions, read: &Read<'_>) {
    let own = read.reference.strength();
    let (slot, strength) = match read.context {
        ReadContext::Condition => (&mut mentions.condition, own.min(Strength::MaySkip)),
        ReadContext::Work => (&mut mentions.work, own),
        ReadContext::Verify => return,
    };
    if slot.is_none_or(|(known, _)| known < strength) {
        *slot = Some((strength, read.reference.span));
    }
}

fn runs_later(step: &Step, target: &Step, span: Span) -> Diagnostic {
    let message =
        format!("step `{}` waits for `{}`, which is a `finally` step", step.id, target.id);
    Diagnostic::error(Code::DEPENDS_ON_FINALLY, span, message)
        .caption("a `finally` step")
        .label(target.span, "starts after all of `steps` have ended")
        .help(format!("move `{}` to `steps`, or `{}` to `finally`", target.id, step.id))
}
