//! A loaded project: its definitions, their problems and their plans.

use super::runs::{ProjectContext, read_task_files};
use super::{Environment, ResourceKind, ServiceError};
use crate::project::{FileProblem, NoFolder, ProjectFolder};
use kb_base::diagnostic::{Code, Diagnostic, Sources};
use kb_base::value::DefinitionId;
use kb_clock::Clock;
use kb_language::definition::{
    Catalog, FileBytes, FileRole, InputFile, Playbook, Step, link_triggers, load_with,
};
use kb_language::plan::Plan;
use kb_process::Supervisor;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The definitions of a project with all problems found in them.
#[derive(Debug, Clone)]
pub struct Project {
    /// The folders and environment of its runs.
    pub context: ProjectContext,
    /// Every definition file, and the files that were named explicitly.
    pub files: Vec<InputFile>,
    /// The definitions without errors.
    pub catalog: Catalog,
    /// Problems of the other definitions, and warnings.
    pub diagnostics: Vec<Diagnostic>,
    folder: ProjectFolder,
    /// Files that could not be read.
    unreadable: Vec<FileProblem>,
    plans: Arc<Mutex<BTreeMap<DefinitionId, PlanResult>>>,
}

/// A plan, unless it has errors, and all problems found while building it.
pub(super) type PlanResult = (Option<Arc<Plan>>, Vec<Diagnostic>);

/// A definition file with errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFile {
    /// Path relative to the project root.
    pub path: String,
    /// What the file defines.
    pub role: Option<FileRole>,
    /// Number of errors.
    pub errors: usize,
    /// Code and message of the first error.
    pub first: (&'static str, String),
}

impl Project {
    /// The supervisor for the processes of the project.
    pub(super) fn supervisor(&self) -> Supervisor {
        self.context.supervisor(&self.catalog.settings)
    }

    /// The project for a person who acts through this process.
    #[must_use]
    pub fn acting_as(&self, person: &str) -> Project {
        let mut own = self.clone();
        own.context.environment.person = Some(person.to_owned());
        own
    }

    /// The project that contains the working directory.
    pub fn find(environment: &Environment) -> Result<Project, ServiceError> {
        let found = ProjectFolder::find(&environment.cwd, &environment.state_base());
        let folder = found.map_err(|error| ServiceError::no_project(&environment.cwd, error))?;
        Ok(Project::load(folder, environment))
    }

    /// The project that contains the working directory. If `name` is a file: the project that contains
    /// that file, with the file; its folder if there is none.
    pub fn find_or_file(environment: &Environment, name: &str) -> Result<Project, ServiceError> {
        if !is_file(environment, name) {
            return Project::find(environment);
        }
        let path = environment.absolute(Path::new(name));
        let own = path.parent().unwrap_or(&environment.cwd);
        let project = match ProjectFolder::find(own, &environment.state_base()) {
            Ok(folder) => Project::load(folder, environment),
            Err(NoFolder::Missing) => {
                Project::of_files(ProjectFolder::at(own), environment, Vec::new())
            }
            Err(error) => return Err(ServiceError::no_project(own, error)),
        };
        project.with_named(&[name])
    }

    /// Reads and checks all definitions of a project folder.
    pub fn load(folder: ProjectFolder, environment: &Environment) -> Project {
        let (files, unreadable) = folder.definition_files();
        let context = ProjectContext::of(&folder, environment);
        Project::new(context, folder, files, unreadable)
    }

    /// The project that contains the working directory, with these texts in place of those of the files
    /// with these absolute paths. Without a project, the files alone.
    pub fn with_open_files(environment: &Environment, open: &[(PathBuf, String)]) -> Project {
        let found = ProjectFolder::find(&environment.cwd, &environment.state_base());
        let (mut files, unreadable) = match &found {
            // The files of a user who is not trusted are not read.
            Err(NoFolder::OfOthers { .. }) => (Vec::new(), Vec::new()),
            Ok(folder) => folder.definition_files(),
            Err(NoFolder::Missing) => ProjectFolder::at(&environment.cwd).definition_files(),
        };
        let folder = found.unwrap_or_else(|_| ProjectFolder::at(&environment.cwd));
        for (path, text) in open {
            let shown = folder.relative(path);
            let bytes = FileBytes::from(text.as_bytes());
            match files.iter_mut().find(|file| file.path == shown) {
                Some(file) => file.bytes = bytes,
                None => {
                    let path = Path::new(&shown);
                    if crate::project::role_of(path).is_some() {
                        let role = crate::project::sniffed_role(path, &bytes);
                        files.push(InputFile { path: shown, bytes, role });
                    }
                }
            }
        }
        let context = ProjectContext::of(&folder, environment);
        Project::new(context, folder, files, unreadable)
    }

    /// The clock of the environment.
    pub fn clock(&self) -> &Clock {
        self.context.clock()
    }

    /// A path as diagnostics show it: relative to the project if it is inside.
    pub fn relative(&self, path: &Path) -> String {
        self.folder.relative(path)
    }

    /// A project with exactly these files.
    pub fn of_files(
        folder: ProjectFolder,
        environment: &Environment,
        files: Vec<InputFile>,
    ) -> Project {
        Project::new(ProjectContext::of(&folder, environment), folder, files, Vec::new())
    }

    fn new(
        context: ProjectContext,
        folder: ProjectFolder,
        files: Vec<InputFile>,
        unreadable: Vec<FileProblem>,
    ) -> Project {
        let tools = context.environment.catalog();
        let (mut catalog, problems) = load_with(files.clone(), tools);
        let links = link_triggers(&mut catalog);
        let context = context.opening(&catalog.opened());
        let mut diagnostics: Vec<Diagnostic> =
            unreadable.iter().map(|problem| problem.diagnostic.clone()).collect();
        diagnostics.extend(problems);
        diagnostics.extend(links);
        let drafts = catalog.drafts.iter();
        diagnostics.extend(drafts.flat_map(|draft| Plan::errors_of_draft(draft, &catalog)));
        let plans = Arc::default();
        Project { context, files, catalog, diagnostics, folder, unreadable, plans }
    }

    /// The same project, with the files among these names added.
    pub fn with_named(&self, names: &[&str]) -> Result<Project, ServiceError> {
        let environment = &self.context.environment;
        let mut added = Vec::new();
        let mut unreadable = Vec::new();
        for name in names.iter().filter(|name| is_file(environment, name)) {
            let path = environment.absolute(Path::new(name));
            let shown = self.folder.relative(&path);
            if self.files.iter().chain(&added).any(|file| file.path == shown) {
                continue;
            }
            match self.folder.read_file(&path) {
                Ok(file) => added.push(file),
                Err(problem) => {
                    unreadable.push(FileProblem { path: shown, diagnostic: *problem });
                }
            }
        }
        if added.is_empty() && unreadable.is_empty() {
            return Ok(self.clone());
        }
        Ok(self.with_files(added, unreadable))
    }

    /// The same project with these files, which take the place of those with the same path or id.
    pub(super) fn with_files(&self, added: Vec<InputFile>, problems: Vec<FileProblem>) -> Project {
        let unreadable: Vec<FileProblem> =
            problems.into_iter().chain(self.unreadable.iter().cloned()).collect();
        let named: Vec<String> = added.iter().map(|file| file.path.clone()).collect();
        let others = self.files.iter().filter(|file| !named.contains(&file.path)).cloned();
        let mut files: Vec<InputFile> = others.chain(added).collect();
        loop {
            let (context, folder) = (self.context.clone(), self.folder.clone());
            let project = Project::new(context, folder, files.clone(), unreadable.clone());
            let other = project.diagnostics.iter().find_map(|d| project.replaced(d, &named));
            let Some(other) = other else { return project };
            files.retain(|file| file.path != other);
        }
    }

    /// The file whose id a named file has: the named one takes its place.
    fn replaced(&self, diagnostic: &Diagnostic, named: &[String]) -> Option<String> {
        if diagnostic.code != Code::DUPLICATE_DEFINITION {
            return None;
        }
        let spans = diagnostic.span.into_iter().chain(diagnostic.labels.iter().map(|l| l.span));
        let paths = spans.map(|span| self.sources().get(span.source).path.to_string());
        let (own, mut others): (Vec<String>, Vec<String>) = paths.partition(|p| named.contains(p));
        let other = others.pop();
        other.filter(|_| !own.is_empty())
    }

    /// The texts that diagnostics point into.
    pub fn sources(&self) -> &Sources {
        &self.catalog.sources
    }

    /// The id of the definition with this id or path.
    pub fn definition_id(&self, name: &str) -> Result<DefinitionId, ServiceError> {
        self.playbook(name).map(|playbook| playbook.id.clone())
    }

    /// The playbook or workflow with this id or path.
    pub fn playbook(&self, name: &str) -> Result<Arc<Playbook>, ServiceError> {
        let all = &self.catalog.playbooks;
        if let Some(playbook) = all.get(name) {
            return Ok(playbook.clone());
        }
        let path = self.path_of(name);
        if let Some(playbook) = all.values().find(|p| Some(&p.path) == path.as_ref()) {
            return Ok(playbook.clone());
        }
        Err(self.broken(name).unwrap_or_else(|| {
            let exists = |path: &String| self.files.iter().any(|file| file.path == *path);
            let kind = match path.filter(|path| !exists(path)) {
                Some(_) => ResourceKind::File,
                None => ResourceKind::Playbook,
            };
            ServiceError::unknown(kind, name, all.keys().map(ToString::to_string))
        }))
    }

    /// Whether a definition or one of its child runs has specialist steps; false if there is no such definition.
    pub fn uses_models(&self, name: &str) -> bool {
        let uses_model = |step: &Arc<Step>| step.kind.is_specialist();
        self.playbook(name).is_ok_and(|playbook| {
            let all = self.catalog.with_children(&playbook);
            all.into_iter().any(|p| p.steps.iter().chain(&p.finally).any(uses_model))
        })
    }

    /// The plan of a definition, or all its problems.
    pub fn plan(&self, name: &str) -> Result<Arc<Plan>, ServiceError> {
        let playbook = self.playbook(name)?;
        let (plan, problems) = self.plan_of(&playbook);
        plan.ok_or_else(|| {
            let reached = self.catalog.files_of(&playbook);
            let paths: Vec<&str> = reached.iter().map(String::as_str).collect();
            let own = self.diagnostics_of(&paths).into_iter().chain(problems);
            self.refused(own.collect())
        })
    }

    /// The plan of a definition; it is built once for all uses.
    pub(super) fn plan_of(&self, playbook: &Arc<Playbook>) -> PlanResult {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let build = || {
            let (plan, problems) = Plan::build(playbook, &self.catalog);
            (plan.map(Arc::new), problems)
        };
        plans.entry(playbook.id.clone()).or_insert_with(build).clone()
    }

    /// The plan of a definition whose task files exist too.
    pub fn runnable_plan(&self, name: &str) -> Result<Arc<Plan>, ServiceError> {
        let plan = self.plan(name)?;
        match read_task_files(plan.playbook(), &self.context.root) {
            Ok(_) => Ok(plan),
            Err(missing) => Err(self.refused(missing)),
        }
    }

    /// The problems of the file that a name means, if they are why no definition has this name.
    pub fn broken(&self, name: &str) -> Option<ServiceError> {
        let path = self.path_of(name);
        let mut own = self.diagnostics_of(&self.files_named(name, path.as_deref()));
        let unreadable =
            self.unreadable.iter().filter(|problem| Some(&problem.path) == path.as_ref());
        own.extend(unreadable.map(|problem| problem.diagnostic.clone()));
        own.iter().any(Diagnostic::is_error).then(|| self.refused(own))
    }

    /// The files of invalid definitions that a name can mean: an id in the file, a path, or a file
    /// name. Files with the same id belong together.
    fn files_named(&self, name: &str, path: Option<&str>) -> Vec<&str> {
        let refused = &self.catalog.refused;
        let ids = || refused.playbooks.iter().chain(&refused.specialists).chain(&refused.plugins);
        let mut named: BTreeSet<&str> = ids()
            .filter(|(id, _)| *id == name)
            .flat_map(|(_, files)| files)
            .map(|f| &**f)
            .collect();
        if named.is_empty() {
            let has_name = |shown: &&str| {
                let stem = Path::new(shown).file_stem().and_then(|stem| stem.to_str());
                let folder = Path::new(shown).parent().and_then(Path::file_name);
                path == Some(*shown)
                    || stem == Some(name)
                    || (stem == Some("specialist") && folder.is_some_and(|folder| folder == name))
            };
            named = self.files.iter().map(|file| file.path.as_str()).filter(has_name).collect();
            let own = named.clone();
            let shared = ids().filter(|(_, files)| files.iter().any(|file| own.contains(&**file)));
            named.extend(shared.flat_map(|(_, files)| files).map(String::as_str));
        }
        named.into_iter().collect()
    }

    /// Fails if the settings have errors. Nothing may run under settings whose restrictions could
    /// not be read.
    pub fn require_valid_settings(&self) -> Result<(), ServiceError> {
        let mut own = self.diagnostics_of(&self.settings_paths());
        let is_settings = |problem: &&FileProblem| {
            crate::project::role_of(Path::new(&problem.path)) == Some(FileRole::Settings)
        };
        let unreadable = self.unreadable.iter().filter(is_settings);
        own.extend(unreadable.map(|problem| problem.diagnostic.clone()));
        own.retain(Diagnostic::is_error);
        if own.is_empty() { Ok(()) } else { Err(self.refused(own)) }
    }

    /// Paths of the settings files.
    pub(super) fn settings_paths(&self) -> Vec<&str> {
        let settings = self.files.iter().filter(|file| file.role == FileRole::Settings);
        settings.map(|file| file.path.as_str()).collect()
    }

    /// Problems that point into one of these files.
    pub fn diagnostics_of(&self, paths: &[&str]) -> Vec<Diagnostic> {
        let points = |d: &&Diagnostic| {
            d.span.is_some_and(|span| paths.contains(&&*self.sources().get(span.source).path))
        };
        self.diagnostics.iter().filter(points).cloned().collect()
    }

    /// Files with errors and files that cannot be read, by path.
    pub fn broken_files(&self) -> Vec<BrokenFile> {
        let placed = self.diagnostics.iter().filter_map(|problem| {
            let span = problem.span?;
            Some((&*self.sources().get(span.source).path, problem))
        });
        let unread = self.unreadable.iter().map(|problem| (&*problem.path, &problem.diagnostic));
        let mut broken: BTreeMap<&str, BrokenFile> = BTreeMap::new();
        for (path, problem) in placed.chain(unread).filter(|(_, problem)| problem.is_error()) {
            let file = broken.entry(path).or_insert_with(|| BrokenFile {
                path: path.to_owned(),
                role: self.role_of(path),
                errors: 0,
                first: (problem.code.as_str(), problem.message.clone()),
            });
            file.errors += 1;
        }
        broken.into_values().collect()
    }

    fn role_of(&self, path: &str) -> Option<FileRole> {
        let read = self.files.iter().find(|file| file.path == path).map(|file| file.role);
        read.or_else(|| crate::project::role_of(Path::new(path)))
    }

    fn refused(&self, diagnostics: Vec<Diagnostic>) -> ServiceError {
        let sources = Box::new(self.sources().clone());
        ServiceError::Definitions { diagnostics, sources }
    }

    /// The path of a file with this name, if it is a script.
    pub fn script_at(&self, name: &str) -> Option<String> {
        self.path_of(name).filter(|path| self.role_of(path) == Some(FileRole::Script))
    }

    /// A name as a path of this project, if it has the form of one.
    fn path_of(&self, name: &str) -> Option<String> {
        if self.files.iter().any(|file| file.path == name) {
            return Some(name.to_owned());
        }
        let path = self.context.environment.absolute(Path::new(name));
        name.contains(['/', '.']).then(|| self.folder.relative(&path))
    }
}

/// Whether a name is a path: it names a file and has a form that no id has.
fn is_file(environment: &Environment, name: &str) -> bool {
    name.contains(['/', '.']) && environment.absolute(Path::new(name)).is_file()
}
