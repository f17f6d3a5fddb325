use crate::cli::render::bytes;
use crate::cli::render::table::Table;
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, Exit};
use crate::service::{self, SeenFile, StepChange};

/// Show which files each step changed, as the runtime recorded it
///
/// From evidence, not from the disk of now: what tools wrote, and what commands with `evidence: true`
/// changed.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    /// One step, or one item of it (`review[src/a.rs]`)
    step: Option<String>,
    /// One JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let changes = service::run_diff(&service::here()?, &args.run, args.step.as_deref())?;
    if args.json {
        terminal.json(&changes)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["STEP", "CHANGE", "FILE", "SIZE", "SHA256"]);
    for change in &changes {
        table.row([
            name(change).as_str(),
            change.change,
            &change.path,
            &both(change, size),
            &both(change, digest),
        ]);
    }
    terminal.out(&table.text())?;
    if changes.is_empty() {
        terminal.err("no change of a file is recorded\n")?;
    }
    Ok(Exit::Done)
}

fn name(change: &StepChange) -> String {
    match change.iteration {
        1 => change.instance.clone(),
        n => format!("{} #{n}", change.instance),
    }
}

/// What it was and what it became, or the one of both that there is.
fn both(change: &StepChange, of: fn(&SeenFile) -> String) -> String {
    let (before, after) = (change.before.as_ref().map(of), change.after.as_ref().map(of));
    match (before, after) {
        (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
        (before, after) => after.or(before).unwrap_or_default(),
    }
}

fn size(file: &SeenFile) -> String {
    bytes(file.bytes)
}

fn digest(file: &SeenFile) -> String {
    const SHOWN: usize = 8;
    file.sha256.map(|sha256| sha256.short(SHOWN)).unwrap_or_else(|| "?".to_owned())
}
