//! A real SIGKILL before and after the n-th change that `kb` makes to any file: its journal, its log,
//! its blobs, its locks, the project's files, what it prints.

use super::case::{Case, Left, Next, Product, ended_before};
use super::dice::Dice;
use super::law::Count;
use super::{orphans, reader, transitions};
use crate::disk::{Deed, Fault, Op, read_log};
use crate::proof;
use crate::running::Start;
use crate::scratch::Scratch;
use kb::run::RunStatus;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A run that needs more owners than this never ends.
const HOLDERS: usize = 12;

/// The run without kills, and how many changes it makes.
fn undisturbed() -> (Product, usize) {
    let mut case = Case::new();
    let log = tempfile::NamedTempFile::new().unwrap();
    let fault = Fault::below(&case.folder()).log(log.path());
    let (mut child, said) = case.start(&Next::Begin, |command| fault.on(command));
    let code = ended_before(&mut child, None).unwrap().unwrap();
    let next = case.note(&Left::Exit(code), &said).unwrap();
    assert!(matches!(next, Next::Nothing(RunStatus::Succeeded)));
    let (_, product) = case.conclude().unwrap();
    let counts = |op: &Op| !matches!(op, Op::Synced | Op::Unsynced);
    (product, read_log(log.path()).iter().filter(|record| counts(&record.op)).count())
}

/// What one run came to that was killed at such a point.
struct Ended {
    count: Count,
    /// What had been stored last at each kill.
    last: BTreeSet<String>,
}

/// Kills the first owner at one change, and the next ones at changes that the dice choose.
fn killed_at(point: usize, deed: Deed, usual: &Product) -> Result<Ended, String> {
    let mut dice = Dice::of(point as u64);
    let mut case = Case::new();
    let reader = reader::Reader::of(&case, usual);
    let (mut next, mut last) = (Next::Begin, BTreeSet::new());
    let mut deaths = vec![(point, deed)];
    if dice.below(3) == 0 {
        deaths.insert(0, (dice.below(60) as usize + 1, Deed::KillBefore));
    }
    let mut owners = 0;
    while !matches!(next, Next::Nothing(_)) {
        owners += 1;
        if owners > HOLDERS {
            return Err("the run never ends".into());
        }
        let fault = deaths.pop().map(|(at, deed)| Fault::below(&case.folder()).at(at, deed));
        let (mut child, said) = case.start(&next, |command| {
            fault.iter().for_each(|fault| fault.on(command));
        });
        let code = ended_before(&mut child, None)?;
        // The signal leaves no code.
        let left = code.filter(|code| *code >= 0).map_or(Left::Killed, Left::Exit);
        next = case.note(&left, &said)?;
        if let Some(life) = case.lives.last().filter(|life| life.killed) {
            let names = life.events.last().map(|stored| transitions::names(&stored.event));
            last.extend(names.unwrap_or_else(|| vec!["nothing".into()]));
        }
    }
    reader.end()?;
    let (count, product) = case.conclude()?;
    if product == *usual { Ok(Ended { count, last }) } else { Err(format!("{product:#?}")) }
}

#[test]
fn kb_may_be_killed_at_every_change_of_a_file() {
    let (usual, changes) = undisturbed();
    let wanted = proof::amount("KB_CRASH_POINTS", 16, changes).clamp(1, changes);
    let points: Vec<usize> = (0..wanted).map(|i| 1 + i * changes / wanted).collect();
    let next = AtomicUsize::new(0);
    let sum = Mutex::new((Count::default(), BTreeSet::new()));
    let work = || {
        while let Some(&point) = points.get(next.fetch_add(1, Ordering::SeqCst)) {
            // A kill after a change and one before the next differ by what is done in between.
            let deed = [Deed::KillBefore, Deed::KillAfter][point % 2];
            let ended = killed_at(point, deed, &usual)
                .unwrap_or_else(|broken| panic!("{deed:?} {point} of {changes}: {broken}"));
            let mut sum = sum.lock().unwrap();
            sum.0 += ended.count;
            sum.1.extend(ended.last);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let (count, last) = sum.into_inner().unwrap();
    println!("last stored at a kill: {last:?}");
    proof::record(
        "crash points: kill -9 at changes of files",
        None,
        [
            ("changes of an undisturbed run", changes as u64),
            ("points", points.len() as u64),
            ("kills", count.kills),
            ("kinds of last event", last.len() as u64),
            ("lost", count.lost),
            ("repeated", count.repeated),
            ("in flight twice", count.twice),
        ],
    );
}

/// Calls `kb` with a kill at each change in turn until one call ends by itself; `whole` looks after
/// each kill.
fn at_each_change(
    scratch: impl Fn() -> Scratch,
    args: &[&str],
    file: &str,
    mut whole: impl FnMut(&Scratch),
) -> usize {
    for point in 1..400 {
        let scratch = scratch();
        let folder = scratch.root().parent().unwrap().canonicalize().unwrap();
        let deed = [Deed::KillBefore, Deed::KillAfter][point % 2];
        let mut command = scratch.command();
        Fault::below(&folder).file(file).at(point, deed).on(&mut command);
        let ended = command.args(args).finish();
        orphans::gone(&folder).unwrap();
        whole(&scratch);
        if ended.status.code().is_some() {
            return point - 1;
        }
    }
    panic!("it never ends by itself");
}

#[test]
fn an_init_that_was_killed_is_finished_by_the_next() {
    let files = |scratch: &Scratch| -> Vec<(String, String)> {
        let all = orphans::files(&scratch.root()).into_iter().filter(|path| path.is_file());
        let root = scratch.root();
        let name = |path: &std::path::Path| path.strip_prefix(&root).unwrap().display().to_string();
        let mut all: Vec<(String, String)> =
            all.map(|path| (name(&path), std::fs::read_to_string(&path).unwrap())).collect();
        all.sort();
        all
    };
    let usual = Scratch::bare();
    usual.kb(&["init"]).code(0);
    let kills = at_each_change(Scratch::bare, &["init"], "/project/", |scratch| {
        scratch.kb(&["init"]).code(0);
        assert_eq!(files(scratch), files(&usual));
    });
    assert!(kills >= 5, "{kills} points");
}
