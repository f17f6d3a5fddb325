//! `kb mcp …`: the MCP servers whose tools specialists call, and the server that other agents call.

mod call;
mod diff;
mod list;
mod pin;
mod relay;
mod serve;
mod tools;

use super::exit::CliResult;
use super::terminal::Terminal;
use kb_service::service::Environment;

#[derive(Debug, clap::Subcommand)]
pub(super) enum McpCommand {
    List(list::Args),
    Tools(tools::Args),
    Pin(pin::Args),
    Diff(diff::Args),
    Call(call::Args),
    Serve(serve::Args),
    #[command(hide = true)]
    Relay(relay::Args),
}

pub(super) fn run(
    command: McpCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    match command {
        McpCommand::List(args) => list::run(args, environment, terminal),
        McpCommand::Tools(args) => tools::run(args, environment, terminal),
        McpCommand::Pin(args) => pin::run(args, environment, terminal),
        McpCommand::Diff(args) => diff::run(args, environment, terminal),
        McpCommand::Call(args) => call::run(args, environment, terminal),
        McpCommand::Serve(args) => serve::run(args, environment),
        McpCommand::Relay(args) => relay::run(&args),
    }
}
