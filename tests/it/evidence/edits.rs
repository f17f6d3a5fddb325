//! Random edits of a stored trace: the hash chain finds each.

use super::sample::{Sample, sample, state};
use crate::proof;
use kb::definition::SyncMode;
use kb::value::RunId;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// A generator of numbers, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64) % limit.max(1)
    }
}

/// The kinds of edits. Each gets the rowid-like position of an event, and another.
const KINDS: [&str; 12] = [
    "one character of an event",
    "a character added to an event",
    "a character removed from an event",
    "the time of an event",
    "the epoch of an event",
    "the link of an event",
    "the type of an event",
    "an event removed",
    "two events exchanged",
    "an event copied over another",
    "one character of the definition",
    "the kept head",
];

/// Applies an edit; `false` if it left everything as it was.
fn edit(database: &Connection, kind: usize, dice: &mut Dice) -> bool {
    let count: i64 =
        database.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
    let at = |n: i64| -> i64 {
        let query = "SELECT position FROM events ORDER BY position LIMIT 1 OFFSET ?1";
        database.query_row(query, [n], |row| row.get(0)).unwrap()
    };
    let (first, second) = (at(dice.below(count)), at(dice.below(count)));
    let run = |statement: &str| database.execute_batch(statement).unwrap();
    let body = |table: &str, place: &str| -> String {
        database
            .query_row(&format!("SELECT body FROM {table} {place}"), [], |row| row.get(0))
            .unwrap()
    };
    let put = |table: &str, place: &str, text: String| {
        let statement = format!("UPDATE {table} SET body = ?1 {place}");
        database.execute(&statement, [text]).unwrap();
    };
    let here = format!("WHERE position = {first}");
    let mut changed_text = |text: &str, how: usize| -> String {
        let mut chars: Vec<char> = text.chars().collect();
        let place = dice.below(chars.len() as i64) as usize;
        match how {
            0 => chars[place] = if chars[place] == 'x' { 'y' } else { 'x' },
            1 => chars.insert(place, 'x'),
            _ => {
                chars.remove(place);
            }
        }
        chars.into_iter().collect()
    };
    match kind {
        0..=2 => {
            let text = body("events", &here);
            put("events", &here, changed_text(&text, kind));
        }
        3 => run(&format!("UPDATE events SET at = at + {} {here}", 1 + dice.below(1_000))),
        4 => run(&format!("UPDATE events SET epoch = epoch + {} {here}", 1 + dice.below(5))),
        5 => run(&format!("UPDATE events SET digest = randomblob(32) {here}")),
        6 => run(&format!("UPDATE events SET type = type || 'x' {here}")),
        7 => run(&format!("DELETE FROM events {here}")),
        8 | 9 => {
            let (one, two) =
                (body("events", &here), body("events", &format!("WHERE position = {second}")));
            if one == two {
                return false;
            }
            put("events", &here, two);
            if kind == 8 {
                put("events", &format!("WHERE position = {second}"), one);
            }
        }
        10 => {
            let text = body("frozen", "");
            put("frozen", "", changed_text(&text, 0));
        }
        _ => run("UPDATE runs SET head = randomblob(32)"),
    }
    true
}

/// Whether the chain of a copy of the journal with an edit does not hold.
fn is_detected(sample: &Sample, kind: usize, dice: &mut Dice) -> Option<bool> {
    let copy = tempfile::tempdir().unwrap();
    let file = copy.path().join("journal.sqlite3");
    std::fs::copy(state(&sample.scratch).join("journal.sqlite3"), &file).unwrap();
    {
        let database = Connection::open(&file).unwrap();
        if !edit(&database, kind, dice) {
            return None;
        }
    }
    let journal = kb::journal::open(copy.path(), SyncMode::Normal).unwrap();
    let ledger = journal.ledger(&RunId::new(&sample.run).unwrap());
    Some(ledger.map_or(true, |ledger| !ledger.breaks().is_empty()))
}

#[test]
fn every_random_edit_of_a_stored_trace_is_detected() {
    let seed = std::env::var("KB_TRACE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let edits = proof::amount("KB_TRACE_EDITS", 48, 1_000);
    let sample = sample();
    let mut dice = Dice(seed);
    let mut missed: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut done, mut number) = (0, 0);
    while done < edits {
        let kind = number % KINDS.len();
        number += 1;
        match is_detected(&sample, kind, &mut dice) {
            None => continue,
            Some(true) => {}
            Some(false) => *missed.entry(KINDS[kind]).or_default() += 1,
        }
        done += 1;
    }
    let lost: u32 = missed.values().sum();
    let figures =
        [("edits", edits as f64), ("kinds", KINDS.len() as f64), ("missed", f64::from(lost))];
    proof::record("edits of a stored trace", Some(seed), figures);
    assert!(missed.is_empty(), "{missed:?}");
}
