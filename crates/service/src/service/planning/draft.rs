//! A plan as the text of a playbook.

use super::failed::{FailedPlan, HEAD};
use super::team::team;
use crate::service::runs::{Basis, Overrides, Prepared, begin, start_revised};
use crate::service::templates::{require_new, with_id};
use crate::service::writing::write_files;
use crate::service::{PlanView, Project, ServiceError, StartRequest, plan_view};
use kb_attempt::read_regular;
use kb_base::diagnostic::Code;
use kb_base::value::{DefinitionId, Failure, JsonMap, RunId, limits};
use kb_core::run::PlanRevision;
use kb_goal::{AFTER, Answer, Earlier, Goal, plan_id, revised};
use kb_host::llm::readable_yaml;
use kb_language::definition::{FileRole, InputFile};
use std::path::PathBuf;

/// A plan that loads: what a person sees is the text, and the run executes this text.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The sentence of the person.
    pub goal: String,
    /// Id of the playbook.
    pub id: String,
    /// The text of the playbook.
    pub text: String,
    /// Path of its file, which may not exist yet.
    pub path: String,
    /// The confidence of the planner, from 0 to 1.
    pub confidence: f64,
    /// Why it replaces steps of a plan whose run failed, if it does.
    pub revision: Option<PlanRevision>,
    /// The project with the playbook.
    project: Project,
}

impl Draft {
    /// The playbook of an answer, or what is wrong with it.
    pub(super) fn of(
        project: &Project,
        goal: &str,
        answer: &Answer,
    ) -> Result<Draft, ServiceError> {
        require_subtasks(answer)?;
        let team = team(project);
        let of = |id: &str| readable_yaml(&answer.playbook(Goal { text: goal, id, team: &team }));
        let id = plan_id(goal, &of("plan"));
        let text = format!("{HEAD}{}", of(&id));
        let path = path_of(&id);
        let about = About { goal, confidence: answer.least_confidence(), revision: None };
        Draft::load(project, about, path, text)
    }

    /// The playbook that replaces steps of a plan whose run failed, or what is wrong with it. `planner` is the run that
    /// gave the answer.
    pub(super) fn revising(
        project: &Project,
        failed: FailedPlan,
        planner: RunId,
        answer: &Answer,
    ) -> Result<Draft, ServiceError> {
        require_subtasks(answer)?;
        let team = team(project);
        let earlier = Earlier { playbook: &failed.playbook, finished: &failed.finished };
        let of = |id: &str| readable_yaml(&revised(earlier, answer, id, &team));
        let id = plan_id(&failed.goal, &of("plan"));
        let text = format!("{HEAD}{}", of(&id));
        let confidence = answer.least_confidence();
        let takes = failed.taken(answer.takes.as_ref())?;
        let revision = PlanRevision {
            number: failed.number,
            run: failed.run,
            planner,
            reason: answer.summary.clone(),
            confidence,
            takes,
            evidence: failed.evidence,
            kept: Vec::new(),
            removed: Vec::new(),
            added: Vec::new(),
        };
        let about = About { goal: &failed.goal, confidence, revision: Some(revision) };
        Draft::load(project, about, path_of(&id), text)
    }

    fn load(
        project: &Project,
        about: About<'_>,
        path: String,
        text: String,
    ) -> Result<Draft, ServiceError> {
        let About { goal, confidence, revision } = about;
        let bytes = text.as_bytes().into();
        let file = InputFile { path: path.clone(), bytes, role: FileRole::Playbook };
        let project = project.with_files(vec![file], Vec::new());
        let id = project.plan(&path)?.playbook().id.to_string();
        Ok(Draft { goal: goal.to_owned(), id, text, path, confidence, revision, project })
    }

    /// The plan with the text of a person in place of its own, or what is wrong with that text.
    pub fn edited(&self, text: String) -> Result<Draft, ServiceError> {
        // Another text has another id, so that the file of a plan never changes.
        let (renamed, id) = with_id(&text, &plan_id(&self.goal, &text));
        let text = if id.as_ref() == Some(&self.id) && text != self.text { renamed } else { text };
        let path = path_of(with_id(&text, "").1.as_deref().unwrap_or_default());
        Draft::load(&self.project, self.about(), path, text)
    }

    fn about(&self) -> About<'_> {
        let revision = self.revision.clone();
        About { goal: &self.goal, confidence: self.confidence, revision }
    }

    /// Whether a person must approve the plan, whatever the command says (`orchestrator.minConfidence`).
    pub fn is_unsure(&self) -> bool {
        self.confidence < self.project.catalog.settings.orchestrator.min_confidence.unwrap_or(0.5)
    }

    /// Whether a gate decides if the goal is reached.
    pub fn has_checks(&self) -> bool {
        let playbook = self.project.playbook(&self.id);
        playbook.is_ok_and(|playbook| playbook.steps.iter().any(|step| step.id.as_str() == AFTER))
    }

    /// The steps, the models and what they may cost.
    pub fn view(&self, overrides: &Overrides) -> Result<PlanView, ServiceError> {
        let (definition, overrides) = (self.id.clone(), overrides.clone());
        let request = StartRequest { definition, overrides, ..StartRequest::default() };
        plan_view(&self.project, &request, None)
    }

    /// The project with the playbook of the plan.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The same plan as a playbook of the project with this id, which must be new.
    pub fn named(&self, id: &str) -> Result<Draft, ServiceError> {
        require_free(&self.project, id)?;
        let (text, _) = with_id(&self.text, id);
        let path = format!(".kb/playbooks/{id}.yml");
        Draft::load(&self.project, self.about(), path, text)
    }

    /// Writes the file of the plan. One that exists has this text, else it is an error.
    pub fn save(&self) -> Result<(), ServiceError> {
        let root = &self.project.context.root;
        let written = write_files(root, &[(&self.path, &self.text)])?;
        let is_there = || read_regular(&root.join(&self.path), limits::DEFINITION_BYTES);
        if written.kept.is_empty() || is_there().is_ok_and(|text| text == self.text.as_bytes()) {
            return Ok(());
        }
        let failure = Failure::new(Code::FILE_EXISTS, format!("`{}` exists already", self.path));
        Err(ServiceError::refused(failure.help("choose another id, or remove the file")))
    }

    /// Begins the run of exactly this text, with this id if there is one, and writes the text to its file.
    pub async fn begin(
        self,
        script: Option<PathBuf>,
        overrides: Overrides,
        run: Option<RunId>,
    ) -> Result<Prepared, ServiceError> {
        self.save()?;
        let Draft { id, project, revision, .. } = self;
        let definition = project.definition_id(&id)?;
        let request = StartRequest { script, overrides, run, ..StartRequest::default() };
        match revision {
            Some(revision) => start_revised(project, &definition, request, revision).await,
            None => begin(project, definition, JsonMap::new(), request, Basis::default()).await,
        }
    }
}

/// What is known of a plan besides its text.
struct About<'a> {
    goal: &'a str,
    confidence: f64,
    revision: Option<PlanRevision>,
}

fn require_subtasks(answer: &Answer) -> Result<(), ServiceError> {
    if !answer.subtasks.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(Code::PLAN_UNUSABLE, "the plan has no subtasks");
    Err(ServiceError::refused(failure))
}

/// Fails unless a playbook can be saved with this id.
pub fn require_free(project: &Project, id: &str) -> Result<(), ServiceError> {
    DefinitionId::new(id).map_err(|error| {
        ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, error.to_string()))
    })?;
    require_new(project, id)
}

fn path_of(id: &str) -> String {
    let name: String =
        id.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    format!(".kb/plans/{}.yml", if name.is_empty() { "plan" } else { &name })
}
