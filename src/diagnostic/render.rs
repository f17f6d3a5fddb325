use super::{Diagnostic, Sources};

/// Draws a diagnostic with its source lines and carets, in the look of rustc.
pub fn render(_diagnostic: &Diagnostic, _sources: &Sources, _colour: bool) -> String {
    String::new()
}

/// `2 errors, 1 warning`.
pub fn summary(_diagnostics: &[Diagnostic]) -> String {
    String::new()
}
