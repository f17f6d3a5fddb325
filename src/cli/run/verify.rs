//! `kb run verify`

use crate::cli::exit::{CliError, CliResult, Exit};
use crate::cli::render::bytes;
use crate::cli::render::table::Table;
use crate::cli::terminal::{ERROR, GOOD, HINT, TITLE, Terminal, paint};
use kb_base::diagnostic::Code;
use kb_base::value::Digest;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Audit, Environment};

/// Verify the integrity of a recorded run
///
/// Checks the hash chain over the events, the blobs, and that the recorded observations give the
/// recorded verdicts. Only the journal is read, not the workspace. Exits with 1 if a check fails.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Head of the hash chain that was stored elsewhere: `traceHead` of `run:end`
    #[arg(long, value_name = "DIGEST")]
    head: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let head = args.head.as_deref().map(digest).transpose()?;
    let audit = service::audit_run(&ProjectContext::find(environment)?, &args.run, head)?;
    if args.json {
        terminal.json(&audit)?
    } else {
        show(&audit, head, terminal)?
    }
    Ok(if audit.holds { Exit::Done } else { Exit::RunFailed })
}

fn digest(text: &str) -> Result<Digest, CliError> {
    Digest::from_hex(text).ok_or_else(|| CliError::Usage {
        message: format!("`{text}` is not a digest; a digest has 64 hexadecimal digits"),
        help: Some("it is the field `traceHead` of the event `run:end`".to_owned()),
    })
}

fn show(audit: &Audit, kept: Option<Digest>, terminal: &mut Terminal) -> std::io::Result<()> {
    let mut table = Table::bare();
    let head = audit.head.map_or("none".to_owned(), |head| head.to_string());
    let blobs = format!("{} ({})", audit.blobs, bytes(audit.blob_bytes));
    let without = match audit.without_basis {
        0 => String::new(),
        n => format!(" ({n} more without recorded observations)"),
    };
    table.row(["events", &audit.events.to_string()]);
    table.row(["head", &head]);
    table.row(["blobs", &blobs]);
    table.row(["verdicts", &format!("{}{without}", audit.verdicts)]);
    if audit.kept + audit.kept_of_removed > 0 {
        let removed = match audit.kept_of_removed {
            0 => String::new(),
            n => format!(" ({n} more of runs that have been removed)"),
        };
        table.row(["kept", &format!("{}{removed}", audit.kept)]);
    }
    terminal.out(&table.text())?;
    for fault in &audit.faults {
        let what = paint(ERROR, &format!("error[{}]", fault.code));
        terminal.err(&format!("{what}: {}\n", fault.message))?;
    }
    let run = paint(TITLE, &audit.run);
    if audit.holds {
        let kept = if kept.is_some() { ", and the given head is part of the chain" } else { "" };
        return terminal.out(&format!("{run}: {}{kept}\n", paint(GOOD, "verified")));
    }
    let codes: std::collections::BTreeSet<Code> = audit.faults.iter().map(|f| f.code).collect();
    let codes: Vec<String> = codes.iter().map(|code| format!("`kb explain {code}`")).collect();
    terminal.err(&format!("  {} {} shows the details\n", paint(HINT, "help:"), codes.join(" or ")))
}
