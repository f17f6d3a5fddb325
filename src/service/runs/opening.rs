use super::frozen::{Frozen, FrozenFile, read_script, refusals};
use super::place::Place;
use super::prepared::Prepared;
use super::secrets::KnownSecrets;
use super::task_files::read_task_files;
use crate::clock;
use crate::definition::{
    ApprovalLevel, Catalog, FileRole, InconclusivePolicy, InputFile, Settings,
};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::engine::{Opening, Parts};
use crate::executor::LocalExecutor;
use crate::journal::{Journal, NewRun};
use crate::llm::{GenaiProvider, ModelError, ModelProvider, Recording, ScriptPlayer, Tiers};
use crate::plan::Plan;
use crate::process::{BaseEnvironment, Supervisor};
use crate::project::Project;
use crate::redaction::Redactor;
use crate::run::{InstanceIx, Rules, RunStatus};
use crate::service::{Kind, ServiceError};
use crate::specialist::SpecialistRunner;
use crate::tool::{Approvals, Toolbox, ToolboxParts, Workspace, sandbox_level};
use crate::value::{DefinitionId, Digest, Failure, Json, JsonMap, RunId, Tier};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What begins a run.
#[derive(Debug, Clone)]
pub struct Begin {
    /// Where.
    pub place: Place,
    /// Every definition file of the project, and the one named on the command line.
    pub files: Vec<InputFile>,
    /// What is clean of them.
    pub catalog: Catalog,
    /// What is wrong with the others.
    pub diagnostics: Vec<Diagnostic>,
    /// What to run.
    pub definition: DefinitionId,
    /// Its parameters, checked.
    pub params: JsonMap,
    /// A script's path and bytes, where one plays the model.
    pub script: Option<(String, Vec<u8>)>,
    /// Where to write what a model says.
    pub record: Option<PathBuf>,
    /// What holds over the definition.
    pub overrides: Overrides,
}

/// What a command line says over definition and settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--model`.
    pub model: Option<String>,
    /// `--max-parallel`.
    pub max_parallel: Option<u32>,
    /// `--yes`.
    pub yes: bool,
}

/// How an answer went.
pub enum Answered {
    /// The run has a holder, and it was told.
    Told(RunId),
    /// It has none: drive this to go on.
    Ready(Box<Prepared>),
}

/// How a cancellation went.
pub enum Cancelled {
    /// The run has a holder, and it was told.
    Told(RunId),
    /// It has none: drive this to end it.
    Ready(Box<Prepared>),
    /// It had ended before.
    AlreadyEnded(RunId, RunStatus),
}

/// Checks everything that can be checked, freezes it, and takes hold of a new run.
pub async fn begin(options: Begin) -> Result<Prepared, ServiceError> {
    let Begin { place, files, catalog, diagnostics, definition, .. } = options;
    let Begin { params, script, record, overrides, .. } = options;
    let plan = plan_of(&catalog, diagnostics, &definition, &files)?;
    let refused = |diagnostics| {
        let sources = Box::new(catalog.sources.clone());
        ServiceError::Definitions { diagnostics, sources }
    };
    refusals(plan.playbook(), &catalog)?;
    let script = script.map(|(path, bytes)| {
        read_script(&path, &bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok::<_, ServiceError>(FrozenFile { path, role: "script".to_owned(), text })
    });
    let settings = catalog.settings.clone();
    let tiers =
        tiers(&plan, script.is_some(), &settings, &place, overrides.model.as_deref()).await?;
    let frozen = Frozen {
        version: Frozen::VERSION,
        definition: definition.clone(),
        files: Frozen::reached(&plan, &files),
        task_files: read_task_files(plan.playbook(), &place.root).map_err(refused)?,
        params,
        script: script.transpose()?,
        tiers: tiers.as_ref().map(Tiers::frozen).unwrap_or_default(),
        model: overrides.model.clone(),
        yes: overrides.yes,
        max_parallel: max_parallel(&plan, &settings, &overrides),
    };
    let assembled = assemble(&place, &settings, &frozen, tiers, record)?;
    let run = new_run_id();
    let journal = assembled.parts.journal.clone();
    let new = NewRun {
        run: run.clone(),
        definition: definition.to_string(),
        at: clock::now(),
        frozen: frozen.json(),
    };
    let epoch = journal.create(new)?;
    let opening =
        Opening::Start { digest: frozen.digest(), environment: environment(&assembled, &frozen) };
    Ok(assembled.prepare(place, run, epoch, Arc::new(plan), frozen, opening))
}

/// Goes on with a run that was interrupted or waits.
pub fn resume(place: Place, name: &str, overrides: &Overrides) -> Result<Prepared, ServiceError> {
    let (run, status) = find(&place, name)?;
    if status.has_ended() {
        let help = match status {
            RunStatus::Succeeded => {
                "there is nothing left to do; start a new run with `kb playbook run`".to_owned()
            }
            _ => format!("`kb run retry {run}` re-opens it"),
        };
        let failure =
            Failure::new(Code::NOT_RESUMABLE.as_str(), format!("run `{run}` has {status}"))
                .help(help);
        return Err(ServiceError::refused(failure));
    }
    reopen(place, run, overrides, |_| Ok(Opening::Resume))
}

/// Re-opens a run that failed or was cancelled, from a step or from all that did not succeed.
pub fn retry(
    place: Place,
    name: &str,
    from: Option<&str>,
    overrides: &Overrides,
) -> Result<Prepared, ServiceError> {
    let (run, status) = find(&place, name)?;
    if !status.has_ended() {
        let failure = Failure::new(
            Code::NOT_RESUMABLE.as_str(),
            format!("run `{run}` is {status}, not ended"),
        )
        .help(format!("`kb run resume {run}` goes on with it"));
        return Err(ServiceError::refused(failure));
    }
    if status == RunStatus::Succeeded && from.is_none() {
        let failure = Failure::new(Code::NOT_RESUMABLE.as_str(), format!("run `{run}` succeeded"))
            .help("`--from STEP` runs that step and everything after it again");
        return Err(ServiceError::refused(failure));
    }
    reopen(place, run, overrides, |plan| {
        let step = |name: &str| {
            let known = plan.steps().iter().map(|s| s.step.id.to_string());
            plan.find(name).ok_or_else(|| ServiceError::unknown(Kind::Step, name, known))
        };
        let from = from.map(step).transpose()?.map(|ix| InstanceIx(ix.0));
        Ok(Opening::Retry { from: from.into_iter().collect() })
    })
}

/// Answers for what waits for a person. A holder is told; without one, drive what comes back.
pub fn answer(
    place: Place,
    name: &str,
    step: Option<&str>,
    approved: bool,
    by: &str,
) -> Result<Answered, ServiceError> {
    let (run, status) = find(&place, name)?;
    if status.has_ended() {
        let failure = Failure::new(
            Code::NOT_RESUMABLE.as_str(),
            format!("run `{run}` has {status}: nothing of it waits"),
        );
        return Err(ServiceError::refused(failure));
    }
    if let Some(step) = step {
        has_step(&place, &run, step)?;
    }
    let journal = place.journal(Default::default())?;
    if journal.is_held(&run)? {
        let key = format!("approve-{}-{}", step.unwrap_or("*"), clock::now().0);
        let body = json!({"by": by, "step": step, "approved": approved});
        journal.post(&run, &key, "approve", body)?;
        if journal.is_held(&run)? {
            return Ok(Answered::Told(run));
        }
        let prepared = reopen(place, run, &Overrides::default(), |_| Ok(Opening::Resume))?;
        return Ok(Answered::Ready(Box::new(prepared)));
    }
    drop(journal);
    let opening = Opening::Answer { step: step.map(str::to_owned), approved, by: by.to_owned() };
    let prepared = reopen(place, run, &Overrides::default(), |_| Ok(opening))?;
    Ok(Answered::Ready(Box::new(prepared)))
}

/// A name that is no step of the run, or an item of one, would be answered for in silence.
fn has_step(place: &Place, run: &RunId, step: &str) -> Result<(), ServiceError> {
    let (_, plan) = frozen_of(place, run)?.thaw()?;
    if plan.find(step.split('[').next().unwrap_or(step)).is_some() {
        return Ok(());
    }
    let known = plan.steps().iter().map(|s| s.step.id.to_string());
    Err(ServiceError::unknown(Kind::Step, step, known))
}

/// What a run has kept from its start on.
fn frozen_of(place: &Place, run: &RunId) -> Result<Frozen, ServiceError> {
    let row = place.journal(Default::default())?.run(run)?;
    serde_json::from_value(row.frozen).map_err(|error| {
        let message = format!("what run `{run}` has frozen cannot be read: {error}");
        ServiceError::environment(Failure::new(Code::JOURNAL_UNUSABLE.as_str(), message))
    })
}

/// Stops a run for good: its holder is told, or it is ended here where it has none.
pub fn cancel(place: Place, name: &str, by: &str) -> Result<Cancelled, ServiceError> {
    let (run, status) = find(&place, name)?;
    if status.has_ended() {
        return Ok(Cancelled::AlreadyEnded(run, status));
    }
    let journal = place.journal(Default::default())?;
    if journal.is_held(&run)? {
        let key = format!("cancel-{}", clock::now().0);
        journal.post(&run, &key, "cancel", json!({"by": by}))?;
        // A holder that left in between did not read it; what was left waits for the next one.
        if journal.is_held(&run)? {
            return Ok(Cancelled::Told(run));
        }
        let prepared = reopen(place, run, &Overrides::default(), |_| Ok(Opening::Resume))?;
        return Ok(Cancelled::Ready(Box::new(prepared)));
    }
    drop(journal);
    let opening = Opening::Cancel { by: by.to_owned() };
    let prepared = reopen(place, run, &Overrides::default(), |_| Ok(opening))?;
    Ok(Cancelled::Ready(Box::new(prepared)))
}

fn find(place: &Place, name: &str) -> Result<(RunId, RunStatus), ServiceError> {
    let journal = place.journal(Default::default())?;
    let run = journal.find(name)?;
    let status = journal.run(&run)?.status;
    Ok((run, status))
}

fn reopen(
    place: Place,
    run: RunId,
    overrides: &Overrides,
    opening: impl FnOnce(&Plan) -> Result<Opening, ServiceError>,
) -> Result<Prepared, ServiceError> {
    let frozen = frozen_of(&place, &run)?;
    let frozen = Frozen {
        yes: frozen.yes || overrides.yes,
        max_parallel: overrides.max_parallel.unwrap_or(frozen.max_parallel),
        ..frozen
    };
    let (catalog, plan) = frozen.thaw()?;
    let opening = opening(&plan)?;
    let needs_model = needs_model(&plan) && frozen.script.is_none();
    let tiers = needs_model.then(|| Tiers::thawed(&frozen.tiers, &catalog.settings, &place.env));
    let present = present_settings(&place)?;
    let settings = Arc::new(catalog.settings.narrowed_by(&present));
    let assembled = assemble(&place, &settings, &frozen, tiers, None)?;
    let epoch = assembled.parts.journal.take(&run)?;
    // A holder that died before its first event left a run that has yet to begin.
    let unbegun = assembled.parts.journal.events(&run, 0)?.is_empty();
    let opening = match opening {
        Opening::Resume | Opening::Answer { .. } if unbegun => {
            let environment = environment(&assembled, &frozen);
            Opening::Start { digest: frozen.digest(), environment }
        }
        other => other,
    };
    Ok(assembled.prepare(place, run, epoch, plan, frozen, opening))
}

/// The settings as they are now: a run that goes on may do no more than they allow.
fn present_settings(place: &Place) -> Result<Arc<Settings>, ServiceError> {
    let (files, _) = Project::at(&place.root).definition_files();
    let own = files.into_iter().filter(|file| file.role == FileRole::Settings).collect();
    let (catalog, diagnostics) = crate::definition::load(own);
    let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if errors.is_empty() {
        return Ok(catalog.settings);
    }
    Err(ServiceError::Definitions { diagnostics: errors, sources: Box::new(catalog.sources) })
}

struct Assembled {
    parts: Parts,
    rules: Rules,
    recording: Option<(Arc<Recording>, PathBuf)>,
    process_level: &'static str,
    sandbox: ApprovalLevel,
}

impl Assembled {
    fn prepare(
        self,
        place: Place,
        run: RunId,
        epoch: u64,
        plan: Arc<Plan>,
        frozen: Frozen,
        opening: Opening,
    ) -> Prepared {
        let changed = frozen.changed_since(&place.root);
        let params = Arc::new(Json::Object(frozen.params));
        let Assembled { parts, rules, recording, .. } = self;
        let task_files = frozen.task_files;
        Prepared {
            place,
            parts,
            run,
            epoch,
            plan,
            params,
            rules,
            opening,
            task_files,
            recording,
            changed,
        }
    }
}

/// Puts the house together around one run.
fn assemble(
    place: &Place,
    settings: &Arc<Settings>,
    frozen: &Frozen,
    tiers: Option<Tiers>,
    record: Option<PathBuf>,
) -> Result<Assembled, ServiceError> {
    let journal = place.journal(settings.sync)?;
    let redactor = Arc::new(Redactor::default());
    let base = BaseEnvironment::select(place.env.clone(), &settings.env_pass);
    let supervisor = Supervisor::new(base);
    let workspace = Workspace::open(&place.root, &[], std::slice::from_ref(&place.state_dir))
        .map_err(|error| {
            let message =
                format!("the project folder `{}` cannot be opened: {error}", place.root.display());
            ServiceError::environment(Failure::new(Code::PLACE_UNUSABLE.as_str(), message))
        })?;
    let sandbox = reached_sandbox(settings)?;
    let toolbox = Arc::new(Toolbox::new(ToolboxParts {
        workspace,
        supervisor: supervisor.clone(),
        settings: settings.clone(),
        approvals: Approvals { yes: frozen.yes },
        redactor: redactor.clone(),
        sandbox,
    }));
    let secrets = KnownSecrets {
        settings: settings.clone(),
        env: place.env.clone(),
        root: place.root.clone(),
        supervisor: supervisor.clone(),
        redactor: redactor.clone(),
    };
    secrets.reveal_all_to_redactor();
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
    let specialists =
        provider.map(|provider| Arc::new(SpecialistRunner { provider, toolbox: toolbox.clone() }));
    let process_level = supervisor.level().as_str();
    let executor = Arc::new(LocalExecutor::new(toolbox, supervisor, specialists));
    let rules = Rules {
        max_parallel: frozen.max_parallel.max(1),
        inconclusive: settings.inconclusive.unwrap_or(InconclusivePolicy::Warn),
    };
    let parts = Parts { journal, executor, secrets: Arc::new(secrets), redactor };
    Ok(Assembled { parts, rules, recording, process_level, sandbox })
}

/// How far processes are held here; less than `sandbox.require` asks for refuses the run.
fn reached_sandbox(settings: &Settings) -> Result<ApprovalLevel, ServiceError> {
    let reached = sandbox_level();
    match settings.sandbox_require {
        Some(required) if reached < required => {
            let (required, reached) = (level_name(required), level_name(reached));
            let message = format!(
                "`sandbox.require: {required}` is not reached here; the level is `{reached}`"
            );
            let failure = Failure::new(Code::SANDBOX_BELOW.as_str(), message).help(
                "run on a Linux kernel with Landlock, or lower `sandbox.require` in the settings",
            );
            Err(ServiceError::environment(failure))
        }
        _ => Ok(reached),
    }
}

fn level_name(level: ApprovalLevel) -> &'static str {
    match level {
        ApprovalLevel::None => "none",
        ApprovalLevel::Process => "process",
        ApprovalLevel::Kernel => "kernel",
    }
}

fn environment(assembled: &Assembled, frozen: &Frozen) -> Json {
    let sandbox = level_name(assembled.sandbox);
    json!({
        "kb": env!("CARGO_PKG_VERSION"),
        "process": assembled.process_level,
        "sandbox": sandbox,
        "maxParallel": frozen.max_parallel,
        "scripted": frozen.script.is_some(),
    })
}

fn plan_of(
    catalog: &Catalog,
    diagnostics: Vec<Diagnostic>,
    definition: &DefinitionId,
    files: &[InputFile],
) -> Result<Plan, ServiceError> {
    let refused = |diagnostics: Vec<Diagnostic>| {
        let diagnostics = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        ServiceError::Definitions { diagnostics, sources: Box::new(catalog.sources.clone()) }
    };
    let Some(playbook) = catalog.playbooks.get(definition.as_str()) else {
        // Files of that id with errors are why it is not there.
        let paths = catalog.refused.playbooks.get(definition.as_str());
        let mine = of_files(diagnostics, &paths.cloned().unwrap_or_default(), catalog);
        if mine.iter().any(Diagnostic::is_error) || files.is_empty() {
            return Err(refused(mine));
        }
        let known = catalog.playbooks.keys().map(ToString::to_string);
        return Err(ServiceError::unknown(Kind::Playbook, definition.as_str(), known));
    };
    let (plan, problems) = Plan::build(playbook, catalog);
    plan.ok_or_else(|| {
        let reached = of_files(diagnostics, &catalog.files_of(playbook), catalog);
        refused(problems.into_iter().chain(reached).collect())
    })
}

/// Those that point into one of these files.
fn of_files(
    mut diagnostics: Vec<Diagnostic>,
    paths: &BTreeSet<String>,
    catalog: &Catalog,
) -> Vec<Diagnostic> {
    let inside = |span: Span| paths.contains(&*catalog.sources.get(span.source).path);
    diagnostics.retain(|d| d.span.is_some_and(inside));
    diagnostics
}

fn needs_model(plan: &Plan) -> bool {
    plan.steps().iter().any(|step| step.specialist.is_some())
}

/// The models of a run, where it needs any. A specialist whose model cannot be had is told now, not
/// in the middle of the run.
async fn tiers(
    plan: &Plan,
    scripted: bool,
    settings: &Settings,
    place: &Place,
    model: Option<&str>,
) -> Result<Option<Tiers>, ServiceError> {
    if scripted || !needs_model(plan) {
        return Ok(None);
    }
    let mut tiers = Tiers::from(settings, &place.env);
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

fn max_parallel(plan: &Plan, settings: &Settings, overrides: &Overrides) -> u32 {
    let processors = std::thread::available_parallelism().map_or(2, |n| n.get() as u32);
    overrides
        .max_parallel
        .or(plan.playbook().limits.max_parallel)
        .or(settings.max_parallel)
        .unwrap_or(processors.max(2))
        .max(1)
}

/// Eight letters and digits that no other run of the project has; short enough to type.
fn new_run_id() -> RunId {
    use std::hash::{BuildHasher, Hasher};
    let random = std::hash::RandomState::new().build_hasher().finish();
    let seed = format!("{}/{}/{random}", clock::now().0, std::process::id());
    let digest = Digest::of(seed);
    const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let text: String =
        digest.as_bytes()[..8].iter().map(|b| LETTERS[usize::from(b % 32)] as char).collect();
    // A run's id begins with a letter, so that it never looks like a number.
    RunId::new(format!("r{}", &text[1..])).expect("letters and digits make a run id")
}
