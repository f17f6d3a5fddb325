//! The secrets that sign incoming webhooks.

use super::Project;
use super::runs::ConfiguredSecrets;
use kb_core::redaction::Redactor;
use kb_engine::engine::Secrets;
use std::sync::Arc;

/// The values of these secrets of the settings that are variables or files. No command runs for a request
/// whose signature is not known yet.
pub fn hook_secrets(project: &Project, names: &[String]) -> Vec<String> {
    let (context, settings) = (&project.context, &project.catalog.settings);
    let secrets = ConfiguredSecrets::new(
        settings.clone(),
        context.environment.variables.clone(),
        context.root.clone(),
        context.supervisor(settings),
        Arc::new(Redactor::default()),
    );
    names.iter().filter_map(|name| secrets.by_name(name)).collect()
}
