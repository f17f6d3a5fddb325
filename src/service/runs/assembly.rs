//! Puts the house together around one run: journal, tools, models, executor.

use super::context::ProjectContext;
use super::frozen::Frozen;
use super::opening::Overrides;
use super::prepared::Prepared;
use super::secrets::ConfiguredSecrets;
use crate::definition::{ApprovalLevel, InconclusivePolicy, ProcessChoice, Settings};
use crate::diagnostic::Code;
use crate::engine::{Parts, StartMode};
use crate::executor::LocalExecutor;
use crate::journal::StoredEvent;
use crate::llm::{GenaiProvider, ModelError, ModelProvider, Recording, ScriptPlayer, Tiers};
use crate::plan::Plan;
use crate::process::Supervisor;
use crate::redaction::{Redactor, stand_guard};
use crate::run::Rules;
use crate::service::ServiceError;
use crate::specialist::SpecialistRunner;
use crate::tool::{Approvals, Toolbox, ToolboxParts, sandbox_level};
use crate::value::{Failure, Json, RunId, Tier, limits};
use crate::workspace::Workspace;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) struct Assembled {
    pub(super) parts: Parts,
    pub(super) rules: Rules,
    pub(super) recording: Option<(Arc<Recording>, PathBuf)>,
    pub(super) process_level: &'static str,
    pub(super) sandbox: ApprovalLevel,
}

/// A run that is taken hold of.
pub(super) struct LeasedRun {
    pub(super) run: RunId,
    pub(super) epoch: u64,
    /// What its journal says already.
    pub(super) before: Vec<StoredEvent>,
    /// Definition files of it that are others by now.
    pub(super) changed: Vec<String>,
    /// The process id of the previous lease owner, if it was killed.
    pub(super) killed_owner: Option<u32>,
}

impl Assembled {
    pub(super) fn prepare(
        self,
        leased: LeasedRun,
        plan: Arc<Plan>,
        frozen: Frozen,
        opening: StartMode,
    ) -> Prepared {
        let LeasedRun { run, epoch, before, changed, killed_owner } = leased;
        let params = Arc::new(Json::Object(frozen.params));
        let Assembled { parts, rules, recording, .. } = self;
        let task_files = frozen.task_files;
        Prepared {
            parts,
            run,
            epoch,
            plan,
            params,
            rules,
            opening,
            before,
            task_files,
            recording,
            changed,
            killed_owner,
        }
    }
}

/// Puts the house together around one run.
pub(super) fn assemble(
    context: &ProjectContext,
    settings: &Arc<Settings>,
    frozen: &Frozen,
    tiers: Option<Tiers>,
    record: Option<PathBuf>,
) -> Result<Assembled, ServiceError> {
    let journal = context.journal(settings.sync)?;
    let redactor = Arc::new(Redactor::default());
    let supervisor = supervisor(context, settings)?;
    let workspace = Workspace::open(&context.root, &[], std::slice::from_ref(&context.state_dir))
        .map_err(|error| {
        let message =
            format!("the project folder `{}` cannot be opened: {error}", context.root.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE.as_str(), message))
    })?;
    let sandbox = reached_sandbox(settings, &supervisor)?;
    let toolbox = Arc::new(Toolbox::new(ToolboxParts {
        workspace,
        supervisor: supervisor.clone(),
        settings: settings.clone(),
        approvals: Approvals { yes: frozen.yes },
        redactor: redactor.clone(),
        sandbox,
    }));
    let secrets = ConfiguredSecrets::new(
        settings.clone(),
        context.env.clone(),
        context.root.clone(),
        supervisor.clone(),
        redactor.clone(),
    );
    stand_guard(&redactor);
    secrets.reveal_all_to_redactor();
    let keys = tiers.iter().flat_map(Tiers::keys);
    // A step may print the key of a model that `env.pass` hands it.
    for (name, key) in keys {
        redactor.add(&name, &key);
    }
    let provider: Option<Arc<dyn ModelProvider>> = match (frozen.thaw_script()?, tiers) {
        (Some(script), _) => Some(Arc::new(ScriptPlayer::new(script))),
        (None, Some(tiers)) => Some(Arc::new(GenaiProvider::new(tiers))),
        (None, None) => None,
    };
    let recording = provider
        .clone()
        .zip(record)
        .map(|(inner, path)| (Arc::new(Recording::new(inner, redactor.clone())), path));
    let provider = match &recording {
        Some((recording, _)) => Some(recording.clone() as Arc<dyn ModelProvider>),
        None => provider,
    };
    let specialists = provider.map(|provider| {
        Arc::new(SpecialistRunner {
            provider,
            toolbox: toolbox.clone(),
            max_input_tokens: settings.max_input_tokens.unwrap_or(limits::PROMPT_VALUE_TOKENS),
            warned: Arc::default(),
        })
    });
    let process_level = supervisor.level().as_str();
    let executor = Arc::new(LocalExecutor::new(toolbox, specialists));
    let rules = Rules {
        max_parallel: frozen.max_parallel.max(1),
        inconclusive: settings.inconclusive.unwrap_or(InconclusivePolicy::Warn),
    };
    let prompts = settings.prompts;
    let parts = Parts { journal, executor, secrets: Arc::new(secrets), redactor, prompts };
    Ok(Assembled { parts, rules, recording, process_level, sandbox })
}

/// What starts processes; less than the settings insist on refuses the run.
fn supervisor(context: &ProjectContext, settings: &Settings) -> Result<Supervisor, ServiceError> {
    let supervisor = context.supervisor(settings);
    if settings.processes == ProcessChoice::PidNamespace
        && let Some(why) = supervisor.shortfall()
    {
        let message = format!("`sandbox.processes: pidNamespace` is not reached here: {why}");
        let failure = Failure::new(Code::SANDBOX_UNAVAILABLE.as_str(), message)
            .help("`sandbox: {processes: auto}` in the settings runs them in process groups");
        return Err(ServiceError::environment(failure));
    }
    Ok(supervisor)
}

/// How far processes are leased here; less than `sandbox.require` asks for refuses the run.
fn reached_sandbox(
    settings: &Settings,
    supervisor: &Supervisor,
) -> Result<ApprovalLevel, ServiceError> {
    let reached = sandbox_level(supervisor.base().sandbox_cap());
    match settings.sandbox_require {
        Some(required) if reached < required => {
            let (required, reached) = (required.as_str(), reached.as_str());
            let message = format!(
                "`sandbox.require: {required}` is not reached here; the level is `{reached}`"
            );
            let failure = Failure::new(Code::SANDBOX_UNAVAILABLE.as_str(), message).help(
                "run on a Linux kernel with Landlock, or lower `sandbox.require` in the settings",
            );
            Err(ServiceError::environment(failure))
        }
        _ => Ok(reached),
    }
}

pub(super) fn environment(assembled: &Assembled, frozen: &Frozen) -> Json {
    let sandbox = assembled.sandbox.as_str();
    json!({
        "kb": env!("CARGO_PKG_VERSION"),
        "process": assembled.process_level,
        "sandbox": sandbox,
        "maxParallel": frozen.max_parallel,
        "scripted": frozen.script.is_some(),
    })
}

pub(super) fn needs_model(plan: &Plan) -> bool {
    plan.steps().iter().any(|step| step.specialist.is_some())
}

/// The models of a run, where it needs any. A specialist whose model cannot be had is told now, not
/// in the middle of the run.
pub(super) async fn tiers(
    plan: &Plan,
    scripted: bool,
    settings: &Settings,
    context: &ProjectContext,
    model: Option<&str>,
) -> Result<Option<Tiers>, ServiceError> {
    if scripted || !needs_model(plan) {
        return Ok(None);
    }
    let mut tiers = Tiers::from(settings, &context.env);
    if let Some(name) = model {
        tiers = tiers.with_model(name);
    }
    if tiers.is_empty() {
        tiers = tiers.with_local(&crate::llm::local_servers().await);
    }
    for specialist in plan.steps().iter().filter_map(|step| step.specialist.as_ref()) {
        let choice = &specialist.model;
        let name = if model.is_some() { None } else { choice.model.as_deref() };
        resolvable(&tiers, choice.tier, name).map_err(|error| {
            let text = error.to_string();
            // What would give a model is the mend, not the problem.
            let (problem, mend) = text.split_once("; ").unwrap_or((&text, ""));
            let message = format!("specialist `{}` has no model: {problem}", specialist.id);
            let failure = Failure::new(Code::NO_MODEL.as_str(), message);
            ServiceError::environment(if mend.is_empty() { failure } else { failure.help(mend) })
        })?;
    }
    Ok(Some(tiers))
}

fn resolvable(tiers: &Tiers, tier: Tier, name: Option<&str>) -> Result<(), ModelError> {
    tiers.resolve(tier, name).map(drop)
}

pub(super) fn max_parallel(plan: &Plan, settings: &Settings, overrides: &Overrides) -> u32 {
    let processors = std::thread::available_parallelism().map_or(2, |n| n.get() as u32);
    overrides
        .max_parallel
        .or(plan.playbook().limits.max_parallel)
        .or(settings.max_parallel)
        .unwrap_or(processors.max(2))
        .max(1)
}
