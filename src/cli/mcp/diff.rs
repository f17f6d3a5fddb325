//! `kb mcp diff`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::foreign_text;
use crate::cli::render::table::plain;
use crate::cli::runtime::{Workers, block_on};
use crate::cli::terminal::{Terminal, WARNING, paint};
use kb_base::value::Json;
use kb_service::service::{self, Environment, Project, ToolDifference};

/// Compare the tools that an MCP server declares with those that are pinned
///
/// Exits with 1 if they differ.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the server
    server: String,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let found = block_on(Workers::One, service::diff_server(&project, &args.server))??;
    terminal.result(args.json, &found, || text(&found))?;
    Ok(if found.is_empty() { Exit::Done } else { Exit::RunFailed })
}

pub(super) fn text(differences: &[ToolDifference]) -> String {
    if differences.is_empty() {
        return "no difference\n".to_owned();
    }
    let one = |difference: &ToolDifference| {
        let mut out = format!("{}\n", paint(WARNING, &plain(&difference.change)));
        for part in &difference.parts {
            for (sign, value) in [('-', &part.pinned), ('+', &part.declared)] {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                if *value != Json::Null {
                    out.push_str(&foreign_text(&format!("  {sign} {}: ", part.part), &text));
                }
            }
        }
        out
    };
    differences.iter().map(one).collect()
}
