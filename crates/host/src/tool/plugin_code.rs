//! The code of a plugin that lies in the project, which a specialist may have written.

use super::call::{Call, Caller};
use super::process_launcher::ProcessLauncher;
use kb_base::value::Digest;
use kb_language::definition::{NetworkAccess, Plugin};
use std::collections::BTreeMap;
use std::path::Path;

/// The digests of the definition and of the files of the project that its command names, by path.
pub(super) fn digests(plugin: &Plugin, processes: &ProcessLauncher) -> BTreeMap<String, Digest> {
    let files = processes.files_named(&plugin.argv).into_iter().map(|path| {
        let content = std::fs::read(&path).unwrap_or_default();
        (shown(&path, processes), Digest::of(content))
    });
    [(plugin.path.clone(), plugin.digest)].into_iter().chain(files).collect()
}

/// Why a specialist cannot call a plugin without an approval: its program lies in the project and uses a network
/// that the specialist does not have.
pub(super) fn widens_network(
    plugin: &Plugin,
    call: &Call,
    processes: &ProcessLauncher,
) -> Option<String> {
    let Caller::Specialist { id, network, .. } = &call.caller else { return None };
    if plugin.network != NetworkAccess::Open || *network == NetworkAccess::Open {
        return None;
    }
    let file = processes.files_named(&plugin.argv).into_iter().next()?;
    Some(format!(
        "`{}` requires approval: its program `{}` is a file of the project, and `{id}` does not have its network",
        call.tool,
        shown(&file, processes)
    ))
}

fn shown(path: &Path, processes: &ProcessLauncher) -> String {
    path.strip_prefix(processes.root()).unwrap_or(path).display().to_string()
}
