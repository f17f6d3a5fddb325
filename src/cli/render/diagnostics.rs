//! Printing of diagnostics.

use super::foreign_text::message_text;
use super::wrap::{columns, wrapped};
use crate::cli::terminal::{ERROR, HINT, Terminal, WARNING, paint};
use console::Term;
use kb_base::diagnostic::{self, Diagnostic, Severity, Sources};
use std::io;

/// Maximum number of problems that are drawn with their source lines; the others are one line each.
const MOST_DRAWN: usize = 50;

/// Prints problems with their source lines, and their number.
pub(in crate::cli) fn print(
    all: &[Diagnostic],
    sources: &Sources,
    terminal: &mut Terminal,
) -> io::Result<()> {
    for (number, problem) in all.iter().enumerate() {
        let text = match problem.span {
            Some(_) if number < MOST_DRAWN => {
                let drawn = drawn(problem, sources, terminal);
                terminal.err_verbatim(&format!("{drawn}\n\n"))?;
                continue;
            }
            Some(span) => {
                let at = sources.position(span.source, span.start);
                let path = &sources.get(span.source).path;
                format!("{path}:{}:{}: {}", at.line, at.column, title(problem))
            }
            None => format!("{}\n", without_position(problem).trim_end()),
        };
        terminal.err(&format!("{text}\n"))?;
    }
    if all.is_empty() { Ok(()) } else { terminal.err(&format!("{}\n", diagnostic::summary(all))) }
}

/// A problem with its source lines, as wide as the terminal: a line of the source is shortened around what is marked, and
/// the message and the help break at words.
pub(in crate::cli) fn drawn(
    problem: &Diagnostic,
    sources: &Sources,
    terminal: &Terminal,
) -> String {
    let colour = terminal.err_colour();
    let Some(room) = columns(&Term::stderr()) else {
        return diagnostic::render(problem, sources, colour, None).trim_end().to_owned();
    };
    // Space for the severity and the code, and for the bar and the word before the help.
    let broken = |text: &str| wrapped(text, room.saturating_sub(BESIDE)).replace("\n  ", "\n");
    let mut problem = problem.clone();
    problem.message = broken(&problem.message);
    problem.help = problem.help.as_deref().map(broken);
    diagnostic::render(&problem, sources, colour, Some(room)).trim_end().to_owned()
}

/// Columns before the message or the help of a problem.
const BESIDE: usize = 17;

/// The severity, the code and the message.
fn title(problem: &Diagnostic) -> String {
    let (style, word) = match problem.severity {
        Severity::Error => (ERROR, "error"),
        Severity::Warning => (WARNING, "warning"),
        Severity::Info => (HINT, "info"),
    };
    let message = message_text(&problem.message);
    format!("{}: {message}", paint(style, &format!("{word}[{}]", problem.code)))
}

/// The text of a problem without a position.
fn without_position(problem: &Diagnostic) -> String {
    let help = problem.help.as_ref();
    let help = help.map(|help| format!("\n  {} {}", paint(HINT, "help:"), message_text(help)));
    format!("{}{}", title(problem), help.unwrap_or_default())
}

/// Prints warnings, each on one line.
pub(in crate::cli) fn print_warnings(
    all: &[Diagnostic],
    sources: &Sources,
    terminal: &mut Terminal,
) -> io::Result<()> {
    for problem in all.iter().filter(|d| d.severity == Severity::Warning) {
        let place = problem.span.map(|span| {
            let at = sources.position(span.source, span.start);
            format!(" ({}:{})", sources.get(span.source).path, at.line)
        });
        let word = paint(WARNING, &format!("warning[{}]", problem.code));
        terminal.err(&format!("{word}: {}{}\n", problem.message, place.unwrap_or_default()))?;
    }
    Ok(())
}
