//! Entries as a reader sees them.

use super::rows::{COLUMNS, entry};
use super::values::{Hit, LIVE, Query, Reader};
use rusqlite::Connection;

/// The entry of this number as the reader sees it; `None` if it may not see it or the query is for others.
pub(super) fn hit(
    connection: &Connection,
    number: i64,
    score: f64,
    query: &Query<'_>,
    reader: Reader<'_>,
) -> rusqlite::Result<Option<Hit>> {
    let sql = format!("SELECT {COLUMNS} FROM entry WHERE number = ?1 AND {LIVE}");
    let mut one = connection.prepare_cached(&sql)?;
    let mut rows = one.query_map([number], |row| entry(connection, row))?;
    let found = rows.next().transpose()?;
    Ok(found.and_then(|entry| seen_by(Hit { entry, score }, query, reader)))
}

/// The hit as the reader sees it; `None` if it may not, or if the query is for others.
fn seen_by(mut hit: Hit, query: &Query<'_>, reader: Reader<'_>) -> Option<Hit> {
    let entry = &mut hit.entry;
    let has_tag = |tag: &String| entry.tags.contains(&tag.trim().to_lowercase());
    let fits = (query.kinds.is_empty() || query.kinds.contains(&entry.kind))
        && (query.tags.is_empty() || query.tags.iter().any(has_tag))
        && query.author.is_none_or(|author| author == entry.author);
    if !fits {
        return None;
    }
    if let Reader::Specialist(lineage) = reader {
        if !entry.is_found_in(lineage) {
            return None;
        }
        entry.state = entry.state_in(lineage);
    }
    Some(hit)
}
