//! `kb playbook graph`

use super::warnings::warn;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, GraphFormat, Project};

/// Show the dependency graph of a playbook
///
/// `dot` is for Graphviz (`kb playbook graph ID --format dot | dot -Tsvg`), `mermaid` for markdown.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id or path of the playbook
    #[arg(value_name = "ID|PATH")]
    id: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Dot,
    Mermaid,
    Json,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let format = match args.format {
        _ if args.json => GraphFormat::Json,
        Format::Text => GraphFormat::Text,
        Format::Dot => GraphFormat::Dot,
        Format::Mermaid => GraphFormat::Mermaid,
        Format::Json => GraphFormat::Json,
    };
    let project = Project::find_or_file(environment, &args.id)?;
    warn(&project, &args.id, terminal)?;
    let text = service::graph(&project, &args.id, format)?;
    terminal.out(&text)?;
    Ok(Exit::Done)
}
