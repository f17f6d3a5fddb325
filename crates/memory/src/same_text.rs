//! When two texts say the same.

use kb_knowledge::stem;

/// Words that do not change what a sentence says.
const FILLERS: [&str; 8] = ["a", "an", "the", "is", "are", "be", "this", "that"];
/// Signs before and after a word that do not belong to it.
const BEFORE: &[char] = &['"', '\'', '`', '(', '[', '«', '“', '‘'];
const AFTER: &[char] =
    &['"', '\'', '`', ')', ']', '»', '”', '’', '.', ',', ';', ':', '?', '!', '…'];

/// A key that is equal for texts that say the same: the stems of all words in their order, without articles and forms
/// of "be". Numbers, negations and anything with a sign or digit in it count as they are written: "port 8080" and
/// "port 9090" differ, and so do "never" and "always", and `C` and `C++`.
pub fn same_text_key(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let word = word.trim_start_matches(BEFORE).trim_end_matches(AFTER);
        let is_word = word.chars().all(char::is_alphabetic) && !is_name(word);
        if is_word { stem(&word.to_lowercase()) } else { word.to_owned() }
    });
    let words = words.filter(|word| !word.is_empty() && !FILLERS.contains(&word.as_str()));
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a word has a capital letter after its first letter, as names in code have.
fn is_name(word: &str) -> bool {
    word.chars().skip(1).any(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::same_text_key as key;

    #[test]
    fn other_numbers_negations_and_names_are_other_texts() {
        for (one, other) in [
            ("The server listens on port 8080.", "The server listens on port 9090."),
            ("Never run the migrations by hand.", "Always run the migrations by hand."),
            ("Do run the tests first", "Do not run the tests first"),
            ("Run cargo test before each commit", "Run cargo build before each commit"),
            ("The loader calls the parser", "The parser calls the loader"),
            ("It is written in C", "It is written in C++"),
            ("Use a timeout of -5", "Use a timeout of 5"),
            ("`a != b` holds", "`a == b` holds"),
            ("Call readFile", "Call readfile"),
            ("Enable the cache", "Disable the cache"),
            ("Порт 8080", "Порт 9090"),
            ("Никогда не запускай тесты", "Всегда запускай тесты"),
        ] {
            assert_ne!(key(one), key(other), "{one} / {other}");
        }
    }

    #[test]
    fn articles_case_forms_and_signs_at_the_ends_do_not_matter() {
        for (one, other) in [
            ("The tests run with `cargo test`.", "tests run with cargo test"),
            ("A server  listens on port 8080", "The servers listen on port 8080!"),
            ("Тесты запускаются командой make", "тест запускается командой \"make\""),
        ] {
            assert_eq!(key(one), key(other), "{one} / {other}");
        }
    }
}
