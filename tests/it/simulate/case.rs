//! A case: a plan, the outcomes of its work, and the order of crashes and interventions. It is created
//! from a seed, executed, reduced if it fails, and printed.

use super::plans::{condition, playbook, specialists, step};
use kb::definition::*;
use kb::evidence::Verdict;
use kb::expression::{Strength, Template, ValueTemplate};
use kb::plan::Plan;
use kb::run::Rules;
use kb::value::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Everything that decides how a simulation goes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Case {
    pub(super) steps: Vec<Spec>,
    pub(super) max_parallel: u32,
    /// Whether `max_parallel` is the number of processors.
    pub(super) limited_by_processors: bool,
    pub(super) fail_fast: bool,
    pub(super) inconclusive: InconclusivePolicy,
    /// Whether the run's outputs can be evaluated.
    pub(super) concludes: bool,
    /// What happens in order; when they are over, everything open is answered, oldest first.
    pub(super) turns: Vec<Turn>,
}

/// A step and its fate, whatever the order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) id: String,
    pub(super) finally: bool,
    pub(super) kind: Kind,
    pub(super) edges: Vec<(String, Strength)>,
    /// The truth of its condition, where it has one. Edges other than `needs` make it have one.
    pub(super) condition: Option<bool>,
    pub(super) run_if: RunIf,
    pub(super) tolerated: bool,
    pub(super) retry: Option<(u32, OutcomeSelector)>,
    /// Rows of `recovery`.
    pub(super) recovery: Option<Vec<Row>>,
    pub(super) max_attempts: Option<u32>,
    pub(super) retry_safe: bool,
    /// The hook of a step of `finally`: of which step, or of the run, and on which event.
    pub(super) hook: Option<(Option<String>, HookEvent)>,
    pub(super) exclusive: bool,
    /// Names of its locks.
    pub(super) locks: Vec<String>,
    pub(super) gate: Option<GateSpec>,
    pub(super) for_each: Option<Loop>,
    /// Its loop: the maximum number of passes, and the pass after which `until` is true.
    pub(super) repeat: Option<(u32, u32)>,
    /// Whether its condition and list can be evaluated.
    pub(super) evaluates: bool,
    /// Whether the outputs of its items can be gathered.
    pub(super) gathers: bool,
    /// Whether it has files of its own, and whether their changes can be merged.
    pub(super) merges: Option<bool>,
    /// How attempts of an iteration end, by item (the first for the step itself); beyond, all is well.
    pub(super) ends: Vec<Vec<End>>,
    /// Whether all is well from the second iteration on.
    pub(super) heals: bool,
    /// What is decided about it before the run starts.
    pub(super) preset: Option<PresetSpec>,
    /// Of an approval: which of the steps above a rejection sends the work back to, and how often.
    pub(super) returns: Option<(u8, u32)>,
}

/// What is decided about a step before the run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PresetSpec {
    Skipped,
    Kept,
    /// It is expanded, and keeps the items whose bits are set.
    Items(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Set,
    Run,
    Specialist,
    /// With a writing tool, so that it holds the workspace.
    Writer,
    Gate,
    /// A timer.
    Wait,
    /// A question; with a timeout, its default is taken.
    Ask {
        times_out: bool,
    },
    /// A child run that waits so many times in each iteration.
    Child(u8),
    /// A request for approval, with what its timeout means.
    Approve(Option<OnTimeout>),
}

impl Kind {
    /// Whether it waits without a slot.
    pub(super) fn is_waiting(self) -> bool {
        matches!(self, Kind::Wait | Kind::Ask { .. } | Kind::Approve(_))
    }
}

/// How long the waiting kinds wait.
pub(super) const WAIT: Duration = Duration::from_millis(50);

/// A row of a recovery table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) on: OutcomeSelector,
    pub(super) action: RecoveryAction,
    pub(super) max: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GateSpec {
    pub(super) on_failed: Option<FailurePolicy>,
    pub(super) on_inconclusive: Option<InconclusivePolicy>,
    pub(super) max_reworks: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Loop {
    pub(super) max_parallel: Option<u32>,
    pub(super) on_error: OnItemError,
}

/// How one attempt ends. The words make two failures the same or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct End {
    pub(super) outcome: OutcomeKind,
    pub(super) verdict: Verdict,
    pub(super) words: u8,
    pub(super) retry_after_ms: Option<u64>,
}

impl End {
    pub(super) const WELL: End =
        End { outcome: OutcomeKind::Ok, verdict: Verdict::Passed, words: 0, retry_after_ms: None };
}

/// Something that happens to a run from outside. Numbers choose among what is there by then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Turn {
    /// An open effect gets its answer.
    Answer(u16),
    /// The next inputs, so many, are stored with one append.
    Together(u8),
    /// An input that was given before comes once more.
    Repeat(u16),
    /// Somebody says that a moment has come.
    Alarm(u16),
    /// An attempt records something.
    Record(u16),
    /// An attempt of a specialist waits for the decision about a tool call.
    Ask(u16),
    /// kill -9: what was not stored is gone, and a new lease owner takes over.
    Crash,
    /// The newest appends, so many at most, that are not durable are gone too.
    PowerCut(u16),
    /// A lease owner comes to cancel what has none, or the lease owner is told to.
    Cancel,
    /// The run's own time is up.
    Expire,
    /// The lease owner is to leave.
    Drain,
    /// A person answers for something.
    Person(u16, bool),
    /// The child run of a waiting step is answered elsewhere.
    Child(u16),
    /// `kb run retry`, from a step or from all that did not succeed.
    Retry(Option<u16>),
    /// `kb run retry --only`.
    RetryAlone(u16),
}

impl Spec {
    pub(super) fn new(id: &str) -> Spec {
        Spec {
            id: id.to_owned(),
            finally: false,
            kind: Kind::Set,
            edges: Vec::new(),
            condition: None,
            run_if: RunIf::AllSucceeded,
            tolerated: false,
            retry: None,
            recovery: None,
            max_attempts: None,
            retry_safe: true,
            hook: None,
            exclusive: false,
            locks: Vec::new(),
            gate: None,
            for_each: None,
            repeat: None,
            evaluates: true,
            gathers: true,
            merges: None,
            ends: vec![Vec::new()],
            heals: false,
            preset: None,
            returns: None,
        }
    }

    /// Whether it is a hook that may run before the main steps have ended.
    pub(super) fn is_early(&self) -> bool {
        self.hook.as_ref().is_some_and(|(of, on)| of.is_some() || *on == HookEvent::Start)
    }

    /// Whether a row of its table asks a person.
    pub(super) fn asks_in_recovery(&self, case: &Case) -> bool {
        let rows = self.recovery.iter().flatten();
        rows.clone().any(|row| row.action == RecoveryAction::AskUser)
            || case.on_inconclusive(self) == InconclusivePolicy::AskUser
    }

    pub(super) fn is_specialist(&self) -> bool {
        matches!(self.kind, Kind::Specialist | Kind::Writer)
    }

    /// Whether something looks at its work before it counts.
    pub(super) fn is_verified(&self) -> bool {
        self.kind == Kind::Gate || self.is_specialist() || self.gate.is_some()
    }

    pub(super) fn is_conditional(&self) -> bool {
        self.condition.is_some() || self.edges.iter().any(|(_, how)| *how != Strength::Needs)
    }

    /// What its condition says.
    pub(super) fn holds(&self) -> bool {
        !self.is_conditional() || self.condition.unwrap_or(true)
    }

    /// Whether the changes of an iteration can be merged.
    pub(super) fn can_merge(&self, iteration: u32) -> bool {
        self.merges != Some(false) || self.heals && iteration > 1
    }

    /// How that attempt of an iteration ends.
    pub(super) fn end(&self, item: usize, iteration: u32, entry: usize) -> End {
        if self.heals && iteration > 1 {
            return End::WELL;
        }
        self.ends.get(item).and_then(|ends| ends.get(entry)).copied().unwrap_or(End::WELL)
    }

    fn step(&self, ids: &BTreeSet<StepId>) -> Step {
        let id = |text: &str| StepId::new(text).unwrap();
        let mut made = step(&self.id);
        made.phase = if self.finally { StepPhase::Finally } else { StepPhase::Main };
        made.kind = match self.kind {
            Kind::Set => StepKind::Set(Box::default()),
            Kind::Run => StepKind::Run(RunStep {
                command: RunCommand::Argv(Box::default()),
                parse: OutputParse::default(),
            }),
            Kind::Specialist => specialists::kind("reader"),
            Kind::Writer => specialists::kind("writer"),
            Kind::Wait => StepKind::Wait(WaitStep::For(WAIT).into()),
            Kind::Child(_) => StepKind::Playbook(
                PlaybookStep {
                    playbook: DefinitionId::new("child").unwrap(),
                    span: super::plans::SPAN,
                    with: Vec::new(),
                    version: None,
                }
                .into(),
            ),
            Kind::Ask { times_out } => StepKind::Ask(
                AskStep {
                    question: Template::literal("?"),
                    answer: AnswerRule {
                        default: times_out.then(|| Json::from("default")),
                        ..AnswerRule::default()
                    },
                    timeout: times_out.then_some(WAIT),
                }
                .into(),
            ),
            Kind::Approve(on_timeout) => StepKind::Approve(
                ApproveStep {
                    message: Template::literal("?"),
                    timeout: on_timeout.map(|_| WAIT),
                    on_timeout: on_timeout.unwrap_or_default(),
                    on_reject: None,
                }
                .into(),
            ),
            Kind::Gate => StepKind::Gate([Check::Expr(condition("true", ids))].into()),
        };
        let needs = self.edges.iter().filter(|(_, how)| *how == Strength::Needs);
        made.depends_on = needs.map(|(on, _)| (id(on), super::plans::SPAN)).collect();
        let reads = self.edges.iter().filter_map(|(on, how)| match how {
            Strength::Needs => None,
            Strength::MaySkip => Some(format!("{on}.output is defined")),
            Strength::Watch => Some(format!("{on}.status == 'failed'")),
        });
        let mut texts: Vec<String> = reads.collect();
        texts.extend(self.condition.map(|truth| truth.to_string()));
        made.condition = (!texts.is_empty()).then(|| condition(&texts.join(" or "), ids));
        made.run_if = self.run_if;
        made.on_error = if self.tolerated { OnError::Continue } else { OnError::Fail };
        let details = made.details_mut();
        details.retry = self.retry.map(|(max, on)| RetryPolicy {
            max,
            on: vec![on],
            delays: Delays {
                backoff: Backoff::Exponential,
                initial: Duration::from_millis(10),
                max_delay: Duration::from_secs(1),
            },
        });
        details.recovery = self.recovery.as_ref().map(|rows| {
            let rule = |row: &Row| RecoveryRule {
                on: vec![row.on],
                action: row.action.clone(),
                max: row.max,
                delay: None,
                span: super::plans::SPAN,
            };
            rows.iter().map(rule).collect()
        });
        details.hook = self
            .hook
            .as_ref()
            .map(|(of, on)| Box::new(Hook { of: of.as_ref().map(|of| id(of)), on: *on }));
        details.locks = self.locks.clone();
        details.max_attempts = self.max_attempts;
        details.repeat = self.repeat.map(|(max, _)| {
            let until = condition("true", ids);
            // Some loops pause between their passes.
            let initial = Duration::from_millis(u64::from(max % 2) * 5);
            let (backoff, max_delay) = (Backoff::Fixed, Duration::from_secs(1));
            Box::new(kb::definition::Loop {
                until: Until::Expression(until),
                max,
                delays: Delays { backoff, initial, max_delay },
            })
        });
        details.retry_safe = self.retry_safe;
        details.workspace = match (self.merges, self.exclusive) {
            (Some(_), _) => Some(WorkspaceMode::Worktree),
            (None, true) => Some(WorkspaceMode::Exclusive),
            (None, false) => None,
        };
        made.details_mut().verify = self.gate.map(|gate| {
            Box::new(Verify {
                claims: ClaimPolicy::None,
                expect_changes: None,
                commentary: Vec::new(),
                checks: vec![Check::Expr(condition("true", ids))],
                on_failed: gate.on_failed,
                on_inconclusive: gate.on_inconclusive,
                on_unchecked: gate.on_inconclusive,
                max_reworks: gate.max_reworks,
            })
        });
        made.for_each = self.for_each.map(|each| {
            Box::new(ForEach {
                items: ItemSource::Value(ValueTemplate::literal(Json::Array(Vec::new()))),
                name: "item".into(),
                key: None,
                max_parallel: each.max_parallel,
                on_item_error: each.on_error,
                collect: None,
            })
        });
        made
    }
}

impl Case {
    pub(super) fn plan(&self) -> Plan {
        let ids: BTreeSet<StepId> =
            self.steps.iter().map(|spec| StepId::new(&spec.id).unwrap()).collect();
        let made = |finally: bool| {
            let chosen = self.steps.iter().filter(|spec| spec.finally == finally);
            let step = |spec: &Spec| {
                let mut made = spec.step(&ids);
                if let (StepKind::Approve(approve), Some((to, max))) =
                    (&mut made.kind, self.sends_back(spec))
                {
                    let step = StepId::new(to).unwrap();
                    approve.on_reject = Some(OnReject { step, span: super::plans::SPAN, max });
                }
                made
            };
            chosen.map(step).collect::<Vec<_>>()
        };
        let mut book = Arc::unwrap_or_clone(playbook(made(false), made(true)));
        book.limits.fail_fast = self.fail_fast;
        let (plan, problems) = Plan::build(&Arc::new(book), &specialists::catalog());
        plan.unwrap_or_else(|| panic!("{problems:?}"))
    }

    /// The step that a rejection sends the work back to, if a plan permits one, and how often.
    pub(super) fn sends_back<'a>(&'a self, spec: &'a Spec) -> Option<(&'a str, u32)> {
        let (n, max) = spec.returns?;
        if spec.finally || spec.for_each.is_some() || !matches!(spec.kind, Kind::Approve(_)) {
            return None;
        }
        let main = || self.steps.iter().filter(|step| !step.finally);
        let above = self.above(spec);
        let beside = |to: &str| {
            main().any(|step| {
                let below = self.above(step).contains(to) && step.id != spec.id;
                below && !above.contains(&*step.id) && !self.above(step).contains(&*spec.id)
            })
        };
        let able: Vec<&str> = above.iter().copied().filter(|to| !beside(to)).collect();
        Some((able.get(usize::from(n) % able.len().max(1))?, max))
    }

    /// The steps that a step depends on, directly or not.
    fn above<'a>(&'a self, spec: &'a Spec) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = spec.edges.iter().map(|(on, _)| on.as_str()).collect();
        while let Some(id) = open.pop() {
            if found.insert(id) {
                let edges = self.steps.iter().filter(|step| step.id == id);
                open.extend(edges.flat_map(|step| step.edges.iter().map(|(on, _)| on.as_str())));
            }
        }
        found
    }

    pub(super) fn rules(&self) -> Rules {
        Rules {
            max_parallel: self.max_parallel,
            limited_by_processors: self.limited_by_processors,
            undecided: Undecided {
                inconclusive: Some(self.inconclusive),
                unchecked: Some(self.inconclusive),
            },
            ..Rules::default()
        }
    }

    /// What an `inconclusive` verdict of that step does.
    pub(super) fn on_inconclusive(&self, spec: &Spec) -> InconclusivePolicy {
        spec.gate.and_then(|gate| gate.on_inconclusive).unwrap_or(self.inconclusive)
    }

    /// Whether that verdict lets the step pass.
    pub(super) fn lets_pass(&self, spec: &Spec, verdict: Verdict) -> bool {
        let on_failed = spec.gate.and_then(|gate| gate.on_failed);
        match verdict {
            Verdict::Passed => true,
            Verdict::Failed => on_failed == Some(FailurePolicy::Warn),
            Verdict::Inconclusive | Verdict::Unchecked => {
                self.on_inconclusive(spec) == InconclusivePolicy::Warn
            }
        }
    }
}
