//! `kb plugin info`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use kb_service::service::{self, Environment, PluginView, Project};

/// Show the program, level, probes, arguments and output of a plugin
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id of the plugin
    id: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let view = service::show_plugin(&Project::find(environment)?, &args.id)?;
    terminal.result(args.json, &view, || text(&view))?;
    Ok(Exit::Done)
}

fn text(view: &PluginView) -> String {
    let mut out = format!(
        "{}\n{}\n\n{}\n\n",
        paint(TITLE, &plain(&view.tool)),
        paint(DIM, &plain(&view.path)),
        plain(view.description.trim_end())
    );
    for (title, text) in [
        ("program", view.argv.join(" ")),
        ("level", view.level.as_str().to_owned()),
        ("timeout", view.timeout.clone()),
        ("probes", view.probes.join(", ")),
        ("input", view.input.to_string()),
        ("output", view.output.to_string()),
    ] {
        if !text.is_empty() {
            out.push_str(&format!("{title:<9} {}\n", plain(&text)));
        }
    }
    out
}
