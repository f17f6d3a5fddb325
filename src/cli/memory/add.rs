//! `kb memory add`

use super::parts;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::terminal::Terminal;
use kb_service::service::{self, Environment, MemoryAdd, MemoryKind};

/// Add a sentence
///
/// It is used once it is shared: with `--share`, or later with `kb memory approve`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The sentence, at most 500 characters
    #[arg(value_name = "TEXT")]
    text: String,
    /// What it is: fact, procedure, pitfall, decision or preference
    #[arg(long, value_name = "KIND", value_parser = parts::kind, default_value = "fact")]
    kind: MemoryKind,
    /// What it says something about; two entries about one subject contradict each other
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// A word to find it by
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// A file that it rests on
    #[arg(long, value_name = "PATH")]
    anchor: Vec<String>,
    /// A `file` check of a gate as JSON: with it, `kb memory check` says whether files are still so
    #[arg(long, value_name = "JSON")]
    check: Vec<String>,
    /// Name of the entry and of its file
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Write it to `.kb/memory`, for everyone who has the project
    #[arg(long)]
    share: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { text, kind, subject, tag, anchor, check, id, share, json } = args;
    let add =
        MemoryAdd { text, kind, id, subject, tags: tag, anchors: anchor, checks: check, share };
    let added = service::add_memory(environment, add)?;
    if json {
        terminal.json(&added)?;
        return Ok(Exit::Done);
    }
    let id = &added.entry.id;
    let what = if added.existed { "says the same already" } else { "added" };
    terminal.out(&format!("{id}  {what}, {}\n", added.entry.state.as_str()))?;
    if !added.conflicts.is_empty() {
        let others = added.conflicts.join(", ");
        terminal.note(&format!("it contradicts {others}, which has the same subject\n"))?;
    }
    terminal.note(&match &added.file {
        Some(file) => format!("shared in `{file}`\n"),
        None => format!("`kb memory approve {id}` shares it; only then specialists are shown it\n"),
    })?;
    Ok(Exit::Done)
}
