//! Globs over names of tools.

use kb_base::value::Glob;

/// Whether a glob matches a name: `*` matches any text. A text without `*` is no glob.
pub(super) fn glob_matches(glob: &str, name: &str) -> bool {
    glob.contains('*') && Glob::of_names(glob).is_ok_and(|glob| glob.is_match(name))
}
