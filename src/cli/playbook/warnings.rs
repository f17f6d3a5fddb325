//! Warnings of a definition, before a command that uses it.

use crate::cli::exit::CliError;
use crate::cli::render::diagnostics;
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Project};

/// Prints the warnings of a definition, in one line each. If it has errors, the command prints all problems.
pub(super) fn warn(project: &Project, id: &str, terminal: &mut Terminal) -> Result<(), CliError> {
    let report = service::validate_playbooks(project, &[id.to_owned()])?;
    if report.has_errors() {
        return Ok(());
    }
    Ok(diagnostics::print_warnings(&report.diagnostics, &report.sources, terminal)?)
}
