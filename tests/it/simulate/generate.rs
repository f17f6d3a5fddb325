//! Generates cases from seeds.

use super::case::{Case, End, GateSpec, Kind, Loop, PresetSpec, Row, Spec, Turn};
use super::dice::Dice;
use kb::definition::{
    FailurePolicy, HookEvent, InconclusivePolicy, OnItemError, OnTimeout, RecoveryAction, RunIf,
};
use kb::evidence::Verdict;
use kb::expression::Strength;
use kb::value::{OutcomeKind, OutcomeSelector, SpecialistId};

const OUTCOMES: [OutcomeKind; 10] = [
    OutcomeKind::Ok,
    OutcomeKind::Ok,
    OutcomeKind::Exit(1),
    OutcomeKind::Transient,
    OutcomeKind::Timeout,
    OutcomeKind::ToolError,
    OutcomeKind::ValidationFailed,
    OutcomeKind::Stuck,
    OutcomeKind::PolicyDenied,
    OutcomeKind::Unknown,
];

/// The case of a seed. Every fourth is calm: only the order of answers varies, so that the tables
/// alone say what comes out; the others are the wilder the higher.
pub(super) fn case(seed: u64) -> Case {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9).wrapping_add(11));
    let count = 1 + dice.below(7);
    let finals = dice.below(3);
    let mut steps: Vec<Spec> = Vec::new();
    for i in 0..count + finals {
        let finally = i >= count;
        let id = if finally { format!("f{}", i - count) } else { format!("s{i}") };
        let before: Vec<String> = steps
            .iter()
            .filter(|spec| spec.finally == finally)
            .map(|spec| spec.id.clone())
            .collect();
        let main: Vec<String> =
            steps.iter().filter(|spec| !spec.finally).map(|spec| spec.id.clone()).collect();
        steps.push(spec(&mut dice, &id, finally, &before, &main));
    }
    // Dice of their own, so that the other parts of a case do not depend on them.
    let mut more = Dice(seed.wrapping_mul(0x85EB_CA6B).wrapping_add(7));
    steps.iter_mut().for_each(|spec| spec.preset = preset(&mut more, spec));
    let mut more = Dice(seed.wrapping_mul(0xC2B2_AE35).wrapping_add(11));
    for spec in steps.iter_mut().filter(|spec| matches!(spec.kind, Kind::Approve(_))) {
        spec.returns = more.chance(60).then(|| (more.number() as u8, 1 + more.below(2) as u32));
    }
    let mut more = Dice(seed.wrapping_mul(0x27D4_EB2F).wrapping_add(13));
    for each in steps.iter_mut().filter_map(|spec| spec.for_each.as_mut()) {
        if each.on_error == OnItemError::Fail && more.chance(40) {
            each.on_error = OnItemError::Finish;
        }
    }
    let wild = seed % 4;
    Case {
        steps,
        max_parallel: 1 + dice.below(4) as u32,
        limited_by_processors: more.chance(30),
        fail_fast: dice.chance(15),
        inconclusive: dice.one_of(&[
            InconclusivePolicy::Warn,
            InconclusivePolicy::Warn,
            InconclusivePolicy::Fail,
            InconclusivePolicy::Fail,
            InconclusivePolicy::AskUser,
        ]),
        concludes: !dice.chance(5),
        turns: turns(&mut dice, wild),
    }
}

fn preset(dice: &mut Dice, spec: &Spec) -> Option<PresetSpec> {
    // Of an expansion, the list was evaluated before.
    // Items with files of their own are not kept without their step, as `choose` decides.
    let expands = spec.for_each.is_some() && spec.edges.is_empty() && spec.merges.is_none();
    let kind = dice.below(24);
    let items = dice.below(32) as u8;
    match kind {
        0 if !spec.finally => Some(PresetSpec::Skipped),
        1 | 2 if !spec.finally => Some(PresetSpec::Kept),
        3..9 if !spec.finally && expands && spec.holds() && spec.evaluates => {
            Some(PresetSpec::Items(items))
        }
        _ => None,
    }
}

fn spec(dice: &mut Dice, id: &str, finally: bool, before: &[String], main: &[String]) -> Spec {
    let mut spec = Spec { finally, ..Spec::new(id) };
    let waiting = waiting(dice);
    let child = Kind::Child(dice.below(3) as u8);
    spec.kind = dice.one_of(&[
        Kind::Set,
        Kind::Set,
        Kind::Run,
        Kind::Run,
        Kind::Run,
        Kind::Specialist,
        Kind::Writer,
        Kind::Gate,
        child,
        waiting,
    ]);
    spec.hook = (finally && dice.chance(50)).then(|| {
        let of = (!dice.chance(30)).then(|| main[dice.below(main.len())].clone());
        use HookEvent::{Cancel, Failure, Start, Success};
        (of, dice.one_of(&[Start, Success, Failure, Cancel]))
    });
    let before = if spec.is_early() { &[] } else { before };
    for on in before {
        let how = match dice.below(8) {
            0 | 1 => Strength::Needs,
            2 => Strength::MaySkip,
            3 => Strength::Watch,
            _ => continue,
        };
        spec.edges.push((on.clone(), how));
    }
    spec.condition = dice.chance(25).then(|| dice.chance(70));
    spec.run_if = dice.one_of(&[
        RunIf::AllSucceeded,
        RunIf::AllSucceeded,
        RunIf::NoneFailed,
        RunIf::AnySucceeded,
        RunIf::AllDone,
    ]);
    spec.tolerated = dice.chance(20);
    spec.retry = dice.chance(40).then(|| {
        let on = [
            OutcomeSelector::Any,
            OutcomeSelector::AnyExit,
            OutcomeSelector::Kind(OutcomeKind::Transient),
            OutcomeSelector::Kind(OutcomeKind::GateFailed),
        ];
        (1 + dice.below(3) as u32, dice.one_of(&on))
    });
    spec.recovery = dice.chance(35).then(|| rows(dice, spec.is_specialist()));
    spec.max_attempts = dice.chance(10).then(|| 1 + dice.below(3) as u32);
    spec.retry_safe = spec.kind == Kind::Gate || !dice.chance(20);
    spec.exclusive = dice.chance(20);
    spec.locks = ["a", "b"].into_iter().filter(|_| dice.chance(20)).map(str::to_owned).collect();
    spec.gate = (spec.kind != Kind::Gate && dice.chance(30)).then(|| gate(dice));
    spec.for_each = dice.chance(25).then(|| Loop {
        max_parallel: dice.chance(40).then(|| 1 + dice.below(2) as u32),
        on_error: if dice.chance(50) { OnItemError::Continue } else { OnItemError::Fail },
    });
    spec.repeat = dice.chance(20).then(|| (1 + dice.below(3) as u32, 1 + dice.below(4) as u32));
    spec.evaluates = !dice.chance(4);
    spec.gathers = !dice.chance(6);
    let items = if spec.for_each.is_some() { dice.below(5) } else { 1 };
    spec.ends = (0..items).map(|_| ends(dice)).collect();
    spec.heals = dice.chance(50);
    let attempts =
        matches!(spec.kind, Kind::Run | Kind::Specialist | Kind::Writer) || spec.kind == child;
    if attempts && dice.chance(20) {
        (spec.merges, spec.exclusive) = (Some(!dice.chance(15)), false);
    }
    if spec.kind == child {
        // Each step of a child run has its own; a wait for a person is an attempt of the step.
        (spec.retry_safe, spec.max_attempts) = (true, None);
    }
    if spec.kind.is_waiting() {
        // They have no attempts to shape; their text may still fail to render.
        (spec.retry, spec.max_attempts, spec.gate, spec.repeat) = (None, None, None, None);
        spec.recovery = None;
        (spec.retry_safe, spec.exclusive) = (true, false);
        spec.ends
            .iter_mut()
            .for_each(|ends| ends.retain(|end| end.outcome == OutcomeKind::ToolError));
    }
    spec
}

fn rows(dice: &mut Dice, specialist: bool) -> Vec<Row> {
    let on = [
        OutcomeSelector::Any,
        OutcomeSelector::AnyExit,
        OutcomeSelector::Kind(OutcomeKind::Stuck),
        OutcomeSelector::Kind(OutcomeKind::Unknown),
        OutcomeSelector::Kind(OutcomeKind::GateFailed),
        OutcomeSelector::Kind(OutcomeKind::GateInconclusive),
    ];
    let mut actions = vec![RecoveryAction::Retry, RecoveryAction::AskUser, RecoveryAction::Fail];
    if specialist {
        let other = SpecialistId::new("writer").expect("an id");
        actions.extend([
            RecoveryAction::Rework,
            RecoveryAction::EscalateModel,
            RecoveryAction::EscalateModel,
            RecoveryAction::ChangeStrategy,
            RecoveryAction::SwitchSpecialist(other),
        ]);
    }
    (0..dice.below(4))
        .map(|_| Row {
            on: dice.one_of(&on),
            action: actions[dice.below(actions.len())].clone(),
            max: 1 + dice.below(2) as u32,
        })
        .collect()
}

fn waiting(dice: &mut Dice) -> Kind {
    dice.one_of(&[
        Kind::Wait,
        Kind::Ask { times_out: false },
        Kind::Ask { times_out: true },
        Kind::Approve(None),
        Kind::Approve(Some(OnTimeout::Approve)),
        Kind::Approve(Some(OnTimeout::Reject)),
        Kind::Approve(Some(OnTimeout::Fail)),
    ])
}

fn gate(dice: &mut Dice) -> GateSpec {
    let policies = [
        None,
        Some(FailurePolicy::Rework),
        Some(FailurePolicy::Rework),
        Some(FailurePolicy::Retry),
        Some(FailurePolicy::EscalateModel),
        Some(FailurePolicy::Warn),
        Some(FailurePolicy::Fail),
    ];
    let inconclusive = [
        None,
        Some(InconclusivePolicy::Warn),
        Some(InconclusivePolicy::Fail),
        Some(InconclusivePolicy::AskUser),
    ];
    GateSpec {
        on_failed: dice.one_of(&policies),
        on_inconclusive: dice.one_of(&inconclusive),
        max_reworks: dice.below(3) as u32,
    }
}

fn ends(dice: &mut Dice) -> Vec<End> {
    let bad = if dice.chance(40) { 1 + dice.below(4) } else { 0 };
    (0..bad)
        .map(|_| End {
            outcome: dice.one_of(&OUTCOMES),
            verdict: dice.one_of(&[
                Verdict::Passed,
                Verdict::Inconclusive,
                Verdict::Unchecked,
                Verdict::Failed,
                Verdict::Failed,
            ]),
            words: dice.below(2) as u8,
            retry_after_ms: dice.chance(10).then(|| 1 + dice.roll() % 5_000),
        })
        .collect()
}

/// The wilder half has chapters: a run comes near its end, is retried, and answers of before come
/// once more.
fn turns(dice: &mut Dice, wild: u64) -> Vec<Turn> {
    let chapters = if wild < 2 { 1 } else { 1 + dice.below(3) };
    let mut turns = Vec::new();
    for chapter in 0..chapters {
        if chapter > 0 {
            let n = dice.number();
            turns.push(Turn::Retry(n.is_multiple_of(2).then_some(n / 2)));
            for _ in 0..dice.below(4) {
                let (n, again) = (dice.number(), dice.chance(50));
                turns.push(if again { Turn::Repeat(n) } else { Turn::Answer(n) });
            }
        }
        let count = dice.below(40);
        turns.extend((0..count).map(|_| turn(dice, wild)));
    }
    turns
}

fn turn(dice: &mut Dice, wild: u64) -> Turn {
    let n = dice.number();
    let kind = dice.below(100);
    match (wild, kind) {
        (_, 0..73) => Turn::Answer(n),
        (_, 73..75) => Turn::Ask(n),
        (_, 75..80) => Turn::Together(1 + (n % 6) as u8),
        (0, _) => Turn::Answer(n),
        (_, 80..84) => Turn::Repeat(n),
        (_, 84..86) => Turn::Alarm(n),
        (_, 86..88) => Turn::Record(n),
        (_, 88..91) => Turn::Crash,
        (_, 91..92) => Turn::PowerCut(n),
        (1, _) => Turn::Repeat(n),
        (_, 92..94) if n.is_multiple_of(4) => Turn::Child(n / 4),
        (_, 92..94) => Turn::Person(n, !n.is_multiple_of(3)),
        (_, 94..95) => Turn::Drain,
        (2 | 3, 95) if n.is_multiple_of(5) => Turn::RetryAlone(n / 5),
        (2, _) => Turn::Retry(n.is_multiple_of(2).then_some(n / 2)),
        (_, 95..97) => Turn::Cancel,
        (_, 97..98) => Turn::Expire,
        (_, _) => Turn::Retry(n.is_multiple_of(2).then_some(n / 2)),
    }
}
