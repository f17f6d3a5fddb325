//! What the reference says about the words of expressions, from its page.

use std::sync::LazyLock;

/// The page, whose tables have a row for each word: a test compares them with the words of the language.
const PAGE: &str = include_str!("../../docs/reference/expressions.md");

/// A table of the page, by the name of its first column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// Parameters, `run`, `env`, `loop` and the other roots.
    Names,
    /// Fields of a step.
    Fields,
    Filters,
    Tests,
}

impl Table {
    fn first_column(self) -> &'static str {
        match self {
            Table::Names => "name",
            Table::Fields => "field",
            Table::Filters => "filter",
            Table::Tests => "test",
        }
    }
}

/// A row: the words of its first cell and what it says, as markdown.
type Row = (Vec<&'static str>, String);

/// The rows of all tables, by the name of their first column.
static ROWS: LazyLock<Vec<(&'static str, Row)>> = LazyLock::new(|| {
    let mut found = Vec::new();
    let mut table = "";
    let mut before = "";
    for line in PAGE.lines() {
        match line.strip_prefix("|---") {
            Some(_) => table = cells(before).first().copied().unwrap_or_default(),
            None if !line.starts_with('|') => table = "",
            None if !table.is_empty() => found.extend(row(line).map(|row| (table, row))),
            None => {}
        }
        before = line;
    }
    found
});

fn cells(line: &'static str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut start = 1;
    for (at, _) in line.match_indices('|').skip(1) {
        if !line[..at].ends_with('\\') {
            found.push(line[start..at].trim());
            start = at + 1;
        }
    }
    found
}

fn row(line: &'static str) -> Option<Row> {
    let cells = cells(line);
    let (first, about) = (cells.first()?, cells.get(1)?);
    let words = first.split('`').skip(1).step_by(2).collect();
    let example = match (cells.get(2), cells.get(3)) {
        (Some(example), Some(value)) => format!("\n\n{} is {value}", example.replace("\\|", "|")),
        _ => String::new(),
    };
    Some((words, format!("{about}{example}")))
}

/// What the reference says about a word of a table.
pub(super) fn about(table: Table, word: &str) -> Option<&'static str> {
    let of_table = ROWS.iter().filter(|(name, _)| *name == table.first_column());
    let mut rows = of_table.map(|(_, row)| row);
    rows.find(|(words, _)| words.contains(&word)).map(|(_, about)| about.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_language::expression::{FILTERS, STEP_FIELDS, TESTS};

    #[test]
    fn every_word_has_a_row() {
        let lists =
            [(Table::Fields, STEP_FIELDS), (Table::Filters, FILTERS), (Table::Tests, TESTS)];
        for (table, words) in lists {
            words.iter().for_each(|word| assert!(about(table, word).is_some(), "{word}"));
        }
        let join = about(Table::Filters, "join").unwrap();
        assert_eq!(join, "one text, with a separator\n\n`files | join(', ')` is `\"a.rs, b.rs\"`");
    }
}
