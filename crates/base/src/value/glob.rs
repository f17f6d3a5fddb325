//! Globs over paths and names.

use super::limits::GLOB_BYTES;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A glob that is known to compile.
#[derive(Debug, Clone)]
pub struct Glob(GlobSet);

impl Glob {
    /// A glob over paths: `*` and `?` match within a component, `**` matches across components. The error is
    /// the human-readable reason.
    pub fn of_paths(text: &str) -> Result<Glob, String> {
        Glob::new(text, true)
    }

    /// A glob over names: `*` matches any text. The error is the human-readable reason.
    pub fn of_names(text: &str) -> Result<Glob, String> {
        Glob::new(text, false)
    }

    fn new(text: &str, separator: bool) -> Result<Glob, String> {
        if text.len() > GLOB_BYTES {
            return Err(format!("it has {} bytes, more than {GLOB_BYTES}", text.len()));
        }
        let glob = GlobBuilder::new(text).literal_separator(separator).build();
        let glob = glob.map_err(|error| error.kind().to_string())?;
        // A set reports a pattern that does not compile; a single matcher panics.
        let set = GlobSetBuilder::new().add(glob).build();
        set.map(Glob).map_err(|error| error.kind().to_string())
    }

    /// Whether the glob matches a path or name.
    pub fn is_match(&self, text: impl AsRef<std::path::Path>) -> bool {
        self.0.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_matter_in_paths_only() {
        assert!(Glob::of_names("fs:*").unwrap().is_match("fs:a/b"));
        let paths = Glob::of_paths("src/*.rs").unwrap();
        assert!(paths.is_match("src/a.rs") && !paths.is_match("src/a/b.rs"));
        assert!(Glob::of_paths("src/**/*.rs").unwrap().is_match("src/a/b.rs"));
    }

    #[test]
    fn globs_that_cannot_be_compiled_are_errors() {
        for text in ["[".to_owned(), "*".repeat(1 << 20), "{a,".repeat(300), "*a".repeat(2_000)] {
            let _ = Glob::of_names(&text);
            let _ = Glob::of_paths(&text);
        }
        let nested = format!("{}a{}", "{b,".repeat(300), "}".repeat(300));
        assert!(Glob::of_names(&nested).is_err() && Glob::of_names(&"*".repeat(5_000)).is_err());
        assert!(Glob::of_paths("[").is_err());
    }
}
