//! Standard terms are found in the sources and the documentation, invented ones are not.

use super::{Page, files, pages, root};
use regex::{Regex, RegexBuilder};

/// Terms that people search for. Each occurs in `src/` and in the documentation.
const STANDARD: [&str; 54] = [
    "allow-list",
    "approval",
    "at-least-once",
    "attempt",
    "backoff",
    "blob",
    "budget",
    "circular dependency",
    "content-addressed",
    "critical path",
    "DAG",
    "dry run",
    "dispatcher",
    "epoch",
    "event channel",
    "event log",
    "exit code",
    "fan-out",
    "fsync",
    "hash chain",
    "human in the loop",
    "idempotency key",
    "inbox",
    "init process",
    "JSON Schema",
    "lease owner",
    "masking",
    "misfire",
    "maximum parallel",
    "namespace worker",
    "non-zero exit",
    "orphan process",
    "output schema",
    "path guard",
    "path traversal",
    "process group",
    "projection",
    "prompt injection",
    "rate limit",
    "redirect",
    "requires approval",
    "retry policy",
    "sandbox",
    "seccomp",
    "SSRF",
    "state machine",
    "subworkflow",
    "timeout",
    "token budget",
    "tool call",
    "transcript",
    "watchdog",
    "webhook",
    "write-ahead log",
];

/// Invented or archaic expressions, with the term to use instead.
const INVENTED: [(&str, &str); 29] = [
    (r"keepers?", "init process"),
    (r"(?:each|its|one) cells?|the cells", "namespace worker"),
    (r"guardians?", "watchdog"),
    (r"holders?", "lease owner"),
    (r"hops?", "redirect"),
    (r"spellings", "encodings, names"),
    (r"tall(?:y|ies)", "summary"),
    (r"hands? out|handed out|handing out", "outputs, returns, passes"),
    (r"hand(?:s|ed|ing)? (?:in|over)", "submits, passes"),
    (r"mend(?:s|ed|ing)?", "fix"),
    (r"the (?:card|house|heart)|house rules", "the specification, architecture, state machine"),
    (r"the rooms?", "module"),
    (r"the trails?|trails", "transcript"),
    (r"whoever|whomever", "a process that, people who"),
    (r"nobody|nobody's", "no process, no person"),
    (r"somebody", "a person, a process"),
    (r"goes on|gone on|going on|go on with", "continues"),
    (r"begun", "started"),
    (r"anew", "again"),
    (r"thaw(?:ed|s|ing)?", "restore"),
    (r"look(?:s|ed|ing)? at", "inspect, read"),
    (r"(?:be|is|was|are|were) had", "is obtained, is available"),
    (r"told of|said of|speaks? of", "reported, recorded, applies to"),
    (r"unless said", "by default"),
    (r"(?:LANGUAGE|DESIGN) §|\b00[0-4] §", "a page of docs/"),
    (r"where to enter", "where to start reading"),
    (r"takes? hold of", "leases"),
    (r"of (?:ours|theirs)", "of `kb`"),
    (r"at hand", "available"),
];

/// Lines that may contain such an expression: a part of the file's path, and a text of the line.
const PERMITTED: [(&str, &str); 2] = [
    // The account to which a user namespace maps other users.
    ("", "`nobody`"),
    // Names of tests.
    ("docs/guarantees.md", "::"),
];

/// The expressions: one that finds any of them, for most lines have none, and each with what to use instead.
struct Invented {
    any: Regex,
    each: Vec<(Regex, &'static str)>,
}

fn invented() -> Invented {
    let bounded = |pattern: &str| format!(r"\b(?:{pattern})\b").replace(r"§)\b", "§)");
    let regex = |pattern: &str| RegexBuilder::new(pattern).case_insensitive(true).build().unwrap();
    let each = INVENTED.map(|(pattern, instead)| (bounded(pattern), instead));
    let any: Vec<&str> = each.iter().map(|(pattern, _)| pattern.as_str()).collect();
    Invented {
        any: regex(&any.join("|")),
        each: each.iter().map(|(pattern, instead)| (regex(pattern), *instead)).collect(),
    }
}

/// Every invented expression in a text, as `path:line: expression (use …)`.
fn found(path: &str, text: &str, words: &Invented) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| words.any.is_match(line)) {
        let permitted = |(part, mark): &(&str, &str)| path.contains(part) && line.contains(mark);
        if PERMITTED.iter().any(permitted) {
            continue;
        }
        for (word, instead) in &words.each {
            if let Some(hit) = word.find(line) {
                found.push(format!("{path}:{}: `{}` (use {instead})", number + 1, hit.as_str()));
            }
        }
    }
    found
}

fn sources() -> Vec<Page> {
    let page = |path: &std::path::PathBuf| {
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        Page::read(&path)
    };
    ["src", "crates"]
        .iter()
        .flat_map(|folder| files(&root().join(folder), "rs"))
        .map(|path| page(&path))
        .collect()
}

fn all_found(pages: &[Page]) -> Vec<String> {
    let words = invented();
    pages.iter().flat_map(|page| found(&page.path, &page.text, &words)).collect()
}

#[test]
fn every_standard_term_is_found_in_the_sources_and_the_documentation() {
    let text = |pages: &[Page]| -> String {
        pages.iter().map(|page| page.text.to_lowercase() + "\n").collect()
    };
    let (book, sources) = (text(&pages()), text(&sources()));
    let missing = |text: &str| -> Vec<&str> {
        STANDARD.into_iter().filter(|term| !text.contains(&term.to_lowercase())).collect()
    };
    assert_eq!(missing(&book), Vec::<&str>::new(), "terms that the documentation does not use");
    assert_eq!(missing(&sources), Vec::<&str>::new(), "terms that the sources do not use");
}

#[test]
fn the_documentation_uses_no_invented_term() {
    let found = all_found(&pages());
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_sources_use_no_invented_term() {
    let found = all_found(&sources());
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}
