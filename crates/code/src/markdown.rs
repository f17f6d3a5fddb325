//! The headings of a Markdown file.

use crate::symbol::Symbol;

/// The headings in order. A section ends before the next heading of its level or of a higher one. Lines in fenced
/// code are no headings.
pub(crate) fn headings(text: &str) -> Vec<Symbol> {
    let mut found: Vec<(usize, Symbol)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut lines = 0;
    for (number, line) in (1u32..).zip(text.lines()) {
        lines = number;
        let start = line.trim_start();
        let opener = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, opener) {
            (Some(mark), Some(found)) if mark == found => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            _ => {}
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let title = line[level..].trim().trim_end_matches('#').trim_end();
        let is_heading = (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']);
        if fence.is_some() || opener.is_some() || !is_heading || title.is_empty() {
            continue;
        }
        while let Some(&last) = open.last() {
            if found[last].0 < level {
                break;
            }
            found[last].1.end_line = number - 1;
            open.pop();
        }
        let names: Vec<&str> = open.iter().map(|at| found[*at].1.name.as_str()).collect();
        let symbol = Symbol {
            name: title.to_owned(),
            kind: "heading",
            line: number,
            end_line: number,
            depth: open.len() as u32,
            container: names.join("."),
            text: line.trim().to_owned(),
        };
        open.push(found.len());
        found.push((level, symbol));
    }
    open.into_iter().for_each(|at| found[at].1.end_line = lines);
    found.into_iter().map(|(_, symbol)| symbol).collect()
}
