//! Texts on a terminal, broken at words. Without this, the terminal breaks them inside words.

use console::{Term, measure_text_width};

/// The columns of a terminal; `None` for a file or a pipe, whose lines stay whole.
pub(in crate::cli) fn columns(terminal: &Term) -> Option<usize> {
    let size = terminal.size_checked().filter(|_| terminal.is_term());
    size.map(|(_, columns)| usize::from(columns).max(20))
}

/// A text whose lines have at most `room` columns. Further lines of a line begin below its text. What is between
/// backticks is one word, so that it can be copied: a long one has a line of its own, and one that is longer than
/// a line is left to the terminal, which joins its parts when they are copied.
pub(in crate::cli) fn wrapped(text: &str, room: usize) -> String {
    text.split_inclusive('\n').map(|line| wrapped_line(line, room)).collect()
}

/// The most columns before the text of a line that further lines leave empty.
const INDENT: usize = 32;

fn wrapped_line(line: &str, room: usize) -> String {
    let body = line.trim_end_matches('\n');
    if measure_text_width(body) <= room {
        return line.to_owned();
    }
    let indent = indent(body).min(room / 2);
    let mut out = String::new();
    let (mut used, mut is_first) = (0, true);
    let mut after_command = false;
    for (gap, word) in words(body) {
        let width = measure_text_width(word);
        let is_command = word.contains('`') && word.contains(' ') && width > room / 2;
        let is_full = used + gap.len() + width > room || is_command || after_command;
        if is_full && !is_first && !word.is_empty() {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else {
            out.push_str(gap);
            used += gap.len();
        }
        out.push_str(word);
        used += width;
        is_first &= word.is_empty();
        after_command = is_command;
    }
    out.push_str(&line[body.len()..]);
    out
}

/// The column below which further lines begin: behind the last gap of two spaces at the start of the line, or
/// two columns more than the line itself.
fn indent(line: &str) -> usize {
    let plain = console::strip_ansi_codes(line);
    let own = plain.chars().take_while(|c| *c == ' ').count();
    let start: Vec<char> = plain.chars().take(INDENT + 1).collect();
    let is_text = |at: usize| at > own && start[at] != ' ';
    let behind_gap = |at: &usize| is_text(*at) && start[*at - 1] == ' ' && start[*at - 2] == ' ';
    (2..start.len()).rev().find(behind_gap).unwrap_or(own + 2)
}

/// The words of a line, each with the spaces before it. What is between two backticks is part of one word.
fn words(line: &str) -> Vec<(&str, &str)> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let text = rest.trim_start_matches(' ');
        let (gap, length) = (&rest[..rest.len() - text.len()], word_length(text));
        words.push((gap, &text[..length]));
        rest = &text[length..];
    }
    words
}

/// The number of bytes up to the first space that is not between backticks. A backtick without a second one is a
/// character as others.
fn word_length(text: &str) -> usize {
    let mut end = 0;
    while let Some(at) = text[end..].find([' ', '`']).map(|at| end + at) {
        match (text.as_bytes()[at], text[at + 1..].find('`')) {
            (b'`', Some(close)) => end = at + 1 + close + 1,
            (b'`', None) => end = at + 1,
            _ => return at,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_begin_below_their_text() {
        let line = "ok       sandbox     kernel: restricts the files that commands read\n";
        assert_eq!(
            wrapped(line, 40),
            "ok       sandbox     kernel: restricts\n\
             \u{20}                   the files that\n\
             \u{20}                   commands read\n"
        );
        assert_eq!(wrapped(line, 80), line);
        assert_eq!(wrapped("  a bb ccc dddd eeeee", 10), "  a bb ccc\n    dddd\n    eeeee");
        let long = "x".repeat(30);
        assert_eq!(wrapped(&format!("a {long} b"), 20), format!("a\n  {long}\n  b"));
    }

    #[test]
    fn a_command_is_one_word_and_a_long_one_has_a_line_of_its_own() {
        assert_eq!(
            wrapped("help: to run it again: `kb run retry r1 --from a`. Then `kb x`", 40),
            "help: to run it again:\n  `kb run retry r1 --from a`.\n  Then `kb x`"
        );
        assert_eq!(wrapped("it`s a text of words", 20), "it`s a text of words");
        assert_eq!(wrapped("it`s a text of more words", 20), "it`s a text of more\n  words");
    }

    #[test]
    fn colours_have_no_width() {
        let line = format!("{}", console::style("one two three").red().force_styling(true));
        assert_eq!(wrapped(&line, 13), line);
    }
}
