use super::runs::{ProjectContext, read_task_files};
use super::{ResourceKind, ServiceError};
use crate::definition::{Catalog, FileRole, InputFile, Playbook, Step, StepKind, load};
use crate::diagnostic::{Diagnostic, Sources};
use crate::plan::Plan;
use crate::project;
use crate::value::DefinitionId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A project with everything that it defines, and every problem of that.
#[derive(Debug, Clone)]
pub struct Project {
    /// Where its runs take place.
    pub context: ProjectContext,
    /// Every definition file, and the ones that were named.
    pub files: Vec<InputFile>,
    /// What is clean of them.
    pub catalog: Catalog,
    /// What is wrong with the others, and what is worth knowing.
    pub diagnostics: Vec<Diagnostic>,
    home: project::Project,
    plans: Arc<Mutex<BTreeMap<DefinitionId, Built>>>,
}

/// A plan, where there is one, with everything that making it has found.
pub(super) type Built = (Option<Arc<Plan>>, Vec<Diagnostic>);

/// A file with errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFile {
    /// As people know it.
    pub path: String,
    /// How many.
    pub errors: usize,
}

/// The project of the present folder.
pub fn here() -> Result<Project, ServiceError> {
    home().map(Project::load)
}

/// Where the runs of the present folder's project take place. Reads no definition: a run that goes on
/// has frozen its own.
pub fn context_here() -> Result<ProjectContext, ServiceError> {
    home().map(|home| context_of(&home))
}

fn home() -> Result<project::Project, ServiceError> {
    let folder = present_folder()?;
    project::Project::find(&folder).ok_or(ServiceError::NoProject { from: folder })
}

fn context_of(home: &project::Project) -> ProjectContext {
    let variables = std::env::vars_os();
    ProjectContext {
        root: home.root().to_owned(),
        state_dir: home.state_dir(),
        env: variables
            .filter_map(|(k, v)| k.into_string().ok().zip(v.into_string().ok()))
            .collect(),
    }
}

/// The project of the present folder with the file that is named, if one is; where there is no project,
/// that file alone.
pub fn here_or_bare(name: &str) -> Result<Project, ServiceError> {
    let folder = present_folder()?;
    match project::Project::find(&folder) {
        Some(home) => Project::load(home).with_named(&[name]),
        None if is_file(name) => Project::bare(project::Project::at(&folder)).with_named(&[name]),
        None => Err(ServiceError::NoProject { from: folder }),
    }
}

fn present_folder() -> Result<std::path::PathBuf, ServiceError> {
    use crate::value::Failure;
    std::env::current_dir().map_err(|error| {
        let code = crate::diagnostic::Code::PATH_UNUSABLE.as_str();
        let message = format!("the present folder cannot be found: {error}");
        ServiceError::environment(Failure::new(code, message))
    })
}

/// Whether a name is meant as a path: it names a file, and has a form that no id has.
fn is_file(name: &str) -> bool {
    name.contains(['/', '.']) && Path::new(name).is_file()
}

impl Project {
    /// Reads and checks everything that a folder with `.kb/` defines.
    pub fn load(home: project::Project) -> Project {
        let (files, unreadable) = home.definition_files();
        Project::from_files(home, files, unreadable)
    }

    /// A folder without `.kb/`; only files that are named belong to it.
    fn bare(home: project::Project) -> Project {
        Project::from_files(home, Vec::new(), Vec::new())
    }

    fn from_files(
        home: project::Project,
        files: Vec<InputFile>,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Project {
        let (catalog, problems) = load(files.clone());
        diagnostics.extend(problems);
        let context = context_of(&home);
        Project { context, files, catalog, diagnostics, home, plans: Arc::default() }
    }

    /// The same, with the files among these names taken in where they are not yet.
    pub fn with_named(&self, names: &[&str]) -> Result<Project, ServiceError> {
        let mut files = self.files.clone();
        let mut unreadable = Vec::new();
        for name in names.iter().filter(|name| is_file(name)) {
            let path = self.home.relative(Path::new(name));
            if files.iter().any(|file| file.path == path) {
                continue;
            }
            match self.home.read_file(Path::new(name)) {
                Ok(file) => files.push(file),
                Err(problem) => unreadable.push(*problem),
            }
        }
        if files.len() == self.files.len() && unreadable.is_empty() {
            return Ok(self.clone());
        }
        let (_, own) = self.home.definition_files();
        unreadable.extend(own);
        Ok(Project::from_files(self.home.clone(), files, unreadable))
    }

    /// The texts that diagnostics point into.
    pub fn sources(&self) -> &Sources {
        &self.catalog.sources
    }

    /// The id that a name (an id or a path) has, whether or not its definition is clean.
    pub fn definition_id(&self, name: &str) -> Result<DefinitionId, ServiceError> {
        self.playbook(name).map(|playbook| playbook.id.clone())
    }

    /// The clean definition that a name (an id or a path) names.
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
            let is_there = |path: &String| self.files.iter().any(|file| file.path == *path);
            let kind = match path.filter(|path| !is_there(path)) {
                Some(_) => ResourceKind::File,
                None => ResourceKind::Playbook,
            };
            ServiceError::unknown(kind, name, all.keys().map(ToString::to_string))
        }))
    }

    /// Whether a definition has steps for specialists; false where there is none.
    pub fn asks_models(&self, name: &str) -> bool {
        let is_asking = |step: &Arc<Step>| matches!(step.kind, StepKind::Specialist { .. });
        self.playbook(name).is_ok_and(|p| p.steps.iter().chain(&p.finally).any(is_asking))
    }

    /// The plan of a definition; every problem of it where there is none.
    pub fn plan(&self, name: &str) -> Result<Arc<Plan>, ServiceError> {
        let playbook = self.playbook(name)?;
        let (plan, problems) = self.built(&playbook);
        plan.ok_or_else(|| {
            let reached = self.catalog.files_of(&playbook);
            let paths: Vec<&str> = reached.iter().map(String::as_str).collect();
            let own = self.diagnostics_of(&paths).into_iter().chain(problems);
            self.refused(own.collect())
        })
    }

    /// Makes the plan of one of the project's definitions, once: to warn of it and to run it.
    pub(super) fn built(&self, playbook: &Arc<Playbook>) -> Built {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let build = || {
            let (plan, problems) = Plan::build(playbook, &self.catalog);
            (plan.map(Arc::new), problems)
        };
        plans.entry(playbook.id.clone()).or_insert_with(build).clone()
    }

    /// The plan of a definition that has everything that it needs to run.
    pub fn runnable_plan(&self, name: &str) -> Result<Arc<Plan>, ServiceError> {
        let plan = self.plan(name)?;
        match read_task_files(plan.playbook(), &self.context.root) {
            Ok(_) => Ok(plan),
            Err(missing) => Err(self.refused(missing)),
        }
    }

    /// What is wrong with the file that a name names, where that is why it names no definition.
    pub fn broken(&self, name: &str) -> Option<ServiceError> {
        let path = self.path_of(name);
        let mut own = self.diagnostics_of(&self.meant_by(name, path.as_deref()));
        // A file that cannot even be read has no text to point into.
        if let Some(shown) = path.as_ref().map(|path| format!("`{path}`")) {
            let placeless = self.diagnostics.iter().filter(|d| d.span.is_none());
            own.extend(placeless.filter(|d| d.message.contains(&shown)).cloned());
        }
        own.iter().any(Diagnostic::is_error).then(|| self.refused(own))
    }

    /// The files of unusable definitions that a name can mean: an id that they give themselves, a
    /// path, or the name of a file. Files that share an id belong together.
    fn meant_by(&self, name: &str, path: Option<&str>) -> Vec<&str> {
        let refused = &self.catalog.refused;
        let ids = || refused.playbooks.iter().chain(&refused.specialists);
        let mut meant: BTreeSet<&str> = ids()
            .filter(|(id, _)| *id == name)
            .flat_map(|(_, files)| files)
            .map(|f| &**f)
            .collect();
        if meant.is_empty() {
            let is_named = |shown: &&str| {
                let stem = Path::new(shown).file_stem().and_then(|stem| stem.to_str());
                let folder = Path::new(shown).parent().and_then(Path::file_name);
                path == Some(*shown)
                    || stem == Some(name)
                    || (stem == Some("specialist") && folder.is_some_and(|folder| folder == name))
            };
            meant = self.files.iter().map(|file| file.path.as_str()).filter(is_named).collect();
            let own = meant.clone();
            let shared = ids().filter(|(_, files)| files.iter().any(|file| own.contains(&**file)));
            meant.extend(shared.flat_map(|(_, files)| files).map(String::as_str));
        }
        meant.into_iter().collect()
    }

    /// Settings with errors refuse everything that would run under them: what they forbid or require
    /// must not be dropped in silence.
    pub(super) fn sound_settings(&self) -> Result<(), ServiceError> {
        let mut own = self.diagnostics_of(&self.settings_paths());
        let unread = |d: &&Diagnostic| d.span.is_none() && d.message.contains("kb.config.");
        own.extend(self.diagnostics.iter().filter(unread).cloned());
        own.retain(Diagnostic::is_error);
        if own.is_empty() { Ok(()) } else { Err(self.refused(own)) }
    }

    /// The settings files of the project.
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

    /// Files with errors, by path.
    pub fn broken_files(&self) -> Vec<BrokenFile> {
        let mut broken: Vec<BrokenFile> = Vec::new();
        for problem in self.diagnostics.iter().filter(|d| d.is_error()) {
            let Some(span) = problem.span else { continue };
            let path = &*self.sources().get(span.source).path;
            match broken.iter_mut().find(|file| file.path == path) {
                Some(file) => file.errors += 1,
                None => broken.push(BrokenFile { path: path.to_owned(), errors: 1 }),
            }
        }
        broken
    }

    fn refused(&self, diagnostics: Vec<Diagnostic>) -> ServiceError {
        let sources = Box::new(self.sources().clone());
        ServiceError::Definitions { diagnostics, sources }
    }

    /// A name as a path of this project, where it is meant as one.
    fn path_of(&self, name: &str) -> Option<String> {
        let known = self.files.iter().any(|file| file.path == name);
        match known {
            true => Some(name.to_owned()),
            false => name.contains(['/', '.']).then(|| self.home.relative(Path::new(name))),
        }
    }
}
