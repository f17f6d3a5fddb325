//! Templates of specialists and agent profiles: the shipped ones, and those of a project in
//! `.kb/templates/specialists/` and `.kb/templates/agents/`.

use super::schemas::write_with_schemas;
use super::templates::{TemplateView, own_templates, shipped, with_id};
use super::{Project, ResourceKind, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, SpecialistId};
use std::path::Path;

/// What a bare template has in place of the new id.
const PLACEHOLDER: &str = "SPECIALIST_ID";

/// What a template is the start of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialistForm {
    /// `.kb/specialists/ID.yml`.
    Specialist,
    /// `.kb/agents/ID.md`, for workflows.
    AgentProfile,
}

impl SpecialistForm {
    const ALL: [SpecialistForm; 2] = [SpecialistForm::Specialist, SpecialistForm::AgentProfile];

    /// Folder of the templates of a project.
    fn folder(self) -> &'static str {
        match self {
            SpecialistForm::Specialist => ".kb/templates/specialists",
            SpecialistForm::AgentProfile => ".kb/templates/agents",
        }
    }

    fn path(self, id: &SpecialistId) -> String {
        match self {
            SpecialistForm::Specialist => format!(".kb/specialists/{id}.yml"),
            SpecialistForm::AgentProfile => format!(".kb/agents/{id}.md"),
        }
    }

    fn is_form_of(self, path: &str) -> bool {
        path.ends_with(".md") == (self == SpecialistForm::AgentProfile)
    }
}

/// A specialist or agent profile to start from.
struct Template {
    name: &'static str,
    about: &'static str,
    form: SpecialistForm,
    text: &'static str,
}

macro_rules! specialist {
    ($name:literal, $about:literal, $folder:literal) => {
        Template {
            name: $name,
            about: $about,
            form: SpecialistForm::Specialist,
            text: shipped!(concat!($folder, $name, ".yml")),
        }
    };
}

macro_rules! agent {
    ($name:literal, $about:literal, $folder:literal) => {
        Template {
            name: $name,
            about: $about,
            form: SpecialistForm::AgentProfile,
            text: shipped!(concat!($folder, $name, ".md")),
        }
    };
}

static SHIPPED: [Template; 18] = [
    specialist!(
        "specialist",
        "a specialist with comments, to be filled in",
        "templates/specialists/"
    ),
    specialist!("researcher", "searches and explains code, changes nothing", ".kb/specialists/"),
    specialist!("implementer", "writes and changes code and tests", ".kb/specialists/"),
    specialist!("reviewer", "reviews changes, writes a report", ".kb/specialists/"),
    specialist!("writer", "writes texts from facts and files", ".kb/specialists/"),
    specialist!(
        "writer-agent",
        "capabilities write_article, improve_text",
        "templates/specialists/"
    ),
    specialist!(
        "critic-agent",
        "capabilities review_text, score_quality",
        "templates/specialists/"
    ),
    specialist!(
        "researcher-agent",
        "capabilities research_topic, summarize",
        "templates/specialists/"
    ),
    specialist!(
        "developer-agent",
        "capabilities write_code, review_code",
        "templates/specialists/"
    ),
    agent!("agent", "an agent profile with comments, to be filled in", "templates/agents/"),
    agent!("author", "an agent that writes and revises a text", "agents/"),
    agent!("collector", "an agent that collects facts with their sources", "agents/"),
    agent!("critic", "an agent that says what is wrong with a text", "agents/"),
    agent!("debater", "an agent that argues for one side", "agents/"),
    agent!("editor", "an agent that shortens and combines texts", "agents/"),
    agent!("judge", "an agent that decides between two sides", "agents/"),
    agent!("planner", "an agent that splits a task into parts", "agents/"),
    agent!("worker", "an agent that does one part of a task", "agents/"),
];

/// A file that was created from a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSpecialist {
    /// Path of the file.
    pub path: String,
    /// How a step names it: `specialist: ID` or `agent: PATH`.
    pub named: String,
}

/// The templates of a project for specialists and agent profiles, then the shipped ones.
pub fn specialist_templates(project: &Project) -> Vec<TemplateView> {
    let own = own(&project.context.root).into_iter().map(|(_, name, path)| TemplateView {
        name,
        about: "a template of this project".to_owned(),
        path: Some(path),
    });
    let shipped = SHIPPED.iter().map(|template| TemplateView {
        name: template.name.to_owned(),
        about: template.about.to_owned(),
        path: None,
    });
    own.chain(shipped).collect()
}

/// An id that is the name of a file.
fn plain_id(id: &str) -> Result<SpecialistId, ServiceError> {
    let plain = id.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let id = SpecialistId::new(id).map_err(|error| bad_id(error.to_string()))?;
    if plain {
        return Ok(id);
    }
    Err(bad_id(format!("`{id}` is not a plain id: use letters, digits, `_`, `-` and `.`")))
}

/// Writes `.kb/specialists/ID.yml` or `.kb/agents/ID.md` from a template. An existing file is an error.
pub fn new_specialist(
    project: &Project,
    id: &str,
    template: &str,
) -> Result<NewSpecialist, ServiceError> {
    let id = plain_id(id)?;
    let (form, text) = text_of(project, &project.context.root, template)?;
    let (text, _) = with_id(&text.replace(PLACEHOLDER, id.as_str()), id.as_str());
    write(project, &id, form, &text)
}

/// Writes the text of a specialist to `.kb/specialists/ID.yml`. An existing file is an error.
pub(super) fn write_specialist(
    project: &Project,
    id: &str,
    text: &str,
) -> Result<NewSpecialist, ServiceError> {
    write(project, &plain_id(id)?, SpecialistForm::Specialist, text)
}

fn write(
    project: &Project,
    id: &SpecialistId,
    form: SpecialistForm,
    text: &str,
) -> Result<NewSpecialist, ServiceError> {
    let (root, path) = (&project.context.root, form.path(id));
    let written = write_with_schemas(root, &[(&path, text)])?;
    if !written.kept.is_empty() {
        let failure = Failure::new(Code::FILE_EXISTS, format!("`{path}` exists already"));
        return Err(ServiceError::refused(
            failure.help("choose another id, or remove the file first"),
        ));
    }
    let named = match form {
        SpecialistForm::Specialist => format!("specialist: {id}"),
        SpecialistForm::AgentProfile => format!("agent: agents/{id}.md"),
    };
    Ok(NewSpecialist { path, named })
}

/// The text of a template; those of the project come first.
fn text_of(
    project: &Project,
    root: &Path,
    template: &str,
) -> Result<(SpecialistForm, String), ServiceError> {
    if let Some((form, _, path)) = own(root).into_iter().find(|(_, name, _)| name == template) {
        let (_, bytes) =
            super::start_request::read_file(&project.context.environment, &root.join(&path))?;
        return Ok((form, String::from_utf8_lossy(&bytes).into_owned()));
    }
    let found = SHIPPED.iter().find(|shipped| shipped.name == template);
    found.map(|found| (found.form, found.text.to_owned())).ok_or_else(|| {
        let known = specialist_templates(project).into_iter().map(|template| template.name);
        ServiceError::unknown(ResourceKind::Template, template, known)
    })
}

/// Forms, names and paths of the templates of a project.
fn own(root: &Path) -> Vec<(SpecialistForm, String, String)> {
    let of = |form: SpecialistForm| {
        let found = own_templates(root, form.folder()).into_iter();
        found
            .filter(move |(_, path)| form.is_form_of(path))
            .map(move |(name, path)| (form, name, path))
    };
    SpecialistForm::ALL.into_iter().flat_map(of).collect()
}

fn bad_id(message: String) -> ServiceError {
    ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, message))
}
