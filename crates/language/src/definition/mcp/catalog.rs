//! The tools of a server that a definition can name.

use super::lock::McpPin;
use crate::definition::model::{McpServer, PinnedTools, Specialist};
use crate::toolspec::{NamespaceProblem, ToolCatalog, ToolNamespace};
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A server with what is pinned of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PinnedServer {
    /// How it is started.
    pub server: Arc<McpServer>,
    /// Its tools.
    pub pin: McpPin,
}

/// These tools, and what the lock file says of those of a server.
pub(in crate::definition) fn with_server(
    tools: &ToolCatalog,
    server: &McpServer,
    pinned: &BTreeMap<String, PinnedTools>,
) -> ToolCatalog {
    let name = server.name.as_str();
    let namespace = |problem| ToolNamespace::of_server(name, problem);
    match pinned.get(name) {
        None => tools.with_namespace(namespace(Some(NamespaceProblem::NotPinned))),
        Some(pin) if pin.endpoint != server.endpoint => {
            tools.with_namespace(namespace(Some(NamespaceProblem::OtherCommand)))
        }
        Some(pin) => tools.with_namespace(namespace(None)).with(pin.tools.iter().cloned()),
    }
}

/// What the servers that specialists define add to a project.
pub(in crate::definition) struct OfSpecialists {
    pub(in crate::definition) tools: ToolCatalog,
    /// All servers by name.
    pub(in crate::definition) servers: BTreeMap<String, Arc<McpServer>>,
    pub(in crate::definition) diagnostics: Vec<Diagnostic>,
    /// Id and file of each specialist that defines a server which is another one elsewhere.
    pub(in crate::definition) refused: Vec<(String, String)>,
}

/// Adds the tools of the servers that specialists define, and takes out the specialists that define a `known` server
/// differently: a name stands for one server in a project.
pub(in crate::definition) fn of_specialists(
    specialists: &mut Vec<Specialist>,
    mut known: BTreeMap<String, Arc<McpServer>>,
    (tools, pinned): (&ToolCatalog, &BTreeMap<String, PinnedTools>),
) -> OfSpecialists {
    let (diagnostics, refused) = (Vec::new(), Vec::new());
    let mut found =
        OfSpecialists { tools: tools.clone(), servers: BTreeMap::new(), diagnostics, refused };
    specialists.retain(|specialist| {
        let differs = |server: &&Arc<McpServer>| {
            known.get(&server.name).filter(|other| !other.is_same(server)).cloned()
        };
        let other = specialist.mcp_servers.iter().find_map(|own| Some((own, differs(&own)?)));
        if let Some((server, other)) = other {
            let message =
                format!("two specialists define the MCP server `{}` differently", server.name);
            let problem = Diagnostic::error(Code::MCP_SERVERS_DIFFER, server.span, message);
            let help = "define it once below `mcp.servers` in the settings, and name it in both";
            found.diagnostics.push(problem.label(other.span, "also defined here").help(help));
            found.refused.push((specialist.id.to_string(), specialist.path.clone()));
            return false;
        }
        for server in &specialist.mcp_servers {
            if known.insert(server.name.clone(), server.clone()).is_none() {
                found.tools = with_server(&found.tools, server, pinned);
            }
        }
        true
    });
    found.servers = known;
    found
}
