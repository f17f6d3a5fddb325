//! Printing of diagnostics.

use crate::cli::terminal::{ERROR, HINT, Terminal, WARNING, paint};
use crate::diagnostic::{self, Diagnostic, Severity, Sources};
use std::io;

/// Prints problems with their source lines, and their number.
pub(in crate::cli) fn print(
    all: &[Diagnostic],
    sources: &Sources,
    terminal: &mut Terminal,
) -> io::Result<()> {
    let colour = terminal.err_colour();
    for problem in all {
        let text = match problem.span {
            Some(_) => diagnostic::render(problem, sources, colour),
            None => without_position(problem),
        };
        terminal.err(&format!("{}\n\n", text.trim_end()))?;
    }
    match all.is_empty() {
        true => Ok(()),
        false => terminal.err(&format!("{}\n", diagnostic::summary(all))),
    }
}

/// The text of a problem without a position.
fn without_position(problem: &Diagnostic) -> String {
    let (style, word) = match problem.severity {
        Severity::Error => (ERROR, "error"),
        Severity::Warning => (WARNING, "warning"),
        Severity::Info => (HINT, "info"),
    };
    let title = paint(style, &format!("{word}[{}]", problem.code));
    let help = problem.help.as_ref();
    let help = help.map(|help| format!("\n  {} {help}", paint(HINT, "help:")));
    format!("{title}: {}{}", problem.message, help.unwrap_or_default())
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
