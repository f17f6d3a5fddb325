//! What a conversion reports, and where that takes effect.
//!
//! Whatever is not translated exactly passes through [`Report::fails`] or [`Report::left_out`]. What was reported
//! since a scope was opened belongs to the step, job or playbook of that scope, and makes it fail.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What a note means for the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// A part has no exact translation: the steps that it concerns fail.
    Fails,
    /// A part is left out, and the result does less than the original: a trigger does not start it, a tool is not
    /// granted.
    LeftOut,
    /// A translation that a person should review.
    Hint,
}

impl Effect {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Fails => "fails",
            Effect::LeftOut => "leftOut",
            Effect::Hint => "hint",
        }
    }
}

/// Something that was not translated, or that a person should check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// Line of the file, from 1.
    pub line: u32,
    /// What it means for the result.
    pub effect: Effect,
    /// The text, a lower-case fragment.
    pub text: String,
}

/// The notes of a conversion. Copies share them.
#[derive(Clone, Default)]
pub(super) struct Report(Rc<RefCell<Notes>>);

#[derive(Default)]
struct Notes {
    all: Vec<ImportNote>,
    /// The texts of the hints.
    hints: BTreeSet<String>,
    /// What the innermost scope has to place in the result.
    open: Vec<ImportNote>,
}

/// What was open outside of a scope.
#[must_use]
pub(super) struct Outside(Vec<ImportNote>);

impl Report {
    /// Reports a part without an exact translation: what is read in this scope fails.
    pub(super) fn fails(&self, line: u32, text: impl Into<String>) {
        self.add(ImportNote { line, effect: Effect::Fails, text: text.into() }, true);
    }

    /// Reports a part that is left out, so that the result does less.
    pub(super) fn left_out(&self, line: u32, text: impl Into<String>) {
        self.add(ImportNote { line, effect: Effect::LeftOut, text: text.into() }, true);
    }

    /// Reports a part in whose place a failing step is written.
    pub(super) fn placed(&self, line: u32, text: impl Into<String>) {
        self.add(ImportNote { line, effect: Effect::Fails, text: text.into() }, false);
    }

    pub(super) fn hint(&self, line: u32, text: impl Into<String>) {
        let text = text.into();
        if self.0.borrow_mut().hints.insert(text.clone()) {
            self.add(ImportNote { line, effect: Effect::Hint, text }, false);
        }
    }

    fn add(&self, note: ImportNote, open: bool) {
        let mut notes = self.0.borrow_mut();
        if open {
            notes.open.push(note.clone());
        }
        notes.all.push(note);
    }

    /// How many parts have no exact translation so far.
    pub(super) fn failing(&self) -> usize {
        self.0.borrow().all.iter().filter(|note| note.effect == Effect::Fails).count()
    }

    /// Opens a scope.
    pub(super) fn open(&self) -> Outside {
        Outside(std::mem::take(&mut self.0.borrow_mut().open))
    }

    /// Closes a scope: what it has to place.
    pub(super) fn close(&self, outside: Outside) -> Vec<ImportNote> {
        std::mem::replace(&mut self.0.borrow_mut().open, outside.0)
    }

    /// What is open outside of all scopes.
    pub(super) fn rest(&self) -> Vec<ImportNote> {
        std::mem::take(&mut self.0.borrow_mut().open)
    }

    /// Leaves a note of a scope without steps to the scope around it.
    pub(super) fn put_back(&self, note: ImportNote) {
        self.0.borrow_mut().open.push(note);
    }

    /// All notes in the order of lines.
    pub(super) fn notes(&self) -> Vec<ImportNote> {
        let mut notes = std::mem::take(&mut self.0.borrow_mut().all);
        notes.sort_by_key(|note| (note.line, note.effect));
        notes
    }
}
