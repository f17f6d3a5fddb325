//! `kb playbook new`

use crate::cli::exit::CliError;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::{GOOD, TITLE, Terminal, paint};
use crate::service::{self, Environment, NewDefinition, Project};

/// Create a playbook or workflow from a template
///
/// Writes `.kb/playbooks/ID.yml` or `.kb/workflows/ID.md`, the specialists or agents that it needs, and its
/// test. Existing files are not overwritten. On a terminal, asks for what is missing. `--list` lists the
/// templates; those of the project are in `.kb/templates/`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the new playbook
    id: Option<String>,
    /// Name of the template [default: basic]
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// List the templates
    #[arg(long, conflicts_with_all = ["id", "template"])]
    list: bool,
    /// With `--list`, print a JSON list
    #[arg(long, requires = "list")]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    if args.list {
        match args.json {
            true => terminal.json(&service::templates(&project))?,
            false => terminal.out(&list(&project))?,
        }
        return Ok(Exit::Done);
    }
    let (id, template) = match (args.id, args.template) {
        (Some(id), template) => (id, template.unwrap_or_else(|| "basic".to_owned())),
        (None, template) if terminal.can_ask() => ask(&project, template, terminal)?,
        (None, _) => {
            return Err(CliError::Usage {
                message: "the id of the new playbook is missing".to_owned(),
                help: Some(
                    "write `kb playbook new ID`, for example `kb playbook new build`".into(),
                ),
            });
        }
    };
    let NewDefinition { path, created, kept } = service::new_playbook(&project, &id, &template)?;
    terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    for path in &created {
        terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    }
    for path in &kept {
        terminal.out(&format!("kept    {path}\n"))?;
    }
    let tested = created.iter().any(|path| path.ends_with(".test.yml"));
    let test =
        if tested { format!(", test it with `kb playbook test {id}`") } else { String::new() };
    terminal.note(&format!("next: edit it{test}, then run `kb playbook run {id}`\n"))?;
    Ok(Exit::Done)
}

fn list(project: &Project) -> String {
    let all = service::templates(project);
    let width = all.iter().map(|template| template.name.chars().count()).max().unwrap_or(0);
    let line = |template: &service::TemplateView| {
        let name = format!("{:width$}", template.name);
        format!("{}  {}\n", paint(TITLE, &name), template.about)
    };
    all.iter().map(line).collect()
}

/// Asks for the template and the id.
fn ask(
    project: &Project,
    template: Option<String>,
    terminal: &mut Terminal,
) -> Result<(String, String), CliError> {
    let template = match template {
        Some(template) => template,
        None => {
            terminal.err(&list(project))?;
            answer("Template [basic]:", Some("basic"), terminal)?
        }
    };
    let default = (template != "basic").then_some(template.as_str());
    let question = match default {
        Some(name) => format!("Id [{name}]:"),
        None => "Id:".to_owned(),
    };
    let id = answer(&question, default, terminal)?;
    Ok((id, template))
}

fn answer(
    question: &str,
    default: Option<&str>,
    terminal: &mut Terminal,
) -> Result<String, CliError> {
    let typed = terminal.ask(question).map(|text| text.trim().to_owned());
    let typed = typed.filter(|text| !text.is_empty());
    typed.or_else(|| default.map(str::to_owned)).ok_or_else(|| CliError::Usage {
        message: "nothing was entered".to_owned(),
        help: Some("write `kb playbook new ID --template NAME`".to_owned()),
    })
}
