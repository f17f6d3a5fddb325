//! Items of `forEach` steps that are project files, or lines of one.

use crate::workspace::Workspace;
use kb_attempt::FileItems;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, limits};

/// Maximum size of a file whose lines are items, in bytes.
const MAX_LINES_FILE: u64 = limits::RENDERED_BYTES as u64;

/// Lists the items. Reading files could block for long, so it has a thread of its own.
pub(super) async fn list(workspace: Workspace, asked: FileItems) -> Result<Vec<String>, Failure> {
    let work = tokio::task::spawn_blocking(move || match asked {
        FileItems::Matching(globs) => workspace.matching(&globs).map_err(|error| error.failure()),
        FileItems::Lines(path) => lines(&workspace, &path),
    });
    work.await.unwrap_or_else(|_| {
        let message = "the items could not be listed";
        Err(Failure::new(Code::INTERNAL_ERROR, message))
    })
}

fn lines(workspace: &Workspace, path: &str) -> Result<Vec<String>, Failure> {
    let failure = |message: String| Failure::new(Code::NOT_A_LIST, message);
    let state = workspace.stat(path).map_err(|error| error.failure())?;
    let size = state.map_or(0, |state| state.size);
    if size > MAX_LINES_FILE {
        let message = format!("`{path}` has {size} bytes; at most {MAX_LINES_FILE} are read");
        return Err(failure(message).help("split the file, or select lines with a `run` step"));
    }
    let bytes = workspace.read_file(path).map_err(|error| error.failure())?;
    let text = String::from_utf8(bytes).map_err(|_| {
        failure(format!("`{path}` is not UTF-8 text")).help("`lines` reads text files")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
}
