//! Whatever the bytes are, loading ends with an answer.

use super::*;
use proptest::prelude::*;

const ROLES: [FileRole; 5] = [
    FileRole::Playbook,
    FileRole::Workflow,
    FileRole::Specialist,
    FileRole::AgentProfile,
    FileRole::Settings,
];

/// A valid text of each role.
fn valid() -> Vec<(FileRole, String)> {
    vec![
        (FileRole::Playbook, document("add-feature.yml")),
        (FileRole::Playbook, super::steps::EVERYTHING.to_owned()),
        (FileRole::Workflow, document("research-pipeline.md")),
        (FileRole::Workflow, document("review-loop.md")),
        (FileRole::Specialist, document("researcher-11-1.yml")),
        (FileRole::Specialist, document("researcher-19-2.yml")),
        (FileRole::Specialist, document("writer-003.yml")),
        (FileRole::AgentProfile, document("test-agent.md")),
        (FileRole::Settings, document("escalation.yml")),
    ]
}

/// Every diagnostic points into its text, and a definition with errors is not in the catalog.
fn load_any(role: FileRole, bytes: &[u8]) {
    let (catalog, found) = definition::load(vec![file("x", role, bytes)]);
    for diagnostic in &found {
        let span = diagnostic.span.expect("problems of files have places");
        let text = &catalog.sources.get(span.source).text;
        assert!(span.start <= span.end && span.end as usize <= text.len(), "{diagnostic:?}");
        assert!(text.is_char_boundary(span.start as usize), "{diagnostic:?}");
        assert!(text.is_char_boundary(span.end as usize), "{diagnostic:?}");
        assert!(!diagnostic.message.is_empty());
    }
    if found.iter().any(Diagnostic::is_error) {
        assert!(catalog.playbooks.is_empty() && catalog.specialists.is_empty());
    }
}

#[derive(Debug, Clone)]
enum Mutation {
    Cut(usize, usize),
    Insert(usize, String),
    Repeat(usize, usize),
    SwapLines(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = 0..4000usize;
    let bits = "(\\{\\{|\\}\\}|: |- |\\[|\\]|\\{|\\}|'|\"|\\||>|&a |\\*a|\t|\n|\n  |#|!x |<<|>>|~|é|🔍|---\n|-1|null|true|1e99|\\.\\.)";
    prop_oneof![
        (at.clone(), 1..60usize).prop_map(|(at, length)| Mutation::Cut(at, length)),
        (at.clone(), bits).prop_map(|(at, text)| Mutation::Insert(at, text)),
        (at.clone(), 1..80usize).prop_map(|(at, length)| Mutation::Repeat(at, length)),
        (at.clone(), at).prop_map(|(a, b)| Mutation::SwapLines(a, b)),
    ]
}

fn mutate(text: &str, mutation: &Mutation) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let length = letters.len().max(1);
    match mutation {
        Mutation::Cut(at, count) => {
            let at = at % length;
            letters.drain(at..(at + count).min(letters.len()));
        }
        Mutation::Insert(at, bit) => {
            let at = at % length;
            letters.splice(at..at, bit.chars());
        }
        Mutation::Repeat(at, count) => {
            let at = at % length;
            let part: Vec<char> = letters[at..(at + count).min(letters.len())].to_vec();
            letters.splice(at..at, part);
        }
        Mutation::SwapLines(a, b) => {
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let count = lines.len().max(1);
            lines.swap(a % count, b % count);
            return lines.concat();
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn never_panics_on_mutated_definitions(which in 0..9usize, mutations in proptest::collection::vec(mutation(), 1..5)) {
        let (role, text) = valid().swap_remove(which);
        let text = mutations.iter().fold(text, |text, mutation| mutate(&text, mutation));
        load_any(role, text.as_bytes());
    }

    #[test]
    fn never_panics_on_any_bytes(which in 0..5usize, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        load_any(ROLES[which], &bytes);
        let _ = definition::load_script("s", &bytes);
    }

    #[test]
    fn never_panics_on_any_text(which in 0..5usize, text in "(---\n)?[ -~\n\té🔍]{0,200}(\n---\n)?") {
        load_any(ROLES[which], text.as_bytes());
        let _ = definition::load_script("s", text.as_bytes());
    }
}

#[test]
fn never_panics_where_a_file_ends_early() {
    for (role, text) in valid() {
        for end in (0..text.len()).step_by(7) {
            load_any(role, &text.as_bytes()[..end]);
        }
    }
}
