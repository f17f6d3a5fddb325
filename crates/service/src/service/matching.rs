//! Finds definitions by phrases in natural language.
//!
//! A trigger is a phrase such as `fix a bug`, or a pattern such as `fix the bug {bug}`, whose names are
//! parameters. Words are compared by their stems (English and Russian), then by their edit distance.

use super::Project;
use super::faq::list_faq;
use kb_base::diagnostic::edit_distance;
use kb_knowledge::stem;
use kb_language::definition::Playbook;
use kb_memory::{FaqEntry, State};
use serde::Serialize;
use std::collections::BTreeMap;

/// A definition with a trigger that matches a phrase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Match {
    /// Id of the definition.
    pub id: String,
    /// Display name of the definition.
    pub name: String,
    /// The trigger that matches best.
    pub trigger: String,
    /// Quality of the match, from 0 to 1.
    pub score: f64,
    /// Parameters that the phrase provides through the names in the trigger.
    pub params: BTreeMap<String, String>,
    /// Which words or names matched.
    pub why: String,
}

/// Minimum score of a match.
const MIN_SCORE: f64 = 0.34;
/// Minimum score of a match that is used without a question.
const CLEAR_SCORE: f64 = 0.75;
/// Minimum lead over the next match.
const CLEAR_LEAD: f64 = 0.1;
/// Minimum number of words of a phrase that a question is searched for.
const MIN_QUESTION: usize = 3;
/// Maximum number of words of a phrase that are compared.
const MAX_WORDS: usize = 200;

/// The result of choosing a definition by a phrase.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// One definition matches clearly best.
    Clear(Match),
    /// Several match about equally well, or the best one does not match well; best match first.
    Unclear(Vec<Match>),
    /// No definition matches the phrase well enough.
    Nothing,
}

/// Definitions whose triggers match a phrase, best match first; of equal scores, those that
/// provide more parameters, then by id.
pub fn match_phrase(project: &Project, phrase: &str) -> Vec<Match> {
    let phrase = words(phrase);
    let playbooks = project.catalog.playbooks.values();
    let mut found: Vec<Match> = playbooks.filter_map(|playbook| best(playbook, &phrase)).collect();
    let provided = |found: &Match| found.params.len();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(provided(b).cmp(&provided(a))));
    found
}

/// The definition that a phrase asks for: by its triggers, or by an entry of the FAQ whose solution names it.
pub fn choose(project: &Project, phrase: &str) -> Choice {
    let mut found = match_phrase(project, phrase);
    for own in match_faq(project, phrase) {
        match found.iter_mut().find(|known| known.id == own.id) {
            Some(known) if known.score < own.score => *known = own,
            Some(_) => {}
            None => found.push(own),
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    let Some(first) = found.first() else { return Choice::Nothing };
    let next = found.get(1).map_or(0.0, |next| next.score);
    if first.score >= CLEAR_SCORE && first.score - next >= CLEAR_LEAD {
        Choice::Clear(found.swap_remove(0))
    } else {
        Choice::Unclear(found)
    }
}

/// Playbooks that the solution of an entry of the FAQ names in backticks, `ID` or `kb playbook run ID`, where a plan of
/// `kb do` is the playbook that was made of it, by how well the
/// phrase matches the problem of the entry. Only entries that people wrote or approved count. A memory that cannot be read has none.
fn match_faq(project: &Project, phrase: &str) -> Vec<Match> {
    let (goal, phrase) = (phrase, words(phrase));
    let entries = list_faq(&project.context.environment).unwrap_or_default();
    let usable = |entry: &&FaqEntry| match entry.state {
        // A person wrote it or approved it: what a model wrote chooses no playbook that runs.
        State::Shared => true,
        State::Verified | State::Candidate => entry.created_by == "user",
        State::Stale | State::Conflicted | State::Archived | State::Forgotten => false,
    };
    let found = entries.iter().filter(usable).filter_map(|entry| {
        let scored = asked(&phrase, goal, &entry.problem);
        let quoted = entry.solution.split('`').skip(1).step_by(2);
        let ids = quoted.map(|text| {
            let name = text.trim_start_matches("kb playbook run ").trim();
            name.strip_prefix(".kb/plans/").map_or(name, |file| file.trim_end_matches(".yml"))
        });
        let playbook = ids.filter_map(|id| project.catalog.playbooks.get(id)).next()?;
        (scored.score >= MIN_SCORE).then(|| Match {
            id: playbook.id.to_string(),
            name: playbook.name.clone(),
            trigger: entry.problem.clone(),
            score: scored.score,
            params: BTreeMap::new(),
            why: format!("entry `{}` of the FAQ: {}", entry.id, scored.why),
        })
    });
    found.collect()
}

/// How well a phrase matches a question, which may have more words around it.
fn asked(phrase: &[Word], text: &str, problem: &str) -> Scored {
    let scored = Scored::of(phrase, problem);
    let around = Scored::of(&words(problem), text);
    if phrase.len() >= MIN_QUESTION && around.is_better(&scored) { around } else { scored }
}

fn best(playbook: &Playbook, phrase: &[Word]) -> Option<Match> {
    let own = [playbook.name.as_str(), playbook.id.as_str()];
    let triggers = playbook.triggers.iter().map(String::as_str).chain(own);
    let scored = triggers.map(|trigger| (Scored::of(phrase, trigger), trigger));
    let (scored, trigger) =
        scored.reduce(|best, next| if next.0.is_better(&best.0) { next } else { best })?;
    let declared = |name: &String| playbook.params.iter().any(|param| param.name == *name);
    (scored.score >= MIN_SCORE).then(|| Match {
        id: playbook.id.to_string(),
        name: playbook.name.clone(),
        trigger: trigger.to_owned(),
        score: scored.score,
        params: scored.params.into_iter().filter(|(name, _)| declared(name)).collect(),
        why: scored.why,
    })
}

/// How well a phrase matches a trigger.
struct Scored {
    score: f64,
    params: BTreeMap<String, String>,
    why: String,
}

impl Scored {
    fn of(phrase: &[Word], trigger: &str) -> Scored {
        let parts = parts(trigger);
        if let Some((params, exact)) = captured(phrase, &parts) {
            let (score, how) = if exact { (1.0, "") } else { (0.95, ", in another form") };
            let what = if params.is_empty() { "contains the trigger" } else { "fits the pattern" };
            return Scored { score, params, why: format!("{what}{how}") };
        }
        let wanted: Vec<&Word> = parts.iter().filter_map(Part::word).collect();
        let common: Vec<&str> = wanted
            .iter()
            .filter(|word| phrase.iter().any(|own| own.likeness(word).is_some()))
            .map(|word| word.text.as_str())
            .collect();
        let score = match wanted.len() {
            0 => 0.0,
            all => 0.9 * common.len() as f64 / all as f64,
        };
        let why = format!("words in common: {}", common.join(", "));
        Scored { score, params: BTreeMap::new(), why }
    }

    /// Whether it is better than another; of two equal ones, the one that provides more parameters.
    fn is_better(&self, other: &Scored) -> bool {
        (self.score, self.params.len()) > (other.score, other.params.len())
    }
}

/// A part of a trigger.
enum Part {
    Word(Word),
    Param(String),
}

impl Part {
    fn word(&self) -> Option<&Word> {
        match self {
            Part::Word(word) => Some(word),
            Part::Param(_) => None,
        }
    }
}

/// A word as written, in lower case, and its stem.
#[derive(Debug, Clone)]
struct Word {
    written: String,
    text: String,
    stem: String,
}

impl Word {
    /// How alike two words are: `Some(true)` if they are equal, `Some(false)` if they have the same stem or
    /// differ in a letter or two.
    fn likeness(&self, other: &Word) -> Option<bool> {
        if self.text == other.text {
            return Some(true);
        }
        let length = self.text.chars().count().min(other.text.chars().count());
        let mistakes = match length {
            0..=4 => 0,
            5..=8 => 1,
            _ => 2,
        };
        let alike = self.stem == other.stem
            || (mistakes > 0 && edit_distance(&self.text, &other.text) <= mistakes);
        alike.then_some(false)
    }
}

fn words(text: &str) -> Vec<Word> {
    let split = text.split_whitespace().take(MAX_WORDS);
    split.filter_map(word).collect()
}

/// A word without the punctuation around it.
fn word(written: &str) -> Option<Word> {
    let text = written.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    if text.is_empty() {
        return None;
    }
    let stem = stem(&text);
    Some(Word { written: written.to_owned(), text, stem })
}

/// The words and parameters of a trigger. Words that are joined by `-` or `_`, as in ids, count apart.
fn parts(trigger: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for piece in trigger.split_whitespace() {
        let name = piece.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match name {
            Some(name) => parts.push(Part::Param(name.trim_matches(['{', '}']).trim().to_owned())),
            None => {
                parts.extend(piece.split(['-', '_']).filter_map(word).map(Part::Word));
            }
        }
    }
    parts
}

/// The parameters that a phrase provides if it contains the words of a trigger one after the other, with the
/// parameters between them; and whether all words are equal. A parameter takes at least one word, up to the
/// next word of the trigger or the end of the phrase.
fn captured(phrase: &[Word], parts: &[Part]) -> Option<(BTreeMap<String, String>, bool)> {
    parts.iter().find_map(Part::word)?;
    (0..phrase.len()).find_map(|start| fit(&phrase[start..], parts))
}

fn fit(phrase: &[Word], parts: &[Part]) -> Option<(BTreeMap<String, String>, bool)> {
    let Some((part, rest)) = parts.split_first() else {
        return Some((BTreeMap::new(), true));
    };
    match part {
        Part::Word(word) => {
            let (own, after) = phrase.split_first()?;
            let equal = own.likeness(word)?;
            let (params, exact) = fit(after, rest)?;
            Some((params, exact && equal))
        }
        Part::Param(name) => {
            let next = rest.iter().find_map(Part::word);
            let until = match (rest.is_empty(), next) {
                (true, _) => phrase.len(),
                (false, Some(next)) => {
                    1 + phrase.iter().skip(1).position(|own| own.likeness(next).is_some())?
                }
                // Two parameters without a word between them: the first takes one word.
                (false, None) => 1,
            };
            let value: Vec<&str> =
                phrase.get(..until)?.iter().map(|w| w.written.as_str()).collect();
            if value.is_empty() {
                return None;
            }
            let (mut params, exact) = fit(&phrase[until..], rest)?;
            let value = value.join(" ");
            let quotes = ['"', '\'', '«', '»', '“', '”', '`'];
            params.insert(name.clone(), value.trim_matches(quotes).to_owned());
            Some((params, exact))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(phrase: &str, trigger: &str) -> f64 {
        Scored::of(&words(phrase), trigger).score
    }

    fn params(phrase: &str, trigger: &str) -> Vec<(String, String)> {
        Scored::of(&words(phrase), trigger).params.into_iter().collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_phrase_that_contains_the_trigger_matches_fully() {
        assert_eq!(score("please add a feature for export", "Add a feature"), 1.0);
        assert_eq!(score("добавь фичу экспорта", "добавь фичу"), 1.0);
        assert_eq!(score("run release notes", "release-notes"), 1.0);
    }

    #[test]
    fn other_endings_and_spelling_mistakes_match_a_little_less() {
        for (phrase, trigger) in [
            ("adding features", "add feature"),
            ("добавить фичи", "добавь фичу"),
            ("find flakey tests", "find flaky tests"),
            ("update dependecies", "update dependencies"),
        ] {
            let found = score(phrase, trigger);
            assert!((0.8..1.0).contains(&found), "{phrase}: {found}");
        }
        assert_eq!(score("make me a sandwich", "report the repository"), 0.0);
    }

    #[test]
    fn names_in_a_trigger_take_the_words_in_their_place() {
        let cart = [pair("featureName", "Корзина покупок")];
        assert_eq!(params("добавь фичу «Корзина покупок»", "добавь фичу {featureName}"), cart);
        let both = [pair("a", "the old cart"), pair("b", "src/new.ts")];
        assert_eq!(params("please move the old cart to src/new.ts", "move {a} to {b}"), both);
        assert_eq!(params("fix the bug", "fix the bug {bug}"), []);
        assert!(score("fix the bug", "fix the bug {bug}") < 1.0);
    }
}
