//! The pages of diagnostic codes.

use super::{ResourceKind, ServiceError};
use kb_base::diagnostic::Code;
use serde::Serialize;

/// The page of a diagnostic code.
#[derive(Debug, Clone, Serialize)]
pub struct CodePage {
    /// The code, such as `KB0101`.
    pub code: Code,
    /// Title of the page.
    pub title: &'static str,
    /// Explanation, example and fix, as markdown.
    pub text: &'static str,
}

impl From<Code> for CodePage {
    fn from(code: Code) -> Self {
        CodePage { code, title: code.title(), text: code.page() }
    }
}

/// The page of a code. `KB101`, `kb0101` and `101` are accepted too.
pub fn explain(text: &str) -> Result<CodePage, ServiceError> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let padded = format!("KB{digits:0>4}");
    let found = Code::find(text).or_else(|| Code::find(&padded));
    let unknown = || ServiceError::unknown(ResourceKind::Code, text, Code::all().map(Code::as_str));
    found.map(CodePage::from).ok_or_else(unknown)
}

/// Every code, in order.
pub fn all_codes() -> Vec<CodePage> {
    let mut pages: Vec<CodePage> = Code::all().map(CodePage::from).collect();
    pages.sort_by_key(|page| page.code.as_str());
    pages
}
