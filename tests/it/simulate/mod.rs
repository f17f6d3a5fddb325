//! The state machine under a seeded simulator: random plans, outcomes, orders, crashes, power cuts,
//! cancellations, people, resets and repetitions.
//!
//! A seed creates a [`case::Case`], which is data. [`simulation`] executes it with the real `decide` and
//! a journal, [`watch`] checks every event, and [`naive`] computes the expected result. A failing case
//! is reduced and printed as a playbook with its history. `KB_SIMULATE=100000 cargo test simulate`
//! runs more seeds.

mod case;
mod changes;
mod coverage;
mod dice;
mod generate;
mod naive;
mod plans;
mod regressions;
mod shrink;
mod simulation;
mod watch;
mod words;

pub(crate) use plans::{plan, playbook, step};

use crate::proof;
use crate::running::Start;
use case::Case;
use coverage::Coverage;
use kb::run::{Event, RunStatus, StepStatus};
use kb::value::Digest;
use simulation::{History, simulate};
use std::panic::{AssertUnwindSafe, catch_unwind};
use watch::Fault;

/// A statement about histories, beside those that hold for all of them.
type Claim = fn(&History) -> Result<(), Fault>;

fn nothing_more(_: &History) -> Result<(), Fault> {
    Ok(())
}

/// Runs a case; a panic is a fault like others.
fn played(case: &Case, claim: Claim, seen: &mut Coverage) -> Result<History, Fault> {
    let played = catch_unwind(AssertUnwindSafe(|| {
        let history = simulate(case, seen)?;
        claim(&history)?;
        Ok(history)
    }));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    })
}

/// The failing case of a seed, made small and readable.
fn small(seed: u64, fault: Fault, claim: Claim) -> (Case, String) {
    let fails = |case: &Case| played(case, claim, &mut Coverage::default()).err();
    let (case, fault) = shrink::shrink(generate::case(seed), fault, &fails);
    let story: Vec<String> = simulation::story(&case)
        .into_iter()
        .enumerate()
        .map(|(i, line)| format!("{:>4}  {line}\n", i + 1))
        .collect();
    let text = format!(
        "seed {seed}: {fault}\n\n{}\nwhat happened:\n{}",
        shrink::show(&case),
        story.concat()
    );
    (case, text)
}

struct Seen {
    coverage: Coverage,
    inputs: usize,
    events: usize,
    crashes: u32,
    digest: Digest,
}

fn digest(history: &History) -> Digest {
    let line = |e: &kb::journal::StoredEvent| {
        let text = serde_json::to_string(&e.event).unwrap();
        format!("{} {} {} {text}\n", e.seq, e.at.0, e.epoch)
    };
    Digest::of(history.events.iter().map(line).collect::<String>())
}

/// Runs the cases of these seeds; the first that fails is made small and told.
fn check(seeds: std::ops::Range<u64>, claim: Claim) -> Seen {
    let mut coverage = Coverage::default();
    let (mut inputs, mut events, mut crashes, mut digests) = (0, 0, 0, String::new());
    for seed in seeds {
        match played(&generate::case(seed), claim, &mut coverage) {
            Ok(history) => {
                inputs += history.inputs;
                events += history.events.len();
                crashes += history.crashes;
                digests.push_str(&digest(&history).to_string());
            }
            Err(fault) => panic!("{}", small(seed, fault, claim).1),
        }
    }
    Seen { coverage, inputs, events, crashes, digest: Digest::of(digests) }
}

#[test]
fn every_schedule_keeps_the_invariants_and_ends_as_the_tables_say() {
    let count = proof::amount("KB_SIMULATE", 1_000, 100_000) as u64;
    let halves = [0..count / 2, count / 2..count];
    let seen = std::thread::scope(|scope| {
        let running = halves.map(|seeds| scope.spawn(move || check(seeds, nothing_more)));
        running.map(|half| half.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let [mut first, second] = seen;
    first.coverage.add(second.coverage);
    let missing = first.coverage.missing();
    assert!(missing.is_empty(), "no seed of {count} makes {missing:?}");
    let digest = Digest::of(format!("{}{}", first.digest, second.digest));
    let figures = [
        ("schedules", serde_json::json!(count)),
        ("inputs", serde_json::json!(first.inputs + second.inputs)),
        ("events", serde_json::json!(first.events + second.events)),
        ("crashes", serde_json::json!(first.crashes + second.crashes)),
        ("digest of all histories", serde_json::json!(digest.short(16))),
    ];
    proof::record("simulator: random schedules", Some(0), figures);
}

#[test]
fn a_run_cut_off_after_any_event_goes_on_to_its_end() {
    let seeds = proof::amount("KB_SIMULATE_CUTS", 20, 2_000) as u64;
    let mut cuts = 0;
    for seed in 0..seeds {
        let case = generate::case(seed);
        let whole = played(&case, nothing_more, &mut Coverage::default()).unwrap();
        for end in 0..=whole.events.len() {
            let resumed = simulation::go_on(&case, &whole.events[..end]);
            let resumed = resumed.unwrap_or_else(|fault| {
                panic!("seed {seed}, cut after event {end}: {fault}\n{}", shrink::show(&case))
            });
            assert!(resumed.events.starts_with(&whole.events[..end]), "what was stored stays");
            cuts += 1;
        }
    }
    proof::record("simulator: cut off after every event", Some(0), [("cuts", cuts)]);
}

#[test]
fn a_run_that_continues_another_one_has_all_changes_that_were_verified() {
    let (mut runs, mut kept) = (0, 0);
    for seed in 0..proof::amount("KB_SIMULATE_CONTINUED", 400, 20_000) as u64 {
        let case = generate::case(seed);
        kept += changes::continued(&case, &mut Coverage::default())
            .unwrap_or_else(|fault| panic!("seed {seed}: {fault}\n{}", shrink::show(&case)));
        runs += 1;
    }
    assert!(kept > runs / 2, "{runs} runs kept {kept} results");
    proof::record(
        "simulator: runs that continue others",
        Some(0),
        [("runs", runs), ("kept", kept)],
    );
}

#[test]
fn the_same_seed_gives_the_same_history_in_another_process_too() {
    let digest = check(0..80, nothing_more).digest;
    assert_eq!(check(0..80, nothing_more).digest, digest);
    assert_ne!(check(80..160, nothing_more).digest, digest);
    let again = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["simulate::the_digest_of_80_histories", "--exact", "--ignored", "--nocapture"])
        .finish();
    let said = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(said.contains(&format!("digest {digest}")), "{said}");
}

/// Run by the test above, in a process of its own.
#[test]
#[ignore = "a part of another test"]
fn the_digest_of_80_histories() {
    println!("digest {}", check(0..80, nothing_more).digest);
}

#[test]
fn a_failing_case_becomes_small_and_readable() {
    /// No step ever fails, it says: many seeds show that it is wrong.
    fn nothing_fails(history: &History) -> Result<(), Fault> {
        let failed = |stored: &kb::journal::StoredEvent| match &*stored.event {
            Event::Ended { instance, status: StepStatus::Failed, .. } => Some(*instance),
            _ => None,
        };
        match history.events.iter().find_map(failed) {
            Some(instance) => Err(format!("instance {} failed", instance.0)),
            None => Ok(()),
        }
    }
    /// No run that was retried fails again, it says: it takes a reset to show that it is wrong.
    fn retries_help(history: &History) -> Result<(), Fault> {
        let again = history.events.iter().skip_while(|s| !matches!(*s.event, Event::Reset { .. }));
        let failed = |e: &Event| matches!(e, Event::RunEnded { status: RunStatus::Failed, .. });
        if again.into_iter().any(|stored| failed(&stored.event)) {
            Err("failed again".into())
        } else {
            Ok(())
        }
    }
    // A retry of a run that succeeded takes two turns to its end, itself, and what makes it fail. That of a
    // `finally` step of a cancelled run, which leaves a cancelled step behind, takes one more.
    for (claim, turns) in [(nothing_fails as Claim, 0), (retries_help, 5)] {
        let mut made = 0;
        for seed in (0..).filter(|seed| seed % 4 == 3) {
            let case = generate::case(seed);
            let Err(fault) = played(&case, claim, &mut Coverage::default()) else { continue };
            let (small, text) = small(seed, fault, claim);
            assert!(small.steps.len() <= 2, "{text}");
            assert!(small.turns.len() <= turns, "{text}");
            let (again, _) = (played(&small, claim, &mut Coverage::default()), &text);
            assert!(again.is_err(), "the small case fails too: {text}");
            for part in
                [&format!("seed {seed}: "), "steps:\n  - {id: s", "what happened:", " failed"]
            {
                assert!(text.contains(part), "`{part}` is missing in:\n{text}");
            }
            made += 1;
            if made == 5 {
                break;
            }
        }
    }
}
