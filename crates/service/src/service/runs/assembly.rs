//! Builds the parts of one run: journal, tools, models, executor.

use super::ProjectContext;
use super::caching;
use super::children::Children;
use super::doubles::Doubles;
use super::machine::Machine;
use super::prepared::Prepared;
use super::present;
use super::remembering;
use super::secrets::ConfiguredSecrets;
use crate::service::ServiceError;
use crate::service::index_rules::index_rules;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, RunId};
use kb_clock::RunClock;
use kb_core::redaction::Redactor;
use kb_core::run::Rules;
use kb_engine::engine::{Parts, Setup, StartMode};
use kb_engine::inspect::{Earlier, Frozen, parent_facts};
use kb_engine::journal::StoredEvent;
use kb_host::executor::{Executor, HostAccess, LocalExecutor, SettingsCommands};
use kb_host::isolation::{Trees, home_of};
use kb_host::llm::{FaultyModel, GenaiProvider, ModelProvider, ScriptPlayer, Tiers};
use kb_host::specialist::{AgentHomes, Ledger, SpecialistRunner};
use kb_host::tool::{
    Approvals, McpServers, ServerSecrets, ToolImplementation, ToolServer, Toolbox, ToolboxParts,
    sandbox_level,
};
use kb_host::workspace::{IgnoreFiles, StatesBefore, Workspace};
use kb_language::definition::{
    ApprovalLevel, PinnedServer, ProcessChoice, Script, SecretSource, Settings,
};
use kb_language::plan::Plan;
use kb_process::Supervisor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The parts of a run and the facts about this machine that its first event records.
pub(super) struct Assembly {
    context: ProjectContext,
    pub(super) parts: Parts,
    pub(super) rules: Rules,
    /// Whether steps whose gate did not pass fail the command (`verifier.strict`).
    strict: bool,
    machine: Machine,
    trees: Trees,
    servers: Arc<McpServers>,
    /// The secrets whose value is that of a command in the sandbox.
    foreign_secrets: BTreeSet<String>,
}

impl Assembly {
    /// A run that this process has the lease of, with the events that are stored already.
    pub(super) fn prepare(
        self,
        run: RunId,
        epoch: u64,
        plan: Arc<Plan>,
        frozen: Frozen,
        start: StartMode,
        history: Vec<StoredEvent>,
    ) -> Prepared {
        // An earlier run that was removed meanwhile has no results.
        let verified = Earlier::verified_of(&frozen, &*self.parts.journal).unwrap_or_default();
        let earlier = Earlier::work_of(&frozen, &*self.parts.journal).unwrap_or_default();
        let parent = parent_facts(&self.parts.journal, &frozen);
        let params = Arc::new(Json::Object(frozen.params));
        let (task_files, mut facts) = (frozen.task_files, frozen.facts);
        let Assembly { context, parts, rules, strict, trees, servers, foreign_secrets, .. } = self;
        facts.foreign_secrets.extend(foreign_secrets);
        let setup = Setup {
            parts,
            run,
            epoch,
            plan,
            params,
            task_files,
            rules,
            facts,
            parent,
            start,
            history,
            verified,
            earlier,
        };
        let (changed, killed_owner, group, predecessor) = (Vec::new(), None, None, None);
        Prepared {
            context,
            setup,
            trees,
            servers,
            changed,
            strict,
            killed_owner,
            group,
            predecessor,
        }
    }

    /// Facts about this machine and the limits of the run, for `run:start`.
    pub(super) fn environment(&self, frozen: &Frozen) -> Json {
        self.machine.environment(frozen)
    }
}

/// The files of the project as this run may use them.
fn workspace(
    context: &ProjectContext,
    settings: &Settings,
    frozen: &Frozen,
) -> Result<Workspace, ServiceError> {
    let ignore_files = frozen.ignore_files.clone().map(IgnoreFiles);
    context.workspace_with(&settings.value_files(), ignore_files.as_ref()).map_err(|error| {
        let root = context.root.display();
        let message = format!("the project folder `{root}` cannot be opened: {error}");
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })
}

/// Keeps that others than the author could write to the files of the project, if a step of the run can.
fn note_writers(
    context: &ProjectContext,
    frozen: &Frozen,
    plan: &Plan,
) -> Result<(), ServiceError> {
    if !plan.has_writers(&frozen.facts) {
        return Ok(());
    }
    context.note_writers().map_err(|error| {
        let message = format!("the state of the project cannot be written: {error}");
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })
}

/// The plugins of a run, the pinned tools of its servers, and the tools that servers declared when it started; and the servers.
fn tools(
    context: &ProjectContext,
    frozen: &Frozen,
    plan: &Plan,
    secrets: &Arc<ConfiguredSecrets>,
) -> (Vec<ToolImplementation>, Arc<McpServers>) {
    let present = &context.environment.tools;
    let declared = frozen.tools.iter().map(|spec| ToolImplementation::frozen(spec, present));
    let (pinned, servers) = pinned_tools(plan.servers_with_children(), secrets);
    let plugins = plan.plugins_with_children();
    (plugins.iter().map(Into::into).chain(pinned).chain(declared).collect(), servers)
}

/// The pinned tools of these servers, which are started when one of them is called; and the servers, which the caller
/// closes.
pub(in crate::service) fn pinned_tools(
    servers: Vec<Arc<PinnedServer>>,
    secrets: &Arc<ConfiguredSecrets>,
) -> (Vec<ToolImplementation>, Arc<McpServers>) {
    let started = Arc::new(McpServers::new(servers.clone(), server_secrets(secrets)));
    let shared: Arc<dyn ToolServer> = started.clone();
    let specs = servers
        .iter()
        .flat_map(|own| own.pin.tools.iter().map(|tool| Arc::new(tool.spec(&own.server.name))));
    let tools = specs.map(|spec| ToolImplementation::declared(spec, shared.clone()));
    (tools.collect(), started)
}

/// The values that the variables of servers refer to.
pub(in crate::service) fn server_secrets(secrets: &Arc<ConfiguredSecrets>) -> ServerSecrets {
    let secrets = secrets.clone();
    Arc::new(move |name: String| {
        let secrets = secrets.clone();
        Box::pin(async move { secrets.value_of(&name).await })
    })
}

/// What the machine isolates.
fn machine(supervisor: &Supervisor, sandbox: ApprovalLevel) -> Machine {
    let sandbox_missing = match sandbox {
        ApprovalLevel::Kernel => supervisor.missing_isolation(),
        _ => Vec::new(),
    };
    Machine { process: supervisor.level().as_str(), sandbox, sandbox_missing }
}

/// Builds the parts of one run, and tells the redactor its secrets.
pub(super) fn assemble(
    context: &ProjectContext,
    settings: &Arc<Settings>,
    frozen: &Frozen,
    plan: &Plan,
    tiers: Option<Tiers>,
    ledger: Arc<Ledger>,
    redactor: Arc<Redactor>,
) -> Result<Assembly, ServiceError> {
    let context = &context.opening(&plan.opened());
    let supervisor = supervisor(context, settings)?;
    let journal = context.journal(settings.journal.sync)?;
    // While the level of the supervisor is found out.
    journal.prepare_to_write();
    let workspace = workspace_of(context, settings, (frozen, plan), &redactor)?;
    note_writers(context, frozen, plan)?;
    let sandbox = available_sandbox(settings, &supervisor)?;
    let clock = context.run_clock();
    let mut parts = ToolboxParts {
        workspace,
        supervisor: supervisor.clone(),
        settings: settings.clone(),
        approvals: Approvals { yes: frozen.yes },
        redactor: redactor.clone(),
        sandbox,
        tools: Vec::new(),
        doubles: context.doubles.tools.clone(),
        clock: clock.clone(),
        memory: remembering::of_run(context, settings, frozen, &*journal, &redactor),
    };
    let home = home_of(&context.state_dir);
    let trees = Trees::new(parts.workspace.clone(), home, supervisor.clone());
    let host = HostAccess::of(&parts);
    let starter =
        SettingsCommands::new(parts.process_launcher(), frozen.yes, context.had_writers());
    let foreign_secrets = foreign_secrets(context, settings, &starter);
    let present = present::of_run(context.root.clone(), settings.clone(), frozen.catalog());
    let secrets = Arc::new(ConfiguredSecrets::new(
        settings.clone(),
        context.environment.variables.clone(),
        context.root.clone(),
        Some(starter),
        redactor.clone(),
    ));
    let (tools, servers) = tools(context, frozen, plan, &secrets);
    parts.tools = tools;
    let toolbox = Arc::new(Toolbox::new(parts).with_present(present));
    context.environment.redactors.register(&redactor);
    secrets.reveal_all_to_redactor();
    let keys = tiers.iter().flat_map(Tiers::keys);
    // With `env.pass`, a step receives the key of a model and may print it.
    for (name, key) in keys {
        redactor.add(&name, &key);
    }
    let provider = provider(context, frozen, tiers, &redactor)?;
    let specialists = provider.map(|provider| {
        Arc::new(SpecialistRunner {
            provider,
            toolbox: toolbox.clone(),
            // A script takes the place of agents, as of models.
            agents: frozen.script.is_none().then(|| server_secrets(&secrets)),
            homes: Some(AgentHomes::of(&context.state_dir)),
            max_input_tokens: settings.llm.max_input_tokens,
            context: settings.llm.context,
            reasoning: settings.llm.reasoning,
            judge: settings.verifier.judge.clone(),
            warned: Arc::default(),
            ledger: ledger.clone(),
            clock: clock.clone(),
        })
    });
    let machine = machine(&supervisor, sandbox);
    let (rules, prompts) = (frozen.rules(settings.undecided()), settings.journal.prompts);
    let local = LocalExecutor::new(host, toolbox, specialists)
        .with_trees(trees.clone())
        .with_states_before(StatesBefore::of(&context.state_dir, &context.root));
    let local = match &context.doubles.stubs {
        Some(stubs) => local.with_stubs(stubs.clone()),
        None => local,
    };
    let local = match caching::of_run(context, settings, frozen, plan) {
        Some(cache) => local.with_cache(cache),
        None => local,
    };
    let plans = plan.children();
    let executor: Arc<dyn Executor> = Arc::new(local.clone());
    let (faults, parent) = (context.doubles.writes.clone(), None);
    let mut parts = Parts { journal, executor, secrets, redactor, prompts, clock, faults, parent };
    if !plans.is_empty() {
        let (machine, root) = (machine.clone(), context.root.clone());
        let children =
            Children::new(&parts, plans, rules.undecided, (machine, root), ledger.clone());
        let children = Arc::new(children);
        parts.executor = Arc::new(local.with_children(children));
    }
    let context = context.clone();
    let strict = settings.verifier.strict;
    Ok(Assembly { context, parts, rules, strict, machine, trees, servers, foreign_secrets })
}

/// The secrets whose command executes what models could write, in a project that has or had a writer.
fn foreign_secrets(
    context: &ProjectContext,
    settings: &Settings,
    starter: &SettingsCommands,
) -> BTreeSet<String> {
    let executes = |source: &SecretSource| match source {
        SecretSource::Command(argv) => starter.executes_project(argv),
        SecretSource::Env(_) | SecretSource::File(_) => false,
    };
    let found = settings.secrets.iter().filter(|(_, source)| executes(source));
    if context.had_writers() {
        found.map(|(name, _)| name.clone()).collect()
    } else {
        BTreeSet::new()
    }
}

/// What answers model calls: the script of the run, else the models of the tiers. A run without model calls has neither.
fn provider(
    context: &ProjectContext,
    frozen: &Frozen,
    tiers: Option<Tiers>,
    redactor: &Arc<Redactor>,
) -> Result<Option<Arc<dyn ModelProvider>>, ServiceError> {
    let provider: Option<Arc<dyn ModelProvider>> = match (frozen.load_script()?, tiers) {
        (Some(script), _) => Some(played(script, &context.doubles, context.run_clock())),
        (None, Some(tiers)) => {
            Some(Arc::new(GenaiProvider::new(tiers).with_redactor(redactor.clone())))
        }
        (None, None) => None,
    };
    Ok(match &context.recorder {
        Some(recorder) => provider.map(|provider| recorder.recording(provider, redactor.clone())),
        None => provider,
    })
}

/// A provider that plays a script, with the faults of a test.
fn played(script: Arc<Script>, doubles: &Doubles, clock: RunClock) -> Arc<dyn ModelProvider> {
    let Doubles { fit, calls, .. } = doubles;
    let player = Arc::new(ScriptPlayer::new(script, clock.clone()).noting(fit.clone()));
    if calls.is_empty() { player } else { Arc::new(FaultyModel::new(player, calls.clone(), clock)) }
}

/// The supervisor of a run whose sandbox opens these paths for writing; refuses the run if it does not reach the required process control level.
pub(in crate::service) fn supervisor(
    context: &ProjectContext,
    settings: &Settings,
) -> Result<Supervisor, ServiceError> {
    let supervisor = context.supervisor(settings);
    // It takes milliseconds, and so does what follows, such as the creation of a journal.
    supervisor.begin_to_detect();
    if settings.sandbox.processes == ProcessChoice::PidNamespace
        && let Some(why) = supervisor.shortfall()
    {
        let message =
            format!("`sandbox.processes: pidNamespace` is not available on this machine: {why}");
        let failure = Failure::new(Code::SANDBOX_UNAVAILABLE, message)
            .help("`sandbox: {processes: auto}` in the settings uses process groups instead");
        return Err(ServiceError::environment(failure));
    }
    Ok(supervisor)
}

/// The sandbox level of this machine; refuses the run if it is below `sandbox.require`.
pub(in crate::service) fn available_sandbox(
    settings: &Settings,
    supervisor: &Supervisor,
) -> Result<ApprovalLevel, ServiceError> {
    let reached = sandbox_level(supervisor.base().sandbox_cap());
    match settings.sandbox.require {
        Some(required) if reached < required => {
            let (required, reached) = (required.as_str(), reached.as_str());
            let message = format!(
                "`sandbox.require: {required}` is not available on this machine; the level is `{reached}`"
            );
            let failure = Failure::new(Code::SANDBOX_UNAVAILABLE, message).help(
                "run on a Linux kernel with Landlock, or lower `sandbox.require` in the settings",
            );
            Err(ServiceError::environment(failure))
        }
        _ => Ok(reached),
    }
}

/// The files of a run, with the rules for their index.
fn workspace_of(
    context: &ProjectContext,
    settings: &Settings,
    (frozen, plan): (&Frozen, &Plan),
    redactor: &Redactor,
) -> Result<Workspace, ServiceError> {
    let rules = index_rules(settings, &context.environment, redactor);
    let workspace = workspace(context, settings, frozen)?.with_index_rules(rules);
    // What a child run changed is shown before the approvals of the runs above.
    Ok(workspace.with_approvals(frozen.parent.is_some() || plan.may_ask()))
}
