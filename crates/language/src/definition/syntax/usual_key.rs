//! Keys that people know from other tools, with the way to write the same here.

use kb_base::diagnostic::foreign_word;

/// Stands in a help for the value of the unknown key.
pub(super) const VALUE: &str = "VALUE";

/// The help for an unknown key of a map, described as in messages (`a step`).
pub(super) fn of_key(key: &str, what: &str) -> Option<&'static str> {
    // A workflow has the keys of a playbook, an agent profile those of a specialist.
    let what = match what {
        "a workflow" => "a playbook",
        "an agent profile" => "a specialist",
        other => other,
    };
    foreign_word("a map", &plain(key)).or_else(|| foreign_word(what, &plain(key)))
}

/// The key that an unknown one means in every map that has it.
pub(super) fn meant_by(key: &str) -> Option<&'static str> {
    foreign_word("key", &plain(key))
}

fn plain(key: &str) -> String {
    key.replace(['-', '_'], "").to_ascii_lowercase()
}
