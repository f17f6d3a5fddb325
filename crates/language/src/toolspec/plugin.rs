//! Entries of tools that are no part of `kb`.

use super::spec::{EvidenceTier, Text, ToolLevel, ToolSpec};
use kb_base::value::Json;
use std::borrow::Cow;

/// The names that begin with a prefix and belong to tools that are no part of `kb`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNamespace {
    /// The start of the names.
    pub prefix: Text,
    /// What such a tool is called in messages.
    pub what: Text,
    /// Where one is defined; `{}` is the rest of its name.
    pub defined_in: Text,
}

impl ToolNamespace {
    /// The namespace of the tools of a server.
    pub(super) fn of_server(prefix: &Text) -> ToolNamespace {
        let (what, defined_in) = ("tool".into(), "its server".into());
        ToolNamespace { prefix: prefix.clone(), what, defined_in }
    }
}

/// The namespace of the tools that a project defines.
pub const PLUGINS: ToolNamespace = ToolNamespace {
    prefix: Cow::Borrowed("plugin:"),
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
