//! From what was typed to a run that is held and ready to go.

use super::runs::{self, Begin, Overrides, Prepared};
use super::{Project, ServiceError, params};
use crate::definition::{LoadedValue, Param, ParamType, load_value};
use crate::diagnostic::{Code, Diagnostic, Sources};
use crate::value::{DefinitionId, Failure, JsonMap};
use std::path::{Path, PathBuf};

/// A question that a person can answer: a required parameter without a value.
pub type Ask<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// What a command line says of a run that is to begin.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The definition's id, or a path.
    pub definition: String,
    /// `--param NAME=VALUE`, in order.
    pub params: Vec<(String, String)>,
    /// `--params FILE`.
    pub params_file: Option<PathBuf>,
    /// `--script FILE`.
    pub script: Option<PathBuf>,
    /// `--record FILE`.
    pub record: Option<PathBuf>,
    /// What holds over the definition.
    pub overrides: Overrides,
}

/// Resolves the parameters, checks everything that can be checked, and takes hold of a new run. The
/// project goes with it, so that its texts do not take room beside the run.
pub async fn start(
    mut project: Project,
    start: Start,
    ask: Option<&mut Ask<'_>>,
) -> Result<Prepared, ServiceError> {
    let (definition, params);
    (project, definition, params) = resolve(&project, &start, ask)?;
    let script = start.script.as_deref().map(read).transpose()?;
    let context = project.context.clone();
    let Start { record, overrides, .. } = start;
    let plan = project.catalog.playbooks.get(&definition);
    let plan = plan.and_then(|playbook| project.built(playbook).0);
    let Project { files, catalog, diagnostics, .. } = project;
    runs::begin(Begin {
        context,
        files,
        catalog,
        diagnostics,
        definition,
        plan,
        params,
        script,
        record,
        overrides,
    })
    .await
}

/// The definition that is meant, and the values of its parameters.
pub(super) fn resolve(
    project: &Project,
    start: &Start,
    ask: Option<&mut Ask<'_>>,
) -> Result<(Project, DefinitionId, JsonMap), ServiceError> {
    let project = project.with_named(&[&start.definition])?;
    project.sound_settings()?;
    let playbook = project.playbook(&start.definition)?;
    let (file, sources) = match &start.params_file {
        Some(path) => read_params(path, &playbook.params)?,
        None => Default::default(),
    };
    let values = match ask {
        None => params::resolve(&playbook.params, &start.params, file.as_ref(), None),
        Some(ask) => {
            let mut ask = |param: &Param| ask(&question(param));
            params::resolve(&playbook.params, &start.params, file.as_ref(), Some(&mut ask))
        }
    };
    let values = values.map_err(|problems| refused_values(problems, sources, &playbook.params))?;
    Ok((project, playbook.id.clone(), values))
}

fn question(param: &Param) -> String {
    let text = param.prompt.as_ref().or(param.description.as_ref());
    text.cloned().unwrap_or_else(|| format!("{}:", param.name))
}

fn read_params(
    path: &Path,
    params: &[Param],
) -> Result<(Option<LoadedValue>, Sources), ServiceError> {
    let (name, bytes) = read(path)?;
    let (file, sources, diagnostics) = load_value(&name, &bytes);
    match diagnostics.iter().any(Diagnostic::is_error) {
        true => Err(refused_values(diagnostics, sources, params)),
        false => Ok((file, sources)),
    }
}

/// Problems of values. Where one of them is a secret, or the file is another than was meant, any line
/// may hold one: the place is told, and the line is not shown.
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
            let (file, place) =
                (sources.get(span.source), sources.position(span.source, span.start));
            diagnostic.labels.clear();
            diagnostic.message =
                format!("{}:{}:{}: {}", file.path, place.line, place.column, diagnostic.message);
        }
    }
    refused(diagnostics, sources)
}

fn refused(diagnostics: Vec<Diagnostic>, sources: Sources) -> ServiceError {
    ServiceError::Definitions { diagnostics, sources: Box::new(sources) }
}

/// A file with its path as it was given.
fn read(path: &Path) -> Result<(String, Vec<u8>), ServiceError> {
    let read = std::fs::read(path).map(|bytes| (path.display().to_string(), bytes));
    read.map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            let none: [String; 0] = [];
            return ServiceError::unknown(
                super::ResourceKind::File,
                path.display().to_string(),
                none,
            );
        }
        let message = format!("`{}` cannot be read: {error}", path.display());
        ServiceError::refused(Failure::new(Code::FILE_UNREADABLE.as_str(), message))
    })
}
