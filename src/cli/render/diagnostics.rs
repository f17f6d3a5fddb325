use crate::cli::terminal::Terminal;
use crate::diagnostic::{self, Diagnostic, Sources};
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

/// `1 error`, `2 errors`.
pub(in crate::cli) fn count(n: usize, word: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {word}{plural}")
}
