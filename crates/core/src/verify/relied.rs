//! What a passed verdict says of files, so that it can be compared with them again.

use super::check::FileCriterion;
use super::check_evidence::{CONTENT, CRITERION};
use crate::evidence::{CheckDetail, Verdict, Verification};
use kb_base::value::{Digest, Json};

/// Something that a passed verdict says of files.
#[derive(Debug, Clone, PartialEq)]
pub enum ReliedFact {
    /// A file that a check found exists.
    Exists(String),
    /// A file that the step changed has this content.
    Content {
        /// Relative to the workspace.
        path: String,
        /// Digest of the content when the gate read it.
        sha256: Digest,
    },
    /// A `file` check holds, but for what it says of changes. Of one with wildcards that found files, these are compared instead.
    Check(FileCriterion),
}

impl ReliedFact {
    /// What passed checks and claims of a verdict say of files, in the order of the checks.
    pub fn of(verification: &Verification) -> Vec<ReliedFact> {
        let passed = verification.checks.iter().filter(|own| own.verdict == Verdict::Passed);
        passed.flat_map(facts).collect()
    }

    /// The path that it is about; a pattern is none.
    pub fn path(&self) -> &str {
        match self {
            ReliedFact::Exists(path) | ReliedFact::Content { path, .. } => path,
            ReliedFact::Check(check) => &check.pattern,
        }
    }
}

fn facts(check: &CheckDetail) -> Vec<ReliedFact> {
    let Some(evidence) = &check.evidence else { return Vec::new() };
    if let Some((kind, path)) =
        check.check.strip_prefix("claim ").and_then(|own| own.split_once(' '))
    {
        let is_file = ["created", "modified", "written"].contains(&kind);
        let digest = evidence.get("now").and_then(|now| now.get("sha256"));
        return digest.filter(|_| is_file).and_then(|own| content(path, own)).into_iter().collect();
    }
    let contents = evidence.get(CONTENT).and_then(Json::as_object);
    let contents = contents.into_iter().flatten();
    let mut found: Vec<ReliedFact> =
        contents.filter_map(|(path, digest)| content(path, digest)).collect();
    let criterion = evidence.get(CRITERION);
    let criterion =
        criterion.and_then(|own| serde_json::from_value::<FileCriterion>(own.clone()).ok());
    if let Some(criterion) = criterion {
        let files = evidence.get("files").and_then(Json::as_array).into_iter().flatten();
        match criterion.has_wildcards() && !criterion.absent {
            true => found.extend(
                files.filter_map(Json::as_str).map(|path| ReliedFact::Exists(path.to_owned())),
            ),
            false => found.push(ReliedFact::Check(criterion)),
        }
    }
    found
}

fn content(path: &str, digest: &Json) -> Option<ReliedFact> {
    let sha256 = Digest::from_hex(digest.as_str()?)?;
    Some(ReliedFact::Content { path: path.to_owned(), sha256 })
}
