//! [`Draft`]: a proposal that follows the rules for entries and in which secrets are masked.

use crate::entry::{Anchor, Kind, Scope, Trust};
use crate::error::MemoryError;
use crate::name::{id_of, is_id};
use crate::same_text::same_text_key;
use kb_base::value::{Json, RunId, is_hidden};
use kb_core::redaction::Redactor;

/// Maximum number of characters of the sentence.
const TEXT: usize = 500;
/// Maximum number of characters of a subject.
const SUBJECT: usize = 120;
/// Maximum number of tags, and of characters of one.
const TAGS: usize = 12;
const TAG: usize = 40;
/// Maximum number of anchors and of checks.
const ANCHORS: usize = 8;
/// Maximum number of characters of a path and of an excerpt.
const PATH: usize = 400;
const EXCERPT: usize = 300;
/// Maximum size of a check as JSON, in bytes.
const CHECK: usize = 1_000;

/// What someone proposes to remember, not checked yet.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// A name for the entry; `None`: one from its text.
    pub id: Option<String>,
    /// What it is about.
    pub kind: Kind,
    /// What it says something about.
    pub subject: Option<String>,
    /// The sentence.
    pub text: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Files that it rests on.
    pub anchors: Vec<Anchor>,
    /// Checks in the form of a gate.
    pub checks: Vec<Json>,
    /// The least trusted source of the text.
    pub trust: Trust,
    /// The specialist, or the person.
    pub author: String,
    /// The run in which it is proposed.
    pub run: Option<RunId>,
    /// The step instance that proposes it.
    pub step: Option<String>,
}

/// A proposal that follows the rules. Its texts are masked.
#[derive(Debug, Clone)]
pub struct Draft {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) subject: Option<String>,
    pub(crate) subject_key: Option<String>,
    pub(crate) text: String,
    pub(crate) text_key: String,
    pub(crate) tags: Vec<String>,
    pub(crate) anchors: Vec<Anchor>,
    pub(crate) checks: Vec<Json>,
    pub(crate) scope: Scope,
    pub(crate) trust: Trust,
    pub(crate) author: String,
    pub(crate) run: Option<RunId>,
    pub(crate) step: Option<String>,
}

impl Draft {
    /// Checks a proposal and masks the secrets in it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Refused`] for a text that is empty or too long, for characters that people do not see, for a
    /// preference that no person wrote, and for too many or too long parts.
    pub fn admit(proposal: Proposal, redactor: &Redactor) -> Result<Draft, MemoryError> {
        let Proposal { id, kind, subject, text, tags, anchors, checks, .. } = proposal;
        if kind == Kind::Preference && proposal.trust < Trust::Person {
            let help = "a person runs `kb memory add --kind preference`";
            return Err(MemoryError::refused("only people record preferences", help));
        }
        let line = |name: &str, text: &str, most| line(name, &redactor.mask_text(text), most);
        let text = line("the text", &text, TEXT)?;
        let subject = subject.filter(|subject| !subject.trim().is_empty());
        let subject = subject.map(|subject| line("the subject", &subject, SUBJECT)).transpose()?;
        let tags = tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty());
        let tags: Result<Vec<String>, MemoryError> =
            tags.map(|tag| Ok(line("a tag", tag, TAG)?.to_lowercase())).collect();
        let mut tags = tags?;
        tags.sort();
        tags.dedup();
        at_most("tags", tags.len(), TAGS)?;
        at_most("anchors", anchors.len(), ANCHORS)?;
        at_most("checks", checks.len(), ANCHORS)?;
        let anchors = anchors.into_iter().map(|anchor| {
            Ok(Anchor {
                path: line("the path of an anchor", &anchor.path, PATH)?,
                excerpt: anchor
                    .excerpt
                    .map(|text| excerpt(&redactor.mask_text(&text)))
                    .transpose()?,
                sha256: anchor.sha256,
            })
        });
        let checks = checks.iter().map(|check| bounded_check(redactor.mask_json(check)));
        let checks = checks.collect::<Result<Vec<Json>, _>>()?;
        let text_key = same_text_key(&text);
        let id = id.unwrap_or_else(|| id_of(&text_key));
        if !is_id(&id) {
            let help = "use lower-case letters, digits and hyphens, at most 64";
            return Err(MemoryError::refused(format!("`{id}` cannot be the id of an entry"), help));
        }
        let scope = match &proposal.run {
            // What is absent can come later.
            Some(run) if checks.iter().any(is_negative) => Scope::Run(run.clone()),
            _ => Scope::Project,
        };
        Ok(Draft {
            id,
            kind,
            subject_key: subject.as_deref().map(same_text_key),
            subject,
            text,
            text_key,
            tags,
            anchors: anchors.collect::<Result<_, MemoryError>>()?,
            checks,
            scope,
            trust: proposal.trust,
            author: redactor.mask_text(&proposal.author).into_owned(),
            run: proposal.run,
            step: proposal.step,
        })
    }
}

/// Whether a check is that a file, or a text in files, is absent.
fn is_negative(check: &Json) -> bool {
    check.pointer("/file/absent") == Some(&Json::Bool(true))
        || check.pointer("/file/count/max").and_then(Json::as_u64) == Some(0)
}

/// A text on one line without hidden characters.
fn line(name: &str, text: &str, most: usize) -> Result<String, MemoryError> {
    visible(name, text)?;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = line.chars().count();
    if line.is_empty() {
        return Err(MemoryError::refused(format!("{name} is empty"), "write one sentence"));
    }
    if length > most {
        let message = format!("{name} has {length} characters; at most {most} are stored");
        return Err(MemoryError::refused(message, "store one fact in one sentence"));
    }
    Ok(line)
}

fn excerpt(text: &str) -> Result<String, MemoryError> {
    visible("the excerpt of an anchor", text)?;
    if text.trim().is_empty() || text.chars().count() > EXCERPT {
        let message =
            format!("the excerpt of an anchor is empty or has more than {EXCERPT} characters");
        return Err(MemoryError::refused(message, "copy one line of the file"));
    }
    Ok(text.to_owned())
}

fn visible(name: &str, text: &str) -> Result<(), MemoryError> {
    match text.char_indices().find(|(at, c)| is_hidden(text, *at, *c)) {
        Some((_, c)) => {
            let message = format!("{name} has the invisible character U+{:04X}", u32::from(c));
            Err(MemoryError::refused(message, "remove it"))
        }
        None => Ok(()),
    }
}

fn at_most(name: &str, found: usize, most: usize) -> Result<(), MemoryError> {
    if found > most {
        let message = format!("an entry has at most {most} {name}, not {found}");
        return Err(MemoryError::refused(message, "keep those that matter"));
    }
    Ok(())
}

fn bounded_check(check: Json) -> Result<Json, MemoryError> {
    let text = check.to_string();
    visible("a check", &text)?;
    if text.len() > CHECK {
        let message = format!("a check has {} bytes; at most {CHECK} are stored", text.len());
        return Err(MemoryError::refused(message, "use a shorter pattern"));
    }
    Ok(check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    pub(crate) fn proposal(text: &str) -> Proposal {
        Proposal {
            id: None,
            kind: Kind::Fact,
            subject: None,
            text: text.to_owned(),
            tags: Vec::new(),
            anchors: Vec::new(),
            checks: Vec::new(),
            trust: Trust::Model,
            author: "researcher".to_owned(),
            run: RunId::new("r1").ok(),
            step: Some("ask".to_owned()),
        }
    }

    fn refused(proposal: Proposal) -> String {
        Draft::admit(proposal, &Redactor::default()).unwrap_err().to_string()
    }

    #[test]
    fn what_breaks_a_rule_is_refused_with_the_reason() {
        assert_eq!(refused(proposal(" \n")), "the text is empty");
        let long = refused(proposal(&"word ".repeat(101)));
        assert_eq!(long, "the text has 504 characters; at most 500 are stored");
        let hidden = refused(proposal("Run\u{200b} it"));
        assert_eq!(hidden, "the text has the invisible character U+200B");
        let own = proposal("Prefers tabs");
        let preference = refused(Proposal { kind: Kind::Preference, ..own.clone() });
        assert_eq!(preference, "only people record preferences");
        let id = refused(Proposal { id: Some("../x".to_owned()), ..own.clone() });
        assert_eq!(id, "`../x` cannot be the id of an entry");
        let tags = (0..13).map(|n| format!("t{n}")).collect();
        assert_eq!(refused(Proposal { tags, ..own }), "an entry has at most 12 tags, not 13");
    }

    #[test]
    fn texts_are_one_line_tags_are_in_lower_case_and_secrets_are_masked() {
        let redactor = Redactor::default();
        redactor.add("TOKEN", "hunter2-hunter2");
        let draft = Draft::admit(
            Proposal {
                tags: vec![" Build ".into(), "build".into(), "hunter2-hunter2".into()],
                subject: Some("the token hunter2-hunter2".into()),
                checks: vec![json!({"file": {"path": "hunter2-hunter2"}})],
                ..proposal("The token\n is hunter2-hunter2")
            },
            &redactor,
        )
        .unwrap();
        let all = format!("{draft:?}");
        assert!(!all.contains("hunter2"), "{all}");
        assert_eq!(draft.tags[0], "build");
        assert!(draft.text.starts_with("The token is "));
    }

    #[test]
    fn what_is_absent_is_known_for_one_run_only() {
        let absent = vec![json!({"file": {"path": "src/old.rs", "absent": true}})];
        let draft = Proposal { checks: absent, ..proposal("There is no src/old.rs") };
        let draft = Draft::admit(draft, &Redactor::default()).unwrap();
        assert_eq!(draft.scope, Scope::Run(RunId::new("r1").unwrap()));
    }
}
