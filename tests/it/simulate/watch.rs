//! What must hold of every history, event by event. It folds the events on its own, so
//! that the state which decides is compared with what is stored.

use super::case::{Case, Kind, Spec};
use super::changes::Changes;
use super::naive::{self, Ended, Known};
use kb::definition::{HookEvent, OnItemError, OnTimeout};
use kb::evidence::{Payload, Record};
use kb::plan::Plan;
use kb::run::*;
use kb::value::{Digest, OutcomeKind, Timestamp, Usage};
use std::collections::{BTreeMap, BTreeSet};

/// What a history must not do, in words.
pub(super) type Fault = String;

macro_rules! hold {
    ($holds:expr, $($words:tt)*) => {
        if !$holds {
            return Err(format!($($words)*));
        }
    };
}
pub(super) use hold;

/// An instance in one of its iterations.
pub(super) type Turned = (InstanceIx, u32);

pub(super) struct Watch {
    pub(super) folded: State,
    pub(super) events: u64,
    epoch: u64,
    starts: BTreeSet<(InstanceIx, u32, u32)>,
    ended: BTreeSet<Turned>,
    /// How many attempts have told how they ended.
    entries: BTreeMap<Turned, usize>,
    approved: BTreeMap<Turned, u32>,
    /// How often the child run of an instance waited.
    child_waits: BTreeMap<Turned, u32>,
    refused: BTreeSet<Turned>,
    due: BTreeMap<InstanceIx, Timestamp>,
    kept: BTreeMap<usize, Ended>,
    /// Instances with the result of an earlier run.
    kept_instances: BTreeSet<Turned>,
    /// Instances whose first attempt took a stored result.
    took: BTreeSet<Turned>,
    /// Whether somebody or the clock cut into this life, so that the tables alone do not tell.
    pub(super) disturbed: bool,
    /// Whether the history was cut in the middle of a decision.
    pub(super) torn: bool,
    /// Whether a main step failed since the last reset.
    failed: bool,
    usage: Usage,
    pub(super) resets: u32,
    /// What people decided about models, by their digest.
    pub(super) models: BTreeMap<Digest, bool>,
    pub(super) changes: Changes,
}

impl Watch {
    pub(super) fn new(plan: &Plan, rules: Rules) -> Watch {
        Watch {
            folded: State::new(plan, rules),
            events: 0,
            epoch: 0,
            starts: BTreeSet::new(),
            ended: BTreeSet::new(),
            entries: BTreeMap::new(),
            approved: BTreeMap::new(),
            child_waits: BTreeMap::new(),
            refused: BTreeSet::new(),
            due: BTreeMap::new(),
            kept: BTreeMap::new(),
            kept_instances: BTreeSet::new(),
            took: BTreeSet::new(),
            models: BTreeMap::new(),
            changes: Changes::default(),
            disturbed: false,
            torn: false,
            failed: false,
            usage: Usage::NONE,
            resets: 0,
        }
    }

    fn turned(&self, ix: InstanceIx) -> Turned {
        (ix, self.folded.instance(ix).iteration)
    }

    fn spec<'a>(&self, case: &'a Case, ix: InstanceIx) -> &'a Spec {
        &case.steps[self.folded.instance(ix).step.at()]
    }

    /// How often the child run of an instance waited in this iteration.
    pub(super) fn child_waits(&self, ix: InstanceIx) -> u32 {
        self.child_waits.get(&self.turned(ix)).copied().unwrap_or(0)
    }

    /// Whether an instance is told to stop: its phase, or a `finally` step by a second cancellation.
    fn stops(&self, case: &Case, ix: InstanceIx) -> bool {
        self.stopping(case, ix) || self.folded.is_cancelled()
    }

    /// How many attempts of this iteration have told how they ended.
    pub(super) fn entries(&self, ix: InstanceIx) -> usize {
        self.entries.get(&self.turned(ix)).copied().unwrap_or(0)
    }

    /// Takes in the next event.
    pub(super) fn see(
        &mut self,
        case: &Case,
        plan: &Plan,
        at: Timestamp,
        epoch: u64,
        event: &Event,
    ) -> Result<(), Fault> {
        let begins = matches!(event, Event::RunStarted { .. });
        hold!(begins == (self.events == 0), "a run begins once: event {}", self.events + 1);
        let over = self.folded.status().has_ended();
        let again = matches!(event, Event::Reset { .. });
        hold!(!over || again, "after the end of the run comes {event:?}");
        self.check(case, plan, at, epoch, event)?;
        self.note(case, event);
        self.folded.apply(plan, at, event);
        self.events += 1;
        self.last_attempt(plan, event)?;
        self.slots(case, plan)
    }

    /// What is known of an instance is what its last attempt said, and nothing of one before; what
    /// all of them took stays on the bill.
    fn last_attempt(&mut self, plan: &Plan, event: &Event) -> Result<(), Fault> {
        let Event::AttemptEnded { instance, output, failure, usage, .. } = event else {
            return Ok(());
        };
        let (name, now) = (self.folded.key(plan, *instance), self.folded.instance(*instance));
        let kept = now.output.as_ref().map(CompactPayload::payload);
        hold!(kept == *output, "{name} handed out {output:?} and has {kept:?}");
        hold!(now.failure() == failure.as_ref(), "{name} has the failure of another attempt");
        hold!(now.verification().is_none(), "{name} has the verdict on another attempt");
        self.usage += *usage;
        hold!(self.folded.usage() == self.usage, "{name} took {usage:?}, which is not on the bill");
        Ok(())
    }

    fn check(
        &self,
        case: &Case,
        plan: &Plan,
        at: Timestamp,
        epoch: u64,
        event: &Event,
    ) -> Result<(), Fault> {
        let status = |ix: InstanceIx| self.folded.instance(ix).status;
        let name = |ix: InstanceIx| self.folded.key(plan, ix).to_string();
        match event {
            Event::RunStarted { .. } => {}
            Event::Merging { instance } => {
                let live = self.folded.instance(*instance);
                let own = self.spec(case, *instance).merges.is_some() && live.item.is_none();
                let busy = matches!(live.status, StepStatus::Verifying | StepStatus::Running);
                hold!(own && busy && !live.is_merging(), "{} merges", name(*instance));
            }
            Event::Merged { instance, .. } => {
                let live = self.folded.instance(*instance);
                hold!(live.is_merging(), "{} was not merging", name(*instance));
            }
            Event::RunResumed { epoch: new, in_flight, .. } => {
                hold!(*new == epoch && epoch > self.epoch, "epoch {new} after {}", self.epoch);
                let live = self.folded.instances().filter(|(_, i)| i.holds_slot());
                let live: Vec<InstanceIx> = live.map(|(ix, _)| ix).collect();
                hold!(live == *in_flight, "in flight: {live:?}, told: {in_flight:?}");
            }
            Event::Evaluated { instance, truth } => {
                let spec = self.spec(case, *instance);
                hold!(*truth == spec.holds(), "{} holds: {truth}", spec.id);
                self.free(case, plan, *instance)?;
            }
            Event::Expanded { instance, first, items, .. } => {
                let (_, iteration) = self.turned(*instance);
                let list = items.as_inline().and_then(|list| list.as_array()).expect("a list");
                let asked = list.iter().all(|item| item.as_u64() == Some(iteration.into()));
                hold!(asked, "{} has the list of another iteration", name(*instance));
                hold!(first.at() == self.folded.instances().count(), "items begin at {first:?}");
                self.free(case, plan, *instance)?;
            }
            Event::Ready { instance } => {
                let found = self.folded.instance(*instance);
                let waited = found.status == StepStatus::Waiting && found.due().is_some()
                    || self.folded.waits_for_child(plan, *instance);
                if !waited {
                    self.free(case, plan, *instance)?;
                }
            }
            Event::Started { instance, attempt } => {
                self.may_start(case, plan, at, *instance, *attempt)?
            }
            Event::Continued { instance, attempt } => {
                let live = self.folded.instance(*instance);
                let fits = live.status == StepStatus::Ready && live.attempt == *attempt;
                hold!(fits, "{} continues and is {}", name(*instance), live.status);
                hold!(!self.stopping(case, *instance), "{} goes on in the end", name(*instance));
            }
            Event::Recorded { instance, attempt, record } => {
                let live = self.folded.instance(*instance);
                let decides =
                    matches!(**record, Record::Approval { .. }) && live.status == StepStatus::Ready;
                hold!(
                    decides || live.holds_slot(),
                    "{} records and is {}",
                    name(*instance),
                    live.status
                );
                hold!(live.attempt == *attempt, "{} records for {attempt}", name(*instance));
            }
            Event::Exchanged { instance, attempt, .. } => {
                let live = self.folded.instance(*instance);
                let fits = live.status == StepStatus::Running && live.attempt == *attempt;
                hold!(fits, "attempt {attempt} of {} spoke late", name(*instance));
            }
            Event::AttemptEnded { instance, attempt, .. } => {
                let live = self.folded.instance(*instance);
                let fits = live.status == StepStatus::Running && live.attempt == *attempt;
                hold!(fits, "attempt {attempt} of {} ended late", name(*instance));
            }
            Event::Judged { instance, attempt, .. } => {
                let live = self.folded.instance(*instance);
                let fits = live.status == StepStatus::Verifying && live.attempt == *attempt;
                hold!(fits, "attempt {attempt} of {} was judged late", name(*instance));
            }
            Event::Recovered { instance, taken, max, due, .. } => {
                hold!(taken <= max, "{} took a row {taken} times of {max}", name(*instance));
                hold!(*due >= at, "{} is due in the past", name(*instance));
                hold!(!self.stopping(case, *instance), "{} goes on in the end", name(*instance));
            }
            Event::Waiting { instance, .. } => {
                let spec = self.spec(case, *instance);
                hold!(
                    !spec.retry_safe || matches!(spec.kind, Kind::Child(_)),
                    "{} waits for nobody",
                    name(*instance)
                );
                hold!(status(*instance) == StepStatus::Running, "{} waits", name(*instance));
            }
            Event::PassEnded { instance, pass, done, due } => {
                let (max, done_at) = self.spec(case, *instance).repeat.expect("a loop");
                let live = self.folded.instance(*instance);
                let counts = live.status == StepStatus::Verifying && live.pass() == *pass;
                hold!(counts, "pass {pass} of {} ends at the wrong time", name(*instance));
                hold!(*done == (*pass >= done_at), "{} is done: {done}", name(*instance));
                let goes_on = !done && *pass < max;
                hold!(due.is_some() == goes_on, "{} after pass {pass}", name(*instance));
                hold!(due.is_none_or(|due| due >= at), "{} is due in the past", name(*instance));
            }
            Event::TimerSet { instance, .. } => {
                let live = status(*instance) == StepStatus::Running;
                let waits = self.spec(case, *instance).kind == Kind::Wait;
                hold!(live && waits, "{} sets a timer", name(*instance));
            }
            Event::Asked { instance, question } => {
                let spec = self.spec(case, *instance);
                let live = status(*instance) == StepStatus::Running && spec.kind.is_waiting();
                let call = question.call.is_some() && status(*instance) == StepStatus::Running;
                let recovers =
                    status(*instance) == StepStatus::Waiting && spec.asks_in_recovery(case);
                hold!(live || call || recovers, "{} asks a person", name(*instance));
            }
            Event::Answered { instance, by, .. } => {
                let asked = self.folded.waits_for_person(plan, *instance);
                hold!(asked, "{} was not asked", name(*instance));
                let due = self.folded.instance(*instance).due();
                let in_time = by != "timeout" || due.is_some_and(|due| due <= at);
                hold!(in_time, "{} is answered by the clock too early", name(*instance));
            }
            Event::Ended { instance, status, tolerated, .. } => {
                self.may_end(case, plan, at, *instance, *status, *tolerated)?
            }
            Event::Kept { instance, .. } | Event::Skipped { instance } => {
                let item = self.folded.instance(*instance).item.is_some();
                // The list of a `forEach` step is kept before its result is.
                let listed = self.folded.instance(*instance).items().is_some();
                let untouched = matches!(status(*instance), StepStatus::Pending)
                    || listed && status(*instance) == StepStatus::Running
                    || item && status(*instance) == StepStatus::Ready;
                hold!(untouched, "{} is kept and was {}", name(*instance), status(*instance));
                hold!(self.starts.is_empty(), "{} is kept after a start", name(*instance));
            }
            Event::PlanRevised { .. } => hold!(self.starts.is_empty(), "revised after a start"),
            Event::Reset { roots, closure, .. } => self.may_reset(case, roots, closure)?,
            Event::SentBack { instance, to, closure, taken, max, .. } => {
                let spec = self.spec(case, *instance);
                let back = case.sends_back(spec);
                let right = back == Some((&*self.spec(case, *to).id, *max)) && taken <= max;
                hold!(right, "{} sends back to {}", name(*instance), name(*to));
                let waits = status(*instance) == StepStatus::Waiting;
                let ended = |ix: &InstanceIx| ix == instance || status(*ix).has_ended();
                hold!(waits && closure.iter().all(ended), "{} sends live work back", spec.id);
                hold!(closure.contains(to) && closure.contains(instance), "not all goes back");
            }
            Event::CancelRequested { .. } => {
                hold!(!self.folded.is_cancelled(), "cancelled twice");
            }
            Event::TimedOut { .. } => hold!(!self.folded.has_expired(), "out of time twice"),
            Event::Draining { .. } => hold!(!self.folded.is_draining(), "drains twice"),
            Event::RunEnded { status, outputs, .. } => {
                self.may_conclude(case, plan, *status, outputs)?
            }
        }
        Ok(())
    }

    fn note(&mut self, case: &Case, event: &Event) {
        match event {
            Event::RunResumed { epoch, in_flight, .. } => {
                self.epoch = *epoch;
                for ix in in_flight {
                    // It may take it again, or do its work.
                    if self.folded.instance(*ix).status == StepStatus::Running {
                        self.took.remove(&self.turned(*ix));
                    }
                }
            }
            Event::Recorded { instance, record, .. } => match &**record {
                Record::CacheHit(_) => drop(self.took.insert(self.turned(*instance))),
                Record::Approval { call, approved, .. } if call.is_about_model() => {
                    self.models.insert(call.args_hash, *approved);
                }
                _ => {}
            },
            Event::Started { instance, attempt } => {
                let (ix, iteration) = self.turned(*instance);
                self.starts.insert((ix, iteration, *attempt));
                self.due.remove(instance);
            }
            Event::Waiting { instance, .. } => {
                if matches!(self.spec(case, *instance).kind, Kind::Child(_)) {
                    *self.child_waits.entry(self.turned(*instance)).or_default() += 1;
                }
            }
            Event::AttemptEnded { instance, outcome, .. } => {
                let turned = self.turned(*instance);
                *self.entries.entry(turned).or_default() += 1;
                if *outcome == OutcomeKind::Ok {
                    self.changes.made(turned);
                }
            }
            Event::Merged { trees, .. } => self.changes.merged(trees),
            Event::Judged { instance, .. } if self.spec(case, *instance).kind == Kind::Gate => {
                *self.entries.entry(self.turned(*instance)).or_default() += 1;
            }
            Event::Recovered { instance, due, .. }
            | Event::PassEnded { instance, due: Some(due), .. } => {
                self.due.insert(*instance, *due);
            }
            // A decision about a tool call ends nothing.
            Event::Answered { instance, .. }
                if self.folded.instance(*instance).question().is_some_and(|q| q.call.is_some()) => {
            }
            Event::Answered { instance, approved: true, .. } => {
                *self.approved.entry(self.turned(*instance)).or_default() += 1;
                // A question ends its step; another approval lets an attempt start.
                // The attempt that was lost counts, and the tables know nothing of it.
                self.disturbed |= self.spec(case, *instance).max_attempts.is_some()
                    && !self.spec(case, *instance).retry_safe;
            }
            Event::Answered { instance, .. } => drop(self.refused.insert(self.turned(*instance))),
            Event::Ended { instance, status, tolerated, .. } => {
                self.ended.insert(self.turned(*instance));
                // Who is not answered in time fails; `may_end` holds it to the time.
                let waited = self.folded.instance(*instance).status == StepStatus::Waiting;
                if waited && *status == StepStatus::Failed {
                    self.refused.insert(self.turned(*instance));
                }
                let step = instance.at() < case.steps.len() && !self.spec(case, *instance).finally;
                self.failed |= step && *status == StepStatus::Failed && !tolerated;
            }
            Event::Kept { instance, kept } => {
                let turned = self.turned(*instance);
                self.ended.insert(turned);
                self.kept_instances.insert(turned);
                if instance.at() < case.steps.len() {
                    self.kept.insert(instance.at(), (kept.status, false));
                }
            }
            Event::Skipped { instance } => {
                self.ended.insert(self.turned(*instance));
                self.kept.insert(instance.at(), (StepStatus::Skipped, false));
            }
            Event::SentBack { closure, .. } => {
                self.kept.retain(|at, _| !closure.contains(&InstanceIx(*at as u32)));
                self.due.retain(|ix, _| !closure.contains(ix));
            }
            Event::CancelRequested { .. } | Event::TimedOut { .. } => self.disturbed = true,
            Event::Reset { closure, .. } => {
                let steps = self.folded.instances().take(case.steps.len());
                let stays = steps.filter(|(ix, _)| !closure.contains(ix));
                self.kept = stays.map(|(ix, i)| (ix.at(), (i.status, i.tolerated))).collect();
                self.disturbed = false;
                self.failed = false;
                self.resets += 1;
                self.models.retain(|_, permitted| *permitted);
                self.due.retain(|ix, _| !closure.contains(ix));
            }
            _ => {}
        }
    }

    /// Whether nothing of that instance's phase may begin any more.
    fn stopping(&self, case: &Case, ix: InstanceIx) -> bool {
        let cut = self.folded.is_cancelled() || self.folded.has_expired();
        let failed = case.fail_fast && self.failed;
        !self.spec(case, ix).finally && (cut || failed)
    }

    /// Everything that an instance waits for has ended.
    fn free(&self, case: &Case, plan: &Plan, ix: InstanceIx) -> Result<(), Fault> {
        let instance = self.folded.instance(ix);
        let step = instance.item.as_ref().map_or(ix, |item| item.parent);
        let name = self.folded.key(plan, ix);
        let pending = instance.status == StepStatus::Pending;
        let queued = instance.status == StepStatus::Ready;
        hold!(pending || queued, "{name} is {} and was asked to begin", instance.status);
        for dependency in plan.dependencies(instance.step) {
            let on = self.folded.instance(InstanceIx(dependency.on.0));
            let id = &plan.step(dependency.on).step.id;
            hold!(on.status.has_ended(), "{name} begins while {id} is {}", on.status);
        }
        let own = &case.steps[instance.step.at()];
        if let Some((Some(of), HookEvent::Start)) = &own.hook {
            let of = case.steps.iter().position(|spec| spec.id == *of).expect("a step");
            let of = self.folded.instance(InstanceIx(of as u32));
            hold!(of.started_at().is_some(), "{name} begins before its step");
        }
        if own.finally && !own.is_early() {
            let open = |(i, spec): (usize, &Spec)| {
                !spec.finally && !self.folded.instance(InstanceIx(i as u32)).status.has_ended()
            };
            let early = case.steps.iter().enumerate().any(open);
            hold!(!early, "{name} begins before the main steps have ended");
        }
        if step != ix {
            let parent = self.folded.instance(step).status;
            hold!(parent == StepStatus::Running, "{name} begins while its step is {parent}");
        }
        Ok(())
    }

    fn may_start(
        &self,
        case: &Case,
        plan: &Plan,
        at: Timestamp,
        ix: InstanceIx,
        attempt: u32,
    ) -> Result<(), Fault> {
        let name = self.folded.key(plan, ix);
        let instance = self.folded.instance(ix);
        // The child run that a stopped step waits for is cancelled by an attempt of its own.
        let cancels = self.folded.waits_for_child(plan, ix) && self.stops(case, ix);
        let ready = instance.status == StepStatus::Ready || cancels;
        hold!(ready, "{name} starts and is {}", instance.status);
        if !cancels {
            self.free(case, plan, ix)?;
        }
        let before = instance.attempt;
        hold!(attempt == before + 1, "{name} starts attempt {attempt} after {before}");
        let (_, iteration) = self.turned(ix);
        let new = !self.starts.contains(&(ix, iteration, attempt));
        hold!(new, "{name} starts attempt {attempt} of iteration {iteration} twice");
        hold!(!self.ended.contains(&(ix, iteration)), "{name} starts after its end");
        hold!(cancels || !self.stopping(case, ix), "{name} starts although the run is to end");
        hold!(cancels || !self.folded.is_draining(), "{name} starts while the owner leaves");
        let wanted = |of: &Instance| plan.step(of.step).locks();
        let locks = wanted(instance);
        let waits = plan.step(instance.step).step.kind.is_waiting();
        // Attempts that cancel child runs share locks, and others wait for all of them.
        let taken = |(_, i): (_, &Instance)| {
            let waits = plan.step(i.step).step.kind.is_waiting();
            i.holds_slot() && !waits && wanted(i).iter().any(|lock| locks.contains(lock))
        };
        let taken = !cancels && !waits && self.folded.instances().any(taken);
        hold!(!taken, "{name} starts while another holds a lock of it");
        let due = self.due.get(&ix).copied().unwrap_or_default();
        hold!(at >= due, "{name} starts before its time");
        let spec = self.spec(case, ix);
        let approved = self.approved.get(&(ix, iteration)).copied().unwrap_or(0);
        let took = u32::from(self.took.contains(&(ix, iteration)));
        let most = naive::most_attempts(case, spec) + approved + self.child_waits(ix) + took;
        hold!(attempt <= most, "{name} starts attempt {attempt} of {most}");
        if let (Some(item), Some(each)) = (&instance.item, spec.for_each) {
            let items = self.folded.instance(item.parent).items().expect("expanded").all();
            let failed =
                items.clone().any(|ix| self.folded.instance(ix).status == StepStatus::Failed);
            let stops = each.on_error == OnItemError::Fail;
            hold!(!stops || !failed, "{name} starts although another item failed");
            let live = |s: StepStatus| !s.has_ended() && s != StepStatus::Pending;
            let live = items.filter(|ix| live(self.folded.instance(*ix).status)).count();
            let most = each.max_parallel.unwrap_or(u32::MAX);
            hold!(live as u32 <= most, "{live} items of {name} are under way, {most} may");
        }
        Ok(())
    }

    fn may_end(
        &self,
        case: &Case,
        plan: &Plan,
        at: Timestamp,
        ix: InstanceIx,
        status: StepStatus,
        tolerated: bool,
    ) -> Result<(), Fault> {
        let (name, instance) = (self.folded.key(plan, ix), self.folded.instance(ix));
        hold!(!instance.status.has_ended(), "{name} ended as {} and again", instance.status);
        hold!(!self.ended.contains(&self.turned(ix)), "{name} ends twice");
        let spec = self.spec(case, ix);
        let joined = || {
            naive::joined(case, spec, |on| {
                let on = self.folded.instance(InstanceIx(on as u32));
                (on.status, on.tolerated)
            })
        };
        let tolerates = match (&instance.item, spec.for_each) {
            (Some(_), Some(each)) => each.on_error == OnItemError::Continue,
            _ => spec.tolerated,
        };
        let right = tolerated == (status == StepStatus::Failed && tolerates);
        hold!(right, "{name} ended as {status}, tolerated: {tolerated}");
        match status {
            StepStatus::Succeeded => self.was_good(case, plan, at, ix),
            StepStatus::Failed => {
                let unanswered = spec.kind == Kind::Approve(Some(OnTimeout::Fail))
                    && instance.due().is_some_and(|due| due <= at);
                let refused = self.refused.contains(&self.turned(ix));
                let waited = instance.status == StepStatus::Waiting && spec.kind.is_waiting();
                hold!(!waited || refused || unanswered, "{name} fails while it waits");
                Ok(())
            }
            StepStatus::Skipped | StepStatus::Blocked => {
                let untouched = instance.attempt == 0 && instance.item.is_none();
                hold!(untouched, "{name} ended as {status} after an attempt");
                let own = status == StepStatus::Skipped && !spec.holds() && joined().is_none();
                let own = own || status == StepStatus::Skipped && self.hook_skips(case, spec);
                hold!(own || joined() == Some(status), "{name} ended as {status}, by no rule");
                Ok(())
            }
            StepStatus::Cancelled => {
                let told = self.stopping(case, ix) || self.folded.is_cancelled();
                let items = || instance.items().map(Items::all).into_iter().flatten();
                let brother = instance.item.as_ref().is_some_and(|item| {
                    let all = self.folded.instance(item.parent).items().expect("expanded");
                    let failed = |ix| self.folded.instance(ix).status == StepStatus::Failed;
                    all.all().any(failed)
                });
                let item =
                    items().any(|ix| self.folded.instance(ix).status == StepStatus::Cancelled);
                let own = instance.outcome == Some(OutcomeKind::Cancelled);
                let join = instance.item.is_none() && joined() == Some(status);
                hold!(told || brother || item || own || join, "{name} was cancelled by nobody");
                Ok(())
            }
            other => Err(format!("{name} ended as {other}")),
        }
    }

    /// Whether the event of a hook did not happen.
    fn hook_skips(&self, case: &Case, spec: &Spec) -> bool {
        let cancelled = self.folded.is_cancelled();
        if let Some((None, on)) = &spec.hook
            && (cancelled || self.folded.has_expired())
        {
            let due = if cancelled { HookEvent::Cancel } else { HookEvent::Failure };
            return *on != HookEvent::Start && *on != due;
        }
        naive::hook_skips(case, spec, |at| {
            let found = self.folded.instance(InstanceIx(at as u32));
            // A step with the result of an earlier run has no events.
            if self.kept_instances.contains(&self.turned(InstanceIx(at as u32))) {
                return Some(((StepStatus::Skipped, false), false));
            }
            Some(((found.status, found.tolerated), found.started_at().is_some()))
        })
    }

    /// Nothing counts as done until its gate has seen it.
    fn was_good(
        &self,
        case: &Case,
        plan: &Plan,
        at: Timestamp,
        ix: InstanceIx,
    ) -> Result<(), Fault> {
        let (name, instance) = (self.folded.key(plan, ix), self.folded.instance(ix));
        let spec = self.spec(case, ix);
        if let Some(items) = instance.items() {
            let ended = |ix: InstanceIx| self.folded.instance(ix).status.has_ended();
            hold!(items.all().all(ended), "{name} succeeded before its items ended");
            return Ok(());
        }
        if spec.is_verified() {
            let verdict = instance.verification().map(|found| found.verdict);
            let passes = verdict.is_some_and(|verdict| case.lets_pass(spec, verdict));
            hold!(passes, "{name} succeeded with the verdict {verdict:?}");
        }
        if spec.kind == Kind::Wait {
            let over = instance.due().is_some_and(|due| due <= at);
            hold!(over, "{name} succeeded before its time");
        } else if spec.kind.is_waiting() {
            let approved = self.approved.get(&self.turned(ix)).copied().unwrap_or(0);
            // A history that was cut between an answer and the end of its step has two answers.
            let once = approved == 1 || ((self.disturbed || self.torn) && approved > 1);
            hold!(once, "{name} succeeded after {approved} approvals");
        } else if spec.kind != Kind::Gate {
            let well = instance.outcome == Some(OutcomeKind::Ok);
            hold!(well, "{name} succeeded after {:?}", instance.outcome);
        }
        Ok(())
    }

    fn may_reset(
        &self,
        case: &Case,
        roots: &[InstanceIx],
        closure: &[InstanceIx],
    ) -> Result<(), Fault> {
        hold!(self.folded.status().has_ended(), "a reset of a run that has not ended");
        let back: BTreeSet<usize> = closure.iter().map(|ix| ix.at()).collect();
        let mut wanted: BTreeSet<usize> = roots.iter().map(|ix| ix.at()).collect();
        for (i, spec) in case.steps.iter().enumerate() {
            let follows = spec.edges.iter().any(|(on, _)| {
                wanted.iter().any(|at| case.steps.get(*at).is_some_and(|step| step.id == *on))
            });
            let of = spec.hook.as_ref().and_then(|(of, _)| of.as_ref());
            let of = of.and_then(|of| case.steps.iter().position(|spec| spec.id == *of));
            if follows || spec.finally && of.is_none_or(|of| wanted.contains(&of)) {
                wanted.insert(i);
            }
        }
        let steps: BTreeSet<usize> = back.range(..case.steps.len()).copied().collect();
        let mut alone: BTreeSet<usize> = roots.iter().map(|ix| ix.at()).collect();
        let hooks = case.steps.iter().enumerate().filter(|(_, spec)| {
            let of = spec.hook.as_ref().and_then(|(of, _)| of.as_ref());
            let is_root = |ix: &InstanceIx| case.steps.get(ix.at()).map(|step| &step.id) == of;
            of.is_some() && roots.iter().any(is_root)
        });
        let hooks: Vec<usize> = hooks.map(|(at, _)| at).collect();
        alone.extend(hooks);
        hold!(
            steps == wanted || steps == alone,
            "a reset of {roots:?} brings {steps:?} back, not {wanted:?}"
        );
        for ix in closure {
            let instance = self.folded.instance(*ix);
            let kept = instance.item.is_some() && instance.status == StepStatus::Succeeded;
            hold!(!kept, "an item that succeeded goes back");
        }
        Ok(())
    }

    fn may_conclude(
        &self,
        case: &Case,
        plan: &Plan,
        status: RunStatus,
        outputs: &Payload,
    ) -> Result<(), Fault> {
        for (ix, instance) in self.folded.instances() {
            let name = self.folded.key(plan, ix);
            hold!(instance.status.has_ended(), "the run ended while {name} is {}", instance.status);
        }
        // A history that was cut between a failed merge and the end of its step tells nothing of the failure.
        if !self.torn {
            self.changes.are_kept(plan, &self.folded, &self.kept_instances)?;
        }
        if let Some(resets) = outputs.as_inline().and_then(|told| told.as_u64()) {
            hold!(resets == u64::from(self.resets), "the outputs are those of another iteration");
        }
        let failed = self.folded.has_failed() || self.folded.has_expired() || !case.concludes;
        // After a retry of one step alone, steps that it had blocked have not run.
        let left_out = |(spec, (_, instance)): (&Spec, (_, &Instance))| {
            !spec.finally && matches!(instance.status, StepStatus::Blocked | StepStatus::Cancelled)
        };
        let failed = failed || case.steps.iter().zip(self.folded.instances()).any(left_out);
        let due = if self.folded.is_cancelled() {
            RunStatus::Cancelled
        } else if failed {
            RunStatus::Failed
        } else {
            RunStatus::Succeeded
        };
        hold!(status == due, "the run ended as {status}, not {due}");
        if self.disturbed || (case.fail_fast && self.failed) {
            return Ok(());
        }
        let item = |step: usize, item: Option<usize>| {
            let own = InstanceIx(step as u32);
            let items = self.folded.instance(own).items();
            let found = item.zip(items).and_then(|(at, items)| items.all().nth(at));
            self.turned(found.unwrap_or(own))
        };
        let known = Known {
            kept: &self.kept,
            iteration: &|step, at| item(step, at).1,
            started: &|step| self.folded.instance(InstanceIx(step as u32)).started_at().is_some(),
            refused: &|step, at| self.refused.contains(&item(step, at)),
            took: &|step, at| self.took.contains(&item(step, at)),
            had: &|step, at| self.kept_instances.contains(&item(step, at)),
        };
        let (expected, end) = naive::expect(case, &known);
        hold!(status == end, "the run ended as {status}; by the tables as {end}");
        for (spec, ((_, found), expected)) in
            case.steps.iter().zip(self.folded.instances().zip(expected))
        {
            let (id, found) = (&spec.id, found.status);
            hold!(found == expected, "{id} ended as {found}; by the tables as {expected}");
        }
        Ok(())
    }

    fn slots(&self, case: &Case, plan: &Plan) -> Result<(), Fault> {
        let stopped = self.folded.is_cancelled()
            || self.folded.has_expired()
            || (case.fail_fast && self.failed);
        // Attempts that cancel child runs need no free slot and no lock.
        let cancels =
            |i: &Instance| stopped && matches!(case.steps[i.step.at()].kind, Kind::Child(_));
        let mut owners = 0;
        let (mut locks, mut held) = (0, BTreeSet::new());
        for (_, instance) in self.folded.instances().filter(|(_, i)| i.holds_slot()) {
            owners += 1;
            let cancels = cancels(instance);
            locks += u32::from(plan.step(instance.step).locks_workspace() && !cancels);
            if !plan.step(instance.step).step.kind.is_waiting() {
                for lock in case.steps[instance.step.at()].locks.iter().filter(|_| !cancels) {
                    hold!(held.insert(lock), "two hold the lock {lock}");
                }
            }
        }
        let counted = self.folded.running();
        hold!(owners == counted, "{owners} hold a slot, {counted} are counted");
        let working = |i: &Instance| {
            i.holds_slot() && !plan.step(i.step).step.kind.is_waiting() && !cancels(i)
        };
        let own_limit = |i: &Instance| {
            let each = case.steps[i.step.at()].for_each.filter(|_| i.item.is_some());
            each.is_some_and(|each| each.max_parallel.is_some())
                && !plan.step(i.step).has_locks()
                && case.limited_by_processors
        };
        let working = |i: &Instance| working(i) && !own_limit(i);
        let working = self.folded.instances().filter(|(_, i)| working(i)).count() as u32;
        hold!(working <= case.max_parallel, "{working} run, {} may", case.max_parallel);
        hold!(locks <= 1, "{locks} hold the workspace");
        Ok(())
    }
}
