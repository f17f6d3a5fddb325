//! `kb playbook show`

use crate::cli::environment;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use kb_service::service::{self, DefinitionSheet, Environment, Project};
use std::path::Path;

/// Show the parameters, steps and outputs of a playbook
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id or path of the playbook
    #[arg(value_name = "ID|PATH")]
    id: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let sheet = service::show_playbook(&Project::find_or_file(environment, &args.id)?, &args.id)?;
    terminal.result(args.json, &sheet.view, || text(&sheet))?;
    Ok(Exit::Done)
}

fn text(sheet: &DefinitionSheet) -> String {
    let view = &sheet.view;
    let mut out = format!("{}  {}\n", paint(TITLE, &plain(&view.id)), plain(&view.name));
    out.push_str(&format!("{}\n", paint(DIM, &plain(&view.path))));
    if let Some(description) = &view.description {
        out.push_str(&format!("\n{}\n", description.trim_end()));
    }
    if !view.triggers.is_empty() {
        out.push_str(&format!(
            "\n{}  {}\n",
            paint(TITLE, "triggers"),
            plain(&view.triggers.join(", "))
        ));
    }
    if !view.params.is_empty() {
        out.push_str(&format!("\n{}\n", paint(TITLE, "parameters")));
        let mut table = Table::bare();
        for param in &view.params {
            let need = match (&param.default, param.required) {
                (Some(default), _) => format!("default {default}"),
                (None, true) => "required".to_owned(),
                (None, false) => "optional".to_owned(),
            };
            let about = [sheet.limits.get(&param.name).cloned(), param.description.clone()];
            let about: Vec<String> = about.into_iter().flatten().collect();
            table.row(["", &param.name, param.kind, &need, &about.join("; ")]);
        }
        out.push_str(&table.text());
    }
    for (title, finally) in [("steps", false), ("finally", true)] {
        let steps: Vec<_> = sheet.steps.iter().filter(|step| step.finally == finally).collect();
        if steps.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{}\n", paint(TITLE, title)));
        let mut table = Table::bare();
        for step in steps {
            let after = if step.after.is_empty() {
                String::new()
            } else {
                format!("after {}", step.after.join(", "))
            };
            table.row(["", &step.id, &step.what, &after, step.condition.as_deref().unwrap_or("")]);
        }
        out.push_str(&table.text());
    }
    if !view.outputs.is_empty() {
        out.push_str(&format!(
            "\n{}  {}\n",
            paint(TITLE, "outputs"),
            plain(&view.outputs.join(", "))
        ));
    }
    out
}

/// The names of the parameters of a playbook, for a hint; `None` if there is none that can be read. `words` are the arguments of the
/// process, which may name its folder.
pub(in crate::cli) fn parameters(id: &str, words: &[String]) -> Option<Vec<String>> {
    let mut folder =
        words.iter().skip_while(|word| !["-C", "--directory"].contains(&word.as_str()));
    let folder = folder.nth(1).map(Path::new);
    let environment = environment::of_process(folder).ok()?;
    let project = Project::find_or_file(&environment, id).ok()?;
    let params = service::show_playbook(&project, id).ok()?.view.params;
    Some(params.into_iter().map(|param| param.name).collect())
}
