//! The checks of a plan, and what they are before the work.

use crate::literal::{literal, pattern};
use kb_base::value::Json;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A check of a plan: a command, or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GoalCheck {
    /// A program with arguments that exits with 0.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// A file that exists, contains a text, or does not exist.
    File {
        /// What holds for a path or glob.
        file: FileGoal,
    },
}

/// What holds for a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileGoal {
    /// A path or glob inside the project.
    pub path: String,
    /// A text that it contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Whether it must not exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

impl GoalCheck {
    /// The check of a gate.
    pub(crate) fn after(&self) -> Json {
        match self {
            GoalCheck::Command { command } => json!({"command": words(command)}),
            GoalCheck::File { file } => {
                let FileGoal { path, contains, absent } = file;
                let path = literal(path);
                json!({"file": match (contains, absent) {
                    (_, true) => json!({"path": path, "absent": true}),
                    (Some(text), false) => {
                        json!({"path": path, "count": {"pattern": pattern(text), "min": 1}})
                    }
                    (None, false) => json!({"path": path}),
                }})
            }
        }
    }

    /// The check of a gate that passes while this one does not hold.
    pub(crate) fn before(&self) -> Json {
        match self {
            GoalCheck::Command { command } => json!({"command": words(command), "mustFail": true}),
            GoalCheck::File { file } => {
                let FileGoal { path, contains, absent } = file;
                let path = literal(path);
                json!({"file": match (contains, absent) {
                    (_, true) => json!({"path": path}),
                    (Some(text), false) => json!({
                        "path": path,
                        "minCount": 0,
                        "count": {"pattern": pattern(text), "max": 0},
                    }),
                    (None, false) => json!({"path": path, "absent": true}),
                }})
            }
        }
    }

    /// The check as a person reads it.
    pub fn text(&self) -> String {
        match self {
            GoalCheck::Command { command } => {
                command.iter().map(|word| shown(word)).collect::<Vec<_>>().join(" ")
            }
            GoalCheck::File { file } => {
                let FileGoal { path, contains, absent } = file;
                match (contains, absent) {
                    (_, true) => format!("`{path}` does not exist"),
                    (Some(text), false) => format!("`{path}` contains `{text}`"),
                    (None, false) => format!("`{path}` exists"),
                }
            }
        }
    }
}

fn words(command: &[String]) -> Vec<Json> {
    command.iter().map(|word| literal(word)).collect()
}

/// A word of a command, in quotes if it would be read as several.
fn shown(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Json) -> GoalCheck {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_check_before_the_work_is_the_opposite_of_the_one_after_it() {
        for (given, after, before) in [
            (
                json!({"command": ["npm", "test"]}),
                json!({"command": ["npm", "test"]}),
                json!({"command": ["npm", "test"], "mustFail": true}),
            ),
            (
                json!({"file": {"path": "a"}}),
                json!({"file": {"path": "a"}}),
                json!({"file": {"path": "a", "absent": true}}),
            ),
            (
                json!({"file": {"path": "a", "absent": true}}),
                json!({"file": {"path": "a", "absent": true}}),
                json!({"file": {"path": "a"}}),
            ),
            (
                json!({"file": {"path": "a", "contains": "f(x)"}}),
                json!({"file": {"path": "a", "count": {"pattern": r"f\(x\)", "min": 1}}}),
                json!({"file": {"path": "a", "minCount": 0, "count": {"pattern": r"f\(x\)", "max": 0}}}),
            ),
        ] {
            let check = check(given);
            assert_eq!((check.after(), check.before()), (after, before));
        }
    }

    #[test]
    fn commands_are_shown_as_they_are_split() {
        let command = check(json!({"command": ["bash", "-c", "a && b", "", "it's"]}));
        assert_eq!(command.text(), r"bash -c 'a && b' '' 'it'\''s'");
    }
}
