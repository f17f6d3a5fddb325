//! `kb serve token`

use super::exit::{CliResult, Exit};
use super::render::table::Table;
use super::terminal::Terminal;
use kb_base::value::{Timestamp, parse_duration};
use kb_serve::web;
use kb_service::service::Environment;
use kb_service::service::runs::ProjectContext;
use kb_service::trigger::{Role, TokenRow, TriggerStore};
use std::time::Duration;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Create a token and print it; it cannot be shown again
    Create(CreateArgs),
    /// List the tokens of the project, without their secrets
    List(ListArgs),
    /// Revoke a token at once
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct CreateArgs {
    /// Name of the token, for lists and records
    #[arg(long, value_name = "NAME")]
    name: String,
    /// What its owner may do: read, run, approve or admin; each includes those before it
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Role,
    /// Time after which it ends, such as `30d`; by default it does not end
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct RevokeArgs {
    /// Name of the token
    name: String,
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "expected read, run, approve or admin".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

pub(super) fn run(
    command: Command,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let store =
        TriggerStore::open(&context.state_dir).map_err(kb_service::service::ServiceError::from)?;
    let now = environment.clock.wall();
    match command {
        Command::Create(args) => {
            let token = web::new_token(&store, &args.name, args.role, args.expires, now)?;
            if args.json {
                let view = web::token_view(&token.row, now);
                terminal.json(&web::TokenView { token: Some(token.text), ..view })?;
            } else {
                terminal.data(&format!("{}\n", token.text))?
            }
        }
        Command::List(args) => {
            let tokens = store.tokens().map_err(kb_service::service::ServiceError::from)?;
            list(&tokens, args.json, now, terminal)?;
        }
        Command::Revoke(args) => {
            web::revoke_token(&store, &args.name)?;
            terminal.note(&format!("token {} is revoked\n", args.name))?;
        }
    }
    Ok(Exit::Done)
}

fn list(tokens: &[TokenRow], json: bool, now: Timestamp, terminal: &mut Terminal) -> CliResult {
    if json {
        terminal
            .json(&tokens.iter().map(|token| web::token_view(token, now)).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["NAME", "ROLE", "CREATED", "EXPIRES", "STATE"]);
    for token in tokens {
        let expires = token.expires_at.map_or("never".to_owned(), short);
        let (created, state) = (short(token.created_at), web::token_state(token, now));
        table.row([token.name.as_str(), token.role.as_str(), &created, &expires, state]);
    }
    terminal.out(&table.text())?;
    if tokens.is_empty() {
        terminal.note("no tokens yet; `kb serve token create` makes one\n")?;
    }
    Ok(Exit::Done)
}

fn short(at: Timestamp) -> String {
    at.rfc3339().get(..16).unwrap_or_default().replace('T', " ")
}
