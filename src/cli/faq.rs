//! `kb faq`

use super::exit::{CliResult, Exit};
use super::render::table::plain;
use super::terminal::{DIM, TITLE, Terminal, paint};
use kb_service::service::{self, Environment, FaqAnswer, FaqCategory, FaqEntry, MemoryAdd};

/// Ask the FAQ of the project, or add to it
///
/// Problems and their solutions, as people and specialists noted them. Without TEXT all are listed. `kb faq "forget X"`
/// (or "забудь про X") forgets the entry with the words X, `kb faq "did not help"` (or "не помогло") and `kb faq helped`
/// say how the answer that was shown last helped. No model is called.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A question, or the problem with `--add`
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Add this solution of the problem
    #[arg(long, value_name = "SOLUTION")]
    add: Option<String>,
    /// `knowledge`, `experience` or `troubleshooting`; of a question: what is listed first
    #[arg(long, value_name = "CATEGORY", value_parser = category)]
    category: Option<FaqCategory>,
    /// A file that the solution rests on: when it changes, the entry waits for a review
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// A word to find it by
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Write it into the project, as `kb memory approve` does
    #[arg(long, requires = "add")]
    share: bool,
    /// Maximum number of answers
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    limit: usize,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

fn category(text: &str) -> Result<FaqCategory, String> {
    FaqCategory::parse(text)
        .ok_or_else(|| "expected knowledge, experience or troubleshooting".to_owned())
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let text = args.text.join(" ");
    if let Some(solution) = args.add {
        let category = args.category.unwrap_or(FaqCategory::Experience);
        let add = MemoryAdd {
            id: None,
            kind: category.kind(),
            subject: Some(text).filter(|text| !text.trim().is_empty()),
            text: solution,
            tags: args.tag,
            anchors: args.file,
            checks: Vec::new(),
            share: args.share,
        };
        let entry = service::add_faq(environment, category, add)?;
        terminal.result(args.json, &entry, || shown(&entry))?;
        return Ok(Exit::Done);
    }
    if text.trim().is_empty() {
        let all = service::list_faq(environment)?;
        terminal.result(args.json, &all, || all.iter().map(shown).collect())?;
        if all.is_empty() && !args.json {
            terminal.note("the FAQ is empty; `kb faq PROBLEM --add SOLUTION` adds an entry\n")?;
        }
        return Ok(Exit::Done);
    }
    let answer = service::ask_faq(environment, &text, args.category, args.limit)?;
    terminal.result(args.json, &answer, || match &answer {
        FaqAnswer::Found { entries } => entries.iter().map(shown).collect(),
        FaqAnswer::Forgot { entry } | FaqAnswer::Noted { entry, .. } => shown(entry),
    })?;
    if !args.json {
        terminal.note(match &answer {
            FaqAnswer::Found { entries } if entries.is_empty() => "no entry has a word of it\n",
            FaqAnswer::Found { .. } => "",
            FaqAnswer::Forgot { .. } => "forgotten; it is not proposed again\n",
            FaqAnswer::Noted { archived: true, .. } => {
                "noted; it hardly ever helped and is archived\n"
            }
            FaqAnswer::Noted { .. } => "noted\n",
        })?;
    }
    Ok(Exit::Done)
}

/// An entry in three lines.
fn shown(entry: &FaqEntry) -> String {
    let stats = entry.stats;
    let counts = format!(
        "{} · {} · {} · shown {}, helped {}, did not help {}",
        entry.id,
        entry.category.as_str(),
        entry.state.as_str(),
        stats.retrieved_count,
        stats.helpful_count,
        stats.not_helpful_count
    );
    let (problem, solution) = (plain(&entry.problem), plain(&entry.solution));
    format!("{}\n  {solution}\n  {}\n", paint(TITLE, &problem), paint(DIM, &counts))
}
