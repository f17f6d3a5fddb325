//! `kb mcp relay`: connects a coding agent to the tools of its session.

use crate::cli::exit::{CliResult, Exit};
use crate::cli::runtime::{Workers, block_on};
use std::path::PathBuf;

/// Connect standard input and output to the tools of a session
///
/// A coding agent that works with the tools of `kb` starts this command. Without its session there is nothing to connect to.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Socket of the session
    socket: PathBuf,
}

pub(super) fn run(Args { socket }: &Args) -> CliResult {
    block_on(Workers::One, kb_host::agent::relay(socket))??;
    Ok(Exit::Done)
}
