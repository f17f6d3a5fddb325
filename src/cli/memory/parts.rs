//! What several commands show of an entry.

use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::{DIM, TITLE, Terminal, WARNING, paint};
use kb_base::value::{Timestamp, counted, cut_to_chars};
use kb_service::service::{MemoryEntry, MemoryKind, MemoryState, MemoryView};
use std::io;

/// Characters of a sentence in a table.
const SHOWN: usize = 90;

/// Reads a kind, also by the names of agent files.
pub(super) fn kind(text: &str) -> Result<MemoryKind, String> {
    let names = MemoryKind::ALL.map(MemoryKind::as_str).join(", ");
    MemoryKind::parse(text).ok_or_else(|| format!("use one of: {names}"))
}

/// Reads a state.
pub(super) fn state(text: &str) -> Result<MemoryState, String> {
    let names = MemoryState::ALL.map(MemoryState::as_str).join(", ");
    MemoryState::parse(text).ok_or_else(|| format!("use one of: {names}"))
}

/// A table of entries.
pub(super) fn table<'a>(entries: impl IntoIterator<Item = &'a MemoryEntry>) -> String {
    let mut table = Table::new(["ID", "STATE", "KIND", "FROM", "TEXT"]);
    for entry in entries {
        let from = entry.approved_by.as_ref().unwrap_or(&entry.author);
        let (state, kind) = (entry.state.as_str(), entry.kind.as_str());
        table.row([&entry.id, state, kind, from, &cut_to_chars(&entry.text, SHOWN)]);
    }
    table.text()
}

/// Prints a list with the problems of files, or that there is nothing.
pub(super) fn print(view: &MemoryView, nothing: &str, terminal: &mut Terminal) -> io::Result<()> {
    terminal.out(&table(&view.entries))?;
    for problem in &view.problems {
        terminal.err(&format!("{} {}\n", paint(WARNING, "warning[KB1603]:"), plain(problem)))?;
    }
    if view.entries.is_empty() {
        return terminal.note(&format!("{nothing}\n"));
    }
    let count = view.entries.len();
    terminal.note(&format!("{count} {}\n", if count == 1 { "entry" } else { "entries" }))?;
    if !view.enabled {
        let off = "memory is off, so specialists are shown none of it; the settings switch it on: `memory: {enabled: true}`\n";
        terminal.note(off)?;
    }
    Ok(())
}

/// One entry with all that is known about it.
pub(super) fn sheet(entry: &MemoryEntry, conflicts: &[String]) -> String {
    let mut out = format!("{}  {}\n", paint(TITLE, &entry.id), plain(&entry.text));
    let mut line = |label: &str, text: String| {
        out.push_str(&format!("{}  {}\n", paint(DIM, &format!("{label:9}")), plain(&text)));
    };
    line("kind", entry.kind.as_str().to_owned());
    line("state", entry.state.as_str().to_owned());
    if let Some(subject) = &entry.subject {
        line("subject", subject.clone());
    }
    if !entry.tags.is_empty() {
        line("tags", entry.tags.join(", "));
    }
    let run = entry.run.as_ref().map(|run| format!(" in run {run}")).unwrap_or_default();
    let created = day(entry.created);
    line("from", format!("{}{run}, {created}, trust {}", entry.author, entry.trust.as_str()));
    if let Some(by) = &entry.approved_by {
        line("approved", format!("by {by}"));
    }
    line("checked", entry.last_verified.map_or_else(|| "never".to_owned(), day));
    for anchor in &entry.anchors {
        let excerpt = anchor.excerpt.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        line("anchor", format!("{}{excerpt}", anchor.path));
    }
    for check in &entry.checks {
        line("check", check.to_string());
    }
    if let Some(last) = entry.last_accessed {
        line(
            "used",
            format!("{}, last {}", counted(entry.access_count as usize, "time"), day(last)),
        );
    }
    if !conflicts.is_empty() {
        line("conflicts", conflicts.join(", "));
    }
    out
}

/// A time as a date.
pub(super) fn day(at: Timestamp) -> String {
    at.rfc3339().chars().take(10).collect()
}
