//! Entries of tools that are no part of `kb`.

use super::spec::{EvidenceTier, Text, ToolLevel, ToolSpec};
use kb_base::diagnostic::Code;
use kb_base::value::Json;
use std::borrow::Cow;

/// The names that begin with a prefix and belong to tools that are no part of `kb`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNamespace {
    /// Why nothing is known of its tools.
    pub problem: Option<NamespaceProblem>,
    /// The start of the names.
    pub prefix: Text,
    /// What such a tool is called in messages.
    pub what: Text,
    /// Where one is defined; `{}` is the rest of its name.
    pub defined_in: Text,
}

/// Why nothing is known of the tools of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceProblem {
    /// No server has the name.
    NoServer,
    /// The lock file does not contain the server.
    NotPinned,
    /// The lock file contains what another command declared.
    OtherCommand,
}

impl ToolNamespace {
    /// The namespace of the tools of a server with this name.
    pub fn of_server(name: &str, problem: Option<NamespaceProblem>) -> ToolNamespace {
        let prefix = format!("{}{name}:", SERVERS.prefix);
        ToolNamespace { prefix: prefix.into(), problem, ..SERVERS }
    }

    /// The name of the server that a tool of a server names.
    pub fn server_of(tool: &str) -> Option<&str> {
        tool.strip_prefix(&*SERVERS.prefix)?.split(':').next()
    }

    /// What is wrong with a name in this namespace, and the fix.
    pub fn problem_of(&self, text: &str) -> Option<(Code, String, String)> {
        let server = ToolNamespace::server_of(text).unwrap_or_default();
        Some(match self.problem? {
            NamespaceProblem::NoServer if server.is_empty() || server.contains('*') => {
                let message = format!("`{text}` names no MCP server");
                (
                    Code::NO_MCP_SERVER,
                    message,
                    "write `mcp:SERVER:TOOL` or `mcp:SERVER:*`".to_owned(),
                )
            }
            NamespaceProblem::NoServer => {
                let message = format!("no MCP server has the name `{server}`");
                let help = "define it below `mcp.servers` in the settings, or in `mcp_servers` of the specialist";
                (Code::NO_MCP_SERVER, message, help.to_owned())
            }
            NamespaceProblem::NotPinned => {
                let message = format!("the tools of the MCP server `{server}` are not pinned");
                let help = format!(
                    "`kb mcp pin {server}` starts it, shows its tools and pins them in `.kb/mcp.lock`"
                );
                (Code::MCP_NOT_PINNED, message, help)
            }
            NamespaceProblem::OtherCommand => {
                let message = format!(
                    "the tools of the MCP server `{server}` are pinned for another command or address than its own"
                );
                let help = format!(
                    "`kb mcp pin {server}` starts the new one, shows the difference and pins it"
                );
                (Code::MCP_NOT_PINNED, message, help)
            }
        })
    }
}

/// The namespace of the tools of servers; each server has one of its own inside.
pub(super) const SERVERS: ToolNamespace = ToolNamespace {
    prefix: Cow::Borrowed("mcp:"),
    what: Cow::Borrowed("tool"),
    defined_in: Cow::Borrowed("its server"),
    problem: Some(NamespaceProblem::NoServer),
};

/// The namespace of the tools that a project defines.
pub const PLUGINS: ToolNamespace = ToolNamespace {
    prefix: Cow::Borrowed("plugin:"),
    problem: None,
    what: Cow::Borrowed("plugin"),
    defined_in: Cow::Borrowed("`.kb/plugins/{}.yml`"),
};

impl ToolSpec {
    /// A tool that a project defines. What its program does is not known, so it counts as one that
    /// writes files and sends requests. Claims can name it without its namespace.
    pub fn plugin(
        name: &str,
        description: &str,
        level: ToolLevel,
        input: Json,
        output: Json,
    ) -> ToolSpec {
        let own = name.strip_prefix(&*PLUGINS.prefix).map(|own| Text::from(own.to_owned()));
        ToolSpec {
            name: name.to_owned().into(),
            namespace: PLUGINS.prefix,
            claimed_as: own.into_iter().collect(),
            description: description.to_owned().into(),
            level,
            input,
            output,
            writes: true,
            network: true,
            runs_processes: true,
            tier: EvidenceTier::Receipt,
            records_output: true,
            done: "Called plugin".into(),
            ..ToolSpec::base()
        }
    }

    /// A tool that a server declares at run time, such as `mcp:shop:order`. Its name cannot be that of a tool of another
    /// origin. Nothing is known about it but what the server says, and that is not trusted: it counts as one that reads
    /// and writes everything, its effect is remote, and each call needs an approval.
    pub fn declared(
        (server, own): (&str, &str),
        description: &str,
        input: Json,
        output: Json,
    ) -> ToolSpec {
        let namespace = format!("mcp:{server}:");
        let name = &format!("{namespace}{own}");
        // The name of a built-in tool claims that tool.
        let own = own.rsplit(':').next().unwrap_or(own).to_owned();
        ToolSpec {
            namespace: namespace.into(),
            claimed_as: vec![own.into()],
            reads_files: true,
            runs_processes: false,
            leaves_sandbox: true,
            tier: EvidenceTier::Remote,
            done: "Called tool".into(),
            ..ToolSpec::plugin(name, description, ToolLevel::Critical, input, output)
        }
    }
}
