//! The list of invalid definition files below a table.

use crate::cli::terminal::{DIM, Terminal, paint};
use crate::service::BrokenFile;
use crate::value::counted;
use std::io;

/// Prints one line for each file with errors, and the command that shows all problems.
pub(in crate::cli) fn print(
    files: &[BrokenFile],
    validate: &str,
    terminal: &mut Terminal,
) -> io::Result<()> {
    for file in files {
        let (code, message) = &file.first;
        let count = counted(file.errors, "error");
        terminal.err(&format!("{}: {count}: {message} [{code}]\n", paint(DIM, &file.path)))?;
    }
    match files.is_empty() {
        true => Ok(()),
        false => terminal.err(&format!("`{validate}` shows all problems\n")),
    }
}
