//! Problems and their solutions: entries of the memory with a problem as their subject and a category.
//!
//! They follow all rules of the memory: trust, checks, anchors, shared files, age. The category decides the kind.

use crate::entry::{Entry, Kind, State};
use kb_base::value::Timestamp;
use serde::Serialize;

/// The tag of all entries of the FAQ; the category is a tag too.
pub const FAQ: &str = "faq";
/// The upper bound of the share of helpful uses below which an entry is archived.
pub const LEAST_HELPFUL: f64 = 0.2;

/// What a solution is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FaqCategory {
    /// What is so.
    Knowledge,
    /// How something was done before.
    Experience,
    /// How a failure was repaired.
    Troubleshooting,
}

impl FaqCategory {
    /// All categories, in the order of the documentation.
    pub const ALL: [FaqCategory; 3] =
        [FaqCategory::Knowledge, FaqCategory::Experience, FaqCategory::Troubleshooting];

    /// The name in calls, answers and tags.
    pub fn as_str(self) -> &'static str {
        match self {
            FaqCategory::Knowledge => "knowledge",
            FaqCategory::Experience => "experience",
            FaqCategory::Troubleshooting => "troubleshooting",
        }
    }

    /// The category with this name.
    pub fn parse(name: &str) -> Option<FaqCategory> {
        FaqCategory::ALL.into_iter().find(|own| own.as_str() == name)
    }

    /// The kind of its entries.
    pub fn kind(self) -> Kind {
        match self {
            FaqCategory::Knowledge => Kind::Fact,
            FaqCategory::Experience => Kind::Procedure,
            FaqCategory::Troubleshooting => Kind::Pitfall,
        }
    }

    /// The tags of an entry of this category with these further tags.
    pub fn tags(self, others: impl IntoIterator<Item = String>) -> Vec<String> {
        [FAQ.to_owned(), self.as_str().to_owned()].into_iter().chain(others).collect()
    }

    /// The category of a question: of words such as `error` it is troubleshooting, of `how` experience.
    pub fn of_question(text: &str) -> Option<FaqCategory> {
        let lower = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if has(&["error", "fail", "crash", "broken", "не работает", "ошибк", "падает"])
        {
            return Some(FaqCategory::Troubleshooting);
        }
        if has(&["how ", "how to", "как "]) {
            return Some(FaqCategory::Experience);
        }
        has(&["what ", "where ", "which ", "что ", "где ", "какой "])
            .then_some(FaqCategory::Knowledge)
    }
}

/// How an entry was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaqStats {
    /// How often it was shown.
    pub retrieved_count: u64,
    /// Runs and people that it helped.
    pub helpful_count: u64,
    /// Runs and people that it did not help.
    pub not_helpful_count: u64,
    /// When it was shown last.
    #[serde(serialize_with = "crate::entry::rfc3339_or_null")]
    pub last_used_at: Option<Timestamp>,
}

/// A problem and its solution.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaqEntry {
    /// The id of the entry of the memory.
    pub id: String,
    /// What it is asked for.
    pub problem: String,
    /// The answer.
    pub solution: String,
    /// What it is about.
    pub category: FaqCategory,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Files that it rests on.
    pub related_files: Vec<String>,
    /// How it was used.
    pub stats: FaqStats,
    /// When it was written.
    #[serde(serialize_with = "crate::entry::rfc3339")]
    pub created_at: Timestamp,
    /// `user`, or `auto-learn` for what a specialist wrote.
    pub created_by: &'static str,
    /// How far it may be used.
    pub state: State,
}

impl FaqEntry {
    /// An entry of the memory as one of the FAQ, with the number of uses that helped and that did not; `None` if it is
    /// none.
    pub fn of(entry: &Entry, (helpful, not_helpful): (u64, u64)) -> Option<FaqEntry> {
        let is_own = |tag: &String| tag == FAQ || FaqCategory::parse(tag).is_some();
        if !entry.tags.iter().any(|tag| tag == FAQ) {
            return None;
        }
        let category = entry.tags.iter().find_map(|tag| FaqCategory::parse(tag))?;
        Some(FaqEntry {
            id: entry.id.clone(),
            problem: entry.subject.clone().unwrap_or_default(),
            solution: entry.text.clone(),
            category,
            tags: entry.tags.iter().filter(|tag| !is_own(tag)).cloned().collect(),
            related_files: entry.anchors.iter().map(|anchor| anchor.path.clone()).collect(),
            stats: FaqStats {
                retrieved_count: entry.access_count,
                helpful_count: helpful,
                not_helpful_count: not_helpful,
                last_used_at: entry.last_accessed,
            },
            created_at: entry.created,
            created_by: if entry.run.is_some() { "auto-learn" } else { "user" },
            state: entry.state,
        })
    }
}

/// What a person wants of the FAQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaqRequest {
    /// To forget what is about these words.
    Forget(String),
    /// To say that the last answer did not help.
    DidNotHelp,
    /// To say that the last answer helped.
    Helped,
    /// To find an answer.
    Ask(String),
}

impl FaqRequest {
    /// What a sentence asks for, in English or Russian.
    pub fn of(text: &str) -> FaqRequest {
        let trimmed = text.trim().trim_end_matches(['.', '!']).trim_end();
        let lower = trimmed.to_lowercase();
        let said = |phrases: &[&str]| phrases.contains(&lower.as_str());
        if said(&["did not help", "didn't help", "it did not help", "не помогло", "это не помогло"])
        {
            return FaqRequest::DidNotHelp;
        }
        if said(&["helped", "it helped", "that helped", "помогло", "это помогло"])
        {
            return FaqRequest::Helped;
        }
        for start in ["forget about ", "forget ", "забудь про ", "забудь о ", "забудь "]
        {
            if lower.starts_with(start) {
                let words = trimmed.chars().skip(start.chars().count()).collect::<String>();
                return FaqRequest::Forget(words.trim().trim_matches('"').to_owned());
            }
        }
        FaqRequest::Ask(text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_people_are_understood() {
        let forget = |words: &str| FaqRequest::Forget(words.to_owned());
        for (text, request) in [
            ("forget the port", forget("the port")),
            ("Forget about Redis.", forget("Redis")),
            ("Забудь про порт!", forget("порт")),
            ("did not help", FaqRequest::DidNotHelp),
            ("Не помогло.", FaqRequest::DidNotHelp),
            ("Помогло", FaqRequest::Helped),
            (
                "How do I forget a password?",
                FaqRequest::Ask("How do I forget a password?".to_owned()),
            ),
            ("why did it not help", FaqRequest::Ask("why did it not help".to_owned())),
        ] {
            assert_eq!(FaqRequest::of(text), request, "{text}");
        }
    }

    #[test]
    fn the_words_of_a_question_prefer_a_category() {
        for (text, category) in [
            ("error: address in use", Some(FaqCategory::Troubleshooting)),
            ("How to release", Some(FaqCategory::Experience)),
            ("Где лежит конфигурация", Some(FaqCategory::Knowledge)),
            ("deploy", None),
        ] {
            assert_eq!(FaqCategory::of_question(text), category, "{text}");
        }
    }
}
