//! Ids of steps, definitions, specialists, tools and runs, checked at construction.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The text is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {kind}: expected {expected}")]
pub struct IdError {
    /// The rejected text.
    pub text: String,
    /// The kind of id that was expected, such as `step id`.
    pub kind: &'static str,
    /// The valid form, as human-readable text.
    pub expected: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $expected:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the form of a text and makes an id of it.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    Ok($name(text.into()))
                } else {
                    Err(IdError { text: text.to_owned(), kind: $kind, expected: $expected })
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The id as shared text, without a copy.
            pub fn shared(&self) -> Arc<str> {
                self.0.clone()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                $name::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.to_string()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }
    };
}

fn matches_form(text: &str, first: fn(char) -> bool, rest: fn(char) -> bool, max: usize) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(first) && chars.all(rest) && text.len() <= max
}

id!(
    /// The id of a step: `[A-Za-z_][\w-]*`, at most 128 bytes.
    StepId, "step id", "a letter or `_`, then letters, digits, `_` and `-`",
    |t| matches_form(t, |c| c.is_ascii_alphabetic() || c == '_', |c| c.is_ascii_alphanumeric() || c == '_' || c == '-', 128)
);
id!(
    /// The id of a playbook or workflow: `[a-z][a-z0-9_-]{0,63}`.
    DefinitionId, "playbook id", "a lower-case letter, then up to 63 lower-case letters, digits, `_` and `-`",
    |t| matches_form(t, |c| c.is_ascii_lowercase(), |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-', 64)
);
id!(
    /// The id of a specialist: a plain id, the path of an agent profile (`agents/writer.md`) or a
    /// dotted name (`agent.writer.001`).
    SpecialistId, "specialist id", "letters, digits, `_`, `-`, `.` and `/`, starting with a letter or `.`",
    |t| matches_form(t, |c| c.is_alphabetic() || c == '.', |c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' '), 256)
);
id!(
    /// The name of a tool: `namespace:verb`, such as `fs:read`.
    ToolName, "tool name", "`namespace:name`, such as `fs:read`",
    |t| t.len() <= 128 && t.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.' | '/' | '*')) && !t.is_empty()
);
id!(
    /// The id of a run: lower-case letters, digits and `-`. The engine makes it, unique in a project.
    RunId, "run id", "lower-case letters, digits and `-`",
    |t| matches_form(t, |c| c.is_ascii_alphanumeric(), |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-', 64)
);
