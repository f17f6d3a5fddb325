//! Reads the entries of a map and reports those that were not taken.

use super::draft::{Draft, literal, playbook_id, step_id};
use super::output::Out;
use kb_language::definition::Positioned;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The entries of a map. Names are compared without `_`, `-` and case, because other tools accept
/// several forms.
pub(super) struct Fields<'a> {
    entries: &'a [(String, u32, Positioned)],
    taken: RefCell<BTreeSet<usize>>,
    /// What is in front of a key in a note.
    path: String,
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Positioned, path: impl Into<String>) -> Fields<'a> {
        Fields { entries: value.entries(), taken: RefCell::default(), path: path.into() }
    }

    /// The value of a key, which is not taken.
    pub(super) fn peek(&self, key: &str) -> Option<&'a Positioned> {
        let wanted = spelled(key);
        self.entries.iter().find(|(key, _, _)| spelled(key) == wanted).map(|(_, _, value)| value)
    }

    /// Takes the value of a key.
    pub(super) fn take(&self, key: &str) -> Option<&'a Positioned> {
        let wanted = spelled(key);
        let at = self.entries.iter().position(|(key, _, _)| spelled(key) == wanted)?;
        self.taken.borrow_mut().insert(at);
        Some(&self.entries[at].2)
    }

    /// Takes a scalar as text; a list or map stays and is reported.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let wanted = spelled(key);
        let at = self.entries.iter().position(|(key, _, _)| spelled(key) == wanted)?;
        let text = self.entries[at].2.words()?;
        self.taken.borrow_mut().insert(at);
        Some(text)
    }

    /// Takes the name, from which the id of the playbook follows, and the description.
    pub(super) fn title(&self, draft: &mut Draft) {
        if let Some(text) = self.text("name") {
            draft.id = playbook_id(&text);
            draft.set("name", literal(&text));
        }
        if let Some(text) = self.text("description") {
            draft.set("description", text);
        }
    }

    /// Takes the steps that a step waits for, as `dependsOn`.
    pub(super) fn depends_on(&self, key: &str) -> Option<(&'static str, Out)> {
        let depends = self.take(key)?;
        let ids: Vec<String> =
            depends.items().iter().filter_map(Positioned::words).map(|on| step_id(&on)).collect();
        Some(("dependsOn", Out::texts(&ids)))
    }

    /// Takes a key that has no counterpart, because `kb` does what these values mean. Any other value is
    /// reported.
    pub(super) fn agrees(&self, key: &str, values: &[&str], draft: &mut Draft) {
        let Some(value) = self.take(key) else { return };
        let words = value.words();
        if !words.as_deref().is_some_and(|words| values.contains(&words)) {
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            draft.unmapped(value.line, format!("`{}{key}{words}` is not mapped", self.path));
        }
    }

    /// Takes a key whose value is not used, and says what holds in its place.
    pub(super) fn replaced(&self, key: &str, by: &str, draft: &mut Draft) {
        if let Some(value) = self.take(key) {
            let words = value.words().map(|words| format!(": {words}")).unwrap_or_default();
            draft.unmapped(value.line, format!("`{}{key}{words}` is not mapped: {by}", self.path));
        }
    }

    /// Reports what was not taken.
    pub(super) fn finish(self, draft: &mut Draft) {
        let taken = self.taken.into_inner();
        for (at, (key, line, _)) in self.entries.iter().enumerate() {
            if !taken.contains(&at) {
                draft.unmapped(*line, format!("`{}{key}` is not mapped", self.path));
            }
        }
    }
}

/// Takes `true` or `false`; any other value is reported.
pub(super) fn flag(fields: &Fields<'_>, key: &str, draft: &mut Draft) -> Option<bool> {
    let value = fields.take(key)?;
    match value.words().as_deref() {
        Some("true") => Some(true),
        Some("false") => Some(false),
        words => {
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            draft.unmapped(value.line, format!("`{}{key}{words}` is not mapped", fields.path));
            None
        }
    }
}

fn spelled(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
