//! What the output of a failed command says of the access that it lacked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The number of hosts that are read after each of the words before them.
const HOSTS: usize = 12;
/// How programs print that the system denied access: the errors `EACCES` and `EPERM`.
const DENIED: [&str; 4] = ["Permission denied", "Operation not permitted", "EACCES", "EPERM"];
/// How programs print that a path was to be written: the error `EROFS`, and what the usual ones say before any error.
const WRITTEN: [&str; 4] = ["Read-only file system", "EROFS", "cannot create", "cannot touch"];

/// What is known of the use of a path. Without a sign that it was to be written it was to be read: what a command lacked for
/// writing, it says when it can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathUse {
    /// A command or its output names it, and does not say what for.
    Named,
    /// The system denied access to it.
    Denied,
    /// It was to be written.
    Written,
}

/// What a printed line says of the paths in it.
pub(super) fn use_in(line: &str) -> PathUse {
    let says = |messages: &[&str]| messages.iter().any(|message| line.contains(message));
    match (says(&WRITTEN), says(&DENIED)) {
        (true, _) => PathUse::Written,
        (false, true) => PathUse::Denied,
        (false, false) => PathUse::Named,
    }
}

/// The line of a message without the program that says it, as in `/bin/sh: 1: cannot create x`.
pub(super) fn without_speaker(line: &str) -> &str {
    let Some((speaker, rest)) = line.split_once(": ") else { return line };
    let is_program = Path::new(speaker).is_absolute() && is_executable_file(Path::new(speaker));
    if is_program { rest } else { line }
}

fn is_executable_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The hosts of URLs, of remotes of git (`user@host:`), and the words after `host`, `hostname` and names of errors of
/// resolvers.
pub(super) fn hosts(text: &str) -> Vec<String> {
    let is_host = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let start = |rest: &str| -> Option<String> {
        let host: String = rest.chars().take_while(|c| is_host(*c)).collect();
        let host = host.trim_matches(['.', '-']).to_owned();
        (host.contains('.') || host == "localhost").then_some(host)
    };
    const BEFORE: [&str; 6] = ["://", "@", "host: ", "hostname ", "ENOTFOUND ", "EAI_AGAIN "];
    let found = BEFORE.iter().flat_map(|before| {
        text.match_indices(before)
            .take(HOSTS)
            .filter_map(|(at, _)| start(&text[at + before.len()..]))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_urls_remotes_and_messages() {
        let of = |text: &str| hosts(text).join(" ");
        assert_eq!(of("curl https://example.org/x"), "example.org");
        assert_eq!(of("git@github.com:a/b.git"), "github.com");
        assert_eq!(of("curl: (6) Could not resolve host: pypi.org"), "pypi.org");
        assert_eq!(of("getaddrinfo EAI_AGAIN registry.npmjs.org"), "registry.npmjs.org");
        assert_eq!(of("vite@5 main.rs"), "");
    }
}
