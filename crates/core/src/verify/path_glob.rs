//! Globs of checks, compared with the paths of recorded changes.

use kb_base::value::Glob;

/// A glob that names files, or folders that contain them.
pub(in crate::verify) struct PathGlob<'g> {
    text: &'g str,
    /// `None` for an invalid glob.
    matcher: Option<Glob>,
}

impl<'g> PathGlob<'g> {
    pub(in crate::verify) fn new(glob: &'g str) -> Self {
        // `/workspace` is the project in many documents.
        let text = glob.strip_prefix("./").or(glob.strip_prefix("/workspace/")).unwrap_or(glob);
        let text = text.trim_end_matches('/');
        PathGlob { text, matcher: Glob::of_paths(text).ok() }
    }

    pub(in crate::verify) fn list(globs: &'g [String]) -> Vec<PathGlob<'g>> {
        globs.iter().map(|glob| PathGlob::new(glob)).collect()
    }

    /// Whether it names a path or a folder that contains it. `invalid`: the answer for an invalid
    /// glob.
    pub(in crate::verify) fn covers(&self, path: &str, invalid: bool) -> bool {
        let below = path.strip_prefix(self.text).is_some_and(|rest| rest.starts_with('/'));
        below || self.matcher.as_ref().map_or(invalid, |matcher| matcher.is_match(path))
    }
}
