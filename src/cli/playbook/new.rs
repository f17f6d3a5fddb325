//! `kb playbook new`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::templates::{self, Choice};
use crate::cli::terminal::{GOOD, Terminal, paint};
use kb_service::service::{self, Environment, NewDefinition, Project};

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
    let all = service::templates(&project);
    if args.list {
        terminal.result(args.json, &all, || templates::list(&all))?;
        return Ok(Exit::Done);
    }
    let choice = Choice { command: "kb playbook new", default: "basic", templates: &all };
    let (id, template) = choice.complete(args.id, args.template, terminal)?;
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
