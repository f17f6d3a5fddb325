//! The MCP servers that a plan uses.

use super::dag::PlanStep;
use crate::definition::{Catalog, PinnedServer};
use crate::toolspec::ToolNamespace;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The servers whose tools the steps and their specialists can call, each once.
pub(super) fn servers(steps: &[PlanStep], catalog: &Catalog) -> Vec<Arc<PinnedServer>> {
    if catalog.lock.servers.is_empty() {
        return Vec::new();
    }
    let own = steps.iter().filter_map(|step| step.step.kind.tool()).map(|tool| &*tool.name);
    let of_specialists = steps.iter().flat_map(PlanStep::specialists);
    let of_specialists =
        of_specialists.flat_map(|specialist| specialist.tools.iter().map(|tool| &*tool.name));
    let names: BTreeSet<&str> =
        own.chain(of_specialists).filter_map(ToolNamespace::server_of).collect();
    names.into_iter().filter_map(|name| catalog.pinned_server(name)).map(Arc::new).collect()
}
