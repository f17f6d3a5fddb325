//! Verdicts of earlier steps, compared again with the files when a later step reads from them.

use crate::executor::host_access::HostAccess;
use crate::workspace::Workspace;
use kb_attempt::{Context, Relied, Request, Stopped};
use kb_base::value::Digest;
use kb_core::evidence::{Note, Record};
use kb_core::verify::ReliedFact;
use std::collections::{BTreeMap, BTreeSet};

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
    let (relied, workspace) = (request.relied.clone(), host.workspace.clone());
    let look = move || stale(relied, &workspace);
    let changed: Vec<Relied> = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    let mut by_step: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for own in &changed {
        by_step.entry(own.step.as_str()).or_default().insert(format!("`{}`", own.fact.path()));
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

/// The facts that do not hold any more. A content that another verdict names came from its step. A path that cannot be read
/// now counts as unchanged: the record of the step itself shows why.
fn stale(relied: Vec<Relied>, workspace: &Workspace) -> Vec<Relied> {
    let contents: BTreeSet<(String, Digest)> = relied
        .iter()
        .filter_map(|own| match &own.fact {
            ReliedFact::Content { path, sha256 } => Some((path.clone(), *sha256)),
            ReliedFact::Exists(_) | ReliedFact::Check(_) => None,
        })
        .collect();
    let is_stale = |own: &Relied| match &own.fact {
        ReliedFact::Exists(path) => matches!(workspace.symlink_stat(path), Ok(None)),
        ReliedFact::Content { path, .. } => match workspace.symlink_stat(path) {
            Ok(Some(now)) => now.sha256.is_some_and(|now| !contents.contains(&(path.clone(), now))),
            Ok(None) => true,
            Err(_) => false,
        },
        ReliedFact::Check(check) => !workspace.meets(check),
    };
    relied.into_iter().filter(is_stale).collect()
}
