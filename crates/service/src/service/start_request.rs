//! The request to start a run, and its parameters.

use super::params::Ask;
use super::runs::{Overrides, WaitNotice};
use super::{Environment, Project, ResourceKind, ServiceError, params};
use kb_base::diagnostic::{Code, Diagnostic, Sources};
use kb_base::value::{DefinitionId, Failure, Json, JsonMap, RunId, StepId};
use kb_engine::inspect::{CacheUse, Earlier};
use kb_language::definition::{LoadedValue, Param, ParamType, load_value};
use kb_language::plan::{Plan, PlanStep, StepIx};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A request to start a run. Relative paths start from the working directory of the project's
/// [`Environment`].
#[derive(Debug, Clone, Default)]
pub struct StartRequest {
    /// Id or path of the playbook or workflow.
    pub definition: String,
    /// Parameter values as text (`--param NAME=VALUE`), in order; each is read by its declared type.
    pub params: Vec<(String, String)>,
    /// A YAML or JSON file with parameter values (`--params FILE`); `params` take precedence.
    pub params_file: Option<PathBuf>,
    /// A script that replaces the model (`--script FILE`).
    pub script: Option<PathBuf>,
    /// The file to write a script of the model responses to (`--record FILE`).
    pub record: Option<PathBuf>,
    /// The id of the run; `None`: a random one.
    pub run: Option<RunId>,
    /// Where to report that the run waits for its concurrency group.
    pub notice: WaitNotice,
    /// Values that take precedence over definition and settings.
    pub overrides: Overrides,
    /// The steps that run.
    pub selection: Selection,
    /// Whether [`Prepared::predecessor`](super::runs::Prepared::predecessor) is looked up.
    pub finds_predecessor: bool,
    /// How its steps use stored results.
    pub cache: CacheUse,
}

/// The steps of a run that its request selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these steps and those that they need; empty for all.
    pub only: Vec<String>,
    /// Not these steps.
    pub skip: Vec<String>,
}

impl Selection {
    /// The steps that do not run. `finally` steps run unless they are named in `skip`.
    pub(super) fn skipped(&self, plan: &Plan) -> Result<Vec<StepId>, ServiceError> {
        let steps = |names: &[String]| -> Result<Vec<StepIx>, ServiceError> {
            names.iter().map(|name| step_of(plan, name)).collect()
        };
        let mut open = steps(&self.only)?;
        let skip: BTreeSet<StepIx> = steps(&self.skip)?.into_iter().collect();
        let mut needed = BTreeSet::new();
        while let Some(step) = open.pop() {
            if needed.insert(step) {
                open.extend(plan.dependencies(step).map(|dependency| dependency.on));
            }
        }
        let is_selected = |ix: StepIx, planned: &PlanStep| {
            self.only.is_empty() || planned.is_finally() || needed.contains(&ix)
        };
        let skipped =
            |(ix, planned): &(StepIx, &PlanStep)| skip.contains(ix) || !is_selected(*ix, planned);
        Ok(plan.iter().filter(skipped).map(|(_, planned)| planned.step.id.clone()).collect())
    }
}

/// The step of a plan with this id.
pub(super) fn step_of(plan: &Plan, name: &str) -> Result<StepIx, ServiceError> {
    let known = plan.steps().iter().map(|planned| planned.step.id.to_string());
    plan.find(name).ok_or_else(|| ServiceError::unknown(ResourceKind::Step, name, known))
}

/// As [`resolve`], with the values of an earlier run for parameters that the request does not give. A
/// value that was the default then is the default now.
pub(super) fn resolve_over(
    project: &Project,
    request: &StartRequest,
    earlier: &Earlier,
    ask: Option<&mut Ask<'_>>,
) -> Result<(Project, DefinitionId, JsonMap), ServiceError> {
    let was_default = |name: &str, value: &Json| {
        let declared = earlier.plan.playbook().params.iter().find(|param| param.name == *name);
        declared.is_some_and(|param| param.default.as_ref() == Some(value))
    };
    let values = earlier.frozen.params.iter();
    let given = values.filter(|(name, value)| !was_default(name, value));
    let before = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    resolve_with(project, request, &before, ask)
}

/// The project with the requested definition, its id, and the values of its parameters.
pub(super) fn resolve(
    project: &Project,
    request: &StartRequest,
    ask: Option<&mut Ask<'_>>,
) -> Result<(Project, DefinitionId, JsonMap), ServiceError> {
    resolve_with(project, request, &JsonMap::new(), ask)
}

fn resolve_with(
    project: &Project,
    request: &StartRequest,
    before: &JsonMap,
    ask: Option<&mut Ask<'_>>,
) -> Result<(Project, DefinitionId, JsonMap), ServiceError> {
    let project = project.with_named(&[&request.definition])?;
    project.require_valid_settings()?;
    let playbook = project.playbook(&request.definition)?;
    let (file, sources) = match &request.params_file {
        Some(path) => read_params(&project.context.environment, path, &playbook.params)?,
        None => Default::default(),
    };
    let context = &project.context;
    let secrets =
        params::SecretSources { variables: &context.environment.variables, root: &context.root };
    let given = params::Given { texts: &request.params, before, secrets };
    let values = params::resolve(&playbook.params, &given, file.as_ref(), ask);
    let values = values.map_err(|problems| refused_values(problems, sources, &playbook.params))?;
    Ok((project, playbook.id.clone(), values))
}

fn read_params(
    environment: &Environment,
    path: &Path,
    params: &[Param],
) -> Result<(Option<LoadedValue>, Sources), ServiceError> {
    let (name, bytes) = read_file(environment, path)?;
    let (file, sources, diagnostics) = load_value(&name, &bytes);
    if diagnostics.iter().any(Diagnostic::is_error) {
        Err(refused_values(diagnostics, sources, params))
    } else {
        Ok((file, sources))
    }
}

/// The error for invalid parameter values. If a parameter is a secret, or the file is not a
/// parameter file, any line may contain a secret: the position is reported, the line is not shown.
fn refused_values(
    mut diagnostics: Vec<Diagnostic>,
    sources: Sources,
    params: &[Param],
) -> ServiceError {
    let has_secrets = params.iter().any(|param| param.kind == ParamType::Secret);
    for diagnostic in &mut diagnostics {
        if (has_secrets || diagnostic.code == Code::PARAMETER_FILE)
            && let Some(span) = diagnostic.span.take()
        {
            let (file, at) = (sources.get(span.source), sources.position(span.source, span.start));
            diagnostic.labels.clear();
            diagnostic.message =
                format!("{}:{}:{}: {}", file.path, at.line, at.column, diagnostic.message);
        }
    }
    ServiceError::Definitions { diagnostics, sources: Box::new(sources) }
}

/// Reads a file; returns its path as given and its content.
pub(super) fn read_file(
    environment: &Environment,
    path: &Path,
) -> Result<(String, Vec<u8>), ServiceError> {
    let shown = path.display().to_string();
    match std::fs::read(environment.absolute(path)) {
        Ok(bytes) => Ok((shown, bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let none: [String; 0] = [];
            Err(ServiceError::unknown(ResourceKind::File, shown, none))
        }
        Err(error) => {
            let message = format!("`{shown}` cannot be read: {error}");
            let failure = Failure::new(Code::FILE_UNREADABLE, message);
            Err(ServiceError::refused(failure))
        }
    }
}
