//! The files from which the settings read values.

use super::{SecretSource, Settings};
use crate::definition::notify::NotifyTarget;

impl Settings {
    /// The files that secrets, notifications and traces name by `file:`, as the author wrote them.
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
        let references = of_hooks.chain(of_traces.map(Some));
        of_secrets
            .chain(references.flatten().filter_map(|text| text.strip_prefix("file:")))
            .collect()
    }
}
