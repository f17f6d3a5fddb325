//! Names of plans.

use kb_base::value::Digest;

/// Maximum length of the part of an id that comes from the goal.
const WORDS: usize = 40;
/// Maximum number of characters of a name.
const NAME: usize = 80;

/// The id of a plan: the words of its goal, and the digest of what it says. Equal plans have equal ids.
pub fn plan_id(goal: &str, content: &str) -> String {
    let lower = goal.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut id = String::new();
    for word in words {
        if id.len() + word.len() > WORDS {
            break;
        }
        id.push_str(word);
        id.push('-');
    }
    if !id.starts_with(|c: char| c.is_ascii_lowercase()) {
        id.insert_str(0, "plan-");
    }
    id + &Digest::of(content).short(6)
}

/// The name of a plan: the first line of its goal, cut.
pub fn plan_name(goal: &str) -> String {
    let line = goal.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("a goal");
    match line.char_indices().nth(NAME) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_the_words_of_the_goal() {
        let id = |goal: &str| {
            let id = plan_id(goal, "x");
            id[..id.len() - 6].to_owned()
        };
        assert_eq!(id("Add tests for ProgressTracker!"), "add-tests-for-progresstracker-");
        assert_eq!(id("добавь тесты"), "plan-");
        assert_eq!(id("3 bugs"), "plan-3-bugs-");
        assert!(plan_id(&"word ".repeat(100), "x").len() <= 64);
        assert_ne!(plan_id("a", "x"), plan_id("a", "y"));
    }

    #[test]
    fn names_are_one_line() {
        assert_eq!(plan_name("\n  fix it\nnow"), "fix it");
        assert_eq!(plan_name(&"ä".repeat(100)), "ä".repeat(80) + "…");
    }
}
