//! The files from which settings and definitions read values.

use super::{SecretSource, Settings};
use crate::definition::notify::NotifyTarget;
use crate::definition::{McpServer, ParamType, Playbook, ServerValue, Specialist};

/// The file that a reference names.
fn of_reference(reference: &str) -> Option<&str> {
    reference.strip_prefix("file:")
}

fn of_env(env: &[(String, ServerValue)]) -> impl Iterator<Item = &str> {
    env.iter().filter_map(|(_, value)| match value {
        ServerValue::Secret(reference) => of_reference(reference),
        ServerValue::Text(_) => None,
    })
}

fn of_server(server: &McpServer) -> impl Iterator<Item = &str> {
    of_env(&server.env).chain(server.token.as_deref().and_then(of_reference))
}

impl Settings {
    /// The files that secrets, notifications, traces, servers, agents and secret parameters name by `file:`, as the author
    /// wrote them; those of specialists and playbooks included, whichever of them a run uses.
    pub fn value_files(&self) -> Vec<&str> {
        let of_secrets = self.secrets.values().filter_map(|source| match source {
            SecretSource::File(path) => Some(path.as_str()),
            SecretSource::Env(_) | SecretSource::Command(_) => None,
        });
        let of_hooks = self.notify.iter().filter_map(|hook| match &hook.target {
            NotifyTarget::Webhook(webhook) => Some(webhook),
            NotifyTarget::Command(_) | NotifyTarget::Playbook(_) => None,
        });
        let of_hooks = of_hooks.flat_map(|webhook| [Some(&webhook.url), webhook.secret.as_ref()]);
        let traces = self.serve.traces.iter();
        let of_traces =
            traces.flat_map(|traces| [&traces.endpoint].into_iter().chain(traces.headers.values()));
        let references = of_hooks.chain(of_traces.map(Some)).flatten();
        let references = references.filter_map(|text| of_reference(text));
        let servers = self.mcp.values().flat_map(|server| of_server(server));
        let agents = self.agents.values().flat_map(|agent| of_env(&agent.env));
        let of_definitions = self.of_definitions.iter().map(String::as_str);
        of_secrets.chain(references).chain(servers).chain(agents).chain(of_definitions).collect()
    }

    /// Adds the files that the agents and servers of specialists and the parameters of playbooks name: a later run can use
    /// them.
    pub(crate) fn add_files_of(&mut self, specialists: &[Specialist], playbooks: &[Playbook]) {
        let of_specialists = specialists.iter().flat_map(|specialist| {
            let servers = specialist.mcp_servers.iter().flat_map(|server| of_server(server));
            servers.chain(specialist.agent.iter().flat_map(|agent| of_env(&agent.env)))
        });
        let params = playbooks.iter().flat_map(|playbook| &playbook.params);
        let params = params.filter(|param| param.kind == ParamType::Secret);
        let defaults = params.filter_map(|param| of_reference(param.default.as_ref()?.as_str()?));
        self.of_definitions.extend(of_specialists.chain(defaults).map(str::to_owned));
    }
}
