//! `kb memory search`

use super::parts;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, MemoryKind, MemoryQuery};

/// Find entries by words, best first
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Words; entries with any of them are found
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    /// Only entries of this kind: fact, procedure, pitfall, decision or preference
    #[arg(long, value_name = "KIND", value_parser = parts::kind)]
    kind: Vec<MemoryKind>,
    /// Only entries with one of these tags
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only entries of this specialist or person
    #[arg(long, value_name = "NAME")]
    author: Option<String>,
    /// Maximum number of entries
    #[arg(short = 'n', long, value_name = "N", default_value_t = 15)]
    limit: usize,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let query = MemoryQuery {
        text: &args.words.join(" "),
        kinds: &args.kind,
        tags: &args.tag,
        author: args.author.as_deref(),
        limit: args.limit,
        ..MemoryQuery::default()
    };
    let found = service::search_memory(environment, &query)?;
    if let Some(why) = &found.note {
        terminal.note(&format!("found by words alone: {}\n", plain(why)))?;
    }
    let hits = &found.hits;
    if args.json {
        terminal.json(hits)?;
        return Ok(Exit::Done);
    }
    terminal.out(&parts::table(hits.iter().map(|hit| &hit.entry)))?;
    if hits.is_empty() {
        terminal.note("no entry has one of the words\n")?;
    }
    Ok(Exit::Done)
}
