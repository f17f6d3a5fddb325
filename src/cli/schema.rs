use super::terminal::Terminal;
use super::{CliResult, Exit};
use crate::service;

/// Print the JSON Schema of a kind of file, for editors
///
/// Name it at the top of a file, for the YAML language server:
/// `# yaml-language-server: $schema=./playbook.schema.json`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Which kind of file
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(service::SCHEMA_NAMES))]
    kind: String,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    // The parser lets nothing else through.
    let text = service::schema(&args.kind).unwrap_or_default();
    terminal.out(&text)?;
    Ok(Exit::Done)
}
