//! Loads a file with tests of playbooks (`kb.test/1`).

use super::load::yaml;
use super::syntax::{Decoder, read_text};
use super::test_file::{TestFile, test_file};
use kb_base::diagnostic::{Diagnostic, Sources};

/// Loads a test file and adds its text to `sources`; `None` if it has errors.
pub fn load_tests(
    path: &str,
    bytes: &[u8],
    sources: &mut Sources,
) -> (Option<TestFile>, Vec<Diagnostic>) {
    let text = match read_text(path, &bytes.into(), sources) {
        Ok(text) => text,
        Err(diagnostic) => return (None, vec![*diagnostic]),
    };
    let mut decoder = Decoder::default();
    let root = yaml(&text, text.start..text.text.len(), &mut decoder);
    let found = root.and_then(|root| test_file(&root, &mut decoder));
    let clean = !decoder.has_errors();
    (found.filter(|_| clean), decoder.finish())
}
