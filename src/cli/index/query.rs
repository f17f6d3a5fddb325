//! `kb index query`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::terminal::{DIM, TITLE, Terminal, paint};
use kb_base::value::counted;
use kb_service::service::{self, Environment, HitView, IndexAnswer, IndexQuestion};

/// Find parts of the project files by words
///
/// Words are compared by their English and Russian stems, and identifiers by their parts. The files are
/// read again for the answer, so it shows what they have now.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// What to look for, in words
    #[arg(value_name = "TEXT")]
    text: String,
    /// Further words that may stand in the answer, separated by commas
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    terms: Vec<String>,
    /// Only source files (`code`) or documents (`docs`)
    #[arg(long, value_parser = ["code", "docs"])]
    corpus: Option<String>,
    /// Only paths that match, such as `*.rs` or `src/**`
    #[arg(long, value_name = "GLOB")]
    path: Option<String>,
    /// Maximum number of results
    #[arg(short, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=100))]
    k: u8,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let question = IndexQuestion {
        text: args.text.clone(),
        terms: args.terms.clone(),
        corpus: args.corpus.clone(),
        path: args.path.clone(),
        limit: usize::from(args.k),
    };
    let answer = service::query_index(environment, &question)?;
    if args.json {
        terminal.json(&answer)?;
        return Ok(Exit::Done);
    }
    terminal.out(&text(&answer))?;
    if let Some(why) = &answer.note {
        terminal.note(&format!("found by words alone: {}\n", plain(why)))?;
    }
    if answer.hits.is_empty() {
        terminal.note("no file has a word of the question; try other words with `--terms`\n")?;
    }
    if answer.stale > 0 {
        terminal.note(&format!("{} changed meanwhile\n", counted(answer.stale, "file")))?;
    }
    Ok(Exit::Done)
}

/// The words of a hit.
fn why(hit: &HitView) -> String {
    if hit.why.is_empty() { "by its meaning".to_owned() } else { hit.why.join(", ") }
}

/// Each hit with its place, the words that it has, and its text.
fn text(answer: &IndexAnswer) -> String {
    let hits = answer.hits.iter().map(|hit| {
        let lines = hit.excerpt.lines().map(|line| format!("    {}\n", plain(line)));
        format!(
            "{} {} {}\n{}\n",
            paint(TITLE, &plain(&hit.reference)),
            plain(&hit.symbol),
            paint(DIM, &plain(&format!("({})", why(hit)))),
            lines.collect::<String>()
        )
    });
    hits.collect()
}
