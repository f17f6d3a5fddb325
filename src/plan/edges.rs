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

/// What one step says about one other.
#[derive(Default)]
struct Mentions {
    depends_on: Option<Span>,
    condition: Option<(Strength, Span)>,
    work: Option<(Strength, Span)>,
}

impl Mentions {
    /// `dependsOn` beats all; a reference in the condition beats those elsewhere (LANGUAGE §3).
    fn strongest(&self) -> Option<(Strength, Span)> {
        let explicit = self.depends_on.map(|span| (Strength::Needs, span));
        explicit.or(self.condition).or(self.work)
    }
}

/// What a step waits for, in plan order, one entry a step. A read in a `finally` step of one of the
/// main steps makes no edge: those have all ended by then.
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

/// Where the edge comes from that makes a step wait for another.
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
    let message = format!("step `{}` waits for `{}`, which runs last of all", step.id, target.id);
    Diagnostic::error(Code::DEPENDS_ON_FINALLY, span, message)
        .caption("a `finally` step")
        .label(target.span, "begins once all of `steps` have ended")
        .help(format!("move `{}` to `steps`, or `{}` to `finally`", target.id, step.id))
}
