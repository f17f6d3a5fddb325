//! The heart under a seeded simulator: random plans, outcomes, orders, crashes, cancels, repeats.
//!
//! No clock, no disk, no model: effects wait in a list, and a seeded generator picks which one is
//! answered next. A naive scheduler, which knows only the language's tables, must agree with what
//! comes out. `KB_SIMULATE=100000 cargo test simulate` runs more seeds.

use crate::proof;
use kb::definition::*;
use kb::diagnostic::{SourceId, Span};
use kb::expression::{Names, Origin, Strength, Style};
use kb::plan::{Plan, StepIx};
use kb::run::*;
use kb::value::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const SPAN: Span = Span { source: SourceId(0), start: 0, end: 0 };

/// SplitMix64: small, seeded, the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.roll() % 100 < percent
    }
}

/// What the world does to one step, whatever the order.
#[derive(Debug, Clone)]
struct Fate {
    truth: bool,
    items: Option<usize>,
    /// By item (0 for the step itself): how often it fails before it succeeds.
    failures: Vec<u32>,
}

pub(crate) fn step(id: &str) -> Step {
    Step {
        id: StepId::new(id).unwrap(),
        name: None,
        kind: StepKind::Set(Vec::new()),
        phase: StepPhase::Main,
        depends_on: Vec::new(),
        condition: None,
        run_if: RunIf::AllSucceeded,
        input: None,
        timeout: Timeout::default(),
        retry: None,
        max_attempts: None,
        retry_safe: true,
        verify: None,
        on_error: OnError::Fail,
        env: Vec::new(),
        cwd: None,
        output_schema: None,
        for_each: None,
        evidence: None,
        workspace: None,
        not_yet: Vec::new(),
        span: SPAN,
    }
}

pub(crate) fn playbook(steps: Vec<Step>, finally: Vec<Step>) -> Arc<Playbook> {
    Arc::new(Playbook {
        id: DefinitionId::new("simulated").unwrap(),
        form: DefinitionForm::Playbook,
        name: "simulated".into(),
        description: None,
        triggers: Vec::new(),
        params: Vec::new(),
        steps: steps.into_iter().map(Arc::new).collect(),
        finally: finally.into_iter().map(Arc::new).collect(),
        outputs: Vec::new(),
        env: Vec::new(),
        limits: Limits::default(),
        order: Order::Graph,
        span: SPAN,
        path: "simulated.yml".into(),
        digest: Digest::of("simulated"),
        not_yet: Vec::new(),
    })
}

pub(crate) fn plan(playbook: Arc<Playbook>) -> Plan {
    let (plan, problems) = Plan::build(&playbook, &Catalog::default());
    plan.unwrap_or_else(|| panic!("{problems:?}"))
}

fn condition(source: &str, steps: &BTreeSet<String>) -> kb::expression::Expression {
    let names = Names { steps: steps.clone(), ..Names::default() };
    let origin = Origin { span: SPAN, verbatim: None };
    kb::expression::Expression::parse(source, origin, &names, Style::Playbook).unwrap()
}

fn retry(max: u32) -> RetryPolicy {
    RetryPolicy {
        max,
        on: vec![OutcomeSelector::Any],
        backoff: Backoff::Exponential,
        initial: Duration::from_millis(10),
        max_delay: Duration::from_secs(1),
    }
}

/// A random plan and the fates of its steps.
fn world(dice: &mut Dice) -> (Plan, Vec<Fate>, Rules) {
    let count = 1 + dice.below(10);
    let ids: BTreeSet<String> = (0..count).map(|i| format!("s{i}")).collect();
    let mut steps = Vec::new();
    let mut fates = Vec::new();
    for i in 0..count {
        let mut step = step(&format!("s{i}"));
        let mut reads = Vec::new();
        for j in 0..i {
            match dice.below(8) {
                0 => step.depends_on.push((StepId::new(format!("s{j}")).unwrap(), SPAN)),
                1 => reads.push(format!("s{j}.output is defined")),
                2 => reads.push(format!("s{j}.status == 'failed'")),
                _ => {}
            }
        }
        if dice.chance(20) {
            reads.push("true".into());
        }
        if !reads.is_empty() {
            step.condition = Some(condition(&reads.join(" or "), &ids));
        }
        step.run_if = [
            RunIf::AllSucceeded,
            RunIf::AllSucceeded,
            RunIf::NoneFailed,
            RunIf::AnySucceeded,
            RunIf::AllDone,
        ][dice.below(5)];
        step.on_error = if dice.chance(20) { OnError::Continue } else { OnError::Fail };
        step.retry = dice.chance(40).then(|| retry(1 + dice.below(3) as u32));
        step.max_attempts = dice.chance(10).then(|| 1 + dice.below(3) as u32);
        step.workspace = dice.chance(30).then_some(WorkspaceMode::Exclusive);
        let items = dice.chance(25).then(|| dice.below(5));
        step.for_each = items.map(|_| ForEach {
            items: kb::expression::ValueTemplate::Literal(Json::Array(Vec::new())),
            name: "item".into(),
            key: None,
            max_parallel: dice.chance(40).then(|| 1 + dice.below(2) as u32),
            on_item_error: if dice.chance(50) { OnError::Continue } else { OnError::Fail },
        });
        let failures = (0..items.unwrap_or(1))
            .map(|_| if dice.chance(35) { 1 + dice.below(4) as u32 } else { 0 })
            .collect();
        fates.push(Fate { truth: dice.chance(75), items, failures });
        steps.push(step);
    }
    let finals = dice.below(3);
    let finally = (0..finals)
        .map(|i| {
            let mut step = step(&format!("f{i}"));
            step.phase = StepPhase::Finally;
            let failures = vec![u32::from(dice.chance(30))];
            fates.push(Fate { truth: true, items: None, failures });
            step
        })
        .collect();
    let rules =
        Rules { max_parallel: 1 + dice.below(4) as u32, inconclusive: InconclusivePolicy::Warn };
    (plan(playbook(steps, finally)), fates, rules)
}

/// What must come out, from the language's tables alone: no queue, no state machine.
fn naive(plan: &Plan, fates: &[Fate]) -> (BTreeMap<String, StepStatus>, RunStatus) {
    let mut ended: Vec<Option<(StepStatus, bool)>> = vec![None; plan.steps().len()];
    for ix in plan.order() {
        let planned = plan.step(*ix);
        let (mut s, mut f, mut k) = (0, 0, 0);
        for dependency in &planned.dependencies {
            let (status, tolerated) = ended[dependency.on.at()].expect("ordered");
            let counts = match dependency.strength {
                Strength::Watch => false,
                Strength::MaySkip => status != StepStatus::Skipped,
                Strength::Needs => true,
            };
            match status {
                _ if !counts => {}
                StepStatus::Succeeded => s += 1,
                StepStatus::Failed if tolerated => s += 1,
                StepStatus::Failed | StepStatus::Blocked => f += 1,
                _ => k += 1,
            }
        }
        let joined = match planned.step.run_if {
            _ if planned.dependencies.is_empty() => None,
            RunIf::AllDone => None,
            RunIf::AnySucceeded => (s == 0).then_some(StepStatus::Skipped),
            RunIf::NoneFailed => (f > 0).then_some(StepStatus::Blocked),
            RunIf::AllSucceeded if f > 0 => Some(StepStatus::Blocked),
            RunIf::AllSucceeded => (k > 0).then_some(StepStatus::Skipped),
        };
        let fate = &fates[ix.at()];
        let skips = planned.step.condition.is_some() && !fate.truth;
        let status =
            joined.unwrap_or(if skips { StepStatus::Skipped } else { works(&planned.step, fate) });
        let tolerated = status == StepStatus::Failed && planned.step.on_error == OnError::Continue;
        ended[ix.at()] = Some((status, tolerated));
    }
    let failed = plan.steps().iter().zip(&ended).any(|(planned, end)| {
        planned.step.phase == StepPhase::Main && *end == Some((StepStatus::Failed, false))
    });
    let statuses = plan
        .steps()
        .iter()
        .zip(ended)
        .map(|(p, end)| (p.step.id.to_string(), end.expect("ended").0));
    (statuses.collect(), if failed { RunStatus::Failed } else { RunStatus::Succeeded })
}

fn works(step: &Step, fate: &Fate) -> StepStatus {
    let retries = step.retry.as_ref().map_or(0, |r| r.max);
    let tries = step.max_attempts.map_or(retries, |max| retries.min(max - 1));
    let fails = fate.failures.iter().any(|failures| *failures > tries);
    let tolerates = step.for_each.as_ref().is_some_and(|f| f.on_item_error == OnError::Continue);
    if fails && !tolerates { StepStatus::Failed } else { StepStatus::Succeeded }
}

/// A world under way.
struct Simulation {
    plan: Plan,
    fates: Vec<Fate>,
    rules: Rules,
    state: State,
    stored: Vec<(Timestamp, Event)>,
    open: Vec<Effect>,
    now: i64,
    left: bool,
    answered: Vec<Input>,
}

impl Simulation {
    fn new(plan: Plan, fates: Vec<Fate>, rules: Rules) -> Self {
        let state = State::new(&plan, rules);
        Simulation {
            plan,
            fates,
            rules,
            state,
            stored: Vec::new(),
            open: Vec::new(),
            now: 1,
            left: false,
            answered: Vec::new(),
        }
    }

    fn tell(&mut self, input: Input) {
        let at = Timestamp(self.now);
        let before = self.state.clone();
        let decision =
            decide(&self.plan, &mut self.state, Envelope { at, epoch: 1, input: input.clone() });
        let mut folded = before;
        for event in &decision.events {
            folded.apply(&self.plan, at, event);
            self.check(event);
        }
        assert_eq!(folded, self.state, "folding the events gives another state than deciding");
        self.stored.extend(decision.events.into_iter().map(|event| (at, event)));
        self.open.extend(decision.effects);
        assert!(self.state.running() <= self.rules.max_parallel, "more run than may");
        self.answered.push(input);
    }

    /// No step starts before what it depends on has ended.
    fn check(&self, event: &Event) {
        if let Event::Started { instance, .. } = event {
            let step: StepIx = self.state.instance(*instance).step;
            for dependency in &self.plan.step(step).dependencies {
                let on = self.state.instance(InstanceIx(dependency.on.0));
                assert!(on.status.has_ended(), "started before its dependency ended");
            }
            let holders = self
                .state
                .instances()
                .filter(|(_, i)| i.holds_slot() && self.plan.step(i.step).locks_workspace);
            assert!(holders.count() <= 1, "two hold the workspace");
        }
    }

    fn answer(&mut self, effect: Effect) {
        self.now += 1;
        match effect {
            Effect::Evaluate { instance } => {
                let fate = self.fates[self.state.instance(instance).step.at()].clone();
                let conditional =
                    self.plan.step(self.state.instance(instance).step).step.condition.is_some();
                let found = match fate.items {
                    Some(n) if fate.truth || !conditional => Found::Items {
                        keys: (0..n).map(|i| i.to_string()).collect(),
                        items: Payload::inline(Json::Array(vec![Json::Null; n])),
                        keyed: false,
                    },
                    _ => Found::Condition(fate.truth || !conditional),
                };
                self.tell(Input::Evaluated { instance, found: Ok(found) });
            }
            Effect::Execute { instance, attempt, .. } => {
                let current = self.state.instance(instance);
                let item = current.item.as_ref().map_or(0, |item| item.index as usize);
                let fails = self.fates[current.step.at()].failures[item] >= attempt;
                let outcome = if fails { OutcomeKind::Exit(1) } else { OutcomeKind::Ok };
                let report = AttemptReport {
                    outcome,
                    output: None,
                    streams: None,
                    failure: fails.then(|| Failure::new("KB0000", "as fated")),
                    retry_after_ms: None,
                    usage: Usage::NONE,
                };
                self.tell(Input::AttemptEnded { instance, attempt, report });
            }
            Effect::Timer { instance, due } => {
                self.now = self.now.max(due.0);
                self.tell(Input::TimerDue { instance });
            }
            Effect::Gather { instance } => {
                self.tell(Input::Gathered { instance, output: Ok(Payload::inline(Json::Null)) });
            }
            Effect::Conclude => {
                self.tell(Input::Concluded { outputs: Ok(Payload::inline(Json::Null)) })
            }
            Effect::Cancel { instance } => {
                let attempt = self.state.instance(instance).attempt;
                let report = AttemptReport {
                    outcome: OutcomeKind::Cancelled,
                    output: None,
                    streams: None,
                    failure: None,
                    retry_after_ms: None,
                    usage: Usage::NONE,
                };
                self.tell(Input::AttemptEnded { instance, attempt, report });
            }
            Effect::Leave => self.left = true,
            Effect::Verify { .. } => unreachable!("no gates here"),
        }
    }

    fn begin(&mut self) {
        self.tell(Input::Started {
            digest: Digest::of("seed"),
            params: Json::Null,
            environment: Json::Null,
        });
    }

    /// Answers one of the open effects, where there is one.
    fn answer_any(&mut self, dice: &mut Dice) {
        if !self.open.is_empty() {
            let effect = self.open.swap_remove(dice.below(self.open.len()));
            self.answer(effect);
        }
    }

    fn answer_all(&mut self, dice: &mut Dice) {
        while !self.open.is_empty() {
            self.answer_any(dice);
        }
    }

    /// The holder dies: what was in memory is gone, the journal stays.
    fn crash(&mut self) {
        self.state = State::new(&self.plan, self.rules);
        for (at, event) in &self.stored {
            self.state.apply(&self.plan, *at, event);
        }
        self.open.clear();
        self.left = false;
        if !self.state.status().has_ended() {
            self.tell(Input::Recovered { cancel: None });
        }
    }

    fn run(&mut self, dice: &mut Dice, crashes: u64, repeats: bool) {
        self.begin();
        for turn in 0.. {
            assert!(turn < 20_000, "the run does not end");
            if self.state.status().has_ended() || self.open.is_empty() {
                return;
            }
            if dice.roll() % 1000 < crashes {
                self.crash();
                continue;
            }
            self.answer_any(dice);
            if repeats && dice.chance(10) {
                let old = self.answered[dice.below(self.answered.len())].clone();
                if !matches!(
                    old,
                    Input::Started { .. }
                        | Input::Recovered { .. }
                        | Input::CancelRequested { .. }
                        | Input::Reset { .. }
                        | Input::Drain { .. }
                ) {
                    self.tell(old);
                }
            }
        }
    }

    fn statuses(&self) -> BTreeMap<String, StepStatus> {
        let steps = self.plan.steps().len();
        self.state
            .instances()
            .take(steps)
            .map(|(ix, i)| (self.state.key(&self.plan, ix).to_string(), i.status))
            .collect()
    }
}

fn seeds() -> u64 {
    proof::amount("KB_SIMULATE", 1_000, 100_000) as u64
}

fn named(seed: u64, check: impl FnOnce(u64) + std::panic::UnwindSafe) {
    if let Err(panic) = std::panic::catch_unwind(|| check(seed)) {
        eprintln!("the failing seed is {seed}");
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn every_order_of_effects_ends_as_the_tables_say() {
    for seed in 0..seeds() {
        named(seed, |seed| {
            let mut dice = Dice(seed);
            let (plan, fates, rules) = world(&mut dice);
            let (expected, status) = naive(&plan, &fates);
            let mut simulation = Simulation::new(plan, fates, rules);
            simulation.run(&mut dice, 0, false);
            assert_eq!(simulation.statuses(), expected);
            assert_eq!(simulation.state.status(), status);
        });
    }
    proof::record("simulator: every order of effects", Some(0), [("schedules", seeds())]);
}

#[test]
fn crashes_and_repeated_inputs_change_nothing_in_the_end() {
    for seed in 0..seeds() {
        named(seed, |seed| {
            let mut dice = Dice(seed.wrapping_mul(7919));
            let (plan, fates, rules) = world(&mut dice);
            let (expected, status) = naive(&plan, &fates);
            let mut simulation = Simulation::new(plan, fates, rules);
            simulation.run(&mut dice, 60, true);
            assert_eq!(simulation.statuses(), expected);
            assert_eq!(simulation.state.status(), status);
        });
    }
}

#[test]
fn a_step_recorded_as_ended_does_not_start_again_in_its_iteration() {
    for seed in 0..seeds() / 4 {
        named(seed, |seed| {
            let mut dice = Dice(seed.wrapping_mul(104_729));
            let (plan, fates, rules) = world(&mut dice);
            let mut simulation = Simulation::new(plan, fates, rules);
            simulation.run(&mut dice, 100, true);
            let mut ended = BTreeSet::new();
            for (_, event) in &simulation.stored {
                match event {
                    Event::Ended { instance, .. } => {
                        assert!(ended.insert(*instance), "ended twice")
                    }
                    Event::Started { instance, .. } => {
                        assert!(!ended.contains(instance), "started after its end")
                    }
                    _ => {}
                }
            }
        });
    }
}

#[test]
fn cancelling_at_any_moment_ends_the_run_with_no_live_step() {
    for seed in 0..seeds() {
        named(seed, |seed| {
            let mut dice = Dice(seed.wrapping_mul(31_337));
            let (plan, fates, rules) = world(&mut dice);
            let mut simulation = Simulation::new(plan, fates, rules);
            simulation.begin();
            (0..dice.below(12)).for_each(|_| simulation.answer_any(&mut dice));
            let over = simulation.state.status().has_ended();
            simulation.tell(Input::CancelRequested { by: "a test".into() });
            simulation.answer_all(&mut dice);
            assert!(simulation.state.status().has_ended());
            assert!(over || simulation.state.status() == RunStatus::Cancelled);
            assert!(
                simulation.state.instances().all(|(_, i)| i.status.has_ended()),
                "a live step is left"
            );
        });
    }
}

#[test]
fn a_holder_that_comes_to_cancel_or_finds_the_time_up_starts_no_main_step() {
    for seed in 0..seeds() {
        named(seed, |seed| {
            let mut dice = Dice(seed.wrapping_mul(271_828));
            let (plan, fates, rules) = world(&mut dice);
            let mut simulation = Simulation::new(plan, fates, rules);
            simulation.begin();
            (0..dice.below(10)).for_each(|_| simulation.answer_any(&mut dice));
            if simulation.state.status().has_ended() {
                return;
            }
            let expires = dice.chance(50);
            let main_was_open = simulation
                .statuses()
                .iter()
                .any(|(id, status)| id.starts_with('s') && !status.has_ended());
            let told = simulation.stored.len();
            if expires {
                simulation.tell(Input::Expired { limit_ms: 5 });
            }
            // The holder dies with everything that it had not done yet.
            simulation.state = State::new(&simulation.plan, simulation.rules);
            for (at, event) in simulation.stored.clone() {
                simulation.state.apply(&simulation.plan, at, &event);
            }
            simulation.open.clear();
            let cancel = (!expires).then(|| "a test".to_owned());
            simulation.tell(Input::Recovered { cancel });
            simulation.answer_all(&mut dice);
            for (_, event) in &simulation.stored[told..] {
                if let Event::Started { instance, .. } = event {
                    let step = simulation.plan.step(simulation.state.instance(*instance).step);
                    assert!(!main_was_open || step.is_finally(), "a main step began");
                }
            }
            assert!(simulation.state.status().has_ended());
            let finals = simulation.statuses();
            let cut =
                finals.iter().any(|(id, s)| id.starts_with('f') && *s == StepStatus::Cancelled);
            assert!(!main_was_open || !cut, "`finally` was cut off");
        });
    }
}

#[test]
fn a_retry_brings_every_unsuccessful_step_back_and_keeps_the_others() {
    for seed in 0..seeds() {
        named(seed, |seed| {
            let mut dice = Dice(seed.wrapping_mul(65_537));
            let (plan, fates, rules) = world(&mut dice);
            let mut simulation = Simulation::new(plan, fates, rules);
            simulation.run(&mut dice, 0, false);
            let before = simulation.statuses();
            // The world is mended: whatever failed succeeds now.
            for fate in &mut simulation.fates {
                fate.failures.iter_mut().for_each(|failures| *failures = 0);
            }
            simulation.left = false;
            simulation.open.clear();
            simulation.tell(Input::Reset { roots: Vec::new(), reason: "a test".into() });
            simulation.answer_all(&mut dice);
            let (expected, _) = naive(&simulation.plan, &simulation.fates);
            let unsuccessful = before.iter().any(|(id, s)| {
                id.starts_with('s')
                    && matches!(s, StepStatus::Failed | StepStatus::Blocked | StepStatus::Cancelled)
            });
            if unsuccessful {
                assert_eq!(simulation.state.status(), RunStatus::Succeeded);
                assert_eq!(simulation.statuses(), expected);
            } else {
                assert_eq!(simulation.statuses(), before);
            }
        });
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let history = |seed| {
        let mut dice = Dice(seed);
        let (plan, fates, rules) = world(&mut dice);
        let mut simulation = Simulation::new(plan, fates, rules);
        simulation.run(&mut dice, 40, true);
        Digest::of(format!("{:?}", simulation.stored))
    };
    for seed in 0..200 {
        assert_eq!(history(seed), history(seed));
    }
    assert_ne!(history(1), history(2));
}
