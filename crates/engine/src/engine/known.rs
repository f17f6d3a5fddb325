//! [`Known`]: who could write to the files of a run, and which of its values are foreign.

use kb_attempt::{Live, ParentFacts};
use kb_base::value::Timestamp;
use kb_core::evidence::Purpose;
use kb_core::run::{Event, InstanceIx, State};
use kb_language::definition::{AuthorSandbox, NetworkAccess, StepKind};
use kb_language::plan::{Confined, Facts, Plan, StepIx, Touched};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who could write to the files of a run, and which of its values are foreign, at the last event.
#[derive(Debug, Default)]
pub struct Known {
    facts: Facts,
    /// What the run knows that executes this one as a child run.
    parent: Option<Live<ParentFacts>>,
    /// The number of the last event of a step that could write: who was shown the changes up to it has seen all.
    last_write: u64,
    /// Number and time of the event in which each question was opened.
    asked: BTreeMap<InstanceIx, (u64, Timestamp)>,
    /// Whether a command in the sandbox could write what no difference shows, after a step of this run or of its parent
    /// could write.
    unshown: bool,
    /// When the question was opened by whose answer a person released the files.
    released: Option<Timestamp>,
    /// The steps that have started and not ended, and that may change files.
    executing: BTreeSet<InstanceIx>,
    /// How often the work of each instance ended or was interrupted.
    ended: BTreeMap<InstanceIx, u32>,
    /// Who could write.
    writers: LastTwo,
    /// Who may have changed files since a step could write.
    changers: LastTwo,
}

/// One stretch of work of an instance; `None` is an earlier run.
type Worker = Option<(InstanceIx, u32)>;

/// The last signs of two different workers.
#[derive(Debug, Default)]
struct LastTwo {
    last: Option<(Worker, Timestamp)>,
    other: Option<(Worker, Timestamp)>,
}

impl LastTwo {
    fn note(&mut self, worker: Worker, at: Timestamp) {
        if self.last.is_some_and(|(last, _)| last != worker) {
            self.other = self.last;
        }
        self.last = Some((worker, at));
    }

    /// The last sign of another worker.
    fn besides(&self, worker: Worker) -> Option<Timestamp> {
        let seen = self.last.filter(|(last, _)| *last != worker).or(self.other);
        seen.map(|(_, at)| at)
    }
}

impl Known {
    pub(super) fn since(facts: Facts, parent: Option<Live<ParentFacts>>) -> Known {
        let mut known = Known { facts, parent, ..Known::default() };
        if known.facts.touched.is_some() {
            known.writers.note(None, Timestamp(i64::MIN));
        }
        known
    }

    /// The step that could write to the files.
    fn touched(&self) -> Option<Touched> {
        let touched = self.facts.touched.clone().or_else(|| self.touched_above());
        touched.map(|touched| self.with_unshown(touched))
    }

    fn with_unshown(&self, touched: Touched) -> Touched {
        Touched { unshown: touched.unshown || self.unshown, ..touched }
    }

    /// The step of the parent that could write, since a person has read the changes.
    fn touched_above(&self) -> Option<Touched> {
        let above = self.parent.as_ref()?.now();
        let is_released = self.released.is_some_and(|asked| above.changed <= asked);
        above.touched.filter(|touched| touched.unshown || !is_released)
    }

    /// Everything that is known.
    pub fn facts(&self) -> Facts {
        Facts { touched: self.touched(), ..self.facts.clone() }
    }

    /// Asks about everything that is known. It is not copied: it grows with the steps of the run, and each command asks.
    fn ask<T>(&mut self, about: impl FnOnce(&Facts) -> T) -> T {
        let touched = self.touched();
        let own = std::mem::replace(&mut self.facts.touched, touched);
        let answer = about(&self.facts);
        self.facts.touched = own;
        answer
    }

    /// The step that could write before the present work of an instance, or beside it.
    fn touched_besides(&self, instance: InstanceIx) -> Option<Touched> {
        let by_other = self.writers.besides(self.worker(instance)).is_some();
        let own = self.facts.touched.as_ref().filter(|_| by_other).cloned();
        own.or_else(|| self.touched_above()).map(|touched| self.with_unshown(touched))
    }

    /// What the child run of an instance has to know of the files of this run. What a step did that is a child run, the
    /// child run knows; one that delegates has child runs besides.
    fn for_child(&self, plan: &Plan, step: StepIx, instance: InstanceIx) -> ParentFacts {
        let is_trusted = plan.sandbox_of(plan.step(step)).when == AuthorSandbox::Never;
        let delegates = plan.step(step).child().is_none();
        let touched = if delegates { self.touched() } else { self.touched_besides(instance) };
        let touched = touched.or_else(|| plan.writer_beside(step, &self.facts).map(Touched::by));
        let above = self.parent.as_ref().map(Live::now);
        let changed = self.changers.besides(self.worker(instance));
        let changed = changed.into_iter().chain(above.as_ref().map(|above| above.changed)).max();
        let beside = self.executing.iter().any(|other| *other != instance);
        ParentFacts {
            touched: touched.filter(|_| !is_trusted),
            changed: changed.unwrap_or(Timestamp(i64::MIN)),
            is_changing: beside || above.is_some_and(|above| above.is_changing),
        }
    }

    /// Whether no step of the parent changed files after a question was opened.
    fn is_quiet_above(&self, question: InstanceIx) -> bool {
        let Some(above) = self.parent.as_ref().map(Live::now) else { return true };
        let asked = self.asked.get(&question);
        !above.is_changing && asked.is_some_and(|(_, at)| above.changed <= *at)
    }

    /// Adds an event of the run, which its state has already.
    pub(super) fn note(&mut self, plan: &Plan, state: &State, at: (u64, Timestamp), event: &Event) {
        match event {
            Event::Started { instance, .. } => {
                self.begin(plan, state, *instance);
                self.wrote(plan, state, at, *instance, None);
            }
            Event::Continued { instance, .. } => {
                self.interrupt(plan, state, *instance);
                self.begin(plan, state, *instance);
                self.wrote(plan, state, at, *instance, None);
            }
            // A step whose changes are in the journal of another run, or outside of the project.
            Event::Kept { instance, .. } | Event::Merged { instance, .. } => {
                self.wrote(plan, state, at, *instance, None);
            }
            Event::Recorded { instance, record, .. } => {
                let executed =
                    record.calls().iter().filter(|call| call.purpose == Purpose::Execution);
                let mut changes = executed.flat_map(|call| &call.changes);
                if let Some(change) = changes.find(|change| !change.same_content) {
                    self.wrote(plan, state, at, *instance, Some(change.path.clone()));
                }
            }
            Event::AttemptEnded { instance, .. } => {
                self.wrote(plan, state, at, *instance, None);
                *self.ended.entry(*instance).or_default() += 1;
            }
            Event::Judged { instance, .. } => self.changed(plan, state, at, *instance),
            Event::Ended { instance, .. } => {
                let executed = self.executing.remove(instance);
                if executed {
                    self.changed(plan, state, at, *instance);
                }
            }
            Event::RunResumed { in_flight, .. } => {
                in_flight.iter().for_each(|instance| self.interrupt(plan, state, *instance));
            }
            Event::Asked { instance, .. } => {
                self.asked.insert(*instance, at);
            }
            Event::Answered { instance, approved: true, seen: Some(seen), .. } => {
                self.answered(plan, state, at.0, (*instance, *seen));
            }
            _ => {}
        }
        self.note_output(plan, state, event);
    }

    fn begin(&mut self, plan: &Plan, state: &State, instance: InstanceIx) {
        if may_change_files(plan, state, instance) {
            self.executing.insert(instance);
        }
    }

    /// A person approved, and was shown all changes up to the event `seen`.
    fn answered(&mut self, plan: &Plan, state: &State, seq: u64, (at, seen): (InstanceIx, u64)) {
        let Some((asked, time)) = self.asked.get(&at).copied() else { return };
        let step = &plan.step(state.instance(at).step).step;
        let shown = asked.max(self.last_write) <= seen && seen < seq;
        // What executes now may change files after the person read them.
        let shown = shown && !self.touched().is_some_and(|touched| touched.unshown);
        if matches!(step.kind, StepKind::Approve(_)) && shown && self.executing.is_empty() {
            self.facts.touched = None;
            (self.writers, self.changers) = Default::default();
            self.released = Some(time);
        }
    }

    /// What an instance did before the interruption is the work of another. A child run knows what it did itself.
    fn interrupt(&mut self, plan: &Plan, state: &State, instance: InstanceIx) {
        if plan.step(state.instance(instance).step).child().is_none() {
            *self.ended.entry(instance).or_default() += 1;
        }
    }

    fn worker(&self, instance: InstanceIx) -> Worker {
        Some((instance, self.ended.get(&instance).copied().unwrap_or_default()))
    }

    /// Keeps that a step could write, and the file that it is known to have changed.
    fn wrote(
        &mut self,
        plan: &Plan,
        state: &State,
        (seq, at): (u64, Timestamp),
        instance: InstanceIx,
        path: Option<String>,
    ) {
        if let Some(network) = self.network_of_writer(plan, state, instance, path.is_some()) {
            let id = &plan.step(state.instance(instance).step).step.id;
            let first = || Touched { network, ..Touched::by(id.clone()) };
            let touched = self.facts.touched.get_or_insert_with(first);
            if touched.path.is_none() && touched.is_own(id) {
                touched.path = path;
            }
            touched.network = touched.network.wider(network);
            self.last_write = seq;
            let worker = self.worker(instance);
            self.writers.note(worker, at);
            self.changers.note(worker, at);
        }
        self.changed(plan, state, (seq, at), instance);
    }

    /// A command in the sandbox may execute what a specialist wrote.
    fn changed(
        &mut self,
        plan: &Plan,
        state: &State,
        (seq, at): (u64, Timestamp),
        instance: InstanceIx,
    ) {
        let is_touched = self.facts.touched.is_some() || self.touched_above().is_some();
        if is_touched && may_change_files(plan, state, instance) {
            self.last_write = seq;
            self.unshown |= plan.writes_unshown(plan.step(state.instance(instance).step));
            self.changers.note(self.worker(instance), at);
        }
    }

    /// The network of a step whose work does not come from the author; `None` for every other one.
    fn network_of_writer(
        &self,
        plan: &Plan,
        state: &State,
        instance: InstanceIx,
        has_changed: bool,
    ) -> Option<NetworkAccess> {
        let planned = plan.step(state.instance(instance).step);
        match state.specialist(plan, instance) {
            Some(specialist) if has_changed || specialist.leaves_files() => {
                Some(specialist.network)
            }
            // The record of a child run does not say which of its steps changed a file.
            None if planned.has_writing_specialist() => Some(NetworkAccess::default()),
            // What a foreign value makes a command do is not the work of the author.
            Some(_) | None if self.facts.may_execute_values(plan, planned) => {
                Some(NetworkAccess::default())
            }
            Some(_) | None => None,
        }
    }

    /// Keeps that the output of a step is foreign, by what is known at its start and at its end.
    fn note_output(&mut self, plan: &Plan, state: &State, event: &Event) {
        let (Event::Started { instance, .. }
        | Event::Continued { instance, .. }
        | Event::Kept { instance, .. }
        | Event::Evaluated { instance, .. }
        | Event::AttemptEnded { instance, .. }
        | Event::Ended { instance, .. }) = event
        else {
            return;
        };
        let planned = plan.step(state.instance(*instance).step);
        let own = std::mem::take(&mut self.facts.touched);
        self.facts.touched = own.clone().or_else(|| self.touched_above());
        self.facts.note_output(plan, planned);
        self.facts.touched = own;
    }
}

/// What is known of a run, shared between its dispatcher and the processes that start.
#[derive(Debug, Default)]
pub struct LiveKnown(Arc<Mutex<Known>>);

impl LiveKnown {
    pub(super) fn of(known: Known) -> LiveKnown {
        LiveKnown(Arc::new(Mutex::new(known)))
    }

    pub(super) fn get(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that is known at this moment.
    pub fn facts(&self) -> Facts {
        self.get().facts()
    }

    fn live<T>(&self, ask: impl Fn(&Known) -> T + Send + Sync + 'static) -> Live<T> {
        let known = LiveKnown(self.0.clone());
        Live::of(move || ask(&known.get()))
    }

    /// Why a command of a step runs in the sandbox.
    pub(super) fn confined(&self, plan: &Arc<Plan>, step: StepIx) -> Live<Option<Confined>> {
        let (plan, known) = (plan.clone(), LiveKnown(self.0.clone()));
        Live::of(move || known.ask(|facts| facts.confined(&plan, plan.step(step))))
    }

    /// Asks about everything that is known at this moment.
    pub(super) fn ask<T>(&self, about: impl FnOnce(&Facts) -> T) -> T {
        self.get().ask(about)
    }

    /// The step that could write so far.
    pub(super) fn touched_now(&self) -> Live<Option<Touched>> {
        self.live(Known::touched)
    }

    /// The step that could write before the present work of an instance, or beside it.
    pub(super) fn touched_besides(&self, instance: InstanceIx) -> Live<Option<Touched>> {
        self.live(move |known| known.touched_besides(instance))
    }

    /// What the child run of an instance has to know of the files of this run.
    pub fn for_child(
        &self,
        plan: &Arc<Plan>,
        step: StepIx,
        instance: InstanceIx,
    ) -> Live<ParentFacts> {
        let plan = plan.clone();
        self.live(move |known| known.for_child(&plan, step, instance))
    }

    /// Whether no step of the parent changed files after these questions were opened.
    pub(super) fn is_quiet_above(&self, questions: impl Iterator<Item = InstanceIx>) -> bool {
        let known = self.get();
        questions.into_iter().all(|question| known.is_quiet_above(question))
    }
}

/// Whether a step can change files: by a specialist, a command, a tool or a child run.
fn may_change_files(plan: &Plan, state: &State, instance: InstanceIx) -> bool {
    let planned = plan.step(state.instance(instance).step);
    let leaves_files = planned.writes() || planned.has_writing_specialist();
    leaves_files || planned.step.starts_commands() || planned.child().is_some()
}
