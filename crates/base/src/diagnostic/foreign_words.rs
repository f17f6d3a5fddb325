//! Words of other tools, with the way to say the same here.

/// One row a line: where the words stand, the words, the help.
const ROWS: &str = include_str!("foreign_words.tsv");

/// The help for a word that people know from other tools. The place is a map of a definition file as messages name it
/// (`a step`; `a map` for all), `key` for a key that means another one, `type`, or the command above (`kb run`).
pub fn foreign_word(place: &str, word: &str) -> Option<&'static str> {
    foreign_words().find_map(|(own, words, help)| {
        (own == place && words.split(' ').any(|known| known == word)).then_some(help)
    })
}

/// The place, the words and the help of each row, in order.
pub fn foreign_words() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    ROWS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (place, rest) = line.split_once('\t')?;
        let (words, help) = rest.split_once('\t')?;
        Some((place, words, help))
    })
}

#[cfg(test)]
mod tests {
    use super::{ROWS, foreign_word, foreign_words};

    #[test]
    fn each_line_is_a_row_and_each_word_is_found_in_its_row() {
        let lines = ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(foreign_words().count(), lines.count());
        for (place, words, help) in foreign_words() {
            assert!(!help.contains('\t'), "{help}");
            for word in words.split(' ') {
                assert_eq!(foreign_word(place, word), Some(help), "`{word}` of {place}");
            }
        }
        assert_eq!(foreign_word("a step", "dependson"), None);
    }
}
