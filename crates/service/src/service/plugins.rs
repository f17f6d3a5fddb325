//! Plugins of a project: list, description, and a call without a run.

use super::error::{ResourceKind, ServiceError};
use super::hook_secrets::learn_secrets;
use super::project::{BrokenFile, Project};
use super::runs::{TEST_NAME, available_sandbox, require_none_open, supervisor};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, InstanceKey, Json, RunId, StepId, format_duration};
use kb_core::evidence::{EvidenceKind, EvidenceRef, InvocationStatus};
use kb_core::redaction::Redactor;
use kb_host::tool::{Approvals, Call, Caller, ToolImplementation, Toolbox, ToolboxParts};
use kb_host::workspace::StatesBefore;
use kb_language::definition::{FileRole, Plugin};
use kb_language::toolspec::ToolLevel;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One plugin, as `kb plugin list` and `kb plugin info` show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginView {
    /// Id of the plugin file.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// What it does.
    pub description: String,
    /// The risk level.
    pub level: ToolLevel,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Time limit of a call.
    pub timeout: String,
    /// Names of its probes.
    pub probes: Vec<String>,
    /// JSON Schema of the arguments.
    pub input: Json,
    /// JSON Schema of the output.
    pub output: Json,
    /// Path of its file.
    pub path: String,
}

impl PluginView {
    fn of(plugin: &Plugin) -> PluginView {
        PluginView {
            id: plugin.id.to_string(),
            tool: plugin.spec.name.to_string(),
            description: plugin.spec.description.to_string(),
            level: plugin.spec.level,
            argv: plugin.argv.clone(),
            timeout: format_duration(plugin.timeout),
            probes: plugin.probes.iter().map(|probe| probe.id.clone()).collect(),
            input: plugin.input.json().clone(),
            output: plugin.output.json().clone(),
            path: plugin.path.clone(),
        }
    }
}

/// The result of a call without a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginTest {
    /// How the call ended.
    pub status: InvocationStatus,
    /// The output, or `{error}`.
    pub result: Json,
    /// The reason of a call that did not succeed.
    pub failure: Option<Failure>,
    /// Receipts and probes.
    pub evidence: Vec<EvidenceRef>,
    /// Paths of the changed files.
    pub changed: Vec<String>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

impl PluginTest {
    /// Whether the call succeeded.
    pub fn succeeded(&self) -> bool {
        self.status == InvocationStatus::Success
    }

    /// What the probes of the plugin observed.
    pub fn probes(&self) -> impl Iterator<Item = &EvidenceRef> {
        self.evidence.iter().filter(|evidence| evidence.kind == EvidenceKind::Probe)
    }
}

/// All valid plugins of the project.
pub fn list_plugins(project: &Project) -> Vec<PluginView> {
    project.catalog.plugins.values().map(|plugin| PluginView::of(plugin)).collect()
}

/// Files of plugins with errors.
pub fn broken_plugins(project: &Project) -> Vec<BrokenFile> {
    let is_plugin = |file: &BrokenFile| file.role == Some(FileRole::Plugin);
    project.broken_files().into_iter().filter(is_plugin).collect()
}

/// One plugin by its id or the name of its tool.
pub fn show_plugin(project: &Project, id: &str) -> Result<PluginView, ServiceError> {
    find(project, id).map(|plugin| PluginView::of(&plugin))
}

fn find(project: &Project, id: &str) -> Result<Arc<Plugin>, ServiceError> {
    let all = &project.catalog.plugins;
    project.catalog.plugin(id).cloned().ok_or_else(|| {
        project.broken(id).unwrap_or_else(|| {
            ServiceError::unknown(ResourceKind::Plugin, id, all.keys().map(ToString::to_string))
        })
    })
}

/// Calls a plugin with these arguments, as a `tool` step does, without a run: its program, the check of
/// its output and its probes.
pub async fn test_plugin(
    project: &Project,
    id: &str,
    input: Json,
) -> Result<PluginTest, ServiceError> {
    project.require_valid_settings()?;
    let plugin = find(project, id)?;
    let tool = plugin.spec.name.to_string();
    called_once(project, &tool, input, |_| vec![(&plugin).into()]).await
}

/// Calls a tool as a `tool` step does, without a run. `tools` makes what executes the call.
pub(super) async fn called_once(
    project: &Project,
    tool: &str,
    input: Json,
    tools: impl FnOnce(Arc<Redactor>) -> Vec<ToolImplementation>,
) -> Result<PluginTest, ServiceError> {
    let (context, settings) = (&project.context, &project.catalog.settings);
    require_none_open(context)?;
    let supervisor = supervisor(context, settings)?;
    let workspace = context.workspace(None).map_err(|error| {
        let message =
            format!("the project folder `{}` cannot be opened: {error}", context.root.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    let redactor = Arc::new(Redactor::default());
    context.environment.redactors.register(&redactor);
    learn_secrets(project, &redactor);
    let states = StatesBefore::of(&context.state_dir, &context.root);
    let place = RunId::new(format!("{TEST_NAME}{}", std::process::id())).ok();
    let place = place.zip(StepId::new("call").ok().map(InstanceKey::root));
    let held = place.as_ref().map(|(run, _)| states.hold(run)).transpose();
    let _held = held.map_err(|error| {
        let message = format!("the state folder cannot be written: {error}");
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    let workspace = match &place {
        Some((run, instance)) => states.watching(&workspace, run, instance, &redactor),
        None => workspace,
    };
    let toolbox = Toolbox::new(ToolboxParts {
        workspace,
        sandbox: available_sandbox(settings, &supervisor)?,
        supervisor,
        settings: settings.clone(),
        approvals: Approvals { yes: true },
        tools: tools(redactor.clone()),
        redactor,
        doubles: None,
        memory: None,
        clock: context.run_clock(),
    });
    let call = Call {
        id: "test".to_owned(),
        tool: tool.to_owned(),
        args: input,
        caller: Caller::Author,
        env: Vec::new(),
        cwd: String::new(),
        evidence: true,
        approved: true,
        answers: Default::default(),
    };
    let (result, invocation) = toolbox.call(&call, &CancellationToken::new()).await;
    if let Some((run, instance)) = &place {
        states.forget(run, instance);
    }
    Ok(PluginTest {
        status: result.status,
        result: result.result,
        failure: result.failure,
        evidence: result.evidence,
        changed: result.changes.into_iter().map(|change| change.path).collect(),
        duration_ms: invocation.duration_ms,
    })
}

/// The plugins whose program does not exist, each with the program.
pub(super) fn missing_programs(project: &Project) -> Vec<(String, String)> {
    let plugins = project.catalog.plugins.values();
    let missing =
        plugins.filter(|plugin| plugin.argv.first().is_some_and(|own| !exists(project, own)));
    missing
        .map(|plugin| (plugin.id.to_string(), plugin.argv.first().cloned().unwrap_or_default()))
        .collect()
}

/// Whether a program of a definition exists: a path below the project, or a name in `PATH`.
pub(super) fn exists(project: &Project, program: &str) -> bool {
    let context = &project.context;
    let path = context.environment.variables.get("PATH").map(String::as_str).unwrap_or_default();
    if program.contains('/') {
        return context.root.join(program).is_file();
    }
    let mut places = std::env::split_paths(path).map(|folder: PathBuf| folder.join(program));
    places.any(|place| place.is_file())
}
