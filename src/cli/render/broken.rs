//! A list of definitions: the table, a note if there are none, and the invalid files.

use crate::cli::terminal::{DIM, Terminal, paint};
use kb_base::value::counted;
use kb_service::service::BrokenFile;
use std::io;

/// Prints definitions as a table or as JSON, and the invalid files with the command that shows all
/// problems. `empty` is the note if there is neither.
pub(in crate::cli) fn list<R: serde::Serialize>(
    rows: &[R],
    table: fn(&[R]) -> String,
    json: bool,
    empty: &str,
    (files, validate): (&[BrokenFile], &str),
    terminal: &mut Terminal,
) -> io::Result<()> {
    terminal.result(json, &rows, || table(rows))?;
    if rows.is_empty() && files.is_empty() {
        terminal.note(empty)?;
    }
    print(files, validate, terminal)
}

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
    if files.is_empty() {
        Ok(())
    } else {
        terminal.err(&format!("`{validate}` shows all problems\n"))
    }
}
