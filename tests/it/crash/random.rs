//! Kills at random times, of one or of many processes, also while a run is resumed.

use super::case::{Case, Left, Next, Product, ended_before};
use super::dice::Dice;
use super::law::Count;
use super::{orphans, reader};
use crate::proof;
use crate::running::Running;
use kb::run::RunStatus;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A run that needs more lease owners than this never ends.
const HOLDERS: usize = 150;

/// Who is killed.
#[derive(Debug, Clone, Copy)]
enum Kill {
    /// `kb` alone.
    Alone,
    /// Its process group.
    Group,
    /// Everything that there is of it, its watchdog too.
    All,
}

fn kill(child: &mut Running, kind: Kill, case: &Case) {
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    match kind {
        Kill::Alone => drop(kill_process(pid, Signal::KILL)),
        Kill::Group => drop(kill_process_group(pid, Signal::KILL)),
        Kill::All => {
            for (pid, _) in orphans::processes(&case.folder()) {
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
        }
    }
    child.wait().unwrap();
}

/// How many kills there are still to be.
struct Budget {
    kills: u64,
    done: AtomicU64,
    inits: AtomicU64,
}

impl Budget {
    fn is_open(&self) -> bool {
        self.done.load(Ordering::SeqCst) < self.kills
    }
}

/// What one run that was killed again and again came to.
struct Ended {
    count: Count,
    result: Product,
    /// The longest that something of a killed `kb` was still there.
    lingered: Duration,
    reads: u64,
}

/// The run without kills, and how long it takes.
fn undisturbed() -> (Product, Duration) {
    let mut case = Case::new();
    let began = Instant::now();
    let (mut child, said) = case.start(&Next::Begin, |_| {});
    let code = ended_before(&mut child, None).unwrap().unwrap();
    let took = began.elapsed();
    let next = case.note(&Left::Exit(code), &said).unwrap();
    assert!(matches!(next, Next::Nothing(RunStatus::Succeeded)));
    let (_, result) = case.conclude().unwrap();
    (result, took)
}

fn killed_until_it_ends(
    seed: u64,
    usual: &Product,
    span: Duration,
    kills: &Budget,
) -> Result<Ended, String> {
    let mut dice = Dice::of(seed);
    let mut case = Case::new();
    let reader = reader::Reader::of(&case, usual);
    let (mut next, mut lingered) = (Next::Begin, Duration::ZERO);
    while !matches!(next, Next::Nothing(_)) {
        if case.lives.len() > HOLDERS {
            return Err("the run never ends".into());
        }
        // Half of the lease owners hardly get to work: they die while they take the run over.
        let span = if dice.below(2) == 0 { span / 3 } else { span };
        let life = Duration::from_micros(dice.below(span.as_micros() as u64));
        let kind = [Kill::Alone, Kill::Alone, Kill::Group, Kill::All][dice.below(4) as usize];
        let (mut child, said) = case.start(&next, |_| {});
        let until = kills.is_open().then(|| Instant::now() + life);
        if until.is_some() && dice.below(6) == 0 {
            // The init process alone, in the middle of what is left of this owner's life.
            let middle = Some(Instant::now() + life / 2);
            if ended_before(&mut child, middle)?.is_none()
                && let Some(init) = orphans::init_process(&case.folder())
            {
                let _ = kill_process(Pid::from_raw(init).unwrap(), Signal::KILL);
                case.inits_killed += 1;
                kills.inits.fetch_add(1, Ordering::SeqCst);
            }
        }
        let left = match ended_before(&mut child, until)? {
            Some(code) => Left::Exit(code),
            None => {
                kill(&mut child, kind, &case);
                kills.done.fetch_add(1, Ordering::SeqCst);
                Left::Killed
            }
        };
        if matches!(left, Left::Killed) && dice.below(4) == 0 {
            lingered = lingered.max(orphans::gone(&case.folder())?);
        }
        next = case.note(&left, &said)?;
    }
    let reads = reader.end()?;
    let (count, mut result) = case.conclude()?;
    if case.inits_killed > 0 {
        // A tolerated failure more stands in the outputs, and only there; a failed `finally` step
        // fails no run, so nobody re-opens it.
        result.outputs = usual.outputs.clone();
        result.files.retain(|path, _| !path.starts_with("out/tidy"));
        let tidy = usual.files.get_key_value("out/tidy");
        result.files.extend(tidy.map(|(path, text)| (path.clone(), text.clone())));
    }
    Ok(Ended { count, result, lingered, reads })
}

#[test]
fn a_run_may_be_killed_at_any_time_and_again_while_it_is_taken_over() {
    let kills = proof::amount("KB_KILLS", 12, 1_000) as u64;
    let seed = proof::amount("KB_KILL_SEED", 1, 1) as u64;
    let (usual, took) = undisturbed();
    let budget = Budget { kills, done: AtomicU64::new(0), inits: AtomicU64::new(0) };
    let runs = AtomicU64::new(0);
    let sum = Mutex::new((Count::default(), Duration::ZERO, 0));
    let work = || {
        while budget.is_open() {
            let number = runs.fetch_add(1, Ordering::SeqCst);
            let seed = seed * 1_000_000 + number;
            let ended = killed_until_it_ends(seed, &usual, took, &budget)
                .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
            assert_eq!(ended.result, usual, "seed {seed}");
            let mut sum = sum.lock().unwrap();
            sum.0 += ended.count;
            sum.1 = sum.1.max(ended.lingered);
            sum.2 += ended.reads;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let (count, lingered, reads) = sum.into_inner().unwrap();
    proof::record(
        "random kills",
        Some(seed),
        [
            ("kills", budget.done.into_inner()),
            ("kills of the init process alone", budget.inits.into_inner()),
            ("kills during recovery", count.recoveries),
            ("runs", runs.into_inner()),
            ("lost", count.lost),
            ("repeated", count.repeated),
            ("in flight twice", count.twice),
            ("never ended", 0),
            ("reads meanwhile", reads),
            ("gone after at most (ms)", lingered.as_millis() as u64),
        ],
    );
}
