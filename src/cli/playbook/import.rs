//! `kb playbook import`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::diagnostics;
use crate::cli::render::table::plain;
use crate::cli::terminal::{GOOD, HINT, Terminal, WARNING, paint};
use kb_service::service::{self, Environment, ImportEffect, ImportFormat, ImportRequest, Project};

/// Import definitions, and files of other tools, into `.kb/`
///
/// Playbooks, workflows and specialists are copied. GitHub Actions workflows, Dagu workflows, goose recipes, Archon
/// workflows, Wave pipelines, agentic workflows of GitHub, and slash commands and subagents of Claude Code are
/// translated; what has no exact translation is listed with its line and becomes a step that fails. A result with
/// errors, or one that exists already, is not written; the other files are.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Files to import
    #[arg(required = true, value_name = "FILE")]
    files: Vec<std::path::PathBuf>,
    /// Format of the files, instead of finding it by their content
    #[arg(long, value_name = "FORMAT", value_parser = format_of)]
    from: Option<ImportFormat>,
    /// Folder for the results, instead of `.kb/`
    #[arg(long, value_name = "FOLDER")]
    out: Option<std::path::PathBuf>,
    /// Print the results instead of writing them
    #[arg(long)]
    dry_run: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

fn format_of(text: &str) -> Result<ImportFormat, String> {
    let known = ImportFormat::ALL.iter().find(|(name, _)| *name == text);
    known.map(|(_, format)| *format).ok_or_else(|| {
        let names: Vec<&str> = ImportFormat::ALL.iter().map(|(name, _)| *name).collect();
        format!("use one of {}", names.join(", "))
    })
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let Args { files, from, out, dry_run, json } = args;
    let request = ImportRequest { paths: files, from, out, dry_run };
    let report = service::import(&Project::find(environment)?, &request)?;
    let done = if report.refused.is_empty() { Exit::Done } else { Exit::BadInput };
    if json {
        terminal.json(&report.view())?;
        return Ok(done);
    }
    diagnostics::print(&report.diagnostics, &report.sources, terminal)?;
    for (path, text) in &report.texts {
        terminal.out(&format!("# {path}\n{text}\n"))?;
    }
    for found in &report.notes {
        let (style, word) = match found.note.effect {
            ImportEffect::Fails => (WARNING, "fails"),
            ImportEffect::LeftOut => (WARNING, "left out"),
            ImportEffect::Hint => (HINT, "note"),
        };
        let (file, line, text) = (plain(&found.file), found.note.line, plain(&found.note.text));
        terminal.err(&format!("{}: {file}:{line}: {text}\n", paint(style, word)))?;
    }
    for (from, to) in &report.copied {
        let word = if dry_run { "would import" } else { "imported" };
        terminal.out(&format!("{} {from} → {to}\n", paint(GOOD, word)))?;
    }
    let (fails, left_out) = report.not_translated();
    if fails + left_out > 0 && !report.copied.is_empty() {
        terminal.err(&format!(
            "without a translation: {fails} (their steps fail with the original text); left out: {left_out}. \
             `TODO` marks them in the files\n"
        ))?;
    }
    for (from, reason) in &report.refused {
        terminal.err(&format!("not imported: {from}: {reason}\n"))?;
    }
    Ok(done)
}
