//! A memory with 100,000 entries, measured: `cargo test --release -p kb-memory -- --ignored --nocapture flood`.

use super::*;
use crate::{Draft, Kind, Proposal, Trust};
use kb_base::value::{RunId, Timestamp};
use kb_core::redaction::Redactor;
use std::time::Duration;

const NOW: Timestamp = Timestamp(1_000_000_000);
const ENTRIES: usize = 100_000;

fn draft(n: usize, trust: Trust, run: Option<&str>) -> Draft {
    let words = ["server", "port", "release", "cache", "token", "index", "build", "queue"];
    let text = format!("The {} of the {} number {n} is {}", words[n % 8], words[n / 8 % 8], n * 7);
    let proposal = Proposal {
        id: None,
        kind: Kind::Fact,
        subject: None,
        text,
        tags: Vec::new(),
        anchors: Vec::new(),
        checks: Vec::new(),
        trust,
        author: "ann".to_owned(),
        run: run.map(|run| RunId::new(run).unwrap()),
        step: None,
    };
    Draft::admit(proposal, &Redactor::default()).unwrap()
}

#[test]
#[ignore = "takes a minute; scripts/retrieval --tests runs it"]
fn a_flood_of_100000_entries_is_refused_from_specialists_and_slows_no_search() {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::open(folder.path()).unwrap();
    let limits = Limits { max_entries: 2_000, archive_after: Duration::from_secs(1_000) };
    let mut refused = 0;
    for n in 0..ENTRIES {
        let run = format!("r{}", n / 40);
        let own = draft(n, Trust::Model, Some(&run));
        refused += usize::from(store.propose(&own, NOW, &limits).is_err());
    }
    assert_eq!(refused, ENTRIES - 2_000, "specialists stop at the limit");
    // People are not limited.
    store
        .change(|connection| {
            for n in ENTRIES..2 * ENTRIES {
                propose::insert(connection, &draft(n, Trust::Person, None), NOW)?;
            }
            Ok(())
        })
        .unwrap();
    let mut times = Vec::new();
    for n in 0..100 {
        let text = format!("which port has the server number {n}?");
        let query = Query { text: &text, limit: 15, ..Query::default() };
        let began = kb_clock::instant();
        let found = store.search(&query, Reader::Person).unwrap();
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(found.len(), 15);
    }
    times.sort_by(f64::total_cmp);
    let count = ENTRIES + 2_000;
    println!("{{\"entries\": {count}, \"refused\": {refused}, \"searchP95Ms\": {:.1}}}", times[95]);
}
