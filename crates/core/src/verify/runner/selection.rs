//! Whether a command ran a part of the tests: by its arguments, or by what its output says.

use super::TestUse;
use super::table::HARMLESS;
use super::words::has;
use crate::evidence::TestCounts;

impl TestUse<'_> {
    /// The argument that may select a part of the tests.
    pub(in crate::verify) fn selection(&self) -> Option<&str> {
        let (harmless, valued, flags) = self
            .runner
            .map_or(("", "", ""), |runner| (runner.harmless, runner.valued, runner.flags));
        let mut rest = self.rest.iter();
        while let Some(arg) = rest.next() {
            let name = arg.split_once('=').map_or(*arg, |(name, _)| name);
            if has(valued, name) {
                if name == *arg {
                    rest.next();
                }
            } else if let Some(value_follows) = group(arg, flags, valued) {
                if value_follows {
                    rest.next();
                }
            } else if !has(HARMLESS, arg) && !has(harmless, arg) {
                return Some(arg);
            }
        }
        None
    }

    /// Why it may have run a part of the tests, as a fragment for people: by an argument, or because its output reports tests
    /// that a selection left out, wherever that selection stands. A command of the settings without further arguments runs
    /// what its author wants.
    pub(in crate::verify) fn part(&self, counts: Option<TestCounts>) -> Option<String> {
        let selection = self.selection().map(|argument| format!("with `{argument}`"));
        let left = counts.map_or(0, |counts| counts.deselected);
        selection.or_else(|| {
            (left > 0 && !self.named).then(|| format!("with {left} deselected in its output"))
        })
    }
}

/// Whether the value of a group of short options such as `-qx` is the next argument; `None` if it is no group of options that
/// are known to be harmless. A letter that takes a value ends the group: the `a` of `-qka` is no option.
fn group(arg: &str, flags: &str, valued: &str) -> Option<bool> {
    let letters = arg.strip_prefix('-').filter(|letters| !letters.is_empty())?;
    let Some(last) = letters.find(|letter| !flags.contains(letter)) else { return Some(false) };
    let value = letters[last..].char_indices().nth(1).map_or("", |(at, _)| &letters[last + at..]);
    let option = &letters[last..letters.len() - value.len()];
    (!flags.is_empty() && has(valued, &format!("-{option}"))).then_some(value.is_empty())
}
