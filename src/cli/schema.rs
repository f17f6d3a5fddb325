//! `kb schema`: JSON Schemas of the definition files.

use super::exit::{CliResult, Exit};
use super::terminal::Terminal;
use crate::service;

/// Print the JSON Schema of a kind of file, for editors
///
/// To use it with the YAML language server, write this as the first line of a file:
/// `# yaml-language-server: $schema=./playbook.schema.json`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Kind of file
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(service::SCHEMA_NAMES))]
    kind: String,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    // The argument parser accepts the known names only.
    let text = service::schema(&args.kind).unwrap_or_default();
    terminal.json_text(&text)?;
    Ok(Exit::Done)
}
