//! Files that the summary of an output names: weak evidence, which can only raise doubt.

use super::normalized_path::normalized;
use super::recorded_changes::RecordedChanges;
use kb_base::value::Json;

/// Maximum length of a summary that is searched, in bytes, and of files that it names.
const SEARCHED: usize = 20_000;
const NAMED: usize = 50;

/// Why the changes of a step are doubtful: its summary names files, and it changed none of them.
pub(super) fn doubt(output: &Json, changes: &RecordedChanges<'_>, root: &str) -> Option<String> {
    let summary = output.get("summary").and_then(Json::as_str)?;
    let named = paths(summary, root);
    let first = named.first()?;
    let is_named = |changed: &str| {
        let fits = |named: &String| changed == named || changed.ends_with(&format!("/{named}"));
        named.iter().any(fits)
    };
    let mut changed = changes.changed();
    let other = changed.next()?;
    if is_named(other) || changed.any(is_named) {
        return None;
    }
    Some(format!("the summary names `{first}`, but the step changed `{other}`"))
}

/// The paths in a text: words with a file name extension, without a protocol.
fn paths(text: &str, root: &str) -> Vec<String> {
    let end = text.len().min(SEARCHED);
    let end = (0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    let separators = |c: char| c.is_whitespace() || "`\"'(),;<>[]{}|".contains(c);
    let words =
        text[..end].split(separators).map(|word| word.trim_end_matches(['.', ':', '!', '?']));
    let is_path = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let has_extension = extension.is_some_and(|(_, extension)| {
            (1..=5).contains(&extension.len())
                && extension.chars().all(|c| c.is_ascii_alphanumeric())
                && extension.starts_with(|c: char| c.is_ascii_lowercase())
        });
        has_extension && word.contains('/') && !word.contains("://")
    };
    words.filter(is_path).take(NAMED).map(|word| normalized(word, root)).collect()
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn only_words_with_a_folder_and_an_extension_are_paths() {
        let text = "Wrote `src/a.rs`, lib/b.test.ts and ./c/d.py. See https://x.org/y.html, e.g. \
                    version 1.2, and/or v1.0/2.";
        assert_eq!(paths(text, "/work"), ["src/a.rs", "lib/b.test.ts", "c/d.py"]);
    }
}
