use super::parse::{Names, Style};
use std::ops::Range;

/// The placeholders that a text of ours must not hold, such as a literal shell script: those whose
/// root is a known name, with what stands between their brackets. Any other brace is not ours.
pub fn placeholders_in(_text: &str, _names: &Names, _style: Style) -> Vec<(Range<usize>, String)> {
    Vec::new()
}

/// The bare `{name}` placeholders of a workflow's text, known or not: the inferred parameters of a
/// workflow without `params` are among them.
pub fn bare_names(_text: &str) -> Vec<(Range<usize>, String)> {
    Vec::new()
}
