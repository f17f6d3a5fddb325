//! Each section of the language reference has a case that is accepted and one that is refused or fails.
//! `tests/conformance/sections.tsv` names them.

use std::collections::{BTreeMap, BTreeSet};

const REFERENCE: &str = include_str!("../../../docs/reference/language.md");
const SECTIONS: &str = include_str!("../../conformance/sections.tsv");

/// Gives reasons, and describes nothing that a definition can contain.
const WITHOUT_CASES: &str = "Design decisions of the language";

/// Exit codes of a run that succeeded, or waits for a person.
const ACCEPTED: [i32; 2] = [0, 3];

#[test]
fn each_section_of_the_reference_has_an_accepted_and_a_refused_case() {
    let exits: BTreeMap<String, i32> =
        super::cases().into_iter().map(|(name, case)| (name, case.expect.exit)).collect();
    let mut wrong = Vec::new();
    let mut named = BTreeSet::new();
    for row in SECTIONS.lines().filter(|row| !row.starts_with('#')) {
        let [section, accepted, refused] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {row}");
        };
        assert!(named.insert(section), "{section} has two rows");
        for (case, is_accepted) in [(accepted, true), (refused, false)] {
            match exits.get(case) {
                None => wrong.push(format!("{section}: there is no case `{case}`")),
                Some(exit) if ACCEPTED.contains(exit) != is_accepted => {
                    wrong.push(format!("{section}: `{case}` exits with {exit}"));
                }
                Some(_) => {}
            }
        }
    }
    let headings = REFERENCE.lines().filter(|line| line.starts_with("##"));
    let headings: BTreeSet<&str> = headings.map(|line| line.trim_matches(['#', ' '])).collect();
    let without = headings.difference(&named).filter(|section| **section != WITHOUT_CASES);
    wrong.extend(without.map(|section| format!("{section} has no row")));
    wrong.extend(named.difference(&headings).map(|section| format!("{section} is no section")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
