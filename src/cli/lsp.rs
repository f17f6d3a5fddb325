//! `kb lsp`: the language server for editors.

use super::exit::{CliResult, Exit};
use crate::lsp;
use crate::service::Environment;

/// Serve an editor: problems, completion and navigation in definition files
///
/// Speaks the Language Server Protocol on stdin and stdout; the editor starts it. `editors/` in the
/// repository has settings for VS Code, Neovim and Helix.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, environment: &Environment) -> CliResult {
    lsp::serve(environment)?;
    Ok(Exit::Done)
}
