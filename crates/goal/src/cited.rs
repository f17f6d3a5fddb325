//! The answer of a run, sentence by sentence: what a gate has read is apart from what nothing shows.

use schemars::JsonSchema;
use serde::Serialize;

/// What one subtask said, and what its gate says about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Finding {
    /// Name of the step instance.
    pub step: String,
    /// What it said.
    pub summary: String,
    /// Whether its gate passed.
    pub passed: bool,
    /// Why its gate did not pass.
    pub reason: Option<String>,
    /// Which sentences of the summary no check read.
    pub unread: Unread,
    /// Files whose change its gate has verified.
    pub files: Vec<CitedFile>,
}

/// Which sentences no check read.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Unread {
    /// It is not known, so none counts as read.
    #[default]
    Unknown,
    /// These; a sentence counts as unread if it contains one of them or is a part of one.
    Listed(Vec<String>),
}

/// A file with the content that a gate has verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CitedFile {
    /// Its path in the project.
    pub path: String,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// A sentence of an answer, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// The sentence, as the specialist wrote it.
    pub text: String,
    /// The step that said it.
    pub step: String,
    /// The files that it names, of those whose change was verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<CitedFile>,
}

/// Why the gate of a step did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// Name of the step instance.
    pub step: String,
    /// The reason of its gate.
    pub reason: String,
}

/// The answer of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CitedAnswer {
    /// Sentences of steps whose gate passed, each of which a check has read.
    pub reliable: Vec<Statement>,
    /// All others.
    pub uncertain: Vec<Statement>,
    /// What the gates left open.
    pub gaps: Vec<Gap>,
}

impl CitedAnswer {
    /// The answer that these findings make, in their order.
    pub fn of(findings: &[Finding]) -> CitedAnswer {
        let mut answer = CitedAnswer::default();
        for own in findings {
            for text in sentences(&own.summary) {
                let files = own.files.iter().filter(|file| names(text, &file.path)).cloned();
                let said = Statement {
                    text: text.to_owned(),
                    step: own.step.clone(),
                    files: files.collect(),
                };
                let is_reliable = own.passed && own.unread.is_read(text);
                let place = if is_reliable { &mut answer.reliable } else { &mut answer.uncertain };
                place.push(said);
            }
            let reason = own.reason.clone().filter(|_| !own.passed);
            answer.gaps.extend(reason.map(|reason| Gap { step: own.step.clone(), reason }));
        }
        answer
    }
}

impl Unread {
    fn is_read(&self, sentence: &str) -> bool {
        let Unread::Listed(texts) = self else { return false };
        let sentence = bare(sentence);
        texts
            .iter()
            .map(|text| bare(text))
            .all(|text| text.is_empty() || !(sentence.contains(&text) || text.contains(&sentence)))
    }
}

/// Letters and digits of a text, in lower case, with single spaces: lists and quotes do not matter.
fn bare(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Whether a sentence names a path, or its file name.
fn names(sentence: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let mut words = sentence.split(|c: char| !is_part(c)).map(|word| word.trim_end_matches('.'));
    let name = path.rsplit('/').next().unwrap_or(path);
    words.any(|word| word.trim_start_matches("./") == path || word == name)
}

/// The sentences of a text: its lines, cut after `.`, `!` or `?` where a new sentence begins.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        for (at, mark) in line.match_indices(['.', '!', '?']) {
            let end = at + mark.len();
            let rest = &line[end..];
            let begins = rest.trim_start().chars().next().is_some_and(|c| !c.is_lowercase());
            if rest.starts_with(char::is_whitespace) && begins {
                found.push(&line[start..end]);
                start = end;
            }
        }
        found.push(&line[start..]);
    }
    found.into_iter().map(str::trim).filter(|own| own.contains(char::is_alphanumeric)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(summary: &str, unread: &[&str]) -> Finding {
        let file = |path: &str| CitedFile { path: path.to_owned(), sha256: "ab".repeat(32) };
        Finding {
            step: "write".to_owned(),
            summary: summary.to_owned(),
            passed: true,
            reason: None,
            unread: Unread::Listed(unread.iter().map(|text| (*text).to_owned()).collect()),
            files: vec![file("src/a.rs"), file("test/b.rs")],
        }
    }

    fn texts(said: &[Statement]) -> Vec<&str> {
        said.iter().map(|own| own.text.as_str()).collect()
    }

    #[test]
    fn each_sentence_is_cited_or_uncertain() {
        let own = finding(
            "Changed `src/a.rs`. It is faster now. Wrote b.rs, e.g. for v1.2.",
            &["it is faster now"],
        );
        let answer = CitedAnswer::of(&[own]);
        assert_eq!(texts(&answer.reliable), ["Changed `src/a.rs`.", "Wrote b.rs, e.g. for v1.2."]);
        assert_eq!(texts(&answer.uncertain), ["It is faster now."]);
        let cited = |n: usize| answer.reliable[n].files[0].path.as_str();
        assert_eq!((cited(0), cited(1)), ("src/a.rs", "test/b.rs"));
        assert!(answer.uncertain[0].files.is_empty() && answer.gaps.is_empty());
    }

    #[test]
    fn nothing_is_reliable_without_a_gate_that_passed_and_a_reader() {
        let mut failed = finding("Changed src/a.rs.", &[]);
        (failed.passed, failed.reason) = (false, Some("the test fails".to_owned()));
        let unknown = Finding { unread: Unread::Unknown, ..finding("Changed src/a.rs.", &[]) };
        let answer = CitedAnswer::of(&[failed, unknown]);
        assert!(answer.reliable.is_empty());
        assert_eq!((answer.uncertain.len(), answer.gaps.len()), (2, 1));
        // A part of an unread sentence, and one around it, are unread, too.
        for text in ["and it is much faster", "faster"] {
            let answer = CitedAnswer::of(&[finding("It is much faster", &[text])]);
            assert!(answer.reliable.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_path_is_named_as_a_word() {
        assert!(names("See ./src/a.rs.", "src/a.rs") && names("(a.rs)", "src/a.rs"));
        assert!(!names("See src/a.rs.bak", "src/a.rs") && !names("extra.rs", "src/a.rs"));
    }
}
