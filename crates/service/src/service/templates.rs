//! The shipped templates of playbooks and workflows, and those of a project in `.kb/templates/`.

use super::schemas::write_with_schemas;
use super::{Project, ResourceKind, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::{DefinitionId, Failure};
use serde::Serialize;
use std::path::Path;

/// The text of a file of the repository, which is itself a project with the shipped definitions.
macro_rules! shipped {
    ($path:expr) => {
        include_str!(concat!("../../../../", $path))
    };
}
pub(super) use shipped;

/// Where a project has templates of its own.
pub(super) const FOLDER: &str = ".kb/templates";

/// A file of a template: its path below `.kb/` and its text.
type TemplateFile = (&'static str, &'static str);

/// A playbook or workflow to start from, with the definitions that it needs and its test.
struct Template {
    name: &'static str,
    about: &'static str,
    /// Whether the definition is a workflow.
    is_workflow: bool,
    text: &'static str,
    /// Specialists, agents and child workflows; existing files are kept.
    needs: &'static [TemplateFile],
    test: Option<&'static str>,
}

/// A specialist of the repository.
macro_rules! specialist {
    ($name:literal) => {
        (
            concat!("specialists/", $name, ".yml"),
            shipped!(concat!(".kb/specialists/", $name, ".yml")),
        )
    };
}

const RESEARCHER: TemplateFile = specialist!("researcher");
const IMPLEMENTER: TemplateFile = specialist!("implementer");
const REVIEWER: TemplateFile = specialist!("reviewer");
const WRITER: TemplateFile = specialist!("writer");

/// A form of a playbook, with comments; `templates/` has its text.
macro_rules! form {
    ($name:literal, $about:literal, $needs:expr) => {
        Template {
            name: $name,
            about: $about,
            is_workflow: false,
            text: shipped!(concat!("templates/playbooks/", $name, ".yml")),
            needs: $needs,
            test: Some(shipped!(concat!("templates/tests/", $name, ".test.yml"))),
        }
    };
}

/// A playbook of the repository.
macro_rules! playbook {
    ($name:literal, $about:literal, $needs:expr) => {
        Template {
            name: $name,
            about: $about,
            is_workflow: false,
            text: shipped!(concat!("playbooks/", $name, ".yml")),
            needs: $needs,
            test: Some(shipped!(concat!(".kb/tests/", $name, ".test.yml"))),
        }
    };
}

/// A workflow of the repository; `needs` are agents and, with their tests, other workflows.
macro_rules! workflow {
    ($name:literal, $about:literal, [$($path:literal),+ $(; $test:literal)?]) => {
        Template {
            name: $name,
            about: $about,
            is_workflow: true,
            text: shipped!(concat!("workflows/", $name, ".md")),
            needs: &[
                $(($path, shipped!($path)),)+
                $(($test, shipped!(concat!(".kb/", $test))),)?
            ],
            test: Some(shipped!(concat!(".kb/tests/", $name, ".test.yml"))),
        }
    };
}

static SHIPPED: [Template; 20] = [
    form!("basic", "shell steps", &[]),
    form!("specialist", "a model with a gate", &[RESEARCHER, IMPLEMENTER]),
    form!("for-each", "one instance for each item", &[]),
    form!("pipeline", "parallel steps, a join, cleanup", &[]),
    Template {
        name: "workflow",
        about: "a markdown workflow with two agents",
        is_workflow: true,
        text: shipped!("templates/workflows/workflow.md"),
        needs: &[
            ("agents/collector.md", shipped!("agents/collector.md")),
            ("agents/author.md", shipped!("agents/author.md")),
        ],
        test: Some(shipped!("templates/tests/workflow.test.yml")),
    },
    playbook!("add-feature", "research, plan, implement, test, fix", &[RESEARCHER, IMPLEMENTER]),
    playbook!(
        "fix-bug",
        "a test that fails before the fix and passes after it",
        &[RESEARCHER, IMPLEMENTER]
    ),
    playbook!(
        "add-test",
        "tests for existing code, reviewed",
        &[RESEARCHER, IMPLEMENTER, REVIEWER]
    ),
    playbook!(
        "refactor",
        "a change that keeps the tests green, reviewed",
        &[RESEARCHER, IMPLEMENTER, REVIEWER]
    ),
    playbook!("review-pr", "a review of the commits of a branch", &[REVIEWER]),
    playbook!("release-notes", "notes from the commits since a tag", &[WRITER]),
    playbook!("dependency-update", "an update, repaired if the tests fail", &[IMPLEMENTER]),
    playbook!(
        "flaky-test-hunt",
        "repeated test runs and the causes of different results",
        &[RESEARCHER]
    ),
    playbook!("migrate-files", "one change in many files, in parallel", &[IMPLEMENTER]),
    playbook!("nightly-report", "commits, tests and open tasks of a day", &[WRITER]),
    playbook!("repo-report", "files, commits and open tasks of a repository, without a model", &[]),
    workflow!(
        "chain",
        "agents that work one after the other",
        ["agents/collector.md", "agents/author.md", "agents/editor.md"]
    ),
    workflow!(
        "fan-out",
        "agents that work on parts of a task in parallel",
        ["agents/planner.md", "agents/worker.md", "agents/editor.md"]
    ),
    workflow!("debate", "two sides and a judge", ["agents/debater.md", "agents/judge.md"]),
    workflow!(
        "review-loop",
        "an author and a reviewer until the reviewer approves",
        [
            "workflows/review-round.md",
            "agents/author.md",
            "agents/critic.md";
            "tests/review-round.test.yml"
        ]
    ),
];

/// A template as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TemplateView {
    /// Name of the template.
    pub name: String,
    /// What the template contains.
    pub about: String,
    /// Path of the file, for a template of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The files of a new definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDefinition {
    /// Path of the definition.
    pub path: String,
    /// Paths of the other files that were created.
    pub created: Vec<String>,
    /// Paths of the other files that existed already.
    pub kept: Vec<String>,
}

/// The templates of a project, by name, then the shipped ones.
pub fn templates(project: &Project) -> Vec<TemplateView> {
    let own = own_templates(&project.context.root, FOLDER).into_iter().map(|(name, path)| {
        TemplateView { name, about: "a template of this project".to_owned(), path: Some(path) }
    });
    let shipped = SHIPPED.iter().map(|template| TemplateView {
        name: template.name.to_owned(),
        about: template.about.to_owned(),
        path: None,
    });
    own.chain(shipped).collect()
}

/// Writes a definition with a new id from a template, and what it needs. Existing specialists, agents and
/// child workflows are kept; an existing definition is an error.
pub fn new_playbook(
    project: &Project,
    id: &str,
    template: &str,
) -> Result<NewDefinition, ServiceError> {
    DefinitionId::new(id).map_err(|error| {
        ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, error.to_string()))
    })?;
    require_new(project, id)?;
    let root = &project.context.root;
    if let Some((name, path)) =
        own_templates(root, FOLDER).into_iter().find(|(name, _)| name == template)
    {
        let (_, bytes) =
            super::start_request::read_file(&project.context.environment, &root.join(&path))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let is_workflow = path.ends_with(".md");
        return write(root, id, &definition(&text, &name, id), is_workflow, &[]);
    }
    let Some(found) = SHIPPED.iter().find(|shipped| shipped.name == template) else {
        let known = templates(project).into_iter().map(|template| template.name);
        return Err(ServiceError::unknown(ResourceKind::Template, template, known));
    };
    let mut others: Vec<(String, String)> = found
        .needs
        .iter()
        .map(|(path, text)| (format!(".kb/{path}"), (*text).to_owned()))
        .collect();
    if let Some(test) = found.test {
        let own =
            test.replacen(&format!("playbook: {template}\n"), &format!("playbook: {id}\n"), 1);
        others.push((format!(".kb/tests/{id}.test.yml"), own));
    }
    write(root, id, &definition(found.text, template, id), found.is_workflow, &others)
}

/// Refuses an id that a playbook or workflow of the project has, in whatever file: two files with one id would make
/// both unusable.
pub(super) fn require_new(project: &Project, id: &str) -> Result<(), ServiceError> {
    let catalog = &project.catalog;
    let usable = catalog.playbooks.values().find(|own| own.id.as_str() == id);
    let refused = catalog.refused.playbooks.get(id).and_then(|files| files.first());
    let Some(path) = usable.map(|own| &own.path).or(refused) else { return Ok(()) };
    let failure =
        Failure::new(Code::FILE_EXISTS, format!("`{path}` exists already, with the id `{id}`"));
    Err(ServiceError::refused(failure.help("choose another id, or edit that file")))
}

/// A definition with another id in its line `id:`, in a workflow that of the front matter, and the id before.
pub(super) fn with_id(text: &str, id: &str) -> (String, Option<String>) {
    let front = text.strip_prefix("---\n").and_then(|rest| rest.find("\n---"));
    let head = front.map_or(text, |end| &text[..end + "---\n".len()]);
    let mut starts = head.match_indices("id:").map(|(at, _)| at);
    let start = starts.find(|at| *at == 0 || head[..*at].ends_with('\n'));
    let Some(start) = start else { return (text.to_owned(), None) };
    let line = head[start..].lines().next().unwrap_or_default();
    let rest = &text[start + line.len()..];
    let before = line["id:".len()..].split(" #").next().unwrap_or_default();
    let before = before.trim().trim_matches(['"', '\'']).to_owned();
    (format!("{}id: {id}{rest}", &text[..start]), Some(before))
}

/// The text of a template with another id.
fn definition(text: &str, name: &str, id: &str) -> String {
    let (text, own) = with_id(text, id);
    let name = own.as_deref().unwrap_or(name);
    let commands = ["run", "plan"].map(|verb| format!("kb playbook {verb} {name}"));
    commands
        .iter()
        .fold(text, |text, command| text.replace(command.as_str(), &command.replace(name, id)))
}

fn write(
    root: &Path,
    id: &str,
    text: &str,
    is_workflow: bool,
    others: &[(String, String)],
) -> Result<NewDefinition, ServiceError> {
    let path = if is_workflow {
        format!(".kb/workflows/{id}.md")
    } else {
        format!(".kb/playbooks/{id}.yml")
    };
    let written = write_with_schemas(root, &[(&path, text)])?;
    if !written.kept.is_empty() {
        let failure = Failure::new(Code::FILE_EXISTS, format!("`{path}` exists already"));
        return Err(ServiceError::refused(
            failure.help("choose another id, or remove the file first"),
        ));
    }
    let others: Vec<(&str, &str)> =
        others.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let other = write_with_schemas(root, &others)?;
    Ok(NewDefinition { path, created: other.created, kept: other.kept })
}

/// Names and paths of the templates in a folder, such as `.kb/templates`, sorted by name.
pub(super) fn own_templates(root: &Path, folder: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let mut found: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let (name, extension) = file.rsplit_once('.')?;
            let is_template = matches!(extension, "yml" | "yaml" | "md") && entry.path().is_file();
            is_template.then(|| (name.to_owned(), format!("{folder}/{file}")))
        })
        .collect();
    found.sort();
    found
}
