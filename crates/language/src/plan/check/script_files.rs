//! The files that a shell script visibly writes and names. Words with expansions are left out.

use std::collections::BTreeSet;

/// The literal file names of a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptFiles<'s> {
    /// What output is redirected to, and the arguments of `tee` and `touch`.
    pub(super) written: BTreeSet<&'s str>,
    /// All other words.
    pub(super) named: BTreeSet<&'s str>,
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The name of a command.
    Command,
    Argument,
    /// An argument of `tee` or `touch`.
    Output,
    /// Behind `>`; then what it was before.
    Target(bool),
    /// Behind `>&`: the number of a stream.
    Stream(bool),
}

impl<'s> ScriptFiles<'s> {
    pub(super) fn of(script: &'s str) -> ScriptFiles<'s> {
        let mut files = ScriptFiles::default();
        let mut next = Next::Command;
        let mut rest = script;
        while let Some(first) = rest.chars().next() {
            let operator = ["\\\n", "&>>", "&>", ">&", ">>", ">|", ">"]
                .into_iter()
                .find(|operator| rest.starts_with(operator));
            let outputs = matches!(next, Next::Output | Next::Target(true) | Next::Stream(true));
            let length = match (operator, first) {
                (Some("\\\n"), _) => 2,
                (Some(operator), _) => {
                    let to = if operator == ">&" { Next::Stream } else { Next::Target };
                    next = to(outputs);
                    operator.len()
                }
                (None, '\n' | ';' | '|' | '&' | '(' | ')' | '`') => {
                    next = Next::Command;
                    1
                }
                (None, '#') => rest.find('\n').unwrap_or(rest.len()),
                (None, _) if first.is_whitespace() || first == '<' => first.len_utf8(),
                (None, _) => {
                    let length = word_length(rest);
                    next = files.add(&rest[..length], &rest[length..], next);
                    length
                }
            };
            rest = &rest[length..];
        }
        files
    }

    /// Adds a word, and says what the next one is.
    fn add(&mut self, word: &'s str, after: &str, next: Next) -> Next {
        let is_stream = after.starts_with('>') && word.bytes().all(|byte| byte.is_ascii_digit());
        let literal = literal(word).filter(|_| !is_stream);
        match next {
            Next::Target(_) | Next::Output => {
                self.written.extend(literal.filter(|word| !word.starts_with('-')));
            }
            Next::Command | Next::Argument => self.named.extend(literal),
            Next::Stream(_) => {}
        }
        match next {
            Next::Command if matches!(word, "tee" | "touch") => Next::Output,
            Next::Output | Next::Target(true) | Next::Stream(true) => Next::Output,
            Next::Command | Next::Argument | Next::Target(false) | Next::Stream(false) => {
                Next::Argument
            }
        }
    }
}

/// The length of the word at the start of a text, with its quotes, in bytes.
fn word_length(text: &str) -> usize {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match quote {
            _ if escaped => escaped = false,
            Some('"') | None if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() || ";|&()<>`".contains(c) => return at.max(1),
            None => {}
        }
    }
    text.len()
}

/// A word without its quotes, as a path without `./`. None if it has expansions, or quotes within.
fn literal(word: &str) -> Option<&str> {
    let inner = |quote| word.strip_prefix(quote)?.strip_suffix(quote);
    let inner = inner('"').or_else(|| inner('\'')).unwrap_or(word).trim_start_matches("./");
    let is_literal = |c: char| !"\"'$`*?[{\\\n".contains(c);
    (!inner.is_empty() && inner.chars().all(is_literal)).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::ScriptFiles;

    fn of(script: &str) -> (Vec<&str>, Vec<&str>) {
        let files = ScriptFiles::of(script);
        (files.written.into_iter().collect(), files.named.into_iter().collect())
    }

    #[test]
    fn a_script_writes_what_it_redirects_to() {
        for script in [
            "echo a > out.txt",
            "echo >>out.txt",
            "x | tee -a 'out.txt'",
            "touch out.txt\n",
            "date >\"./out.txt\"; ls",
            "x &> out.txt",
            "x 2>&1 >| out.txt",
            "x 2> out.txt",
            "(x)>out.txt",
        ] {
            assert_eq!(of(script).0, ["out.txt"], "{script}");
        }
        assert_eq!(of("touch a.txt b.txt 2>&1 c.txt # > d.txt").0, ["a.txt", "b.txt", "c.txt"]);
        for script in ["cat out.txt", "echo >&2 out.txt", "echo > $X", "echo '> out.txt'", "x # >y"]
        {
            assert!(of(script).0.is_empty(), "{script}");
        }
    }

    #[test]
    fn all_other_words_are_named() {
        assert_eq!(of("wc -l < out.txt").1, ["-l", "out.txt", "wc"]);
        assert_eq!(of("cat \"a b.txt\" $X 'c'd >e").1, ["a b.txt", "cat"]);
        assert_eq!(of("tee é.txt; cat ü.txt \\\n x").1, ["cat", "tee", "x", "ü.txt"]);
        assert_eq!(of("echo 'open").1, ["echo"]);
    }
}
