//! The secrets of the settings outside of a run: those that sign incoming webhooks, and those to be masked.

use super::Project;
use super::runs::{ConfiguredSecrets, ProjectContext, facts_of};
use crate::trigger::{TriggerStore, trigger_id};
use kb_attempt::{Live, run_blocking};
use kb_base::value::{RunId, StepId};
use kb_core::redaction::{Redactor, SHORTEST};
use kb_engine::engine::Secrets;
use kb_engine::inspect::Earlier;
use kb_engine::journal::JournalError;
use kb_host::executor::SettingsCommands;
use kb_language::definition::{SecretSource, TriggerSource};
use kb_language::plan::Touched;
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

/// Why no request to a webhook with these secrets can be signed: none has a value. `None` if one has. The variables are
/// those of this process.
pub fn unset_hook_secret(project: &Project, names: &[String]) -> Option<String> {
    let secrets = secrets_of(project, Arc::new(Redactor::default()));
    if names.iter().any(|name| secrets.by_name(name).is_some()) {
        return None;
    }
    let name = names.first()?;
    // There is a value, and it cannot be masked.
    let is_short = secrets.problem(name).is_none();
    let short = format!("has fewer than {SHORTEST} characters, and could not be masked");
    let why = match project.catalog.settings.secrets.get(name)? {
        SecretSource::Env(variable) if is_short => format!("the variable `{variable}` {short}"),
        SecretSource::Env(variable) => format!("the variable `{variable}` is not set"),
        SecretSource::File(path) if is_short => format!("the file `{path}` {short}"),
        SecretSource::File(path) => format!("the file `{path}` is missing"),
        SecretSource::Command(_) => "no command is executed for a request".to_owned(),
    };
    Some(format!("the secret `{name}` has no value here: {why}"))
}

/// The ids of the webhook triggers whose secrets have no value, each with the reason.
pub fn unset_hook_secrets(project: &Project) -> Vec<(String, String)> {
    let playbooks = project.catalog.playbooks.values();
    let all = playbooks.flat_map(|own| own.on.iter().map(move |trigger| (own, trigger)));
    all.filter_map(|(playbook, trigger)| match &trigger.source {
        TriggerSource::Webhook(webhook) => {
            let why = unset_hook_secret(project, &webhook.secrets)?;
            Some((trigger_id(playbook.id.as_str(), &trigger.name), why))
        }
        TriggerSource::Schedule(..)
        | TriggerSource::File(_)
        | TriggerSource::Message { .. }
        | TriggerSource::Run(_) => None,
    })
    .collect()
}

/// The secrets of the settings of a project.
pub(super) fn secrets_of(project: &Project, redactor: Arc<Redactor>) -> ConfiguredSecrets {
    let (context, settings) = (&project.context, &project.catalog.settings);
    ConfiguredSecrets::new(
        settings.clone(),
        context.environment.variables.clone(),
        context.root.clone(),
        settings_commands(project),
        redactor,
    )
}

/// Starts the commands of the settings of a project outside of a run; `None` if its folder cannot be opened.
pub(super) fn settings_commands(project: &Project) -> Option<SettingsCommands> {
    let processes = project.context.processes(&project.catalog.settings).ok()?;
    Some(SettingsCommands::new(processes, false, project.context.had_writers()))
}

/// The step that could write to the project in a run, asked when a command starts.
pub(super) fn touched_in(context: &ProjectContext, run: &str) -> Live<Option<Touched>> {
    let (context, run) = (context.clone(), run.to_owned());
    Live::of(move || run_blocking(|| touched_now(&context, &run)))
}

/// The step that could write to the project before a command of a hook, in whatever run: the project outlives them, and
/// its definitions of this moment do not say which specialists it had.
pub(super) fn touched_before_hook(project: &Project, run: &str) -> Live<Option<Touched>> {
    let mut specialists = project.catalog.specialists.values();
    if project.context.had_writers() || specialists.any(|specialist| specialist.leaves_files()) {
        return Live::always(unknown());
    }
    touched_in(&project.context, run)
}

fn unknown() -> Option<Touched> {
    StepId::new("unknown").ok().map(Touched::by)
}

/// A run that cannot be read counts as one whose step could, and so do what happened to triggers and the test of a hook,
/// which have no run.
fn touched_now(context: &ProjectContext, run: &str) -> Option<Touched> {
    let Ok(run) = RunId::new(run) else { return unknown() };
    let facts = context.journal(Default::default()).ok().map(|journal| {
        let earlier = Earlier::read(&*journal, &run, u64::MAX).ok()?;
        facts_of(&journal, &earlier).ok()
    });
    match facts.flatten() {
        Some(facts) => facts.touched,
        None => unknown(),
    }
}

/// The trigger store of a project, for writing: the secrets of the settings are masked in what is stored.
pub fn open_triggers(project: &Project) -> Result<TriggerStore, JournalError> {
    let redactor = Arc::new(Redactor::default());
    learn_secrets(project, &redactor);
    TriggerStore::open_with(&project.context.state_dir, redactor)
}
