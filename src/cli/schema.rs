//! `kb schema`: JSON Schemas of the definition files.

use super::exit::{CliError, CliResult, Exit};
use super::terminal::{GOOD, Terminal, paint};
use kb_service::service::{self, Environment, SCHEMA_NAMES};
use std::path::PathBuf;

/// Print the JSON Schema of a kind of file, or write schemas for editors
///
/// `kb schema --out .kb/schemas` writes all schemas, also to renew them after an update of `kb`. The YAML language
/// server reads the schema of a file from its first line, which `kb init` and the `new` commands write:
/// `# yaml-language-server: $schema=../schemas/playbook.schema.json`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Kind of file; with `--out`, all kinds by default
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(SCHEMA_NAMES))]
    kind: Option<String>,
    /// Folder in which to write KIND.schema.json; it is created
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    match (&args.kind, args.out) {
        (Some(kind), None) => {
            // The argument parser accepts the known names only.
            let text = service::schema(kind).unwrap_or_default();
            terminal.json_text(&text)?;
        }
        (kind, Some(folder)) => {
            let names = kind.as_deref().map_or(SCHEMA_NAMES.to_vec(), |kind| vec![kind]);
            for file in service::write_schemas(&environment.absolute(&folder), &names)? {
                terminal.out(&format!(
                    "{} {}\n",
                    paint(GOOD, "written"),
                    folder.join(file).display()
                ))?;
            }
        }
        (None, None) => {
            return Err(CliError::Usage {
                message: "the kind of file is missing".to_owned(),
                help: Some(format!("one of: {}", SCHEMA_NAMES.join(", "))),
            });
        }
    }
    Ok(Exit::Done)
}
