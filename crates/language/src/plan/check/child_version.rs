//! The version of the child playbook that a `playbook` step asks for.

use crate::definition::{Playbook, PlaybookStep};
use kb_base::diagnostic::{Code, Diagnostic};

/// The fewest digits of a digest that identify a file.
const LEAST_DIGITS: usize = 8;
/// How many digits of a digest are shown.
const SHOWN: usize = 16;

/// Compares `version` with the child: its `version`, or the digest of its file.
pub(in crate::plan) fn child_version(call: &PlaybookStep, child: &Playbook) -> Option<Diagnostic> {
    let (asked, span) = call.version.as_ref()?;
    let id = &call.playbook;
    let problem = |message: String, help: String| {
        Some(Diagnostic::error(Code::CHILD_VERSION, *span, message).help(help))
    };
    if let Some(digits) = asked.strip_prefix("sha256:") {
        let digest = child.digest.to_string();
        let is_digest = |c: char| c.is_ascii_hexdigit() && !c.is_ascii_uppercase();
        if digits.len() < LEAST_DIGITS || !digits.chars().all(is_digest) {
            let message = format!("`{asked}` is not a digest");
            let help =
                format!("write at least {LEAST_DIGITS} digits: `sha256:{}`", &digest[..SHOWN]);
            return problem(message, help);
        }
        if digest.starts_with(digits) {
            return None;
        }
        let message = format!("`{id}` has the digest `sha256:{}`", &digest[..SHOWN]);
        let help = format!("`{}` has changed: check it, then write its new digest", child.path);
        return problem(message, help);
    }
    match &child.version {
        Some(version) if version == asked => None,
        Some(version) => {
            let message = format!("`{id}` has the version `{version}`, not `{asked}`");
            let help = format!(
                "check what changed in `{}`, then write `version: \"{version}\"`",
                child.path
            );
            problem(message, help)
        }
        None => {
            let message = format!("`{id}` has no version");
            let help = format!("add `version: \"{asked}\"` to `{}`, or remove it here", child.path);
            problem(message, help)
        }
    }
}
