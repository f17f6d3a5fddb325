//! The paths of this machine that a text names: words of commands, values of variables, and what programs print.

use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The number of words of a text that are read.
const WORDS: usize = 2_000;

/// A URL names hosts, no paths of this machine.
static URL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s'"`<>|)\]},;]*"#).expect("the pattern is valid")
});

/// Where a script writes its output to a file, up to the name of the file: `> out`, `2>>out`, `>|out`.
static REDIRECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#">[>|]?\s*['"]?([^\s'"<>|&;()]+)"#).expect("the pattern is valid")
});

/// Finds paths in a text, for a process that starts in a working directory.
pub(super) struct NamedPaths<'a> {
    pub(super) cwd: &'a Path,
    pub(super) home: Option<&'a Path>,
}

impl NamedPaths<'_> {
    /// The paths that a text names, made absolute: absolute ones, those of the home directory, and those that begin with
    /// `../`. With `any`, every word is taken as a path relative to the working directory too.
    pub(super) fn of(&self, text: &str, any: bool) -> Vec<PathBuf> {
        let text = text.replace("file://", " ");
        let text = URL.replace_all(&text, " ");
        let separates =
            |c: char| c.is_whitespace() || "'\"`=,:;()[]<>|&\u{2018}\u{2019}".contains(c);
        let words = text.split(separates).map(|word| word.trim_end_matches('.'));
        let words = words.filter(|word| !word.is_empty()).take(WORDS);
        words.filter_map(|word| self.path(word, any)).collect()
    }

    /// The paths that a script writes its output to.
    pub(super) fn written(&self, script: &str) -> Vec<PathBuf> {
        let targets = REDIRECTION.captures_iter(script).take(WORDS);
        targets.filter_map(|found| self.path(found.get(1)?.as_str(), false)).collect()
    }

    fn path(&self, word: &str, any: bool) -> Option<PathBuf> {
        let below = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| word.strip_prefix(home));
        match (below, word) {
            (Some(below), _) => self.home.map(|home| home.join(below)),
            (None, "/") => None,
            (None, word) if word.starts_with('/') => Some(PathBuf::from(word)),
            (None, word) if any || word.starts_with("../") => Some(self.cwd.join(word)),
            (None, _) => None,
        }
    }
}

/// The rest of a word from its first slash on, as in `-I/usr/include`, if the word does not begin with it.
pub(super) fn attached_path(word: &str) -> Option<&str> {
    word.find('/').filter(|at| *at > 0).map(|at| &word[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_words_variables_and_messages() {
        let named = NamedPaths { cwd: Path::new("/p"), home: Some(Path::new("/home/a")) };
        let of = |text: &str, any: bool| {
            let all = named.of(text, any).into_iter().map(|path| path.display().to_string());
            all.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("exec python3 /p/./x/../a.py", false), "/p/./x/../a.py");
        assert_eq!(
            of("--import=file:///p/a.mjs ~/b:$HOME/c", false),
            "/p/a.mjs /home/a/b /home/a/c"
        );
        assert_eq!(of("see https://example.org/docs, ../x and y", false), "/p/../x");
        assert_eq!(of("sh run.sh", true), "/p/sh /p/run.sh");
        let written = named.written("cat ~/a > ~/b; x 2>>/c 2>&1 >|\"$HOME/d\" < /e");
        let written: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(written.join(" "), "/home/a/b /c /home/a/d");
        assert_eq!(attached_path("-I/p/include"), Some("/p/include"));
        assert_eq!(attached_path("/p"), None);
    }
}
