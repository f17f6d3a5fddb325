use crate::cli::terminal::{Terminal, WARNING, paint};
use crate::diagnostic::{self, Diagnostic, Severity, Sources};
use std::io;

/// Prints problems with their source lines, then how many there are.
pub(in crate::cli) fn print(
    all: &[Diagnostic],
    sources: &Sources,
    terminal: &mut Terminal,
) -> io::Result<()> {
    let colour = terminal.err_colour();
    for problem in all {
        let text = diagnostic::render(problem, sources, colour);
        terminal.err(&format!("{}\n\n", text.trim_end()))?;
    }
    match all.is_empty() {
        true => Ok(()),
        false => terminal.err(&format!("{}\n", diagnostic::summary(all))),
    }
}

/// Says in one line each what runs, but probably not as meant.
pub(in crate::cli) fn print_warnings(
    all: &[Diagnostic],
    sources: &Sources,
    terminal: &mut Terminal,
) -> io::Result<()> {
    for problem in all.iter().filter(|d| d.severity == Severity::Warning) {
        let place = problem.span.map(|span| {
            let at = sources.place(span.source, span.start);
            format!(" ({}:{})", sources.get(span.source).path, at.line)
        });
        let word = paint(WARNING, &format!("warning[{}]", problem.code));
        terminal.err(&format!("{word}: {}{}\n", problem.message, place.unwrap_or_default()))?;
    }
    Ok(())
}
