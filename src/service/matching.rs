//! Finds definitions by phrases in natural language.

use super::Project;
use serde::Serialize;
use std::collections::BTreeSet;

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
}

/// Minimum score of a match.
const MIN_SCORE: f64 = 0.34;

/// Definitions whose triggers match a phrase, best match first; equal scores by id.
pub fn match_phrase(project: &Project, phrase: &str) -> Vec<Match> {
    let mut found: Vec<Match> = project
        .catalog
        .playbooks
        .values()
        .filter_map(|playbook| {
            let own = [playbook.name.as_str(), playbook.id.as_str()];
            let triggers = playbook.triggers.iter().map(String::as_str).chain(own);
            let (score, trigger) = triggers
                .map(|trigger| (score(phrase, trigger), trigger))
                .fold((0.0, ""), |best, next| if next.0 > best.0 { next } else { best });
            (score >= MIN_SCORE).then(|| Match {
                id: playbook.id.to_string(),
                name: playbook.name.clone(),
                trigger: trigger.to_owned(),
                score,
            })
        })
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}

/// The score of a phrase for a trigger: 1 if it contains the trigger, otherwise the share of the
/// trigger's words that it contains, compared by their stems.
fn score(phrase: &str, trigger: &str) -> f64 {
    let (phrase, trigger) = (words(phrase), words(trigger));
    if trigger.is_empty() {
        return 0.0;
    }
    if phrase.windows(trigger.len()).any(|part| part == trigger) {
        return 1.0;
    }
    let wanted: BTreeSet<&String> = trigger.iter().collect();
    let has = |word: &&&String| phrase.iter().any(|own| same_stem(own, word));
    0.9 * wanted.iter().filter(has).count() as f64 / wanted.len() as f64
}

/// Whether two words differ only in their endings.
fn same_stem(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    let longest = a.chars().count().max(b.chars().count());
    a == b || (shared >= 4 && longest - shared <= 3)
}

fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !c.is_alphanumeric());
    parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_that_holds_the_trigger_fits_wholly() {
        assert_eq!(score("please add a feature for export", "Add a feature"), 1.0);
        assert_eq!(score("добавь фичу экспорта", "добавь фичу"), 1.0);
    }

    #[test]
    fn endings_of_words_matter_little_and_other_words_not_at_all() {
        assert!(score("adding features", "add a feature") >= 0.29);
        assert!(score("реализовать функционал", "реализуй функционал") > MIN_SCORE);
        assert_eq!(score("make me a sandwich", "report the repository"), 0.0);
    }
}
