//! [`Recall`]: what a specialist is shown of the memory, within a number of tokens.

use crate::entry::{Entry, State, Trust};
use kb_base::value::{RunId, Timestamp, estimated_tokens};

/// Tokens of the heading and the fence around the lines.
const FRAME: usize = 120;
/// Characters of a path or check that are shown as evidence.
const SHOWN: usize = 80;
const DAY: u64 = 24 * 3600;

/// Lines of entries for a prompt, with age and evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recall {
    /// Ids of the entries, in order.
    pub entries: Vec<String>,
    /// One line for each entry. The caller fences them as data.
    pub lines: String,
    /// The lowest trust of the entries.
    pub trust: Trust,
}

impl Recall {
    /// The entries that a specialist in a run of this lineage may be shown without asking, most relevant first, as many as
    /// fit into `max_tokens` with their frame. `None` if none fits. What the lineage itself proposed is left out.
    pub fn of(
        entries: &[Entry],
        lineage: &[RunId],
        now: Timestamp,
        max_tokens: usize,
    ) -> Option<Recall> {
        let (mut ids, mut lines, mut trust) = (Vec::new(), String::new(), Trust::Person);
        for entry in entries.iter().filter(|entry| entry.state_in(lineage).is_usable()) {
            let line = line(entry, now);
            if estimated_tokens(&lines) + estimated_tokens(&line) + FRAME > max_tokens {
                continue;
            }
            lines.push_str(&line);
            ids.push(entry.id.clone());
            trust = trust.min(entry.trust);
        }
        (!ids.is_empty()).then_some(Recall { entries: ids, lines, trust })
    }
}

/// One entry as a line: id, kind, origin, age, evidence, text.
fn line(entry: &Entry, now: Timestamp) -> String {
    let origin = match (&entry.approved_by, entry.state) {
        (Some(_), _) | (None, State::Shared) => "approved by a person".to_owned(),
        _ => format!("proposed by {}", entry.author),
    };
    let checked = match entry.last_verified {
        Some(at) => format!("checks passed {}", age(at, now)),
        None => "no check".to_owned(),
    };
    let files: Vec<&str> = entry.anchors.iter().map(|anchor| anchor.path.as_str()).collect();
    let files = match files.as_slice() {
        [] => String::new(),
        paths => format!("; rests on {}", kb_base::value::cut_to_chars(&paths.join(", "), SHOWN)),
    };
    let (id, kind, age) = (&entry.id, entry.kind.as_str(), age(entry.created, now));
    format!("- {id} ({kind}, {origin} {age}; {checked}{files}): {}\n", entry.text)
}

/// The age of a moment in words.
fn age(at: Timestamp, now: Timestamp) -> String {
    match now.since(at).as_secs() / DAY {
        0 => "today".to_owned(),
        1 => "1 day ago".to_owned(),
        days => format!("{days} days ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Anchor, Kind, Scope};

    fn entry(id: &str, state: State, text: &str) -> Entry {
        let day = |n: i64| Timestamp(n * 1000 * DAY as i64);
        Entry {
            id: id.to_owned(),
            kind: Kind::Fact,
            subject: None,
            text: text.to_owned(),
            tags: Vec::new(),
            scope: Scope::Project,
            state,
            trust: Trust::Model,
            author: "researcher".to_owned(),
            run: RunId::new("r1").ok(),
            step: None,
            approved_by: None,
            created: day(1),
            updated: day(1),
            last_verified: Some(day(9)),
            last_accessed: None,
            access_count: 0,
            anchors: vec![Anchor { path: "src/a.rs".into(), sha256: None, excerpt: None }],
            checks: Vec::new(),
        }
    }

    const NOW: Timestamp = Timestamp(11 * 1000 * DAY as i64);

    #[test]
    fn a_line_has_the_age_and_the_evidence() {
        let all = [entry("m-1", State::Verified, "The port is 8080.")];
        let recall = Recall::of(&all, &[], NOW, 1200).unwrap();
        assert_eq!(
            recall.lines,
            "- m-1 (fact, proposed by researcher 10 days ago; checks passed 2 days ago; rests on src/a.rs): \
             The port is 8080.\n"
        );
        assert_eq!((recall.entries, recall.trust), (vec!["m-1".to_owned()], Trust::Model));
    }

    #[test]
    fn only_what_is_verified_or_shared_and_not_of_the_own_runs_is_shown() {
        for state in State::ALL {
            let all = [entry("m-1", state, "x")];
            let usable = matches!(state, State::Verified | State::Shared);
            assert_eq!(Recall::of(&all, &[], NOW, 1200).is_some(), usable, "{state:?}");
        }
        let own = [entry("m-1", State::Verified, "x")];
        assert_eq!(Recall::of(&own, &[RunId::new("r1").unwrap()], NOW, 1200), None);
    }

    #[test]
    fn the_lines_and_their_frame_stay_within_the_tokens() {
        let all: Vec<Entry> = (0..100)
            .map(|n| entry(&format!("m-{n}"), State::Shared, &"слово ".repeat(n % 40 + 1)))
            .collect();
        for most in [0, FRAME, 200, 1200] {
            let found = Recall::of(&all, &[], NOW, most);
            let used = found.map_or(0, |recall| estimated_tokens(&recall.lines) + FRAME);
            assert!(used <= most, "{used} {most}");
        }
    }
}
