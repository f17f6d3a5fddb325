//! Verdicts of earlier steps, compared again with the files when a later step reads from them.

use crate::executor::host_access::HostAccess;
use crate::workspace::Workspace;
use kb_attempt::{Context, ReliedFile, Request, Stopped};
use kb_core::evidence::{Note, Record};
use std::collections::BTreeMap;

/// Maximum number of changed files in a note.
const SHOWN: usize = 5;

/// Compares the files that passed verdicts of earlier steps rest on with the disk, and records a warning
/// for each step whose verdict no longer describes its files.
pub(in crate::executor) async fn recheck_relied_files(
    host: &HostAccess,
    request: &Request,
    context: &Context,
) -> Result<(), Stopped> {
    if request.relied.is_empty() {
        return Ok(());
    }
    let (files, workspace) = (request.relied.clone(), host.workspace.clone());
    let look = move || files.into_iter().filter(|file| differs(file, &workspace)).collect();
    let changed: Vec<ReliedFile> = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    let mut by_step: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in &changed {
        by_step.entry(file.step.as_str()).or_default().push(format!("`{}`", file.path));
    }
    for (step, paths) in by_step {
        let more = match paths.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = paths.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let text = format!(
            "the verdict on `{step}` is stale: {listed}{more} changed after its gate, and this step \
             reads from `{step}`"
        );
        context.recorder.record(Record::Note(Note::warning(text))).await?;
    }
    Ok(())
}

/// Whether a file is gone, or has another content than when the gate read it. A path that cannot be read now counts
/// as unchanged: the record of the step itself shows why.
fn differs(file: &ReliedFile, workspace: &Workspace) -> bool {
    match workspace.symlink_stat(&file.path) {
        Ok(Some(now)) => file.sha256.is_some_and(|then| now.sha256.is_some_and(|now| now != then)),
        Ok(None) => true,
        Err(_) => false,
    }
}
