//! The generated suite: lies and honest reports over small tasks, on real files with real tools.
//!
//! Each test prints its table as JSON with its seed (`--nocapture`); `scripts/prove --only claims` runs
//! the full form. `KB_CLAIMS_SEED` sets the first seed, `KB_CLAIMS` the number of tasks.

mod free;
mod honest;
mod lies;
mod speed;
mod table;
mod task;
mod whole;

use super::bench::Case;
use crate::proof;
use kb::evidence::Verdict;
use table::Table;
use task::Dice;

fn first_seed() -> u64 {
    std::env::var("KB_CLAIMS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11)
}

async fn judged(cases: Vec<Case>, wrong: Verdict) -> Table {
    let mut table = Table::default();
    table.add(&cases, wrong).await;
    table
}

/// Every operator: at least 95 % refuted, and 99 % over all. None is accepted.
#[tokio::test(flavor = "multi_thread")]
async fn lies_are_refuted() {
    let (seed, tasks) = (first_seed(), proof::amount("KB_CLAIMS", 12, 300));
    let mut refuted = Table::default();
    for task in 0..tasks as u64 {
        refuted.add(&lies::lies(seed + task), Verdict::Passed).await;
    }
    refuted.print("lies", seed, tasks);
    refuted.none_is_wrong();
    refuted.share_of_refuted_is_at_least(95.0, 99.0);
}

/// At most 1 % of the honest reports are refuted.
#[tokio::test(flavor = "multi_thread")]
async fn honest_reports_are_not_refuted() {
    let (seed, tasks) = (first_seed(), proof::amount("KB_CLAIMS", 6, 40));
    assert!(honest::kinds() >= 20);
    let mut all = Table::default();
    for task in 0..tasks as u64 {
        all.add(&honest::reports(seed + task), Verdict::Failed).await;
    }
    all.print("honest reports", seed, tasks);
    all.share_of_wrong_is_at_most(1.0);
}

/// Claims without any recorded call never pass.
#[tokio::test(flavor = "multi_thread")]
async fn claims_without_evidence_do_not_pass() {
    let (seed, count) = (first_seed(), proof::amount("KB_CLAIMS", 60, 500));
    let cases = (0..count as u64).map(|n| free::report(seed + n)).collect();
    let table = judged(cases, Verdict::Passed).await;
    table.print("claims without evidence", seed, count);
    table.none_is_wrong();
}

/// Lies that the checks of a gate refute, through the binary.
#[test]
fn checks_refute_lies_about_tests() {
    let (seed, tasks) = (first_seed(), proof::amount("KB_CLAIMS", 2, 30));
    let mut table = Table::default();
    for task in 0..tasks as u64 {
        let mut dice = Dice::of(seed + task);
        for case in &whole::CASES {
            let (verdict, wrong) = case.run(&mut dice);
            table.note(case.name, verdict, wrong);
        }
    }
    table.print("lies that checks refute", seed, tasks);
    table.none_is_wrong();
}

/// 95 % of gates with up to 20 claims about files of up to 1 MiB take at most 20 ms in a release build.
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_is_fast() {
    let reports = proof::amount("KB_CLAIMS_SPEED", 200, 10_000);
    let limit = if cfg!(debug_assertions) { 200.0 } else { 20.0 };
    let (p50, p95, bytes) = speed::measure(first_seed(), reports).await;
    let figures = [
        ("reports", reports as f64),
        ("p50 (ms)", p50),
        ("p95 (ms)", p95),
        ("p95 of an artifact (bytes)", bytes),
    ];
    proof::record("speed of gates", Some(first_seed()), figures);
    assert!(p95 <= limit, "p95 {p95:.1} ms");
    assert!(bytes <= 500.0, "p95 {bytes} bytes");
}
