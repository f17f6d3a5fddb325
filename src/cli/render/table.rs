//! Text tables.

use crate::cli::escape::escaped;
use crate::cli::terminal::{DIM, paint};

/// Rows with aligned columns. A table without rows is an empty text.
pub(in crate::cli) struct Table<const N: usize> {
    head: Option<[&'static str; N]>,
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// A table with a heading.
    pub(in crate::cli) fn new(head: [&'static str; N]) -> Self {
        Table { head: Some(head), rows: Vec::new() }
    }

    /// A table without a heading.
    pub(in crate::cli) fn bare() -> Self {
        Table { head: None, rows: Vec::new() }
    }

    /// Adds a row; line breaks and control characters in cells become spaces.
    pub(in crate::cli) fn row<S: AsRef<str>>(&mut self, cells: [S; N]) {
        self.rows.push(cells.map(|cell| plain(cell.as_ref())));
    }

    /// The text of the table.
    pub(in crate::cli) fn text(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let width = |column: usize| {
            let head = self.head.map_or(0, |head| head[column].chars().count());
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(head)
        };
        let widths: Vec<usize> = (0..N).map(width).collect();
        let head = self.head.map(|head| paint(DIM, &line(&head, &widths)) + "\n");
        let rows = self.rows.iter().map(|row| line(row, &widths) + "\n");
        head.into_iter().chain(rows).collect()
    }
}

fn line<S: AsRef<str>>(cells: &[S], widths: &[usize]) -> String {
    let pad = |(cell, width): (&S, &usize)| format!("{:width$}", cell.as_ref());
    cells.iter().zip(widths).map(pad).collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// A text on one line, with control characters replaced by spaces and invisible ones made visible, so
/// that its width is known.
pub(in crate::cli) fn plain(text: &str) -> String {
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    escaped(text.chars().map(safe).collect::<String>().trim_end()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_at_their_text() {
        let mut table = Table::bare();
        table.row(["a", "Добавь", "x"]);
        table.row(["long", "b", ""]);
        assert_eq!(table.text(), "a     Добавь  x\nlong  b\n");
    }

    #[test]
    fn a_cell_cannot_move_the_cursor() {
        assert_eq!(plain("a\x1b[2Jb\r\nc\n"), "a [2Jb  c");
    }
}
