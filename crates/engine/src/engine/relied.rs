//! The files that the verdicts on the dependencies of a step rest on.

use super::scope::RunScope;
use kb_attempt::ReliedFile;
use kb_base::value::{Digest, Json};
use kb_core::evidence::{CheckDetail, Verdict};
use kb_core::run::InstanceIx;
use std::collections::BTreeMap;

/// Maximum number of files that are compared again before a step.
const COMPARED: usize = 500;

/// The files that passed claims and `file` checks of the dependencies of a step are about.
pub(super) fn relied(scope: &RunScope<'_>, ix: InstanceIx) -> Vec<ReliedFile> {
    let step = scope.state.instance(ix).step;
    let mut found = Vec::new();
    for dependency in scope.plan.dependencies(step) {
        let on = InstanceIx(dependency.on.at() as u32);
        let Some(verification) = scope.state.instance(on).verification() else { continue };
        if !verification.holds() {
            continue;
        }
        let id = &scope.plan.step(dependency.on).step.id;
        let claimed = verification.checks.iter().filter_map(claimed_file);
        let claimed = claimed.map(|(path, sha256)| (path, Some(sha256)));
        let mut files: BTreeMap<String, Option<Digest>> =
            verification.found_files().map(|path| (path.to_owned(), None)).collect();
        files.extend(claimed);
        let files = files.into_iter();
        found.extend(files.map(|(path, sha256)| ReliedFile { step: id.clone(), path, sha256 }));
        found.truncate(COMPARED);
    }
    found
}

/// The path and digest of a passed claim about a file that exists.
fn claimed_file(check: &CheckDetail) -> Option<(String, Digest)> {
    let (kind, path) = check.check.strip_prefix("claim ")?.split_once(' ')?;
    let is_file = ["created", "modified", "written"].contains(&kind);
    let digest = check.evidence.as_ref()?.get("now")?.get("sha256").and_then(Json::as_str)?;
    let passed = check.verdict == Verdict::Passed && is_file;
    passed.then_some((path.to_owned(), Digest::from_hex(digest)?))
}
