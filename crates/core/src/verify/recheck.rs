//! What file tools wrote and no later recorded call changed must still be on disk, whether or not a claim is about it.

use super::finding::Finding;
use super::observation::{Observation, ObservationQuery, Observations};
use crate::evidence::{CheckDetail, Invocation, Purpose};
use kb_base::value::Digest;
use kb_language::toolspec::{EvidenceTier, ToolCatalog};
use serde_json::json;
use std::collections::BTreeMap;

/// Most files that are compared.
const FILES: usize = 200;

/// The files that file tools wrote last, with the digests that were recorded.
pub(super) struct WrittenFiles<'t> {
    files: BTreeMap<&'t str, (&'t Invocation, Digest)>,
}

impl<'t> WrittenFiles<'t> {
    pub(super) fn of(trace: &'t [Invocation], tools: &ToolCatalog) -> WrittenFiles<'t> {
        let mut files: BTreeMap<&str, (&Invocation, Digest)> = BTreeMap::new();
        for call in trace.iter().filter(|call| call.purpose == Purpose::Execution) {
            let spec = tools.entry(&call.tool);
            let is_recorded = spec.tier == EvidenceTier::Recorded;
            let by_file_tool = is_recorded && spec.writes && !spec.runs_processes;
            for change in &call.changes {
                // The last recorded change decides; one that a command made is compared where it is claimed.
                let digest = change.after.as_ref().and_then(|after| after.sha256);
                match digest.filter(|_| by_file_tool) {
                    Some(digest) => files.insert(&change.path, (call, digest)),
                    None => files.remove(change.path.as_str()),
                };
            }
        }
        WrittenFiles { files }
    }

    pub(super) fn queries(&self) -> impl Iterator<Item = ObservationQuery> {
        self.files.keys().take(FILES).map(|path| ObservationQuery::Location((*path).to_owned()))
    }

    /// The files that are gone or have another content, without those that a claim is about.
    pub(super) fn details(&self, claimed: &[&str], seen: &Observations) -> Vec<CheckDetail> {
        let lost = self.files.iter().take(FILES).filter_map(|(path, (call, digest))| {
            let query = ObservationQuery::Location((*path).to_owned());
            let Some(Observation::Location(Ok(found))) = seen.get(&query) else { return None };
            let now = found.state.as_ref();
            let how = match now.map(|now| now.sha256) {
                None => "is gone",
                Some(Some(now)) if now != *digest => "has another content now",
                Some(_) => return None,
            };
            let reason = format!(
                "`{path}` was written by `{}` (call `{}`) and {how}, and no recorded call did that",
                call.tool, call.id
            );
            let evidence = json!({"calls": [call.id]});
            let finding = Finding::inconclusive(reason);
            (!claimed.contains(path))
                .then(|| finding.into_detail(format!("written {path}"), Some(evidence)))
        });
        lost.collect()
    }
}
