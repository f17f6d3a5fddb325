//! The placeholders of shell scripts, which must not contain any.

use super::names::{Names, Style};
use super::resolve::known_words;
use super::scan::{
    Form, Mode, Piece, Scanner, is_known, is_reference, leading_word, nearby, undashed,
};
use std::ops::Range;

/// A text in double braces, or in another form of placeholders, in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptPlaceholder {
    /// Its place in the text, in bytes, with its brackets.
    pub at: Range<usize>,
    /// What is between its brackets.
    pub inner: String,
    /// What its name is to the definition.
    pub meaning: ScriptName,
}

/// What the first name of a placeholder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptName {
    /// It is declared.
    Known,
    /// It is not declared, and differs little from this one, which is.
    Near(String),
    /// Nothing declared is like it.
    Unknown,
}

/// The placeholders of a script. Braces that another program reads are ignored: `${{ x }}`, and all unknown names of a
/// script in which some braces are no reference, such as `{{.Name}}` or `{{range .Mounts}}`.
pub fn placeholders_in(text: &str, names: &Names, style: Style) -> Vec<ScriptPlaceholder> {
    let (pieces, _) = Scanner::new(text, names, style, Mode::Text).scan();
    let mut has_foreign = false;
    let mut found = Vec::new();
    for piece in pieces {
        let Piece::Placeholder(span) = piece else { continue };
        let inner = text[span.inner].trim();
        let word = leading_word(inner.trim_start_matches(['(', ' ', '\t']));
        let known = |word: &str, rest: &str| is_known(names, word, rest);
        let is_known = span.form != Form::Double
            || word.is_some_and(|(word, rest)| known(word, rest) || known(undashed(word), rest));
        let meaning = match leading_word(inner).filter(|(_, rest)| is_reference(rest)) {
            _ if is_known => ScriptName::Known,
            _ if text[..span.outer.start].ends_with('$') => continue,
            None => {
                has_foreign = true;
                continue;
            }
            Some((word, rest)) => {
                let all = known_words(names, !rest.trim_start().is_empty());
                match nearby(word, all.iter().map(String::as_str)) {
                    Some(near) => ScriptName::Near(near.to_owned()),
                    None => ScriptName::Unknown,
                }
            }
        };
        found.push(ScriptPlaceholder { at: span.outer, inner: inner.to_owned(), meaning });
    }
    found.retain(|one| !has_foreign || one.meaning == ScriptName::Known);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_declared_are_found_and_other_template_languages_are_not() {
        let names =
            Names { params: ["topic".to_owned(), "env".to_owned()].into(), ..Names::default() };
        let found = |text: &str| -> Vec<(String, ScriptName)> {
            let all = placeholders_in(text, &names, Style::Playbook).into_iter();
            all.map(|one| (one.inner, one.meaning)).collect()
        };
        let near = |inner: &str| vec![(inner.to_owned(), ScriptName::Near("topic".to_owned()))];
        assert_eq!(found("echo {{topic}}"), [("topic".to_owned(), ScriptName::Known)]);
        assert_eq!(found("echo \"{{ topc }}\""), near("topc"));
        assert_eq!(found("echo {{topci | upper}}"), near("topci | upper"));
        assert_eq!(found("echo {{release}}"), [("release".to_owned(), ScriptName::Unknown)]);
        for text in [
            "docker inspect --format '{{.Name}}' x",
            "docker ps --format '{{range .Mounts}}{{.Name}}{{end}}'",
            "echo '${{ topc }}' > .github/workflows/a.yml",
            "echo ${HOME} {a,b} {}",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
