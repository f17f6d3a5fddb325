//! The secrets of the settings outside of a run: those that sign incoming webhooks, and those to be masked.

use super::Project;
use super::runs::ConfiguredSecrets;
use crate::trigger::TriggerStore;
use kb_core::redaction::Redactor;
use kb_engine::engine::Secrets;
use kb_engine::journal::JournalError;
use std::sync::Arc;

/// Teaches a redactor the secrets of the settings that are variables or files. The value of a command is known only
/// in the run that executes it.
pub fn learn_secrets(project: &Project, redactor: &Arc<Redactor>) {
    secrets_of(project, redactor.clone()).reveal_all_to_redactor();
}

/// The values of these secrets of the settings that are variables or files. No command runs for a request
/// whose signature is not known yet.
pub fn hook_secrets(project: &Project, names: &[String]) -> Vec<String> {
    let secrets = secrets_of(project, Arc::new(Redactor::default()));
    names.iter().filter_map(|name| secrets.by_name(name)).collect()
}

/// The secrets of the settings of a project.
pub(super) fn secrets_of(project: &Project, redactor: Arc<Redactor>) -> ConfiguredSecrets {
    let (context, settings) = (&project.context, &project.catalog.settings);
    ConfiguredSecrets::new(
        settings.clone(),
        context.environment.variables.clone(),
        context.root.clone(),
        context.supervisor(settings),
        redactor,
    )
}

/// The trigger store of a project, for writing: the secrets of the settings are masked in what is stored.
pub fn open_triggers(project: &Project) -> Result<TriggerStore, JournalError> {
    let redactor = Arc::new(Redactor::default());
    learn_secrets(project, &redactor);
    TriggerStore::open_with(&project.context.state_dir, redactor)
}
