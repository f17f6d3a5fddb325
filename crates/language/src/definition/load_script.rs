//! Loads the script of a scripted model (`kb.script/1`).

use super::load::yaml;
use super::script::{Script, script};
use super::syntax::{Decoder, read_text};
use kb_base::diagnostic::{Diagnostic, Sources};

/// Loads a script for `--script`; `None` if it has errors.
pub fn load_script(path: &str, bytes: &[u8]) -> (Option<Script>, Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let text = match read_text(path, &bytes.into(), &mut sources) {
        Ok(text) => text,
        Err(diagnostic) => return (None, sources, vec![*diagnostic]),
    };
    let mut decoder = Decoder::default();
    let root = yaml(&text, text.start..text.text.len(), &mut decoder);
    let found = root.and_then(|root| script(&root, &mut decoder));
    let clean = !decoder.has_errors();
    (found.filter(|_| clean), sources, decoder.finish())
}
