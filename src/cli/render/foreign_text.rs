//! Longer texts of others, such as descriptions that an MCP server declares.

use super::table::plain;
use crate::cli::terminal::{DIM, paint};
use kb_base::value::counted;

/// The most that is shown of one text.
const LINES: usize = 100;
const CHARS: usize = 8_000;

/// A text of others on lines of its own, each after the same words, so that none of them looks like a line of `kb`. Empty
/// lines in a row are one; of a long text the beginning is shown, with the number of lines that follow.
pub(in crate::cli) fn foreign_text(before: &str, text: &str) -> String {
    let line = |line: &str| format!("{before}{line}\n");
    let mut shown = String::new();
    let (mut number, mut left, mut is_empty) = (0, CHARS, false);
    let mut rest = text.trim().lines();
    while let Some(next) = rest.clone().next() {
        let next = plain(next);
        if next.is_empty() && is_empty {
            rest.next();
            continue;
        }
        is_empty = next.is_empty();
        let length = next.chars().count();
        if number == LINES || left == 0 {
            let more = counted(rest.count(), "more line");
            shown.push_str(&line(&paint(DIM, &format!("({more}; `--json` shows all)"))));
            return shown;
        }
        rest.next();
        if length > left {
            let cut: String = next.chars().take(left).collect();
            let more = counted(length - left, "more character");
            shown.push_str(&line(&format!("{cut} {}", paint(DIM, &format!("({more})")))));
            left = 0;
        } else {
            shown.push_str(&line(&next));
            left -= length;
        }
        number += 1;
    }
    shown
}

/// A message, which can quote texts of others: its further lines begin with a bar, and nothing in it has a colour.
pub(in crate::cli) fn message_text(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n  │ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let text = anstream::adapter::strip_str(&foreign_text("  │ ", text)).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn no_line_of_a_text_of_others_stands_alone() {
        let lines = shown("Looks.\r\n\x1b[2Jok   all  \n\n\n\nEnds.\n");
        assert_eq!(lines, ["  │ Looks.", "  │  [2Jok   all", "  │ ", "  │ Ends."]);
        assert!(shown("  \n\n").is_empty());
    }

    #[test]
    fn a_message_that_quotes_the_name_of_a_file_stays_one() {
        let name = "changed `a\n\x1b[32mok\x1b[0m`";
        assert_eq!(message_text(name), "changed `a\n  │  [32mok [0m`");
        assert_eq!(message_text("plain"), "plain");
    }

    #[test]
    fn a_long_text_is_cut_with_a_note() {
        assert_eq!(shown(&"\n".repeat(3_000)).len(), 0);
        let lines = shown(&format!("a{}b", "\n".repeat(3_000)));
        assert_eq!(lines, ["  │ a", "  │ ", "  │ b"]);
        let lines = shown(&"x\n".repeat(3_000));
        assert_eq!(
            (lines.len(), lines[LINES].as_str()),
            (LINES + 1, "  │ (2900 more lines; `--json` shows all)")
        );
        let lines = shown(&format!("{}\nend", "x".repeat(CHARS + 5)));
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("x (5 more characters)"), "{lines:?}");
    }
}
