//! A documentation comment tells more than the name of its item.

use super::source::sources;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Words that add nothing to a name.
const EMPTY: [&str; 12] =
    ["the", "a", "an", "of", "it", "its", "in", "this", "all", "one", "to", "is"];

#[test]
fn a_comment_says_more_than_the_name() {
    let mut found = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file.file).expect("it was read");
        let said = repeated(&text).into_iter();
        found.extend(said.map(|(line, text)| format!("{}:{line}: {text}", file.path)));
    }
    assert!(found.is_empty(), "write what the name does not say:\n{}", found.join("\n"));
}

#[test]
fn repetitions_are_found() {
    let lines = |text: &str| repeated(text).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
    assert_eq!(lines("/// The run.\n#[x]\npub run: RunId,\n/// Id of the run.\nrun: RunId,"), [1]);
    assert_eq!(
        lines("/// A map of\n/// names.\nstruct NameMap;\n/// All names.\nfn names() {}"),
        [4]
    );
    assert_eq!(lines("/// Which.\nfn kind() {}\n/// How.\nHow,"), [1, 3]);
}

/// The name that a line declares.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    let visibility = r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|unsafe\s+|const\s+)*";
    let kind = r"(?:fn|const|static|struct|enum|type|trait|mod)?\s*(\w+)";
    Regex::new(&format!("{visibility}{kind}")).unwrap()
});
/// A word of a text or of a name in any case.
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Z]?[a-z0-9]+|[A-Z]+").unwrap());

/// The comments of one line that only repeat the name of the item below, each with its line.
fn repeated(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let comment = |at: usize| lines.get(at)?.trim_start().strip_prefix("/// ");
    let mut found = Vec::new();
    for at in 0..lines.len() {
        let Some(text) = comment(at) else { continue };
        if at.checked_sub(1).and_then(comment).is_some() || comment(at + 1).is_some() {
            continue;
        }
        let item = lines[at + 1..].iter().find(|line| !line.trim_start().starts_with("#["));
        let Some(name) = item.and_then(|line| NAME.captures(line)) else { continue };
        let name = words(&name[1]);
        if words(text).difference(&name).all(|word| QUESTIONS.contains(&word.as_str())) {
            found.push((at + 1, text.to_owned()));
        }
    }
    found
}

/// A comment that consists of one of these and the name tells nothing either.
const QUESTIONS: [&str; 6] = ["which", "how", "what", "why", "where", "who"];

/// The words of a text or of a name, in lower case and the singular.
fn words(text: &str) -> BTreeSet<String> {
    let lower = WORD.find_iter(text).map(|word| word.as_str().to_lowercase());
    let told = lower.filter(|word| !EMPTY.contains(&word.as_str()));
    told.map(|word| word.trim_end_matches('s').to_owned()).collect()
}
