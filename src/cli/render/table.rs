//! Text tables.

use crate::cli::escape::escaped;
use crate::cli::terminal::{DIM, paint};
use console::Term;

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

    /// The text of the table: as wide as it is, or fitted to the terminal.
    pub(in crate::cli) fn text(&self) -> String {
        let terminal = Term::stdout();
        let size = terminal.size_checked().filter(|_| terminal.is_term());
        self.fitted(size.map_or(usize::MAX, |(_, columns)| usize::from(columns).max(20)))
    }

    /// The text with lines of at most `room` columns where words allow it. If rows are longer, empty columns are left out,
    /// then the last cell follows on lines of its own, then a long first cell has a line of its own.
    fn fitted(&self, room: usize) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let heads: Vec<&str> = self.head.map_or(vec![""; N], |head| head.to_vec());
        let used = |at: &usize| self.rows.iter().any(|row| !row[*at].is_empty());
        let mut columns: Vec<usize> = (0..N).collect();
        let length = |at: &usize| {
            let cells = self.rows.iter().map(|row| row[*at].chars().count());
            cells.max().unwrap_or(0).max(heads[*at].chars().count())
        };
        let total = |columns: &[usize]| columns.iter().map(|at| length(at) + 2).sum::<usize>();
        if total(&columns) > room.saturating_add(2) {
            columns.retain(used);
        }
        let is_wide = total(&columns) > room.saturating_add(2) && columns.len() > 1;
        let below = if is_wide { columns.pop() } else { None };
        let mut widths: Vec<usize> = columns.iter().map(length).collect();
        let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
        if let Some(first) = widths.first_mut().filter(|_| columns.len() > 1) {
            *first = (*first).min(room.saturating_sub(others).max(FIRST));
        }
        let mut text = String::new();
        if self.head.is_some() {
            let cells: Vec<&str> = columns.iter().map(|at| heads[*at]).collect();
            text = paint(DIM, &line(&cells, &widths)) + "\n";
        }
        for row in &self.rows {
            let mut cells: Vec<&str> = columns.iter().map(|at| row[*at].as_str()).collect();
            if cells.len() > 1 && cells[0].chars().count() > widths[0] {
                text.push_str(&format!("{}\n", cells[0]));
                cells[0] = "";
            }
            text.push_str(&(line(&cells, &widths) + "\n"));
            let more = below.map(|at| row[at].as_str()).filter(|cell| !cell.is_empty());
            let more =
                more.into_iter().flat_map(|cell| wrapped(cell, room.saturating_sub(BELOW.len())));
            more.for_each(|part| text.push_str(&format!("{BELOW}{part}\n")));
        }
        text
    }
}

/// Columns of the first cell at least.
const FIRST: usize = 12;
/// What stands before a cell that follows its row.
const BELOW: &str = "    ";

fn line<S: AsRef<str>>(cells: &[S], widths: &[usize]) -> String {
    let pad = |(cell, width): (&S, &usize)| format!("{:width$}", cell.as_ref());
    cells.iter().zip(widths).map(pad).collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// The lines of a text, broken between words. A longer word has a line of its own.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
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
    fn a_wide_table_fits_a_narrow_terminal() {
        let mut table = Table::new(["STEP", "STATUS", "TOKENS", "REASON"]);
        table.row(["build", "succeeded", "", ""]);
        table.row([
            "check-everything-with-a-long-name",
            "failed",
            "",
            "exit code 3; see the output of it",
        ]);
        let wide = table.fitted(usize::MAX);
        assert!(wide.contains("STATUS     TOKENS  REASON"), "{wide}");
        assert_eq!(table.fitted(usize::MAX), table.fitted(90));
        assert_eq!(
            table.fitted(30),
            "\u{1b}[2mSTEP                 STATUS\u{1b}[0m\n\
             build                succeeded\n\
             check-everything-with-a-long-name\n\
             \u{20}                    failed\n\
             \u{20}   exit code 3; see the\n\
             \u{20}   output of it\n"
        );
    }

    #[test]
    fn a_cell_cannot_move_the_cursor() {
        assert_eq!(plain("a\x1b[2Jb\r\nc\n"), "a [2Jb  c");
    }
}
