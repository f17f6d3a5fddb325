//! Prints what a new run keeps of an earlier one.

use crate::cli::render::table::plain;
use crate::cli::terminal::{DIM, GOOD, Terminal, WARNING, paint};
use kb_service::service::runs::KeepReport;
use std::fmt::Write as _;

/// Prints changed definitions, the steps that are kept, and those that run with the reason.
pub(in crate::cli) fn print(report: &KeepReport, terminal: &mut Terminal) -> std::io::Result<()> {
    terminal.note(&text(report))
}

fn text(report: &KeepReport) -> String {
    let mut out = if report.changed.is_empty() {
        format!("the definitions are those of run {}\n", report.base)
    } else {
        format!("definitions that changed since run {}:\n", report.base)
    };
    for (path, diff) in &report.changed {
        let _ = writeln!(out, "  {}", plain(path));
        for line in diff.lines() {
            let line = plain(line);
            let line = match line.chars().next() {
                Some('+') => paint(GOOD, &line),
                Some('-') => paint(WARNING, &line),
                Some('@') => paint(DIM, &line),
                _ => line,
            };
            let _ = writeln!(out, "  {line}");
        }
    }
    let kept =
        if report.kept.is_empty() { "nothing".to_owned() } else { plain(&report.kept.join(", ")) };
    if report.verified.is_empty() || !report.kept.is_empty() {
        let _ = writeln!(out, "kept  {kept}");
    }
    if !report.kept_items.is_empty() {
        let steps = plain(&report.kept_items.join(", "));
        let _ = writeln!(out, "kept  the items of {steps} that succeeded");
    }
    for (step, why) in &report.verified {
        let (step, why) = (plain(step), paint(DIM, &plain(why)));
        let _ = writeln!(out, "kept  {step} if its gate accepts the result: {why}");
    }
    let width = report.again.iter().map(|(step, _)| step.chars().count()).max().unwrap_or(0);
    for (step, why) in &report.again {
        let _ = writeln!(out, "runs  {:width$}  {}", plain(step), paint(DIM, &plain(why)));
    }
    out
}
