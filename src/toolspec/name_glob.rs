//! Globs over names of tools.

use globset::GlobBuilder;

/// Whether a glob matches a name: `*` matches any text. A text without `*` is no glob.
pub(super) fn glob_matches(glob: &str, name: &str) -> bool {
    let matches = || {
        let glob = GlobBuilder::new(glob).build().ok()?;
        Some(glob.compile_matcher().is_match(name))
    };
    glob.contains('*') && matches().unwrap_or(false)
}
