//! The kind of a task, by its words.

use serde::Serialize;

/// What a task asks for. The first words of a task decide, because it begins with what is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskKind {
    /// Tests are written or run.
    Test,
    /// A defect is repaired.
    Fix,
    /// Work is reviewed.
    Review,
    /// Documents are written.
    Document,
    /// Code is changed without another behaviour.
    Refactor,
    /// Something is found out.
    Research,
    /// Something new is made.
    Implement,
    /// None of these.
    Other,
}

/// The beginnings of words that tell a kind, in English and Russian.
const WORDS: [(TaskKind, &[&str]); 7] = [
    (TaskKind::Test, &["test", "тест", "coverage", "покрыт"]),
    (TaskKind::Fix, &["fix", "repair", "debug", "bug", "исправ", "почин", "ошибк"]),
    (TaskKind::Review, &["review", "audit", "critique", "провер", "ревью", "оцени"]),
    (TaskKind::Document, &["document", "docs", "readme", "changelog", "документ", "опиши"]),
    (
        TaskKind::Refactor,
        &["refactor", "rename", "simplify", "clean", "рефактор", "переимен", "упрост"],
    ),
    (
        TaskKind::Research,
        &[
            "research",
            "find",
            "look",
            "list",
            "explore",
            "analy",
            "explain",
            "summari",
            "investigate",
            "найди",
            "исслед",
            "изучи",
            "проанализ",
        ],
    ),
    (
        TaskKind::Implement,
        &[
            "implement",
            "add",
            "write",
            "create",
            "build",
            "make",
            "реализ",
            "добав",
            "напиш",
            "созда",
        ],
    ),
];

/// Words of a task that are read.
const FIRST: usize = 12;

impl TaskKind {
    /// The kind of a task. Of the first words, one that names a subject (tests, a defect, a review, documents) counts more
    /// than `add` or `find`: "add tests" is of the kind `test`.
    pub fn of(task: &str) -> TaskKind {
        let lower = task.to_lowercase();
        let words = || lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let has = |beginnings: &[&str]| {
            words().take(FIRST).any(|word| beginnings.iter().any(|own| word.starts_with(own)))
        };
        let found = WORDS.iter().find(|(_, beginnings)| has(beginnings));
        found.map_or(TaskKind::Other, |(kind, _)| *kind)
    }

    /// The name in tables and files.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskKind::Test => "test",
            TaskKind::Fix => "fix",
            TaskKind::Review => "review",
            TaskKind::Document => "document",
            TaskKind::Refactor => "refactor",
            TaskKind::Research => "research",
            TaskKind::Implement => "implement",
            TaskKind::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TaskKind;

    #[test]
    fn the_first_words_of_a_task_tell_its_kind() {
        for (task, kind) in [
            ("Add tests for ProgressTracker", TaskKind::Test),
            ("Исправь ошибку в разборе", TaskKind::Fix),
            ("Review the branch", TaskKind::Review),
            ("Write the README", TaskKind::Document),
            ("Rename `parse`", TaskKind::Refactor),
            ("Find where the port is set", TaskKind::Research),
            ("Добавь команду", TaskKind::Implement),
            ("Say hello", TaskKind::Other),
            ("", TaskKind::Other),
            ("Attest the latest contest", TaskKind::Other),
        ] {
            assert_eq!(TaskKind::of(task), kind, "{task}");
        }
    }
}
