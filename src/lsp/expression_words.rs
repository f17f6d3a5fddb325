//! Hover on the words of an expression: fields, keys of an output, roots, filters and tests.

use super::cursor::{Place, cursor};
use super::documents::kind_of;
use super::known::Known;
use super::names;
use super::tables::slot;
use super::words::{Table, about};

/// What is said about a word, and where the word is.
pub(super) struct About {
    pub(super) markdown: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What is known about the part of a dotted word at an offset, if it stands in an expression and is neither a step nor a
/// parameter.
pub(super) fn about_at(
    (text, shown): (&str, &str),
    (word, start): (&str, usize),
    offset: usize,
    known: Option<&Known>,
) -> Option<About> {
    let place = cursor(text, start);
    let is_value = || {
        let slot = kind_of(shown).and_then(|file| slot(file, &place.path));
        slot.is_some_and(|slot| names::takes_expression(&slot.ty))
    };
    if place.at != Place::Expression && !(place.at == Place::Value && is_value()) {
        return None;
    }
    let inside = offset.clamp(start, start + word.len()) - start;
    let end = word[inside..].find('.').map_or(word.len(), |at| inside + at);
    let path: Vec<&str> = word[..end].split('.').collect();
    let part = *path.last()?;
    let before = text[..start].trim_end();
    let markdown = if path.len() > 1 {
        of_path(&path, known)
    } else if before.ends_with('|') && !before.ends_with("||") {
        about(Table::Filters, part).map(|text| format!("filter **{part}**: {text}"))
    } else if is_test(before) {
        about(Table::Tests, part).map(|text| format!("test **{part}**: {text}"))
    } else {
        of_root(text, part)
    }?;
    Some(About { markdown, start: start + end - part.len(), end: start + end })
}

fn is_test(before: &str) -> bool {
    let before = before.strip_suffix("not").map_or(before, str::trim_end);
    before.ends_with(" is") || before.ends_with("}is")
}

/// What is said about a name below a root, or below a step.
fn of_path(path: &[&str], known: Option<&Known>) -> Option<String> {
    match path {
        ["params", _] | ["steps", _] => None,
        ["run" | "loop", field, ..] => {
            let name = format!("{}.{field}", path[0]);
            about(Table::Names, &name).map(|text| format!("**{}**: {text}", path.join(".")))
        }
        ["env" | "secrets", _] => {
            let name = format!("{}.NAME", path[0]);
            about(Table::Names, &name).map(|text| format!("**{}**: {text}", path.join(".")))
        }
        ["steps", step, rest @ ..] | [step, rest @ ..] => match rest {
            [field] => {
                about(Table::Fields, field).map(|text| format!("**{field}** of `{step}`: {text}"))
            }
            _ => known?.described(step, rest),
        },
        [] => None,
    }
}

/// What is said about a name of the language, unless the file declares it.
fn of_root(text: &str, name: &str) -> Option<String> {
    let is = |(own, _): &names::Name| own.replace('-', "_") == name;
    if names::steps(text).iter().chain(&names::params(text)).any(is) {
        return None;
    }
    let rows = ["", ".id", ".iteration", ".NAME", ".rejection"].map(|end| format!("{name}{end}"));
    let found = rows.iter().find_map(|row| about(Table::Names, row))?;
    Some(format!("**{name}**: {found}"))
}
