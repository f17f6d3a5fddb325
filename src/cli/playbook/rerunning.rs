//! `kb playbook run --watch`: runs again when files of the project change.

use crate::cli::exit::{CliResult, Exit, finish};
use crate::cli::render::table::plain;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_service::service::ProjectFiles;
use kb_service::service::runs::ProjectContext;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Interval between two comparisons of the files. After a change, the next one must find no other.
const PAUSE: Duration = Duration::from_millis(300);
/// The number of changed files that are named.
const NAMED: usize = 3;

/// Calls `run` now and after each change, until a signal stops it. What a run itself changed is no change.
pub(super) fn rerun(
    context: &ProjectContext,
    terminal: &mut Terminal,
    mut run: impl FnMut(&mut Terminal) -> CliResult,
) -> CliResult {
    // One listener from the first run on: a Ctrl-C while files are compared or between two waits is not lost.
    let mut interrupt =
        runtime::block_on(Workers::One, async { signal(SignalKind::interrupt()) })??;
    loop {
        let exit = finish(run(terminal), terminal);
        if matches!(exit, Exit::Interrupted | Exit::Terminated) {
            return Ok(exit);
        }
        let files = ProjectFiles::now(context)?;
        terminal.note(&format!(
            "\nwatching {} files; a change runs it again, Ctrl-C ends\n",
            files.count()
        ))?;
        match runtime::block_on(Workers::One, next_change(files, &mut interrupt))? {
            None => return Ok(exit),
            Some(paths) => {
                let named: Vec<String> = paths.iter().take(NAMED).map(|path| plain(path)).collect();
                let more = match paths.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                terminal.note(&format!("changed: {}{more}\n", named.join(", ")))?;
            }
        }
    }
}

/// The files that changed, once they no longer do; `None` on Ctrl-C.
async fn next_change(mut files: ProjectFiles, interrupt: &mut Signal) -> Option<Vec<String>> {
    let mut changed = std::collections::BTreeSet::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            _ = interrupt.recv() => return None,
        }
        let new = files.changed();
        if new.is_empty() && !changed.is_empty() {
            return Some(changed.into_iter().collect());
        }
        changed.extend(new);
    }
}
