//! The files that people review: `.kb/learning/ID.md`.

use super::Suggestion;
use crate::service::runs::ProjectContext;
use crate::service::{Environment, ServiceError};
use kb_attempt::replace_file;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_learning::{Advice, Row};
use std::fmt::Write;
use std::path::Path;

/// The folder of what runs taught.
pub(super) const FOLDER: &str = ".kb/learning";
/// Which specialist a person prefers for which kind of task. A planner of `kb do` reads it.
pub const ROUTES: &str = ".kb/learning/routes.md";

/// Writes a file for each suggestion, with what it rests on. Returns their paths.
///
/// # Errors
///
/// A file cannot be written.
pub fn write_suggestions(
    environment: &Environment,
    suggestions: &[Suggestion],
) -> Result<Vec<String>, ServiceError> {
    let root = ProjectContext::find(environment)?.root;
    let mut paths = Vec::new();
    for suggestion in suggestions {
        let path = format!("{FOLDER}/{}.md", suggestion.id);
        write(&root, &path, &text(suggestion))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Writes a file of the folder in place of the one that is there.
pub(super) fn write(root: &Path, path: &str, text: &str) -> Result<(), ServiceError> {
    let file = root.join(path);
    replace_file(&file, text.as_bytes()).map_err(|error| {
        let message = format!("`{path}` cannot be written: {error}");
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })
}

fn text(suggestion: &Suggestion) -> String {
    let Suggestion { id, text, advice, runs, .. } = suggestion;
    let mut out = format!("# {id}\n\nSuggested: {text}.\n\n");
    let evidence = advice.iter().flat_map(|advice| match advice {
        Advice::Tier { evidence, .. } | Advice::Route { evidence, .. } => evidence,
    });
    let rows: Vec<&Row> = evidence.collect();
    if !rows.is_empty() {
        out.push_str("| specialist | kind | tier | accepted | bounds (95 %) | rework | cost | median |\n|---|---|---|---|---|---|---|---|\n");
    }
    for row in rows {
        let Row { specialist, kind, tier, accepted, rework, cost_usd, median_ms, .. } = row;
        let cost = cost_usd.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.4}"));
        let _ = writeln!(
            out,
            "| `{specialist}` | {} | {} | {} of {} | {:.2}–{:.2} | {} of {} | {cost} | {median_ms} ms |",
            kind.as_str(),
            tier.unwrap_or("named model"),
            accepted.of,
            accepted.all,
            accepted.lower,
            accepted.upper,
            rework.of,
            rework.all,
        );
    }
    if !runs.is_empty() {
        let _ = writeln!(out, "Runs: `{}`.", runs.join("`, `"));
    }
    out + &format!("\nNothing changes until a person runs `kb learn apply {id}`.\n")
}
