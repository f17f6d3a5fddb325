//! Reads the entries of a map. What was not taken is reported when the fields are dropped, so that no converter
//! can forget a key.

use super::draft::{Draft, literal, playbook_id, step_id};
use super::output::Out;
use super::report::Report;
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
    /// Where what is left is reported; `None` for a look ahead at what is read later.
    report: Option<Report>,
}

impl<'a> Fields<'a> {
    /// The entries of a value that is read now. A value that is no map is reported.
    pub(super) fn of(value: &'a Positioned, path: impl Into<String>, draft: &Draft) -> Fields<'a> {
        let (entries, path) = (value.entries(), path.into());
        if !value.is_map() && !value.items().is_empty() {
            let what = path.trim_end_matches('.');
            draft.fails(value.line, format!("`{what}` is no map and is not mapped"));
        }
        Fields { entries, taken: RefCell::default(), path, report: Some(draft.report.clone()) }
    }

    /// The entries of a value that is read again later.
    pub(super) fn ahead(value: &'a Positioned) -> Fields<'a> {
        let (taken, path) = Default::default();
        Fields { entries: value.entries(), taken, path, report: None }
    }

    /// Takes the entries of a key.
    pub(super) fn nested(&self, key: &str) -> Option<Fields<'a>> {
        let entries = self.take(key)?.entries();
        let (taken, path) = (RefCell::default(), format!("{}{key}.", self.path));
        Some(Fields { entries, taken, path, report: self.report.clone() })
    }

    /// The value of a key, which is not taken.
    pub(super) fn peek(&self, key: &str) -> Option<&'a Positioned> {
        let wanted = spelled(key);
        self.entries.iter().find(|(key, _, _)| spelled(key) == wanted).map(|(_, _, value)| value)
    }

    /// Takes the value of a key. The caller reads all of it.
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
    pub(super) fn depends_on(&self, key: &str, draft: &Draft) -> Option<(&'static str, Out)> {
        let depends = texts(self.take(key)?, &format!("{}{key}", self.path), draft);
        let ids: Vec<String> = depends.iter().map(|on| step_id(on)).collect();
        Some(("dependsOn", Out::texts(&ids)))
    }

    /// Takes a key that has no counterpart, because `kb` does what these values mean. Any other value is
    /// reported.
    pub(super) fn agrees(&self, key: &str, values: &[&str], draft: &mut Draft) {
        let Some(value) = self.take(key) else { return };
        let words = value.words();
        if !words.as_deref().is_some_and(|words| values.contains(&words)) {
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            draft.fails(value.line, format!("`{}{key}{words}` is not mapped", self.path));
        }
    }

    /// Takes a key whose value is not used, and says what holds in its place.
    pub(super) fn replaced(&self, key: &str, by: &str, draft: &mut Draft) {
        if let Some(value) = self.take(key) {
            let words = value.words().map(|words| format!(": {words}")).unwrap_or_default();
            draft.left_out(value.line, format!("`{}{key}{words}` is not mapped: {by}", self.path));
        }
    }

    /// Takes keys without an effect on what happens, such as those for a page of the other tool.
    pub(super) fn left_out(&self, keys: &[&str], why: &str, draft: &Draft) {
        for (at, (key, line, _)) in self.entries.iter().enumerate() {
            if keys.iter().any(|known| spelled(known) == spelled(key))
                && self.taken.borrow_mut().insert(at)
            {
                draft.left_out(*line, format!("`{}{key}` is not mapped: {why}", self.path));
            }
        }
    }

    /// Takes all that is left, as part of something that is reported as a whole.
    pub(super) fn take_rest(&self) {
        self.taken.borrow_mut().extend(0..self.entries.len());
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        let Some(report) = &self.report else { return };
        let taken = self.taken.borrow();
        for (at, (key, line, _)) in self.entries.iter().enumerate() {
            if !taken.contains(&at) {
                report.fails(*line, format!("`{}{key}` is not mapped", self.path));
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
            draft.fails(value.line, format!("`{}{key}{words}` is not mapped", fields.path));
            None
        }
    }
}

/// The texts of a list; an item that is no text is reported.
pub(super) fn texts(list: &Positioned, what: &str, draft: &Draft) -> Vec<String> {
    list.items().iter().filter_map(|item| words(item, what, draft)).collect()
}

/// The text of a scalar; a list or map is reported.
pub(super) fn words(value: &Positioned, what: &str, draft: &Draft) -> Option<String> {
    let found = value.words();
    if found.is_none() && !value.items().is_empty() {
        draft.fails(value.line, format!("`{what}` is no text and is not mapped"));
    }
    found
}

fn spelled(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
