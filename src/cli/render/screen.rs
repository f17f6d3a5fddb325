//! A block of lines at the bottom of a terminal that is redrawn in place, with lines printed above it.
//!
//! Each change is one write. The cursor stays at the start of the last line, so that a `^C` that the
//! terminal echoes is overwritten by the next redraw.

use super::wrap::wrapped;
use crate::cli::escape::escaped;
use crate::cli::terminal::Terminal;
use anstream::ColorChoice;
use console::{Term, measure_text_width, truncate_str};

/// The block, as it is on the terminal now.
pub(super) struct Screen {
    terminal: Terminal,
    colour: bool,
    /// Lines that are printed above the block by the next redraw.
    above: String,
    /// The lines of the block.
    drawn: Vec<String>,
    columns: usize,
}

impl Screen {
    pub(super) fn new() -> Screen {
        let colour = anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
        let (above, drawn) = Default::default();
        Screen { terminal: Terminal::new(), colour, above, drawn, columns: 0 }
    }

    /// Rows and columns of the terminal.
    pub(super) fn size() -> (usize, usize) {
        let (rows, columns) = Term::stderr().size_checked().unwrap_or((24, 80));
        (usize::from(rows).max(4), usize::from(columns).max(20))
    }

    /// Prints a text above the block with the next redraw.
    pub(super) fn print(&mut self, text: &str) {
        self.above.push_str(&self.styled(text));
        self.above.push('\n');
    }

    /// The same for a text of `kb` itself, whose lines break at words.
    pub(super) fn print_wrapped(&mut self, text: &str) {
        self.print(&wrapped(text, Screen::size().1));
    }

    /// Whether lines wait to be printed.
    pub(super) fn has_lines(&self) -> bool {
        !self.above.is_empty()
    }

    /// Replaces the block. Lines that are too wide are cut.
    pub(super) fn draw(&mut self, block: Vec<String>) {
        let (_, columns) = Screen::size();
        let cut = |line: String| truncate_str(&self.styled(&line), columns - 1, "…").into_owned();
        let block: Vec<String> = block.into_iter().map(cut).collect();
        if self.above.is_empty() && block == self.drawn && columns == self.columns {
            return;
        }
        let mut out = self.to_start(columns);
        // Without this, only changed lines are overwritten.
        let is_shorter = block.len() < self.drawn.len();
        if !self.above.is_empty() || columns != self.columns || is_shorter {
            out.push_str("\x1b[J");
        }
        out.push_str(&std::mem::take(&mut self.above));
        for (at, line) in block.iter().enumerate() {
            let end = if at + 1 < block.len() { "\n" } else { "" };
            out.push_str(&format!("{line}\x1b[K{end}"));
        }
        out.push('\r');
        (self.drawn, self.columns) = (block, columns);
        // Terminals with synchronized output show the change at once; others ignore the marks. A
        // closed stderr must not stop the run.
        let _ = self.terminal.err_raw(&format!("\x1b[?2026h{out}\x1b[?2026l"));
    }

    /// Moves the cursor to the start of the block. A terminal that became narrower has wrapped lines.
    fn to_start(&self, columns: usize) -> String {
        let rows = |line: &String| measure_text_width(line).div_ceil(columns).max(1);
        let above_last = self.drawn.len().saturating_sub(1);
        match self.drawn[..above_last].iter().map(rows).sum::<usize>() {
            0 => "\r".to_owned(),
            up => format!("\r\x1b[{up}A"),
        }
    }

    /// A text escaped for the terminal, with its styles, or without them on a terminal without colour.
    fn styled(&self, text: &str) -> String {
        let text = escaped(text);
        if self.colour {
            text.into_owned()
        } else {
            anstream::adapter::strip_str(&text).to_string()
        }
    }
}

/// The end of a text that fits into `room` columns: whole words, with `…` in place of the words that
/// were left out at the start.
pub(super) fn last_words(text: &str, room: usize) -> String {
    let text = text.trim();
    if measure_text_width(text) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for word in text.split_whitespace().rev() {
        let longer = format!("{word} {kept}");
        if measure_text_width(longer.trim_end()) + 2 > room {
            break;
        }
        kept = longer;
    }
    match kept.trim_end() {
        "" => truncate_str(text, room, "…").into_owned(),
        kept => format!("… {kept}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_loses_whole_words_at_its_start() {
        assert_eq!(last_words("one two three", 20), "one two three");
        assert_eq!(last_words("one two three four", 13), "… three four");
        assert_eq!(last_words("internationalisation", 6), "inter…");
    }
}
