//! `kb specialist info`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use kb_core::wire::{ExampleView, SpecialistView};
use kb_service::service::{self, Environment, Project, SpecialistSheet};

/// Show the role, model, tools, limits, context, examples, input and output of a specialist
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the specialist
    id: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let sheet = service::show_specialist(&Project::find(environment)?, &args.id)?;
    terminal.result(args.json, &sheet.view, || text(&sheet))?;
    Ok(Exit::Done)
}

fn text(sheet: &SpecialistSheet) -> String {
    let view = &sheet.view;
    let mut out = format!(
        "{}  {}\n{}\n",
        paint(TITLE, &plain(&view.id)),
        plain(&view.name),
        paint(DIM, &plain(&view.path))
    );
    if let Some(description) = &view.description {
        out.push_str(&format!("\n{}\n", description.trim_end()));
    }
    let mut row = |title: &str, text: String| {
        if !text.is_empty() {
            out.push_str(&format!("\n{}\n", paint(TITLE, title)));
            text.trim_end().lines().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
    };
    row("model", sheet.model.clone());
    row("limits", sheet.limits.clone());
    row("tools", view.tools.join("\n"));
    row("tools that this version does not support", view.unknown_tools.join("\n"));
    row("not supported yet", view.not_yet.join("\n"));
    row("capabilities", view.capabilities.join("\n"));
    row("constraints", sheet.constraints.join("\n"));
    row("input", keys(view.input_schema.as_ref()));
    row("output", keys(view.output_schema.as_ref()));
    row("role", sheet.role.clone());
    row("static context", view.static_context.clone().unwrap_or_default());
    row("examples", examples(view));
    out
}

/// Task, approach and outcome of each example.
fn examples(view: &SpecialistView) -> String {
    let example = |example: &ExampleView| {
        let approach = example.approach.trim_end().lines().map(|line| format!("  {line}\n"));
        format!("{}\n{}→ {}\n", example.task, approach.collect::<String>(), example.outcome)
    };
    view.examples.iter().map(example).collect::<Vec<_>>().join("\n")
}

/// The keys of an object schema with their types, one on each line; `?` marks optional keys.
fn keys(schema: Option<&kb_base::value::Json>) -> String {
    let Some(properties) = schema.and_then(|s| s["properties"].as_object()) else {
        return String::new();
    };
    let required = schema.and_then(|s| s["required"].as_array());
    let is_required = |key: &str| required.is_some_and(|list| list.iter().any(|r| r == key));
    let line = |(key, kind): (&String, &kb_base::value::Json)| {
        let mark = if is_required(key) { "" } else { "?" };
        let name = match (kind["type"].as_str(), kind["items"]["type"].as_str()) {
            (Some("array"), Some(item)) => format!("{item}[]"),
            (Some(name), _) => name.to_owned(),
            (None, _) => kind.to_string(),
        };
        format!("{key}{mark}: {name}")
    };
    properties.iter().map(line).collect::<Vec<_>>().join("\n")
}
