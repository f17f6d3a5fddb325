//! Notes for a model whose command failed because of the sandbox.

use crate::tool::call::Caller;
use kb_language::definition::NetworkAccess;
use kb_process::{ProcessEnd, ProcessResult};
use std::path::Path;

/// The note for a command that the sandbox denied access to files or system calls.
const FILES: &str = "the sandbox permits this command to read and write the project, its TMPDIR and \
                     package caches, and to read installed programs; other paths do not exist for \
                     it. Definitions, settings and `.git` are read-only. `sandbox.read` and \
                     `sandbox.write` in the settings add paths";
/// Messages about missing permissions.
const DENIED: [&str; 6] = [
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "EACCES",
    "EPERM",
    "EROFS",
];
/// Messages about missing files, which may exist outside of the sandbox.
const MISSING: [&str; 3] = ["No such file or directory", "not found", "ENOENT"];
/// Messages about connections that failed.
const UNREACHABLE: [&str; 14] = [
    "Network is unreachable",
    "Could not resolve",
    "Couldn't resolve",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Connection refused",
    "Could not connect",
    "Failed to connect",
    "ENETUNREACH",
    "ECONNREFUSED",
    "EAI_AGAIN",
    "ENOTFOUND",
    "network is unreachable",
    "connection refused",
];

/// The note for a failed command that the sandbox may have stopped.
pub(super) fn sandbox_note(exited: &ProcessResult, caller: &Caller) -> Option<String> {
    if exited.end == ProcessEnd::Code(0) {
        return None;
    }
    let has = |text: &str, messages: &[&str]| messages.iter().any(|one| text.contains(one));
    let notes = [&exited.stderr, &exited.stdout].map(|text| {
        let denied = has(text, &DENIED) || has(text, &MISSING) && names_existing_path(text);
        (denied, has(text, &UNREACHABLE))
    });
    let [(denied, unreachable), (_, printed)] = notes;
    match (unreachable || printed, caller) {
        (true, Caller::Specialist { id, network, .. }) if *network != NetworkAccess::Open => {
            let reached = match network {
                NetworkAccess::Loopback => "only servers that it starts itself",
                _ => "no network",
            };
            Some(format!(
                "this command can use {reached}; `network: open` in the specialist `{id}` gives it \
                 the network of this machine"
            ))
        }
        _ => denied.then(|| FILES.to_owned()),
    }
}

/// Whether a text names an absolute path that exists outside of the sandbox.
fn names_existing_path(text: &str) -> bool {
    const EXAMINED: usize = 64;
    let is_separator = |c: char| c.is_whitespace() || "'\"`:,()[]<>".contains(c);
    let words = text.split(is_separator).filter(|word| word.len() > 1 && word.starts_with('/'));
    words.take(EXAMINED).any(|word| Path::new(word).symlink_metadata().is_ok())
}
