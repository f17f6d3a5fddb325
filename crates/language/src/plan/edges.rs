//! Dependencies of a step, from `dependsOn` and from references.

use super::Dependency;
use super::StepIx;
use super::index::StepIndex;
use super::reads::{Read, ReadContext};
use crate::definition::{HookEvent, Step, StepPhase};
use crate::expression::Strength;
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::StepId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How one step refers to another.
#[derive(Default)]
struct Mentions {
    depends_on: Option<Span>,
    condition: Option<(Strength, Span)>,
    work: Option<(Strength, Span)>,
    hook: Option<Span>,
}

impl Mentions {
    /// `dependsOn` first, then references in the condition, then references in the work.
    fn strongest(&self) -> Option<(Strength, Span)> {
        let of_hook = self.hook.map(|span| (Strength::Watch, span));
        let explicit = self.depends_on.map(|span| (Strength::Needs, span));
        of_hook.or(explicit).or(self.condition).or(self.work)
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
            (StepPhase::Finally, StepPhase::Main) if !is_early(step) => {}
            _ => dependencies.push(Dependency { on, strength }),
        }
    }
    dependencies
}

/// Whether a step belongs to a hook that can run before the main steps have ended.
fn is_early(step: &Step) -> bool {
    step.details().hook.as_ref().is_some_and(|hook| hook.is_early())
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
    let hook = step.details().hook.as_deref();
    let own = hook.and_then(|hook| Some((hook, find(hook.of.as_ref()?)?)));
    if let Some((_, on)) = own.filter(|(hook, _)| hook.on != HookEvent::Start) {
        // The event of the hook decides whether it runs, so the join has nothing to add.
        let mentions = mentions.entry(on).or_default();
        mentions.hook = Some(step.span);
    }
    for read in reads {
        let starts_with = own
            .is_some_and(|(hook, on)| hook.on == HookEvent::Start && find(read.step) == Some(on));
        if starts_with {
            continue;
        }
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
        ReadContext::Verify | ReadContext::Until | ReadContext::Collect => return,
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
