//! Keys of an output, in any of the usual forms: camelCase, snake_case and kebab-case.

use kb_base::value::{Json, JsonMap};

/// Keys that say nothing about what is below them.
const NEUTRAL: &str = "summary result results output outputs report artifacts details answer description message text \
    changes checks work handoff verification stats statistics status state notes";

/// Keys of an entry with the exit code of its command.
pub(super) const EXIT_CODES: [&str; 6] =
    ["exitcode", "exit", "code", "rc", "returncode", "exitstatus"];

/// Whether a key says nothing about what is below it.
pub(super) fn is_neutral(key: &str) -> bool {
    let key = words(key).concat();
    NEUTRAL.split_whitespace().any(|known| known == key)
}

/// The objects of an output that contain claims: the output itself and its `artifacts`.
pub(super) fn sources(output: &Json) -> impl Iterator<Item = &JsonMap> {
    [Some(output), output.get("artifacts")].into_iter().flatten().filter_map(Json::as_object)
}

/// Whether a key is one of these names, which are lower case without separators.
pub(super) fn is_key(key: &str, names: &[&str]) -> bool {
    let key: String = key.chars().filter(|c| *c != '_' && *c != '-').collect();
    names.contains(&key.to_ascii_lowercase().as_str())
}

/// The words of a key in small letters: `testsPassed` and `tests_passed` have two.
pub(super) fn words(key: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut lower = false;
    for c in key.chars() {
        if c == '_' || c == '-' || c.is_uppercase() && lower {
            words.push(String::new());
        }
        lower = c.is_lowercase() || c.is_ascii_digit();
        if let Some(last) = words.last_mut().filter(|_| c != '_' && c != '-') {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The value of the first key of an object that is one of these names.
pub(super) fn field<'v>(object: &'v Json, names: &[&str]) -> Option<&'v Json> {
    object.as_object()?.iter().find(|(key, _)| is_key(key, names)).map(|(_, value)| value)
}

/// The entries of a list; one value is a list of one.
pub(super) fn entries(value: &Json) -> impl Iterator<Item = &Json> {
    match value {
        Json::Array(entries) => entries.as_slice(),
        Json::Null => &[],
        one => std::slice::from_ref(one),
    }
    .iter()
}
