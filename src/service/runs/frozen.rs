use crate::definition::{Catalog, FileRole, InputFile, Playbook, Script, load, load_script};
use crate::diagnostic::{Code, Diagnostic, Sources};
use crate::journal::Journal;
use crate::plan::Plan;
use crate::service::ServiceError;
use crate::value::{DefinitionId, Failure, Json, JsonMap, RunId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Everything that a run keeps from its start on (LANGUAGE §9), as the journal stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frozen {
    /// The form of this record.
    pub version: u32,
    /// The definition that runs.
    pub definition: DefinitionId,
    /// The texts that it reaches.
    pub files: Vec<FrozenFile>,
    /// Texts of `taskFile`s, by path.
    #[serde(default)]
    pub task_files: JsonMap,
    /// Parameters, secrets as references.
    pub params: JsonMap,
    /// The script that plays the model, where one does.
    #[serde(default)]
    pub script: Option<FrozenFile>,
    /// Tier → model, without keys.
    #[serde(default)]
    pub tiers: Json,
    /// `--model`.
    #[serde(default)]
    pub model: Option<String>,
    /// `--yes`.
    #[serde(default)]
    pub yes: bool,
    /// Instances at the same time.
    pub max_parallel: u32,
}

/// One text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenFile {
    /// As people know it.
    pub path: String,
    /// `playbook`, `workflow`, `specialist`, `agentProfile`, `settings`, `script`.
    pub role: String,
    /// The whole text.
    pub text: String,
}

const ROLES: [(FileRole, &str); 5] = [
    (FileRole::Playbook, "playbook"),
    (FileRole::Workflow, "workflow"),
    (FileRole::Specialist, "specialist"),
    (FileRole::AgentProfile, "agentProfile"),
    (FileRole::Settings, "settings"),
];

impl FrozenFile {
    fn of(file: &InputFile) -> Self {
        let role = ROLES.iter().find(|(role, _)| *role == file.role).map_or("", |(_, name)| name);
        let text = String::from_utf8_lossy(&file.bytes).into_owned();
        FrozenFile { path: file.path.clone(), role: role.to_owned(), text }
    }

    fn input(&self) -> Option<InputFile> {
        let (role, _) = ROLES.iter().find(|(_, name)| *name == self.role)?;
        let (path, bytes) = (self.path.clone(), self.text.as_bytes().into());
        Some(InputFile { path, bytes, role: *role })
    }
}

impl Frozen {
    /// The form that this version writes.
    pub const VERSION: u32 = 1;

    /// What a run has kept from its start on.
    pub fn of_run(journal: &dyn Journal, run: &RunId) -> Result<Frozen, ServiceError> {
        serde_json::from_value(journal.frozen(run)?).map_err(|error| {
            let message = format!("what run `{run}` has frozen cannot be read: {error}");
            ServiceError::environment(Failure::new(Code::JOURNAL_UNUSABLE.as_str(), message))
        })
    }

    /// The files of a project that a plan reaches: its own, its specialists' and the settings.
    pub fn reached(plan: &Plan, files: &[InputFile]) -> Vec<FrozenFile> {
        let mut paths: BTreeSet<&str> = BTreeSet::from([plan.playbook().path.as_str()]);
        let specialists = plan.steps().iter().filter_map(|step| step.specialist.as_ref());
        paths.extend(specialists.map(|specialist| specialist.path.as_str()));
        let reached = |file: &&InputFile| {
            file.role == FileRole::Settings || paths.contains(file.path.as_str())
        };
        files.iter().filter(reached).map(FrozenFile::of).collect()
    }

    /// Files of it whose text on disk is another by now, by path. One that cannot be read says nothing.
    pub fn changed_since(&self, root: &Path) -> Vec<String> {
        let differs = |file: &&FrozenFile| {
            let now = std::fs::read(root.join(&file.path));
            now.is_ok_and(|now| String::from_utf8_lossy(&now) != file.text.as_str())
        };
        self.files.iter().filter(differs).map(|file| file.path.clone()).collect()
    }

    /// As the journal stores it.
    pub fn json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Loads the frozen texts again, and seals the plan from them.
    pub fn thaw(&self) -> Result<(Catalog, Arc<Plan>), ServiceError> {
        let inputs = self.files.iter().filter_map(FrozenFile::input).collect();
        let (catalog, mut diagnostics) = load(inputs);
        let found = catalog.playbooks.get(self.definition.as_str()).cloned();
        let Some(playbook) = found else { return Err(broken(diagnostics, &catalog)) };
        let (plan, problems) = Plan::build(&playbook, &catalog);
        diagnostics.extend(problems);
        match plan {
            Some(plan) => Ok((catalog, Arc::new(plan))),
            None => Err(broken(diagnostics, &catalog)),
        }
    }

    /// The script that plays the model.
    pub fn thaw_script(&self) -> Result<Option<Arc<Script>>, ServiceError> {
        let Some(file) = &self.script else { return Ok(None) };
        read_script(&file.path, file.text.as_bytes()).map(Some)
    }
}

/// Reads a script; every problem of it is an error of definition.
pub(super) fn read_script(path: &str, bytes: &[u8]) -> Result<Arc<Script>, ServiceError> {
    let (script, sources, mut diagnostics) = load_script(path, bytes);
    diagnostics.iter_mut().for_each(|problem| explain_bare_name(problem, &sources));
    script
        .map(Arc::new)
        .ok_or_else(|| ServiceError::Definitions { diagnostics, sources: Box::new(sources) })
}

/// A playbook may name a parameter alone; a script, which is read without the playbook, may not.
fn explain_bare_name(problem: &mut Diagnostic, sources: &Sources) {
    let Some(span) = problem.span.filter(|_| problem.code == Code::UNKNOWN_NAME) else { return };
    let text = &sources.get(span.source).text;
    let word = text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !word.is_empty() && word.chars().all(is_name) {
        let help = format!("a script names a parameter in full: `{{{{params.{word}}}}}`");
        problem.help = Some(help);
    }
}

fn broken(diagnostics: Vec<Diagnostic>, catalog: &Catalog) -> ServiceError {
    let diagnostics = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    ServiceError::Definitions { diagnostics, sources: Box::new(catalog.sources.clone()) }
}

/// The problems that keep a definition from running: its own, and everything that is not supported yet.
pub(super) fn refusals(playbook: &Playbook, catalog: &Catalog) -> Result<(), ServiceError> {
    let own = playbook.not_yet.iter();
    let steps =
        playbook.steps.iter().chain(&playbook.finally).flat_map(|step| &step.details().not_yet);
    let refused: Vec<Diagnostic> = own
        .chain(steps)
        .chain(&catalog.settings.not_yet)
        .map(|not_yet| {
            let what = &not_yet.what;
            Diagnostic::error(Code::NOT_IMPLEMENTED, not_yet.span, format!("`{what}` is not supported yet, and a run without it would not be what was asked for"))
                .help(format!("take `{what}` out to run the rest"))
        })
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(ServiceError::Definitions {
        diagnostics: refused,
        sources: Box::new(catalog.sources.clone()),
    })
}
