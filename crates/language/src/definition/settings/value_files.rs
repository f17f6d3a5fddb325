//! The files from which the settings read values.

use super::{SecretSource, Settings};
use crate::definition::notify::NotifyTarget;
use crate::definition::{ServerValue, Specialist};

/// The file that a reference names.
pub(crate) fn file_of_reference(reference: &str) -> Option<&str> {
    reference.strip_prefix("file:")
}

/// The file that the value of a variable names.
pub(crate) fn file_of_value(value: &ServerValue) -> Option<&str> {
    match value {
        ServerValue::Secret(reference) => file_of_reference(reference),
        ServerValue::Text(_) => None,
    }
}

impl Settings {
    /// The files that secrets, notifications, traces, servers and agents name by `file:`, as the author wrote them; those of
    /// specialists included, whichever playbook uses them.
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
        let references = references.filter_map(|text| file_of_reference(text));
        let servers = self.mcp.values().flat_map(|server| &server.env);
        let agents = self.agents.values().flat_map(|agent| &agent.env);
        let env = servers.chain(agents).filter_map(|(_, value)| file_of_value(value));
        let tokens = self.mcp.values().filter_map(|server| server.token.as_deref());
        let env = env.chain(tokens.filter_map(file_of_reference));
        let of_specialists = self.of_specialists.iter().map(String::as_str);
        of_secrets.chain(references).chain(env).chain(of_specialists).collect()
    }

    /// Adds the files that the agents and servers of specialists name: a later run can start them.
    pub(crate) fn add_files_of<'s>(&mut self, specialists: impl Iterator<Item = &'s Specialist>) {
        let files = specialists.flat_map(|specialist| {
            let servers = specialist.mcp_servers.iter().flat_map(|server| &server.env);
            let agent = specialist.agent.iter().flat_map(|agent| &agent.env);
            let tokens = specialist.mcp_servers.iter().filter_map(|server| server.token.as_deref());
            let tokens = tokens.filter_map(file_of_reference);
            servers.chain(agent).filter_map(|(_, value)| file_of_value(value)).chain(tokens)
        });
        self.of_specialists.extend(files.map(str::to_owned));
    }
}
