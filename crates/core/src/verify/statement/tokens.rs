//! The parts of a sentence for a reader that has to understand each of them: words, paths, texts in backticks.

use super::sentence::{is_path, is_quoted_path};
use super::words::without_marks;

/// One part of a sentence. Punctuation is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::verify) enum Token {
    /// In small letters; also a number, a version, a mark such as `✅`.
    Word(String),
    Path(String),
    /// A text in backticks that is no path.
    Code(String),
}

/// Words that say nothing by themselves: articles, pronouns, auxiliaries, prepositions, joints, and `done`. Negations,
/// modal verbs, quantifiers and times are none of them.
const FUNCTION: &str = "a an the this these it its i we i've we've my our they them their have has had been is are was were \
    am do did in into to of on at for by with from and also then now just so as here there successfully done \
    der die das den dem des ein eine einen einem einer eines ich wir es sie ihre habe haben hat wurde wurden worden ist sind war \
    waren bin und auch dann nun jetzt im zu zum zur von vom mit für auf an am aus bei erfolgreich fertig \
    я мы он она оно они это эти и в во на с со из к по для от до у был была было были также теперь затем успешно готово";

/// Whether a word is one that says nothing by itself.
pub(in crate::verify) fn is_function_word(word: &str) -> bool {
    FUNCTION.split_whitespace().any(|known| known == word)
}

/// The parts of a text, in order.
pub(in crate::verify) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        let is_quoted = at % 2 == 1;
        if !is_quoted {
            plain(part, &mut found);
        } else if is_quoted_path(part) {
            found.push(Token::Path(part.to_owned()));
        } else {
            found.push(Token::Code(part.to_owned()));
        }
    }
    found
}

fn plain(text: &str, found: &mut Vec<Token>) {
    let text = text.replace(">=", "≥").replace("<=", "≤").replace("->", " → ");
    let splits = |c: char| c.is_whitespace() || "()[]{}|,;:\"“”„«»=#?".contains(c);
    for part in text.split(splits) {
        // Marks of bold text; a pattern keeps its own.
        let part = part.trim_start_matches('*');
        let part = if part.contains("/*") { part } else { part.trim_end_matches('*') };
        let end = ['.', '!', '…', '\'', '’', '-', '–', '—', '_', '<', '>'];
        let part = without_marks(part.trim_end_matches(end), |c| "'’-–—•·_<>".contains(c));
        if part == "%" {
            if let Some(Token::Word(number)) = found.last_mut()
                && number.ends_with(|c: char| c.is_ascii_digit())
            {
                number.push('%');
            }
        } else if is_path(part) {
            found.push(Token::Path(part.to_owned()));
        } else if let Some((of, all)) = share(part) {
            let words = [of, "of", all].map(|word| Token::Word(word.to_owned()));
            found.extend(words);
        } else if part.contains(|c: char| c.is_alphanumeric() || is_sign(c)) {
            let lower = part.to_lowercase().replace('\u{2019}', "'").replace('ё', "е");
            found.push(Token::Word(lower));
        }
    }
}

/// The numbers of `5/5`.
fn share(part: &str) -> Option<(&str, &str)> {
    let (of, all) = part.split_once('/')?;
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    (is_number(of) && is_number(all)).then_some((of, all))
}

/// Whether a character says something although it is no letter: `✅`, but no dash, dot or arrow.
fn is_sign(c: char) -> bool {
    !c.is_ascii() && !('\u{2000}'..='\u{21FF}').contains(&c) && !c.is_alphanumeric() && c != '·'
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    #[test]
    fn everything_but_punctuation_is_a_part() {
        let shown = |token: &Token| match token {
            Token::Word(word) => word.clone(),
            Token::Path(path) => format!("path {path}"),
            Token::Code(code) => format!("code {code}"),
        };
        for (text, expected) in [
            (
                "Created `src/a.rs`, and lib/b.py.",
                &["created", "path src/a.rs", "and", "path lib/b.py"][..],
            ),
            ("- **5/5** pass ✅ (`npm test`)", &["5", "of", "5", "pass", "✅", "code npm test"]),
            (
                "`sh a/t.sh` reads `docs/my notes.md`",
                &["code sh a/t.sh", "reads", "path docs/my notes.md"],
            ),
            ("Coverage 98 %, v1.3.0 → 2x 👍", &["coverage", "98%", "v1.3.0", "2x", "👍"]),
            (
                "The page says: \"all green\" — «всё»",
                &["the", "page", "says", "all", "green", "все"],
            ),
            ("src/a.py->src/b.py a -> b", &["path src/a.py", "path src/b.py", "a", "b"]),
            ("**src/a.py** and src/* *2*", &["path src/a.py", "and", "src/*", "2"]),
            ("割引を直しました。", &["割引を直しました。"]),
        ] {
            let found: Vec<String> = tokens(text).iter().map(shown).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
