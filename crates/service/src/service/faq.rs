//! The FAQ as use cases: questions, answers, and what people say about them. No model is called.

use super::memory::{MemoryAdd, Opened, add_memory, failed, forget_memory};
use super::{Environment, ResourceKind, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_knowledge::terms;
use kb_memory::{FAQ, FaqCategory, FaqEntry, FaqRequest, Feedback, Query, State};
use serde::Serialize;

/// What a sentence led to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "did")]
pub enum FaqAnswer {
    /// Entries were found, best first.
    Found {
        /// At most as many as were asked for.
        entries: Vec<FaqEntry>,
    },
    /// An entry was forgotten.
    Forgot {
        /// What it said.
        entry: FaqEntry,
    },
    /// It was noted that an entry helped, or that it did not.
    Noted {
        /// The entry, with its new counts.
        entry: FaqEntry,
        /// Whether it is archived now, because it hardly ever helped.
        archived: bool,
    },
}

/// All entries of the FAQ that are neither archived nor forgotten.
pub fn list_faq(environment: &Environment) -> Result<Vec<FaqEntry>, ServiceError> {
    let live: Vec<State> = State::ALL.into_iter().filter(|state| state.is_live()).collect();
    Opened::of(environment)?.store.faq(&live).map_err(failed)
}

/// Does what a sentence says: finds an answer (`faqSearch`), forgets an entry (`faqDelete`), or notes that the answer
/// that was shown last helped or did not (`faqMarkHelpful`, `faqMarkNotHelpful`).
///
/// # Errors
///
/// Nothing fits, or several entries fit what is to be forgotten.
pub fn ask_faq(
    environment: &Environment,
    text: &str,
    category: Option<FaqCategory>,
    limit: usize,
) -> Result<FaqAnswer, ServiceError> {
    match FaqRequest::of(text) {
        FaqRequest::Ask(text) => {
            let entries = found(environment, &text, category, limit)?;
            note_shown(environment, &entries)?;
            Ok(FaqAnswer::Found { entries })
        }
        FaqRequest::Forget(what) => forget(environment, &what),
        FaqRequest::Helped => noted(environment, Feedback::Helped),
        FaqRequest::DidNotHelp => noted(environment, Feedback::DidNotHelp),
    }
}

/// Stores the solution of a person (`faqWrite`), and shares it if that is asked for.
pub fn add_faq(
    environment: &Environment,
    category: FaqCategory,
    add: MemoryAdd,
) -> Result<FaqEntry, ServiceError> {
    let tags = category.tags(add.tags);
    let added = add_memory(environment, MemoryAdd { kind: category.kind(), tags, ..add })?;
    let entry = Opened::of(environment)?.store.faq_entry(&added.entry).map_err(failed)?;
    entry.ok_or_else(|| {
        let message = format!("`{}` says the same and is no entry of the FAQ", added.entry.id);
        let failure = Failure::new(Code::MEMORY_REFUSED, message);
        ServiceError::refused(failure.help("`kb memory show` shows it"))
    })
}

/// The entries with a word of the question; those of its category first.
fn found(
    environment: &Environment,
    text: &str,
    category: Option<FaqCategory>,
    limit: usize,
) -> Result<Vec<FaqEntry>, ServiceError> {
    let opened = Opened::of(environment)?;
    let tags = [FAQ.to_owned()];
    let query = Query { text, tags: &tags, limit: limit.max(20), ..Query::default() };
    let found = opened.search(environment, &query)?;
    let entries = found.hits.iter().map(|hit| opened.store.faq_entry(&hit.entry).map_err(failed));
    let mut entries: Vec<FaqEntry> =
        entries.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    let preferred = category.or_else(|| FaqCategory::of_question(text));
    entries.sort_by_key(|entry| preferred.is_some_and(|own| own != entry.category));
    entries.truncate(limit);
    Ok(entries)
}

fn note_shown(environment: &Environment, entries: &[FaqEntry]) -> Result<(), ServiceError> {
    let opened = Opened::of(environment)?;
    let ids: Vec<String> = entries.iter().take(1).map(|entry| entry.id.clone()).collect();
    opened.store.note_access(&ids, None, opened.now).map_err(failed)
}

/// Forgets the only entry that has this id or all of these words, whatever their endings; articles do not count.
fn forget(environment: &Environment, what: &str) -> Result<FaqAnswer, ServiceError> {
    let all = list_faq(environment)?;
    let words = terms(what);
    let has = |entry: &FaqEntry| {
        let own = terms(&format!("{} {}", entry.problem, entry.solution));
        entry.id == what || (!words.is_empty() && words.iter().all(|word| own.contains(word)))
    };
    let fitting: Vec<&FaqEntry> = all.iter().filter(|entry| has(entry)).collect();
    match fitting.as_slice() {
        [only] => {
            forget_memory(environment, &only.id, false)?;
            Ok(FaqAnswer::Forgot { entry: (*only).clone() })
        }
        [] => {
            let known = all.iter().map(|entry| entry.id.clone());
            Err(ServiceError::unknown(ResourceKind::MemoryEntry, what, known))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|entry| entry.id.as_str()).collect();
            let message = format!("{} entries fit `{what}`: {}", several.len(), ids.join(", "));
            let failure = Failure::new(Code::MEMORY_REFUSED, message);
            Err(ServiceError::refused(failure.help("name one: `kb faq \"forget ID\"`")))
        }
    }
}

/// Notes how the entry that was shown last helped.
fn noted(environment: &Environment, feedback: Feedback) -> Result<FaqAnswer, ServiceError> {
    let last = list_faq(environment)?
        .into_iter()
        .filter(|entry| entry.stats.last_used_at.is_some())
        .max_by_key(|entry| entry.stats.last_used_at);
    let Some(last) = last else {
        let failure = Failure::new(Code::MEMORY_REFUSED, "no answer of the FAQ was shown yet");
        return Err(ServiceError::refused(failure.help("ask first: `kb faq \"QUESTION\"`")));
    };
    let opened = Opened::of(environment)?;
    let key = format!("{} at {}", environment.user(), opened.now.0);
    let archived =
        opened.store.faq_feedback(&last.id, &key, feedback, opened.now).map_err(failed)?;
    let entry = opened.store.find(&last.id).map_err(failed)?;
    let entry = opened.store.faq_entry(&entry).map_err(failed)?.unwrap_or(last);
    Ok(FaqAnswer::Noted { entry, archived })
}
