//! Looks up what files define under names.

use crate::workspace::{Workspace, patience};
use kb_code::Language;
use kb_core::redaction::Redactor;
use kb_core::verify::{DefinedName, Observation};
use std::collections::BTreeMap;
use std::io::Read;
use tokio_util::sync::CancellationToken;

/// Maximum size of a file that is read, in bytes. Larger ones are generated, or data.
const MAX_FILE: u64 = 1 << 20;

/// The definitions under these names in each file whose language is known; none in a file that takes too long. Blocks.
pub(super) fn look_up(
    files: &[String],
    names: &[String],
    workspace: &Workspace,
    redactor: &Redactor,
    cancel: &CancellationToken,
) -> Observation {
    let mut stop = patience(cancel.clone());
    let mut found = BTreeMap::new();
    for path in files {
        let Some((language, text)) = Language::of_path(path).zip(text_of(workspace, path)) else {
            continue;
        };
        let has_name = names.iter().any(|name| text.contains(name.as_str()));
        let all = has_name.then(|| kb_code::symbols(&text, language, &mut *stop)).flatten();
        let all = all.unwrap_or_default();
        let named = all.into_iter().filter(|own| names.contains(&own.name));
        let defined = named.map(|own| DefinedName {
            name: own.name,
            container: redactor.mask_text(&own.container).into_owned(),
            first: own.line.into(),
            last: own.end_line.into(),
        });
        found.insert(path.clone(), defined.collect());
    }
    Observation::Definitions(found)
}

fn text_of(workspace: &Workspace, path: &str) -> Option<String> {
    let file = workspace.open_file(&workspace.locate(path).ok()?).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
    let is_small = bytes.len() as u64 <= MAX_FILE;
    String::from_utf8(bytes).ok().filter(|_| is_small)
}
