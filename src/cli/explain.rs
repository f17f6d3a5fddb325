//! `kb explain`: the pages of diagnostic codes.

use super::exit::{CliResult, Exit};
use super::terminal::{TITLE, Terminal, paint};
use kb_service::service;

/// Explain a diagnostic code such as `KB0101`, with an example and the fix
///
/// Without a code, lists all codes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The code, as shown in a diagnostic or failure
    code: Option<String>,
    /// Print a JSON object, or a list without a code
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let pages = match &args.code {
        Some(code) => vec![service::explain(code)?],
        None => service::all_codes(),
    };
    if args.json {
        match args.code {
            Some(_) => terminal.json(&pages[0])?,
            None => terminal.json(&pages)?,
        }
        return Ok(Exit::Done);
    }
    for page in pages {
        terminal.out(&format!("{}  {}\n", paint(TITLE, page.code.as_str()), page.title))?;
        if args.code.is_some() {
            terminal.out(&format!("\n{}\n", page.text.trim_end()))?;
        }
    }
    Ok(Exit::Done)
}
