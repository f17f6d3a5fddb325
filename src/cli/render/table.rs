//! Text tables.

use super::wrap::columns;
use crate::cli::escape::escaped;
use crate::cli::terminal::{DIM, paint};
use console::Term;

/// Rows with aligned columns. A table without rows is an empty text.
pub(in crate::cli) struct Table<const N: usize> {
    head: Option<[&'static str; N]>,
    rows: Vec<[String; N]>,
    /// The heading of the column whose values are shortened where the terminal is narrow.
    shortened: Option<&'static str>,
}

impl<const N: usize> Table<N> {
    /// A table with a heading.
    pub(in crate::cli) fn new(head: [&'static str; N]) -> Self {
        Table { head: Some(head), rows: Vec::new(), shortened: None }
    }

    /// A table without a heading.
    pub(in crate::cli) fn bare() -> Self {
        Table { head: None, rows: Vec::new(), shortened: None }
    }

    /// Names the column whose values may be shortened: a text that its beginning identifies, such as the name of a
    /// definition. Ids, times and numbers are whole or absent.
    pub(in crate::cli) fn shorten(mut self, heading: &'static str) -> Self {
        self.shortened = Some(heading);
        self
    }

    /// Adds a row; line breaks and control characters in cells become spaces.
    pub(in crate::cli) fn row<S: AsRef<str>>(&mut self, cells: [S; N]) {
        self.rows.push(cells.map(|cell| plain(cell.as_ref())));
    }

    /// The text of the table: as wide as it is, or fitted to the terminal.
    pub(in crate::cli) fn text(&self) -> String {
        self.fitted(columns(&Term::stdout()).unwrap_or(usize::MAX))
    }

    /// The text with lines of at most `room` columns, in which no value is broken inside a word. If the rows are longer, empty
    /// columns are left out, the last column takes several lines, and one column is shortened; then the last columns follow
    /// below their row, and a long first cell has a line of its own.
    fn fitted(&self, room: usize) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let layout = self.layout(room);
        let widths: Vec<usize> = layout.iter().map(|column| column.1).collect();
        let mut text = String::new();
        if let Some(heads) = &self.head {
            let cells: Vec<String> =
                layout.iter().map(|(at, width)| cut(heads[*at], *width)).collect();
            text = paint(DIM, &line(&cells, &widths)) + "\n";
        }
        let last = layout.last().map_or(0, |column| column.0);
        let hidden: Vec<usize> = (last + 1..N).collect();
        self.rows.iter().for_each(|row| text.push_str(&row_text(row, &layout, &hidden, room)));
        text
    }

    /// The columns that stand beside each other, each with its width.
    fn layout(&self, room: usize) -> Vec<(usize, usize)> {
        let length = |at: usize| {
            let head = self.head.map_or(0, |head| head[at].chars().count());
            self.rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).max(head)
        };
        let mut layout: Vec<(usize, usize)> = (0..N).map(|at| (at, length(at))).collect();
        if excess(&layout, room) > 0 {
            layout.retain(|(at, _)| self.rows.iter().any(|row| !row[*at].is_empty()));
        }
        let texts = |at: usize| self.head.is_some_and(|head| Some(head[at]) == self.shortened);
        let whole = layout.clone();
        for count in (1..=whole.len()).rev() {
            layout = whole[..count].to_vec();
            if count == whole.len() && count > 1 {
                let least = self.longest_word(layout[count - 1].0).max(LAST);
                shrink(&mut layout, count - 1, least, room);
            }
            if let Some(place) = layout.iter().position(|(at, _)| texts(*at)) {
                shrink(&mut layout, place, SHORTENED, room);
            }
            if count < whole.len() {
                shrink(&mut layout, 0, FIRST, room);
            }
            if excess(&layout, room) == 0 {
                break;
            }
        }
        layout
    }

    /// The length of the longest word of a column.
    fn longest_word(&self, at: usize) -> usize {
        let words = self.rows.iter().flat_map(|row| row[at].split(' '));
        words.map(|word| word.chars().count()).max().unwrap_or(0)
    }
}

/// Columns of the first cell at least.
const FIRST: usize = 12;
/// Columns of the last cell at least, if it takes several lines.
const LAST: usize = 24;
/// Columns of a shortened cell at least.
const SHORTENED: usize = 10;
/// What stands before a cell that follows its row.
const BELOW: &str = "    ";

/// How much longer than the width the rows are.
fn excess(layout: &[(usize, usize)], room: usize) -> usize {
    let total: usize = layout.iter().map(|(_, width)| width + 2).sum();
    total.saturating_sub(2).saturating_sub(room)
}

/// Makes a column narrower, down to `least`, until the rows fit.
fn shrink(layout: &mut [(usize, usize)], place: usize, least: usize, room: usize) {
    let excess = excess(layout, room);
    let width = &mut layout[place].1;
    *width = width.saturating_sub(excess).max(least.min(*width));
}

/// A row; values that do not stand beside the others follow below them.
fn row_text(row: &[String], layout: &[(usize, usize)], hidden: &[usize], room: usize) -> String {
    let widths: Vec<usize> = layout.iter().map(|column| column.1).collect();
    let mut text = String::new();
    let mut cells: Vec<String> = Vec::new();
    let mut more: Vec<String> = Vec::new();
    for (place, (at, width)) in layout.iter().enumerate() {
        let is_long = row[*at].chars().count() > *width;
        let is_last = place + 1 == layout.len();
        if place == 0 && is_long {
            text.push_str(&format!("{}\n", cut(&row[*at], room)));
            cells.push(String::new());
        } else if is_long && is_last {
            let mut parts = wrapped(&row[*at], *width).into_iter();
            cells.push(parts.next().unwrap_or_default());
            more.extend(parts);
        } else {
            cells.push(cut(&row[*at], *width));
        }
    }
    text.push_str(&(line(&cells, &widths) + "\n"));
    let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
    more.iter().for_each(|part| text.push_str(&format!("{}{part}\n", " ".repeat(before))));
    for cell in hidden.iter().map(|at| &row[*at]).filter(|cell| !cell.is_empty()) {
        let parts = wrapped(cell, room.saturating_sub(BELOW.len()));
        parts.iter().for_each(|part| text.push_str(&format!("{BELOW}{part}\n")));
    }
    text
}

/// A text of at most so many columns, with `…` in place of its end.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

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
             check-everything-with-a-long-…\n\
             \u{20}                    failed\n\
             \u{20}   exit code 3; see the\n\
             \u{20}   output of it\n"
        );
    }

    #[test]
    fn at_80_columns_no_line_is_longer_and_ids_and_times_are_whole() {
        let head = ["RUN", "STATUS", "DEFINITION", "STARTED", "TIME", "STEPS"];
        let mut table = Table::new(head).shorten("DEFINITION");
        let started = "2026-11-28 00:07:11";
        table.row(["r8rnhtdkx3qryj73", "succeeded", "t8-hooks", started, "106ms", "1/1"]);
        let child = "t6-round (child of r5n94hcb)";
        table.row(["r0ztx8cqdcer", "interrupted", child, started, "10m18s", "2/2"]);
        let text = table.fitted(80);
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        for value in ["r8rnhtdkx3qryj73", "106ms   1/1", "10m18s  2/2", "t6-round (ch…", started]
        {
            assert!(text.contains(value), "`{value}` in\n{text}");
        }
        let mut table = Table::new(["ID", "STEPS", "PARAMETERS", "NAME"]).shorten("PARAMETERS");
        table.row(["t2", "4", "stage", "t2"]);
        table.row(["p1", "2", "a, b", "A name that is so long that it does not fit into one line"]);
        let text = table.fitted(60);
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("t2  4      stage       t2\n"), "{text}");
        assert!(text.ends_with("\n                       not fit into one line\n"), "{text}");
    }

    #[test]
    fn a_cell_cannot_move_the_cursor() {
        assert_eq!(plain("a\x1b[2Jb\r\nc\n"), "a [2Jb  c");
    }
}
