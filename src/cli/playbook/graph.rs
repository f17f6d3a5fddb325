use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service::{self, GraphFormat};

/// Draw what waits for what
///
/// `dot` is for Graphviz (`kb playbook graph ID --format dot | dot -Tsvg`), `mermaid` for markdown.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Its id, or a path
    id: String,
    /// How
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
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

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let format = match args.format {
        _ if args.json => GraphFormat::Json,
        Format::Text => GraphFormat::Text,
        Format::Dot => GraphFormat::Dot,
        Format::Mermaid => GraphFormat::Mermaid,
        Format::Json => GraphFormat::Json,
    };
    let project = service::here_or_bare(&args.id)?;
    super::warn(&project, &args.id, terminal)?;
    let text = service::graph(&project, &args.id, format)?;
    terminal.out(&text)?;
    Ok(Exit::Done)
}
