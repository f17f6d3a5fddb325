//! `kb lsp`: the language server for editors.

use super::exit::{CliResult, Exit};
use crate::lsp;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_service::service::{Environment, ServiceError};
use std::io::ErrorKind;

/// Serve an editor: problems, completion and navigation in definition files
///
/// Speaks the Language Server Protocol on stdin and stdout; the editor starts it. `editors/` in the
/// repository has settings for VS Code, Neovim and Helix.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, environment: &Environment) -> CliResult {
    match lsp::serve(environment) {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            let failure = Failure::new(Code::EDITOR_MESSAGE, format!("the editor sent {error}"));
            let help =
                "start `kb lsp` from an editor; it reads the Language Server Protocol on stdin";
            Err(ServiceError::Refused(Box::new(failure.help(help))).into())
        }
        Err(error) => Err(error.into()),
    }
}
