//! Normalization of paths in claims.

use unicode_normalization::UnicodeNormalization;

/// A path in the form of file changes: relative to the workspace, `/`-separated, NFC, without `.`
/// parts. A path outside keeps its `..`, so the path guard refuses it.
pub(super) fn normalized(path: &str, root: &str) -> String {
    normalized_exact(path.trim(), root)
}

/// The same with the white space around the path.
pub(super) fn normalized_exact(path: &str, root: &str) -> String {
    let path: String = path.nfc().collect();
    let below = path.strip_prefix(root.trim_end_matches('/')).filter(|_| !root.is_empty());
    let relative = match below {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => &path,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if relative.starts_with('/') { format!("/{}", parts.join("/")) } else { parts.join("/") }
}

/// Whether a path is a shorter one, alone or with folders before it.
pub(super) fn ends_in(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_form_of_file_changes() {
        for (path, expected) in [
            ("src/a.rs", "src/a.rs"),
            ("./src//a.rs", "src/a.rs"),
            ("src/x/../a.rs", "src/a.rs"),
            ("../a.rs", "../a.rs"),
            ("src/../../a.rs", "../a.rs"),
            ("/work/src/a.rs", "src/a.rs"),
            ("/workshop/a.rs", "/workshop/a.rs"),
            ("/etc/passwd", "/etc/passwd"),
            ("e\u{301}.txt", "\u{e9}.txt"),
        ] {
            assert_eq!(normalized(path, "/work"), expected, "{path}");
        }
    }
}
