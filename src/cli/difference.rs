//! The changes about which an approval decides, on a terminal.

use super::run::{diff_text, named_diffs};
use super::terminal::{DIM, TITLE, Terminal, paint};
use kb_service::service::Difference;

/// Maximum number of lines that are shown unless all are asked for.
const SHOWN: usize = 100;

/// Shows the changes; of many, the first lines. Returns whether there are more.
pub(super) fn show(difference: &Difference, terminal: &mut Terminal) -> std::io::Result<bool> {
    if let Some(why) = difference.unshown() {
        terminal.note(&format!("{}\n", why.as_str()))?;
    }
    if difference.is_empty() {
        return Ok(false);
    }
    let text = text(difference);
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().take(SHOWN).map(|line| format!("{line}\n")).collect::<String>();
    terminal.err_verbatim(&shown)?;
    let more = lines.len().saturating_sub(SHOWN);
    if more > 0 {
        let note = format!("… {more} more lines; d shows all");
        terminal.err(&format!("{}\n", paint(DIM, &note)))?;
    }
    Ok(more > 0)
}

/// Shows all changes.
pub(super) fn show_all(difference: &Difference, terminal: &mut Terminal) -> std::io::Result<()> {
    terminal.err_verbatim(&text(difference))
}

fn text(difference: &Difference) -> String {
    const ABOUT: &str = "changes about which this decides";
    let changes = match difference.runs.as_slice() {
        [only] => diff_text(only, false),
        runs => named_diffs(runs),
    };
    format!("{}\n{changes}", paint(TITLE, ABOUT))
}
