//! The editor of the person.

use std::io;
use std::path::Path;
use std::process::Command;

/// Opens a file in an editor on the terminal of this process, and waits for its end. `editor` is a command of a shell,
/// as in `EDITOR`.
///
/// # Errors
///
/// If the editor cannot be started, or ends with another exit code than 0.
pub fn edit(editor: &str, file: &Path) -> io::Result<()> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("editor").arg(file);
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("`{editor}` ended with {status}")))
}
