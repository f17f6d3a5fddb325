//! The code of a plugin or of a server that lies in the project, which a specialist may have written.

use super::call::{Call, Caller};
use super::process_launcher::ProcessLauncher;
use kb_base::value::Digest;
use kb_language::definition::{NetworkAccess, Plugin};
use std::collections::BTreeMap;
use std::path::Path;

/// The digests of a definition and of the files of the project that its command names, by path.
pub(super) fn digests(
    definition: (String, Digest),
    argv: &[String],
    processes: &ProcessLauncher,
) -> BTreeMap<String, Digest> {
    let files = processes.files_named(argv).into_iter().map(|path| {
        let content = std::fs::read(&path).unwrap_or_default();
        (shown(&path, processes), Digest::of(content))
    });
    std::iter::once(definition).chain(files).collect()
}

/// How a call gets the network of a plugin.
pub(super) enum Lending {
    /// Nothing is lent: the caller has this network, or a person approved the call.
    Own,
    /// Only after an approval, for this reason: the program lies in the project, or nothing confines it.
    Approval(String),
    /// The project does not exist for the program, so that no code of a model gets the network.
    WithoutProject,
}

/// How a call gets the network of its plugin. The words of the command decide only between the two ways of lending;
/// neither gives an open network to files that the caller could have written.
pub(super) fn lending(plugin: &Plugin, call: &Call, processes: &ProcessLauncher) -> Lending {
    let Caller::Specialist { id, network, .. } = &call.caller else { return Lending::Own };
    let is_lent = plugin.network == NetworkAccess::Open && *network != NetworkAccess::Open;
    if !is_lent || call.approved || processes.is_approved() {
        return Lending::Own;
    }
    let why = match processes.files_named(&plugin.argv).first() {
        Some(file) => format!("its program `{}` is a file of the project", shown(file, processes)),
        None if processes.can_confine() => return Lending::WithoutProject,
        None => "no sandbox hides the project from its program".to_owned(),
    };
    let asks =
        format!("`{}` requires approval: {why}, and `{id}` does not have its network", call.tool);
    Lending::Approval(asks)
}

fn shown(path: &Path, processes: &ProcessLauncher) -> String {
    path.strip_prefix(processes.root()).unwrap_or(path).display().to_string()
}
