//! Executes a case without clock, disk or model. Effects wait in a list, and the case decides which one
//! is answered next.

use super::case::{Case, End, Kind, PresetSpec, Spec, Turn, WAIT};
use super::coverage::Coverage;
use super::watch::{Fault, Watch, hold};
use super::words;
use crate::journals::{masked_event, masked_json, masked_text, wait};
use kb::diagnostic::Code;
use kb::evidence::{
    CacheHit, CallRef, CheckDetail, Confidence, Exchange, Note, Payload, Record, Verdict,
    Verification,
};
use kb::journal::memory::MemoryJournal;
use kb::journal::{
    Batch, Durability, EventLog as _, JournalError, Leases as _, NewRun, RunIndex as _, StoredEvent,
};
use kb::plan::{Plan, StepIx};
use kb::redaction::{Mask, Masked, Redactor};
use kb::run::*;
use kb::value::*;
use std::collections::BTreeSet;

/// More inputs than any case needs: a run that takes more never ends.
const PATIENCE: usize = 20_000;

/// What came of a case.
pub(super) struct History {
    pub(super) events: Vec<StoredEvent>,
    pub(super) inputs: usize,
    pub(super) crashes: u32,
}

/// An effect that was performed and has no answer yet.
struct Open {
    effect: Effect,
    /// Whether it was told to stop.
    told: bool,
}

pub(super) struct Simulation<'a> {
    pub(super) case: &'a Case,
    pub(super) plan: Plan,
    pub(super) state: State,
    pub(super) watch: Watch,
    /// What it keeps of an earlier run, instead of what the case says.
    pub(super) kept: Option<Vec<Preset>>,
    /// The instances whose changes an earlier run merged.
    pub(super) merged_before: BTreeSet<String>,
    journal: MemoryJournal,
    run: RunId,
    epoch: u64,
    seq: u64,
    /// Where an append ends after which nothing durable is lost by a power cut.
    durable: u64,
    appends: Vec<u64>,
    now: i64,
    together: u8,
    pending: Vec<Masked<Event>>,
    /// Effects that wait for their events to be stored.
    owed: Vec<Effect>,
    open: Vec<Open>,
    /// What this owner was told to do.
    performed: BTreeSet<(InstanceIx, u32, u32, bool)>,
    leaves: bool,
    told: Vec<Input>,
    inputs: usize,
    crashes: u32,
    /// Whether the history was cut in the middle of a decision, which no append does: an attempt may
    /// then end twice, and the tables do not tell how.
    torn: bool,
    pub(super) seen: &'a mut Coverage,
    pub(super) story: Option<Vec<String>>,
}

/// Runs a case to its end, with everything that must hold held.
pub(super) fn simulate(case: &Case, seen: &mut Coverage) -> Result<History, Fault> {
    let mut simulation = Simulation::new(case, seen);
    simulation.play()?;
    Ok(simulation.history())
}

/// Goes on with a history that was cut off after some event, to the end.
pub(super) fn go_on(case: &Case, events: &[StoredEvent]) -> Result<History, Fault> {
    let mut seen = Coverage::default();
    let mut simulation = Simulation::new(case, &mut seen);
    simulation.torn = true;
    simulation.keep(events);
    simulation.take_over(None)?;
    simulation.finish()?;
    Ok(simulation.history())
}

/// What happens in a case, line by line, up to the fault where it has one.
pub(super) fn story(case: &Case) -> Vec<String> {
    let mut seen = Coverage::default();
    let mut simulation = Simulation::new(case, &mut seen);
    simulation.story = Some(Vec::new());
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulation.play()));
    let mut story = simulation.story.unwrap_or_default();
    match played {
        Ok(Err(fault)) => story.push(format!("fault: {fault}")),
        Ok(Ok(())) => {}
        Err(_) => story.push("fault: a panic".into()),
    }
    story
}

impl<'a> Simulation<'a> {
    pub(super) fn new(case: &'a Case, seen: &'a mut Coverage) -> Self {
        let plan = case.plan();
        let rules = case.rules();
        let whole = case.steps.iter().filter(|spec| spec.preset == Some(PresetSpec::Kept));
        Simulation {
            state: State::new(&plan, rules),
            watch: Watch::new(&plan, rules),
            kept: None,
            // What is kept whole was merged by the run that did it.
            merged_before: whole.map(|spec| spec.id.clone()).collect(),
            case,
            plan,
            journal: MemoryJournal::new(),
            run: RunId::new("simulated-1").unwrap(),
            epoch: 0,
            seq: 0,
            durable: 0,
            appends: Vec::new(),
            now: 1,
            together: 0,
            pending: Vec::new(),
            owed: Vec::new(),
            open: Vec::new(),
            performed: BTreeSet::new(),
            leaves: false,
            told: Vec::new(),
            inputs: 0,
            crashes: 0,
            torn: false,
            seen,
            story: None,
        }
    }

    fn history(self) -> History {
        History {
            events: self.journal.events(&self.run, 0).unwrap(),
            inputs: self.inputs,
            crashes: self.crashes,
        }
    }

    fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(words());
        }
    }

    pub(super) fn play(&mut self) -> Result<(), Fault> {
        self.watch.changes.keep(&self.merged_before);
        let new = self.new_run();
        self.epoch = self.journal.create(new).unwrap();
        self.begin()?;
        for turn in &self.case.turns {
            self.seen.turn(turn);
            self.turn(*turn)?;
        }
        self.finish()
    }

    fn new_run(&self) -> NewRun {
        let (run, definition) = (self.run.clone(), "simulated".into());
        NewRun { run, definition, at: Timestamp(0), frozen: masked_json(Json::Null) }
    }

    fn begin(&mut self) -> Result<(), Fault> {
        let (digest, params) = (Digest::of("seed"), masked_json(Json::Null));
        let environment = params.clone();
        let presets = self.presets();
        self.tell(Input::Started { digest, params, environment, presets })
    }

    fn presets(&self) -> Vec<Preset> {
        if let Some(kept) = &self.kept {
            return kept.clone();
        }
        let specs = (0..).map(StepIx).zip(&self.case.steps);
        let preset = |(ix, spec): (StepIx, &Spec)| match spec.preset? {
            PresetSpec::Skipped => Some(Preset::Skipped(ix)),
            PresetSpec::Kept => Some(Preset::Kept(ix, Box::new(kept(spec, None)))),
            // A shrunk case may have lost what the items need.
            PresetSpec::Items(_) if spec.for_each.is_none() => None,
            PresetSpec::Items(bits) => {
                let Ok(Evaluation::Items { keys, items, keyed }) = list(spec, 1) else {
                    return None;
                };
                let is_kept = |item: usize| bits & (1 << item) != 0;
                let results = (0..keys.len()).map(|n| is_kept(n).then(|| kept(spec, Some(n))));
                let results = results.collect();
                let items = KeptItems { keys, items, keyed, results, whole: None };
                Some(Preset::Items(ix, Box::new(items)))
            }
        };
        let mut all: Vec<Preset> = specs.filter_map(preset).collect();
        if all.iter().any(|preset| matches!(preset, Preset::Kept(..))) {
            all.insert(0, Preset::Revised(Box::new(self.revision())));
        }
        all
    }

    fn revision(&self) -> PlanRevision {
        let (run, planner) = (self.run.clone(), self.run.clone());
        let (reason, number, confidence) = ("another way".to_owned(), 1, 0.5);
        let (evidence, kept, removed, added) = Default::default();
        PlanRevision {
            number,
            run,
            planner,
            reason,
            confidence,
            takes: None,
            evidence,
            kept,
            removed,
            added,
        }
    }

    /// The turns are over: everything open is answered, people say yes, lease owners come back.
    fn finish(&mut self) -> Result<(), Fault> {
        self.together = 0;
        self.store()?;
        while !self.state.status().has_ended() {
            hold!(self.inputs < PATIENCE, "the run does not end");
            if self.has_left()? {
                self.take_over(None)?;
                self.everybody_says_yes()?;
            } else if self.open.is_empty() {
                return Err("stuck: nothing is open, and nobody is waited for".into());
            } else {
                self.answer(0, false)?;
            }
        }
        Ok(())
    }

    fn everybody_says_yes(&mut self) -> Result<(), Fault> {
        for instance in self.asked() {
            // Work that may go back goes back once.
            let back = self.case.sends_back(self.spec(instance)).is_some();
            let first = self.state.instance(instance).iteration == 1;
            let reply = self.reply(instance, !(back && first));
            self.tell(Input::Answered { instance, reply: masked(reply) })?;
        }
        Ok(())
    }

    /// The instances that wait for a person.
    fn asked(&self) -> Vec<InstanceIx> {
        let all = self.state.instances().map(|(ix, _)| ix);
        all.filter(|ix| self.state.waits_for_person(&self.plan, *ix)).collect()
    }

    fn reply(&self, instance: InstanceIx, approved: bool) -> Reply {
        let asks = matches!(self.spec(instance).kind, Kind::Ask { .. });
        let answer = asks.then(|| Payload::inline(Json::from("an answer")));
        Reply { approved, by: "somebody".into(), answer, comment: None, call: None, seen: None }
    }

    fn turn(&mut self, turn: Turn) -> Result<(), Fault> {
        let held = !self.state.status().has_ended();
        if held
            && self.has_left()?
            && !matches!(turn, Turn::Crash | Turn::PowerCut(_) | Turn::Cancel)
        {
            self.take_over(None)?;
        }
        match turn {
            Turn::Answer(_) if self.open.is_empty() => Ok(()),
            Turn::Answer(n) => {
                let (n, many) = (usize::from(n), self.open.len());
                self.answer(n % many, (n / many) % 2 == 1)
            }
            Turn::Together(count) => {
                self.together = count;
                Ok(())
            }
            Turn::Repeat(n) => {
                let repeatable: Vec<usize> =
                    (0..self.told.len()).filter(|i| is_repeatable(&self.told[*i])).collect();
                match repeatable.get(usize::from(n) % repeatable.len().max(1)) {
                    Some(at) => self.tell(self.told[*at].clone()),
                    None => Ok(()),
                }
            }
            Turn::Alarm(n) => {
                let instance = InstanceIx(u32::from(n) % self.state.instances().count() as u32);
                self.tell(Input::TimerDue { instance })
            }
            Turn::Record(n) => self.record(n),
            Turn::Ask(n) => self.ask(n),
            Turn::Crash => self.crash(None),
            Turn::PowerCut(n) => self.crash(Some(n)),
            Turn::Cancel if held && self.has_left()? => self.take_over(Some("a test".into())),
            Turn::Cancel => self.tell(Input::CancelRequested { by: masked("a test".to_owned()) }),
            Turn::Expire => self.tell(Input::Expired { limit_ms: 5 }),
            Turn::Drain => self.tell(Input::Drain { reason: "a test".into() }),
            Turn::Person(n, approved) => {
                let asked = self.asked();
                let anybody = InstanceIx(u32::from(n) % self.state.instances().count() as u32);
                let instance = *asked.get(usize::from(n) % asked.len().max(1)).unwrap_or(&anybody);
                let reply = self.reply(instance, approved);
                self.tell(Input::ReplyRefused { instance })?;
                self.tell(Input::Answered { instance, reply: masked(reply) })
            }
            Turn::Child(n) => {
                let waiting = self.waiting_children();
                let any = InstanceIx(u32::from(n) % self.state.instances().count() as u32);
                let instance = *waiting.get(usize::from(n) % waiting.len().max(1)).unwrap_or(&any);
                self.tell(Input::ChildMoved { instance })
            }
            Turn::Retry(from) => self.retry(from, false),
            Turn::RetryAlone(step) => self.retry(Some(step), true),
        }
    }

    /// Decides on an input, and stores what follows unless more is to be stored with it.
    fn tell(&mut self, input: Input) -> Result<(), Fault> {
        self.inputs += 1;
        self.seen.input(&input);
        let at = Timestamp(self.now);
        let envelope = Envelope { at, epoch: self.epoch, input: input.clone() };
        let spares_finally = self.spares_finally(&input);
        let twice = self.inputs.is_multiple_of(8).then(|| (self.state.clone(), envelope.clone()));
        let decision = decide(&self.plan, &mut self.state, envelope);
        if let Some((mut before, envelope)) = twice {
            let again = decide(&self.plan, &mut before, envelope);
            hold!(again == decision, "the same input is decided in two ways: {input:?}");
        }
        if let Some(story) = &mut self.story {
            let input = words::input(&self.plan, &self.state, &input);
            let events = words::events(&self.plan, &self.state, &decision.events);
            story.push(format!("{input} → {events}"));
        }
        for event in &decision.events {
            self.seen.event(event);
            self.watch.see(self.case, &self.plan, at, self.epoch, event)?;
        }
        for event in &decision.events {
            let (ix, due) = match &**event {
                Event::TimerSet { instance, due } => (*instance, Some(*due)),
                Event::Asked { instance, question } => (*instance, question.due),
                _ => continue,
            };
            // A wait until a moment that has passed is over at once.
            let over = due.is_none_or(|due| due > at) || self.state.instance(ix).status.has_ended();
            hold!(over, "{ix:?} waits for the past");
        }
        hold!(
            self.watch.folded == self.state,
            "folding the events gives another state than deciding {input:?}"
        );
        for instance in self.asked() {
            let call = self.state.instance(instance).question().and_then(|q| q.call.as_deref());
            let decided = call.is_some_and(|call| self.watch.models.contains_key(&call.args_hash));
            hold!(!decided, "{instance:?} asks about a model that was decided about");
        }
        // Where it closes the main steps, `finally` steps may be skipped by their own rules.
        let ends_finally = |e: &Masked<Event>| matches!(&**e, Event::Ended { instance, status: StepStatus::Cancelled, .. } if self.spec(*instance).finally && self.spec(*instance).hook.is_none());
        let spared = !spares_finally || !decision.events.iter().any(ends_finally);
        hold!(spared, "the first word to stop ends a `finally` step that was to come");
        self.leaves = decision.effects.contains(&Effect::Leave);
        self.pending.extend(decision.events);
        for effect in decision.effects {
            self.seen.effect(&effect);
            self.check(&effect)?;
            // What only computes need not wait for the journal.
            if self.is_pure(&effect) {
                self.open.push(Open { effect, told: false });
            } else {
                self.owed.push(effect);
            }
        }
        self.told.push(input);
        if self.together > 0 {
            self.together -= 1;
            return Ok(());
        }
        self.store()
    }

    /// Whether it is a first word to stop, before the main steps are over.
    fn spares_finally(&self, input: &Input) -> bool {
        let mut steps = self.case.steps.iter().zip(self.state.instances());
        matches!(input, Input::CancelRequested { .. })
            && !self.state.is_cancelled()
            && steps.any(|(spec, (_, step))| !spec.finally && !step.status.has_ended())
    }

    fn is_pure(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Evaluate { .. }
            | Effect::EvaluateUntil { .. }
            | Effect::Gather { .. }
            | Effect::Conclude { .. } => true,
            Effect::Execute { instance, .. } => {
                let kind = self.spec(*instance).kind;
                kind == Kind::Set || kind.is_waiting()
            }
            _ => false,
        }
    }

    fn spec(&self, ix: InstanceIx) -> &'a super::case::Spec {
        &self.case.steps[self.state.instance(ix).step.at()]
    }

    /// An effect fits the state that it comes from, and is asked for once by a lease owner.
    fn check(&mut self, effect: &Effect) -> Result<(), Fault> {
        let state = &self.state;
        match effect {
            Effect::Execute { instance, attempt, iteration, .. }
            | Effect::Verify { instance, attempt, iteration } => {
                let verifies = matches!(effect, Effect::Verify { .. });
                let found = state.instance(*instance);
                let due = if verifies { StepStatus::Verifying } else { StepStatus::Running };
                let fits =
                    (found.status, found.attempt, found.iteration) == (due, *attempt, *iteration);
                hold!(fits, "{effect:?} of what is {}", found.status);
                let new = self.performed.insert((*instance, *iteration, *attempt, verifies));
                hold!(new, "asked for twice: {effect:?}");
            }
            Effect::Evaluate { instance, .. } => {
                // What the same decision ended after it had asked has no use for the answer.
                let found = state.instance(*instance).status;
                let asks = found == StepStatus::Pending || found.has_ended();
                hold!(asks, "{effect:?} of what is {found}");
            }
            Effect::EvaluateUntil { instance, .. } => {
                let found = state.instance(*instance).status;
                hold!(found == StepStatus::Verifying, "{effect:?} of what is {found}");
            }
            Effect::Merge { instance, .. } => {
                let found = state.instance(*instance);
                let live = matches!(found.status, StepStatus::Verifying | StepStatus::Running);
                hold!(live && found.is_merging(), "{effect:?} of what is {}", found.status);
                let twice = self.open.iter().any(|open| open.effect == *effect);
                hold!(!twice, "asked for twice: {effect:?}");
            }
            Effect::Gather { instance, .. } => {
                let found = state.instance(*instance).status;
                hold!(found == StepStatus::Running, "{effect:?} of what is {found}");
            }
            Effect::Timer { instance, due } => {
                let found = state.instance(*instance).due();
                hold!(found == Some(*due), "{effect:?} of what is due {found:?}");
            }
            Effect::Cancel { .. } | Effect::Conclude { .. } | Effect::Leave => {}
        }
        Ok(())
    }

    /// Stores what was decided; then what follows from it may be done.
    fn store(&mut self) -> Result<(), Fault> {
        let events = std::mem::take(&mut self.pending);
        let durable = events.iter().any(|event| self.is_durable(event));
        let durability = if durable { Durability::Durable } else { Durability::Ordered };
        let (at, status) = (Timestamp(self.now), self.state.status());
        let batch = Batch { status, durability, ..Batch::after(self.seq, at, &events) };
        let stored = wait(self.journal.append(&self.run, self.epoch, batch));
        self.seq = stored.map_err(|error| format!("the journal refuses: {error}"))?;
        if !events.is_empty() {
            self.appends.push(self.seq);
        }
        if durable {
            self.durable = self.seq;
        }
        self.now += 1;
        for effect in std::mem::take(&mut self.owed) {
            match effect {
                Effect::Cancel { instance } => {
                    let own =
                        self.open.iter_mut().filter(|open| of(&open.effect) == Some(instance));
                    own.for_each(|open| open.told = true);
                }
                Effect::Leave => {}
                effect => self.open.push(Open { effect, told: false }),
            }
        }
        Ok(())
    }

    /// As the engine has it.
    fn is_durable(&self, event: &Event) -> bool {
        match event {
            Event::RunStarted { .. } | Event::RunEnded { .. } | Event::Answered { .. } => true,
            Event::CancelRequested { .. } | Event::Reset { .. } | Event::SentBack { .. } => true,
            Event::Started { instance, .. } => !self.spec(*instance).retry_safe,
            _ => false,
        }
    }

    /// Whether the lease owner has gone. Before that it answers what only computes.
    fn has_left(&mut self) -> Result<bool, Fault> {
        let pure = self.open.iter().any(|open| self.is_pure(&open.effect));
        if !self.leaves || pure {
            return Ok(false);
        }
        self.store()?;
        let works = self.open.iter().any(|open| self.is_live(&open.effect));
        hold!(!works, "the owner leaves and something is under way");
        if !self.state.status().has_ended() && !self.state.is_draining() {
            let sleeps = self.state.instances().any(|(_, i)| i.due().is_some());
            hold!(!sleeps, "the owner leaves and a moment is waited for");
            let waits = !self.asked().is_empty() || !self.waiting_children().is_empty();
            hold!(waits, "the owner leaves and nobody is asked");
        }
        Ok(true)
    }

    /// Whether the state still waits for the answer to an attempt or gate: an earlier one may have
    /// come late, from a lease owner that died.
    fn is_live(&self, effect: &Effect) -> bool {
        let (Effect::Execute { instance, iteration, attempt, .. }
        | Effect::Verify { instance, iteration, attempt }) = effect
        else {
            return false;
        };
        let found = self.state.instance(*instance);
        found.holds_slot() && (found.iteration, found.attempt) == (*iteration, *attempt)
    }

    fn crash(&mut self, cut: Option<u16>) -> Result<(), Fault> {
        self.crashes += 1;
        if let Some(cut) = cut {
            self.lose_power(cut);
        }
        if self.state.status().has_ended() && cut.is_none() && self.pending.is_empty() {
            return Ok(());
        }
        self.take_over(None)
    }

    /// The newest appends are gone, as far back as the last durable one at most.
    fn lose_power(&mut self, cut: u16) {
        let stored = self.journal.events(&self.run, 0).unwrap();
        let cuttable = self.appends.iter().filter(|end| **end >= self.durable).count().max(1);
        let keep = self.appends.len().saturating_sub(usize::from(cut) % cuttable);
        self.appends.truncate(keep);
        let end = self.appends.last().copied().unwrap_or(0);
        // A stop that was requested in the lost part did not happen.
        let stops = |input: &Input| {
            matches!(input, Input::AttemptEnded { report, .. }
                if report.outcome == OutcomeKind::Cancelled)
        };
        self.told.retain(|input| !stops(input));
        self.say(|| format!("power cut: {} events are lost", stored.len() as u64 - end));
        self.keep(&stored[..end as usize]);
    }

    /// These events are what the journal has.
    fn keep(&mut self, events: &[StoredEvent]) {
        let journal = MemoryJournal::new();
        journal.create(self.new_run()).unwrap();
        let mut epoch = 1;
        for event in events {
            while epoch < event.epoch {
                journal.expire_leases();
                epoch = journal.acquire(&self.run).unwrap();
            }
            let (before, told) = (event.seq - 1, std::slice::from_ref(&event.event));
            wait(journal.append(&self.run, epoch, Batch::after(before, event.at, told))).unwrap();
        }
        self.journal = journal;
        self.now = self.now.max(events.last().map_or(0, |last| last.at.0) + 1);
        self.epoch = epoch;
        self.seq = events.len() as u64;
    }

    /// Another owner folds what is stored, whatever the last one still has in its hands.
    fn take_over(&mut self, cancel: Option<String>) -> Result<(), Fault> {
        self.take_hold()?;
        if self.seq == 0 {
            return self.begin();
        }
        if self.state.status().has_ended() {
            return Ok(());
        }
        self.tell(Input::Recovered { cancel: cancel.as_deref().map(masked_text), alive: None })
    }

    fn take_hold(&mut self) -> Result<(), Fault> {
        self.journal.expire_leases();
        let epoch = self.journal.acquire(&self.run).unwrap();
        self.say(|| format!("a new owner, epoch {epoch}"));
        let late = [masked_event(Event::Draining { reason: "too late".into() })];
        let late = Batch::after(self.seq, Timestamp(self.now), &late);
        let stale = wait(self.journal.append(&self.run, self.epoch, late));
        hold!(matches!(stale, Err(JournalError::LeaseLost(_))), "a stale owner wrote: {stale:?}");
        self.epoch = epoch;
        self.watch = Watch::new(&self.plan, self.case.rules());
        self.watch.torn = self.torn;
        self.watch.changes.keep(&self.merged_before);
        let stored = self.journal.events(&self.run, 0).unwrap();
        for event in &stored {
            self.watch.see(self.case, &self.plan, event.at, event.epoch, &event.event)?;
        }
        self.watch.disturbed |= self.torn;
        self.state = self.watch.folded.clone();
        self.seq = stored.len() as u64;
        self.pending.clear();
        self.owed.clear();
        self.open.clear();
        self.performed.clear();
        self.together = 0;
        self.leaves = false;
        Ok(())
    }

    /// `kb run retry`: a new lease owner, also of a run that has not ended (two may ask at once).
    fn retry(&mut self, from: Option<u16>, alone: bool) -> Result<(), Fault> {
        self.take_hold()?;
        if self.seq == 0 {
            return self.begin();
        }
        let steps = self.case.steps.len() as u32;
        let roots = from.map(|n| InstanceIx(u32::from(n) % steps)).into_iter().collect();
        self.tell(Input::Reset { roots, alone, reason: "a test".into() })
    }

    fn record(&mut self, n: u16) -> Result<(), Fault> {
        let live: Vec<&Effect> = self
            .open
            .iter()
            .map(|open| &open.effect)
            .filter(|effect| matches!(effect, Effect::Execute { .. } | Effect::Verify { .. }))
            .collect();
        let Some(effect) = live.get(usize::from(n) % live.len().max(1)) else { return Ok(()) };
        let (Effect::Execute { instance, iteration, attempt, .. }
        | Effect::Verify { instance, iteration, attempt }) = (*effect).clone()
        else {
            return Ok(());
        };
        if matches!(effect, Effect::Execute { .. }) && n % 4 == 2 {
            let (call, exchange) = exchange(n / 4);
            let exchange = masked(Box::new(exchange));
            let said = Input::Exchanged { instance, iteration, attempt, call, exchange };
            return self.tell(said);
        }
        // A stored result is the whole work of a first attempt, so that attempt ends well. Its gate may
        // refute it.
        let executes = matches!(effect, Effect::Execute { .. }) && n % 2 == 1;
        let first = (iteration, attempt) == (1, 1);
        let spec = self.spec(instance);
        let caches = matches!(spec.kind, Kind::Run | Kind::Specialist | Kind::Writer);
        let well = self.end(instance).outcome == OutcomeKind::Ok;
        let record = if executes && first && caches && well {
            Record::CacheHit(Box::new(hit()))
        } else {
            Record::Note(Note::info("on the way"))
        };
        if let Record::CacheHit(_) = record {
            let (specialist, gate) = (spec.kind != Kind::Run, spec.is_verified());
            self.seen.hit(specialist, gate);
        }
        let record = Box::new(record);
        self.tell(Input::Recorded { instance, iteration, attempt, record: masked(record) })
    }

    /// An attempt of a specialist waits for the decision about a tool call.
    fn ask(&mut self, n: u16) -> Result<(), Fault> {
        let may_ask = |open: &Open| match &open.effect {
            Effect::Execute { instance, .. } => {
                !open.told && matches!(self.spec(*instance).kind, Kind::Specialist | Kind::Writer)
            }
            _ => false,
        };
        let able: Vec<usize> = (0..self.open.len()).filter(|at| may_ask(&self.open[*at])).collect();
        let Some(at) = able.get(usize::from(n) % able.len().max(1)) else { return Ok(()) };
        let Open { effect, .. } = self.open.remove(*at);
        let Effect::Execute { instance, attempt, iteration, .. } = effect else { return Ok(()) };
        // Its attempt is executed once more, with the decision.
        self.performed.remove(&(instance, iteration, attempt, false));
        let args_hash = Digest::of("a call");
        let call = match n % 2 {
            0 => CallRef::of_model(attempt, "a model"),
            _ => CallRef {
                id: format!("call-{attempt}-{n}"),
                tool: "fs:write".into(),
                args_hash,
                code: Default::default(),
                asks_input: false,
            },
        };
        let wait = Wait::Person(Box::new(Question::about_call("may it?".into(), call)));
        self.tell(Input::WaitOpened { instance, iteration, attempt, wait: masked(wait) })
    }

    fn answer(&mut self, at: usize, late: bool) -> Result<(), Fault> {
        let Open { effect, told } = self.open.remove(at);
        match effect {
            Effect::Evaluate { instance, iteration } => {
                let found = self.found(instance, iteration);
                self.tell(Input::Evaluated {
                    instance,
                    iteration,
                    found: found.map(masked).map_err(masked),
                })
            }
            Effect::Execute { instance, attempt, iteration, .. }
                if self.spec(instance).kind.is_waiting()
                    && self.end(instance).outcome == OutcomeKind::Ok =>
            {
                let wait = self.wait(instance);
                self.tell(Input::WaitOpened { instance, iteration, attempt, wait: masked(wait) })
            }
            Effect::Execute { instance, attempt, iteration, .. }
                if !told && self.child_waits(instance) =>
            {
                let reason = masked("a question".to_owned());
                self.tell(Input::ChildWaits { instance, iteration, attempt, reason })
            }
            Effect::Execute { instance, attempt, iteration, .. } => {
                let report = if told && !late { stopped() } else { report(self.end(instance)) };
                self.tell(Input::AttemptEnded {
                    instance,
                    iteration,
                    attempt,
                    report: masked(report),
                })
            }
            Effect::Verify { instance, attempt, iteration } => {
                let mut end = self.end(instance);
                if told && !late {
                    end.verdict = Verdict::Inconclusive;
                }
                let verification = verification(end);
                self.tell(Input::Judged {
                    instance,
                    iteration,
                    attempt,
                    verification: masked(verification),
                })
            }
            Effect::Timer { instance, due } => {
                self.store()?;
                self.now = self.now.max(due.0);
                self.tell(Input::TimerDue { instance })
            }
            Effect::EvaluateUntil { instance, iteration, attempt } => {
                let (_, done_at) = self.spec(instance).repeat.expect("a loop");
                let done = Ok(self.state.instance(instance).pass() >= done_at);
                self.tell(Input::UntilEvaluated { instance, iteration, attempt, done })
            }
            Effect::Merge { instance, iteration } => {
                let spec = self.spec(instance);
                let conflicts = !spec.can_merge(iteration);
                let merged = self.watch.changes.merge(&self.plan, &self.state, instance, conflicts);
                self.tell(Input::Merged { instance, iteration, merged: masked(merged) })
            }
            Effect::Gather { instance, iteration } => {
                let fails = || Failure::new(Code::OTHER, "cannot be gathered");
                let gathers = self.spec(instance).gathers;
                let output = if gathers { Ok(Payload::inline(Json::Null)) } else { Err(fails()) };
                self.tell(Input::Gathered {
                    instance,
                    iteration,
                    output: output.map(masked).map_err(masked),
                })
            }
            Effect::Conclude { iteration } => {
                let fails = || Failure::new(Code::OTHER, "cannot be evaluated");
                let told = Payload::inline(Json::from(self.watch.resets));
                let outputs = if self.case.concludes { Ok(told) } else { Err(fails()) };
                self.tell(Input::Concluded {
                    iteration,
                    outputs: outputs.map(masked).map_err(masked),
                })
            }
            Effect::Cancel { .. } | Effect::Leave => Ok(()),
        }
    }

    /// Whether the child run of a step is to wait once more in this iteration.
    fn child_waits(&self, ix: InstanceIx) -> bool {
        matches!(self.spec(ix).kind, Kind::Child(most) if self.watch.child_waits(ix) < u32::from(most))
    }

    /// The instances whose child runs wait.
    fn waiting_children(&self) -> Vec<InstanceIx> {
        let all = self.state.instances().map(|(ix, _)| ix);
        all.filter(|ix| self.state.waits_for_child(&self.plan, *ix)).collect()
    }

    /// What a waiting step waits for, from now on.
    fn wait(&self, ix: InstanceIx) -> Wait {
        let due = Timestamp(self.now).after(WAIT);
        let question = |kind, due| {
            let (text, options, schema, default) = ("?".to_owned(), Vec::new(), None, None);
            Wait::Person(Box::new(Question {
                kind,
                text,
                options,
                schema,
                default,
                due,
                call: None,
            }))
        };
        match self.spec(ix).kind {
            Kind::Ask { times_out } => question(QuestionKind::Ask, times_out.then_some(due)),
            Kind::Approve(timeout) => question(QuestionKind::Approve, timeout.map(|_| due)),
            _ => Wait::Until(due),
        }
    }

    fn found(&self, ix: InstanceIx, iteration: u32) -> Result<Evaluation, Failure> {
        let spec = self.spec(ix);
        if !spec.evaluates {
            return Err(Failure::new(Code::OTHER, "cannot be evaluated"));
        }
        if spec.for_each.is_none() || !spec.holds() {
            return Ok(Evaluation::Condition(spec.holds()));
        }
        list(spec, iteration)
    }

    /// How the attempt that is under way ends, or the one that a gate looks at.
    fn end(&self, ix: InstanceIx) -> End {
        let instance = self.state.instance(ix);
        let item = instance.item.as_ref().map_or(0, |item| item.index() as usize);
        let spec = self.spec(ix);
        let told = self.watch.entries(ix);
        let looks = instance.status == StepStatus::Verifying && spec.kind != Kind::Gate;
        spec.end(item, instance.iteration, told.saturating_sub(usize::from(looks)))
    }
}

/// The commands of people and lease owners are not answers to anything, so none of them comes twice.
fn is_repeatable(input: &Input) -> bool {
    // An attempt that asks about a call ends with the question, so no owner tells it twice.
    if let Input::WaitOpened { wait, .. } = input
        && matches!(&**wait, Wait::Person(question) if question.call.is_some())
    {
        return false;
    }
    matches!(
        input,
        Input::Evaluated { .. }
            | Input::ChildWaits { .. }
            | Input::ChildMoved { .. }
            | Input::Recorded { .. }
            | Input::Exchanged { .. }
            | Input::AttemptEnded { .. }
            | Input::Judged { .. }
            | Input::TimerDue { .. }
            | Input::Gathered { .. }
            | Input::Merged { .. }
            | Input::Answered { .. }
            | Input::WaitOpened { .. }
            | Input::Concluded { .. }
    )
}

/// Something that a step says or asks, and the id of its call: a later call may have the same.
fn exchange(n: u16) -> (String, Exchange) {
    let (channel, key) = ("news".to_owned(), format!("k{}", n % 3));
    let exchange = match n % 6 {
        0 => Exchange::Publish { channel, message: format!("message {n}") },
        1 => Exchange::Subscribe { channel, check: n % 12 == 1, ack: true },
        2 => Exchange::Ack { channel, through: None },
        3 => Exchange::Unsubscribe { channel },
        4 => Exchange::Write { key, value: n.to_string() },
        _ => Exchange::Read { key: Some(key) },
    };
    (format!("call-{}", n % 24), exchange)
}

fn of(effect: &Effect) -> Option<InstanceIx> {
    match effect {
        Effect::Execute { instance, .. } | Effect::Verify { instance, .. } => Some(*instance),
        _ => None,
    }
}

fn report(end: End) -> AttemptReport {
    let fails = end.outcome != OutcomeKind::Ok;
    let words = || Failure::new(Code::OTHER, format!("as fated, {}", end.words));
    AttemptReport {
        outcome: end.outcome,
        output: (!fails).then(|| Payload::inline(Json::from(end.words))),
        streams: None,
        failure: fails.then(words),
        retry_after_ms: end.retry_after_ms,
        usage: Usage { prompt_tokens: 1 + u64::from(end.words), ..Usage::NONE },
        handoff: None,
    }
}

fn stopped() -> AttemptReport {
    let outcome = OutcomeKind::Cancelled;
    AttemptReport { outcome, failure: None, ..report(End::WELL) }
}

fn verification(end: End) -> Verification {
    let check = CheckDetail {
        check: "fated".into(),
        verdict: end.verdict,
        warning: false,
        reason: Some(format!("as fated, {}", end.words)),
        evidence: None,
    };
    Verification::of(Confidence::Low, vec![check])
}

/// Inputs hold masked values only; a simulation has no secrets.
fn masked<T: Mask>(value: T) -> Masked<T> {
    Redactor::default().mask(value)
}

/// The list of a `forEach` step, which tells its iteration.
pub(super) fn list(spec: &Spec, iteration: u32) -> Result<Evaluation, Failure> {
    let count = spec.ends.len();
    let keys = (0..count).map(|i| i.to_string()).collect();
    let items = Payload::inline(Json::Array(vec![Json::from(iteration); count]));
    Ok(Evaluation::Items { keys, items, keyed: false })
}

/// The result of a step or item in an earlier run.
pub(super) fn kept(spec: &Spec, item: Option<usize>) -> KeptResult {
    KeptResult {
        run: RunId::new("earlier-1").unwrap(),
        instance: item.map_or(spec.id.clone(), |item| format!("{}[{item}]", spec.id)),
        seq: 1,
        head: None,
        status: StepStatus::Succeeded,
        attempts: 1,
        outcome: Some(OutcomeKind::Ok),
        output: Some(Payload::inline(Json::from("kept"))),
        streams: None,
        verification: None,
        failure: None,
        handoff: None,
        child_verdicts: Default::default(),
    }
}

/// A stored result of another run.
fn hit() -> CacheHit {
    CacheHit {
        key: Digest::of("a key"),
        run: RunId::new("r1before").unwrap(),
        instance: "s0".into(),
        at: Timestamp::default(),
        usage: Usage::NONE,
        duration_ms: 1,
        files: 0,
        restored: Vec::new(),
        kept: false,
        trace: Vec::new(),
    }
}
