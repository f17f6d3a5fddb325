//! What a run was started with: definitions, parameters, models and limits, as the journal stores
//! them. A resumed run loads its definitions from here and not from disk.

use super::{BaseRun, InspectError};
use crate::journal::Journal;
use kb_attempt::read_regular;
use kb_base::diagnostic::{Code, Diagnostic, Sources};
use kb_base::value::{DefinitionId, Json, JsonMap, RunId, RunLimits, StepId, limits};
use kb_core::run::Rules;
use kb_language::definition::{
    Catalog, FileRole, InputFile, Script, Undecided, load_script, load_with,
};
use kb_language::plan::{Facts, Plan};
use kb_language::toolspec::{ToolCatalog, ToolSpec};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Everything that stays the same for the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frozen {
    /// Version of this record's form; see [`Frozen::VERSION`].
    pub version: u32,
    /// Id of the playbook or workflow that runs.
    pub definition: DefinitionId,
    /// The definition files that the plan uses: its own, its specialists', those of its children, and
    /// the settings.
    pub files: Vec<FrozenFile>,
    /// Texts of `taskFile`s, by path.
    #[serde(default)]
    pub task_files: JsonMap,
    /// Parameter values; secrets are stored as references.
    pub params: JsonMap,
    /// The script that replaces the model, if the run has one.
    #[serde(default)]
    pub script: Option<FrozenFile>,
    /// Model of each tier, without keys.
    #[serde(default)]
    pub tiers: Json,
    /// Value of `--model`.
    #[serde(default)]
    pub model: Option<String>,
    /// Whether `--yes` was given.
    #[serde(default)]
    pub yes: bool,
    /// Limits of the command line.
    #[serde(flatten)]
    pub limits: RunLimits,
    /// Maximum number of step instances that run at the same time.
    pub max_parallel: u32,
    /// Whether that is the number of processors, because no limit is set.
    #[serde(default)]
    pub limited_by_processors: bool,
    /// Texts of the ignore files of the project when the run started, by path. Absent if nothing of
    /// the run is compared with the files of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_files: Option<BTreeMap<String, String>>,
    /// The earlier run whose results it keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseRun>,
    /// Steps that do not run, on request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<StepId>,
    /// How its steps use stored results.
    #[serde(default, skip_serializing_if = "CacheUse::is_default")]
    pub cache: CacheUse,
    /// The tools that servers declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The run that executes this one as a child run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRun>,
    /// What was known of its files and values before it started.
    #[serde(flatten)]
    pub facts: Facts,
}

/// How the steps of a run with `cache` use stored results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// Whether no stored result is taken and none is stored (`--no-cache`).
    #[serde(default)]
    pub off: bool,
    /// Steps that do their work and store its result (`--refresh`).
    #[serde(default)]
    pub refresh: BTreeSet<String>,
}

impl CacheUse {
    fn is_default(&self) -> bool {
        *self == CacheUse::default()
    }
}

/// One stored text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenFile {
    /// Path relative to the project root.
    pub path: String,
    /// What it contains.
    pub role: FrozenRole,
    /// The content of the file when the run started.
    pub text: String,
}

/// The run and the step that execute a child run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParentRun {
    /// The run whose results are kept.
    pub run: RunId,
    /// Key of the step instance.
    pub instance: String,
}

/// The kind of a frozen file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FrozenRole {
    /// A playbook file.
    Playbook,
    /// A workflow: markdown with front matter.
    Workflow,
    /// A specialist file.
    Specialist,
    /// A markdown file with front matter that loads as a specialist.
    AgentProfile,
    /// A plugin file (`kb.plugin/1`).
    Plugin,
    /// The lock file of MCP servers (`kb.mcp-lock/1`).
    McpLock,
    /// The settings of the project.
    Settings,
    /// A script, which is no definition.
    Script,
}

impl From<FileRole> for FrozenRole {
    fn from(role: FileRole) -> FrozenRole {
        match role {
            FileRole::Playbook => FrozenRole::Playbook,
            FileRole::Workflow => FrozenRole::Workflow,
            FileRole::Specialist => FrozenRole::Specialist,
            FileRole::AgentProfile => FrozenRole::AgentProfile,
            FileRole::Plugin => FrozenRole::Plugin,
            FileRole::Script => FrozenRole::Script,
            FileRole::McpLock => FrozenRole::McpLock,
            FileRole::Settings => FrozenRole::Settings,
        }
    }
}

impl FrozenRole {
    /// The kind of definition; `None` for a script.
    fn definition(self) -> Option<FileRole> {
        Some(match self {
            FrozenRole::Playbook => FileRole::Playbook,
            FrozenRole::Workflow => FileRole::Workflow,
            FrozenRole::Specialist => FileRole::Specialist,
            FrozenRole::AgentProfile => FileRole::AgentProfile,
            FrozenRole::Plugin => FileRole::Plugin,
            FrozenRole::McpLock => FileRole::McpLock,
            FrozenRole::Settings => FileRole::Settings,
            FrozenRole::Script => return None,
        })
    }
}

impl FrozenFile {
    fn of(file: &InputFile) -> Self {
        let text = String::from_utf8_lossy(&file.bytes).into_owned();
        FrozenFile { path: file.path.clone(), role: file.role.into(), text }
    }

    fn input(&self) -> Option<InputFile> {
        let (path, bytes) = (self.path.clone(), self.text.as_bytes().into());
        Some(InputFile { path, bytes, role: self.role.definition()? })
    }
}

impl Frozen {
    /// The form that this version writes.
    pub const VERSION: u32 = 1;

    /// Reads the record of a run.
    pub fn of_run(journal: &dyn Journal, run: &RunId) -> Result<Frozen, InspectError> {
        serde_json::from_value(journal.frozen(run)?).map_err(|error| {
            InspectError::UnreadableDefinitions { run: run.clone(), reason: error.to_string() }
        })
    }

    /// The files of a project that a plan uses: its own, its specialists', those of its children, and
    /// the settings.
    pub fn files_of(plan: &Plan, files: &[InputFile]) -> Vec<FrozenFile> {
        let paths = plan.files();
        let is_used = |file: &&InputFile| {
            file.role == FileRole::Settings || paths.contains(file.path.as_str())
        };
        files.iter().filter(is_used).map(FrozenFile::of).collect()
    }

    /// The options of the run for the engine.
    pub fn rules(&self, undecided: Undecided) -> Rules {
        Rules {
            max_parallel: self.max_parallel.max(1),
            limited_by_processors: self.limited_by_processors,
            undecided,
            // A parent run ends its child runs at its own limits.
            limits: if self.parent.is_some() { RunLimits::default() } else { self.limits },
            is_child: self.parent.is_some(),
        }
    }

    /// The record of a child run of this run. It has the same texts, models and limits.
    pub fn child(&self, plan: &Plan, params: JsonMap, parent: ParentRun) -> Frozen {
        let paths = plan.files();
        let is_used = |file: &&FrozenFile| {
            file.role == FrozenRole::Settings || paths.contains(file.path.as_str())
        };
        let own = plan.playbook().limits.max_parallel;
        Frozen {
            definition: plan.playbook().id.clone(),
            files: self.files.iter().filter(is_used).cloned().collect(),
            params,
            max_parallel: own.map_or(self.max_parallel, |own| own.min(self.max_parallel)),
            limited_by_processors: self.limited_by_processors && own.is_none(),
            parent: Some(parent),
            base: None,
            skip: Vec::new(),
            ..self.clone()
        }
    }

    /// Paths of the stored files whose text on disk is different now. Files that cannot be read are
    /// left out.
    pub fn changed_since(&self, root: &Path) -> Vec<String> {
        let differs = |file: &&FrozenFile| {
            let now = read_regular(&root.join(&file.path), limits::DEFINITION_BYTES);
            match now {
                Ok(now) => String::from_utf8_lossy(&now) != file.text.as_str(),
                Err(error) => error.kind() == std::io::ErrorKind::FileTooLarge,
            }
        };
        self.files.iter().filter(differs).map(|file| file.path.clone()).collect()
    }

    /// The stored definition files.
    pub fn inputs(&self) -> Vec<InputFile> {
        self.files.iter().filter_map(FrozenFile::input).collect()
    }

    /// The tools that its definitions can name, besides its plugins.
    pub fn catalog(&self) -> ToolCatalog {
        ToolCatalog::default().with(self.tools.iter().cloned().map(Arc::new))
    }

    /// The form that the journal stores.
    pub fn json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Loads the stored definitions and builds the plan from them.
    pub fn load(&self) -> Result<(Catalog, Arc<Plan>), InspectError> {
        let (catalog, mut diagnostics) = load_with(self.inputs(), self.catalog());
        let found = catalog.playbooks.get(self.definition.as_str()).cloned();
        let Some(playbook) = found else { return Err(errors_of(diagnostics, &catalog)) };
        let (plan, problems) = Plan::build(&playbook, &catalog);
        diagnostics.extend(problems);
        match plan {
            Some(plan) => Ok((catalog, Arc::new(plan))),
            None => Err(errors_of(diagnostics, &catalog)),
        }
    }

    /// Loads the stored script, if the run has one.
    pub fn load_script(&self) -> Result<Option<Arc<Script>>, InspectError> {
        let Some(file) = &self.script else { return Ok(None) };
        load_model_script(&file.path, file.text.as_bytes()).map(Some)
    }
}

/// The parameter values of a run; secrets are references.
pub fn run_params(journal: &dyn Journal, run: &RunId) -> Result<JsonMap, InspectError> {
    Ok(Frozen::of_run(journal, run)?.params)
}

/// Loads a script of model responses.
pub fn load_model_script(path: &str, bytes: &[u8]) -> Result<Arc<Script>, InspectError> {
    let (script, sources, mut diagnostics) = load_script(path, bytes);
    diagnostics.iter_mut().for_each(|problem| explain_bare_name(problem, &sources));
    script
        .map(Arc::new)
        .ok_or_else(|| InspectError::Definitions { diagnostics, sources: Box::new(sources) })
}

/// A playbook may refer to a parameter by its name alone. A script may not, because it is loaded
/// without the playbook; the help says how to write the reference.
fn explain_bare_name(problem: &mut Diagnostic, sources: &Sources) {
    let Some(span) = problem.span.filter(|_| problem.code == Code::UNKNOWN_NAME) else { return };
    let text = &sources.get(span.source).text;
    let name = text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty() && name.chars().all(is_name) {
        let help = format!("in a script, write the full reference: `{{{{params.{name}}}}}`");
        problem.help = Some(help);
    }
}

fn errors_of(diagnostics: Vec<Diagnostic>, catalog: &Catalog) -> InspectError {
    let diagnostics = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    InspectError::Definitions { diagnostics, sources: Box::new(catalog.sources.clone()) }
}
