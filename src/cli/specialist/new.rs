//! `kb specialist new`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::templates::{self, Choice};
use crate::cli::terminal::{GOOD, Terminal, paint};
use kb_service::service::{self, Environment, NewSpecialist, Project};

/// Create a specialist or an agent profile from a template
///
/// Writes `.kb/specialists/ID.yml`, or `.kb/agents/ID.md` from the template of an agent profile. An existing
/// file is not overwritten. On a terminal, asks for what is missing. `--list` lists the templates; those of the
/// project are in `.kb/templates/specialists/` and `.kb/templates/agents/`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the new specialist
    id: Option<String>,
    /// Name of the template [default: specialist]
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// Let a coding agent do its work: `claude-code`, `codex`, `gemini`, `goose`, `opencode`, or one of the settings
    #[arg(long, value_name = "NAME", requires = "id", conflicts_with = "template")]
    agent: Option<String>,
    /// List the templates
    #[arg(long, conflicts_with_all = ["id", "template"])]
    list: bool,
    /// With `--list`, print a JSON list
    #[arg(long, requires = "list")]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let all = service::specialist_templates(&project);
    if args.list {
        terminal.result(args.json, &all, || templates::list(&all))?;
        return Ok(Exit::Done);
    }
    if let (Some(agent), Some(id)) = (&args.agent, &args.id) {
        let NewSpecialist { path, named } = service::new_agent_specialist(&project, id, agent)?;
        terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
        terminal.note(&format!("next: write its role. A step names it with `{named}`\n"))?;
        return Ok(Exit::Done);
    }
    let choice = Choice { command: "kb specialist new", default: "specialist", templates: &all };
    let (id, template) = choice.complete(args.id, args.template, terminal)?;
    let NewSpecialist { path, named } = service::new_specialist(&project, &id, &template)?;
    terminal.out(&format!("{} {path}\n", paint(GOOD, "created")))?;
    terminal.note(&format!(
        "next: write its role and list its tools; it can call no other tools. A step names it with `{named}`\n"
    ))?;
    Ok(Exit::Done)
}
