//! Creates a new run.

use super::assembly::assemble;
use super::budget;
use super::caching;
use super::concurrency;
use super::killed_commands;
use super::models::{max_parallel, tiers};
use super::needed_secrets;
use super::predecessor::predecessor;
use super::prepared::Prepared;
use super::recorder::Recorder;
use super::requirements;
use super::task_files::all_task_files;
use crate::service::start_request::read_file;
use crate::service::{Project, ResourceKind, ServiceError, StartRequest};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{
    DefinitionId, Digest, Failure, Json, JsonMap, RunId, StepId, json_text, limits,
};
use kb_core::redaction::{Mask, Masked, Redactor};
use kb_engine::engine::StartMode;
use kb_engine::inspect::{BaseRun, Earlier, Frozen, FrozenFile, FrozenRole, load_model_script};
use kb_engine::journal::NewRun;
use kb_host::llm::Tiers;
use kb_host::workspace::{IgnoreFiles, PathError, Workspace};
use kb_language::definition::{Catalog, EvidenceMode, delegate_files};
use kb_language::plan::{Facts, Plan, PlanStep};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a new run starts from, beside its definition and parameters.
#[derive(Debug, Clone, Default)]
pub(in crate::service) struct Basis {
    /// The earlier run whose results it keeps.
    pub(super) base: Option<BaseRun>,
    /// The script of that run.
    pub(super) script: Option<FrozenFile>,
    /// Steps that do not run.
    pub(super) skip: Vec<StepId>,
    /// What is known of the files and of the values that it starts with.
    pub(super) facts: Facts,
}

impl Basis {
    /// A run that skips these steps.
    pub(in crate::service) fn skipping(skip: Vec<StepId>) -> Basis {
        Basis { skip, ..Basis::default() }
    }

    /// A run of whose values this is known.
    pub(in crate::service) fn knowing(facts: Facts) -> Basis {
        Basis { facts, ..Basis::default() }
    }
}

/// Checks everything that can be checked, stores it, and creates the run with a lease for this
/// process.
pub(in crate::service) async fn begin(
    project: Project,
    definition: DefinitionId,
    params: JsonMap,
    request: StartRequest,
    basis: Basis,
) -> Result<Prepared, ServiceError> {
    let redactor = Arc::new(Redactor::default());
    let created = create(project, definition, params, request, basis, &redactor).await;
    created.map_err(|error| error.masked_by(&redactor))
}

async fn create(
    project: Project,
    definition: DefinitionId,
    params: JsonMap,
    request: StartRequest,
    basis: Basis,
    redactor: &Arc<Redactor>,
) -> Result<Prepared, ServiceError> {
    let StartRequest { script, record, overrides, run, notice, finds_predecessor, cache, .. } =
        request;
    let (project, plan) = with_delegates(project, &definition)?;
    let script = match script {
        Some(path) => Some(read_file(&project.context.environment, &path)?),
        None => own_script(&plan, &project, overrides.model.as_deref())?,
    };
    require_supported(&plan, &project.catalog)?;
    caching::require_steps(&plan, &cache)?;
    let mut context = project.context.clone();
    let settings = project.catalog.settings.clone();
    requirements::check(&plan, &context, &settings, &project.catalog.sources).await?;
    let kept = basis.base.iter().flat_map(|base| &base.keep);
    let idle = basis.skip.iter().chain(kept).collect();
    needed_secrets::check(&plan, &params, &idle, &context, &project.catalog)?;
    let is_scripted = script.is_some() || basis.script.is_some();
    let tiers = tiers(&plan, is_scripted, &settings, &context, overrides.model.as_deref()).await?;
    let missing = |diagnostics| {
        let sources = Box::new(project.catalog.sources.clone());
        ServiceError::Definitions { diagnostics, sources }
    };
    let most_parallel = max_parallel(&plan, &settings, &overrides);
    let mut frozen = Frozen {
        version: Frozen::VERSION,
        definition: definition.clone(),
        files: Frozen::files_of(&plan, &project.files),
        task_files: all_task_files(&plan, &context.root).map_err(missing)?,
        params,
        script: script.map(frozen_script).transpose()?.or(basis.script),
        tiers: tiers.as_ref().map(Tiers::frozen).unwrap_or_default(),
        model: overrides.model.clone(),
        yes: overrides.yes,
        limits: overrides.limits,
        max_parallel: most_parallel.unwrap_or(context.environment.processors.max(2)).max(1),
        limited_by_processors: most_parallel.is_none(),
        ignore_files: may_compare_files(&plan).then(|| IgnoreFiles::read(&context.root).0),
        base: basis.base,
        skip: basis.skip,
        cache,
        tools: context.environment.tools.iter().map(|tool| (**tool.spec()).clone()).collect(),
        parent: None,
        facts: basis.facts,
    };
    // The texts of the definitions are in `frozen` now.
    drop(project);
    let record = record.map(|path| context.environment.absolute(&path));
    let recorder = record.map(|path| Recorder::new(path, &context.root)).transpose()?;
    if let Some(recorder) = recorder {
        context.doubles.tools = recorder.tools();
        context.recorder = Some(Arc::new(recorder));
    }
    let ledger = Arc::new(budget::ledger(&plan, &settings, frozen.limits));
    let assembly =
        assemble(&context, &settings, &frozen, &plan, tiers, ledger.clone(), redactor.clone())?;
    require_no_secret(&frozen, redactor)?;
    let run = run.unwrap_or_else(new_run_id);
    for text in frozen.ignore_files.iter_mut().flat_map(BTreeMap::values_mut) {
        *text = redactor.mask_text(text).into_owned();
    }
    let (journal, alone) = (&*assembly.parts.journal, Default::default());
    let (book, values) = (plan.playbook(), &frozen.params);
    let group = concurrency::enter(book, values, &run, journal, &notice, &alone).await?;
    killed_commands::require_none(&context, journal, None)?;
    let predecessor = if finds_predecessor {
        predecessor(&*assembly.parts.journal, &context.root, definition.as_str())?
    } else {
        None
    };
    let stored = accepted(frozen.json(), redactor)?;
    // The stored texts are not needed here; the journal is about to write them.
    frozen.files.clear();
    frozen.ignore_files = None;
    let digest = Digest::of_json(&stored);
    let new = NewRun {
        run: run.clone(),
        definition: definition.to_string(),
        at: context.clock().now(),
        frozen: stored,
    };
    let presets = Earlier::presets_of(&frozen, &*assembly.parts.journal, &plan)?;
    let epoch = assembly.parts.journal.create(new)?;
    let environment = assembly.environment(&frozen);
    let opening = StartMode::Start { digest, environment, presets };
    let prepared = assembly.prepare(run, epoch, plan, frozen, opening, Vec::new());
    Ok(Prepared { group, predecessor, ..prepared })
}

/// The plan of a run, and its project. If a specialist can delegate tasks, both have the playbooks of such tasks.
fn with_delegates(
    project: Project,
    definition: &DefinitionId,
) -> Result<(Project, Arc<Plan>), ServiceError> {
    let plan = project.plan(definition.as_str()).map_err(errors_only)?;
    if !plan.can_delegate() {
        return Ok((project, plan));
    }
    let project = project.with_files(delegate_files(&project.catalog), Vec::new());
    let plan = project.plan(definition.as_str()).map_err(errors_only)?;
    Ok((project, plan))
}

/// Whether a step of the run may need the ignore rules: for its evidence or its gate.
fn may_compare_files(plan: &Plan) -> bool {
    let needs = |step: &PlanStep| {
        step.specialists().next().is_some()
            || step.step.verify().is_some()
            || step.step.details().evidence == Some(EvidenceMode::Full)
            || step.step.kind.checks().is_some()
    };
    plan.with_children().iter().flat_map(|plan| plan.steps()).any(needs)
}

/// The file of `script:` of the playbook, unless a model was chosen for the run. A link that leads out of the project is not
/// followed: a step can have made it.
fn own_script(
    plan: &Plan,
    project: &Project,
    model: Option<&str>,
) -> Result<Option<(String, Vec<u8>)>, ServiceError> {
    let path = plan.playbook().script.as_ref().filter(|_| model.is_none());
    let read = |path: &str| {
        let unreadable = |error: &dyn std::fmt::Display| {
            let message = format!("`script: {path}` cannot be read: {error}");
            let help = "create the file, or fix its path; it is relative to the project root";
            ServiceError::refused(Failure::new(Code::FILE_UNREADABLE, message).help(help))
        };
        let root = &project.context.root;
        let workspace = Workspace::open(root, &[], &[]).map_err(|error| unreadable(&error))?;
        let shown = root.join(path).display().to_string();
        let none: [String; 0] = [];
        match workspace.read_at_most(path, limits::DEFINITION_BYTES) {
            Ok(bytes) => Ok((shown, bytes)),
            Err(PathError::Missing(_)) => {
                Err(ServiceError::unknown(ResourceKind::File, shown, none))
            }
            Err(error) => Err(unreadable(&error)),
        }
    };
    path.map(|path| read(path)).transpose()
}

fn frozen_script((path, bytes): (String, Vec<u8>)) -> Result<FrozenFile, ServiceError> {
    load_model_script(&path, &bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(FrozenFile { path, role: FrozenRole::Script, text })
}

/// The same error without warnings.
fn errors_only(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::Definitions { mut diagnostics, sources } => {
            diagnostics.retain(Diagnostic::is_error);
            ServiceError::Definitions { diagnostics, sources }
        }
        other => other,
    }
}

/// Refuses a definition that uses a feature that is not supported yet.
fn require_supported(plan: &Plan, catalog: &Catalog) -> Result<(), ServiceError> {
    let plans = plan.with_children();
    let steps = || plans.iter().flat_map(|plan| plan.steps());
    let specialists: BTreeMap<_, _> =
        steps().flat_map(|step| step.specialists()).map(|s| (&s.id, s)).collect();
    let specialists = specialists.values().flat_map(|specialist| &specialist.not_yet);
    let steps = steps().flat_map(|step| &step.step.details().not_yet);
    let own = plans.iter().flat_map(|plan| &plan.playbook().not_yet);
    let features = own.chain(steps).chain(specialists).chain(&catalog.settings.not_yet);
    let diagnostics: Vec<Diagnostic> = features
        .map(|feature| {
            let what = &feature.what;
            let message = format!(
                "`{what}` is not supported yet; a run would not do what the definition says"
            );
            Diagnostic::error(Code::NOT_IMPLEMENTED, feature.span, message)
                .help(format!("remove `{what}` to run the rest"))
        })
        .collect();
    if diagnostics.is_empty() {
        return Ok(());
    }
    Err(ServiceError::Definitions { diagnostics, sources: Box::new(catalog.sources.clone()) })
}

/// Refuses a run whose stored form would contain the value of a secret.
fn require_no_secret(frozen: &Frozen, redactor: &Redactor) -> Result<(), ServiceError> {
    let refused = |location: String, name: String, help: &str| {
        let message = format!("{location} contains the value of the secret `{name}`");
        let failure = Failure::new(Code::SECRET_LITERAL, message).help(help);
        Err(ServiceError::refused(failure))
    };
    for (param, value) in &frozen.params {
        if let Some(name) = redactor.written_in(&json_text(value)) {
            let help = "declare it with `type: secret`, and pass `env:NAME` or `file:PATH`";
            return refused(format!("the parameter `{param}`"), name, help);
        }
    }
    let files = frozen.files.iter().chain(&frozen.script).map(|file| (&file.path, &*file.text));
    let tasks = frozen.task_files.iter().map(|(path, text)| (path, text.as_str().unwrap_or("")));
    for (path, text) in files.chain(tasks) {
        if let Some(name) = redactor.written_in(text) {
            let help = "refer to it as `{{secrets.NAME}}`, and change the secret if others may have \
                        seen the file";
            return refused(format!("`{path}`"), name, help);
        }
    }
    Ok(())
}

/// The stored form of a run, which must not change: it contains the value of no secret.
fn accepted(frozen: Json, redactor: &Redactor) -> Result<Masked<Json>, ServiceError> {
    redactor.accept(frozen).map_err(|name| {
        let message =
            format!("the stored form of the run contains the value of the secret `{name}`");
        ServiceError::refused(Failure::new(Code::SECRET_LITERAL, message))
    })
}

/// A random id of eight letters and digits. It starts with a letter and a digit, so that it cannot
/// be mistaken for a number or a word.
fn new_run_id() -> RunId {
    use std::hash::{BuildHasher, Hasher};
    const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let random = std::hash::RandomState::new().build_hasher().finish();
    let digest = Digest::of(format!("{}/{random}", std::process::id()));
    let bytes = digest.as_bytes();
    let text: String = bytes[1..7].iter().map(|b| LETTERS[usize::from(b % 32)] as char).collect();
    RunId::new(format!("r{}{text}", bytes[0] % 10)).expect("letters and digits are a run id")
}
