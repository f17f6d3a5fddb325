//! The code of a plugin or of a server that lies in the project, which a specialist may have written.

use super::call::{Call, Caller};
use super::process_launcher::ProcessLauncher;
use kb_attempt::open_regular;
use kb_base::value::Digest;
use kb_language::definition::{NetworkAccess, Plugin};
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The digests of a definition and of the files of the project that its command names, by path.
pub(super) fn digests(
    definition: (String, Digest),
    argv: &[String],
    processes: &ProcessLauncher,
) -> BTreeMap<String, Digest> {
    let files = processes.files_named(argv).into_iter().map(|path| {
        let digest = digest_of(&path).unwrap_or_else(|error| Digest::of(error.to_string()));
        (shown(&path, processes), digest)
    });
    std::iter::once(definition).chain(files).collect()
}

/// The digest of a file; of a large one, that of its state, which each write changes.
fn digest_of(path: &Path) -> std::io::Result<Digest> {
    const MOST: u64 = 64 << 20;
    let mut file = open_regular(path)?;
    let found = file.metadata()?;
    if found.len() > MOST {
        let state = (found.ino(), found.len(), found.ctime(), found.ctime_nsec());
        return Ok(Digest::of(format!("{state:?}")));
    }
    let mut content = Vec::new();
    file.by_ref().take(MOST + 1).read_to_end(&mut content)?;
    Ok(Digest::of(content))
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
