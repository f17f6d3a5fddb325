use std::sync::Arc;

/// A file among the [`Sources`] of one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A text with the path that people know it by.
#[derive(Debug, Clone)]
pub struct Source {
    /// Relative to the project root where it lies inside; `/`-separated.
    pub path: Arc<str>,
    /// The whole text, as read (BOM and CRLF included).
    pub text: Arc<str>,
}

/// Bytes `start..end` of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Which source.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Bytes `start..end` of that source.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        Span { source, start: start as u32, end: end.max(start) as u32 }
    }

    /// A part of this span, by offsets from its start.
    pub fn part(self, start: usize, end: usize) -> Self {
        Span::new(self.source, self.start as usize + start, self.start as usize + end)
    }
}

/// A line and a column, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The texts of one load; ids stay valid for its lifetime.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and names it.
    pub fn add(&mut self, path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceId {
        self.0.push(Source { path: path.into(), text: text.into() });
        SourceId(self.0.len() as u32 - 1)
    }

    /// The source of an id that came from [`Sources::add`].
    pub fn get(&self, id: SourceId) -> &Source {
        &self.0[id.0 as usize]
    }

    /// All sources with their ids, in the order of addition.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.0.iter().enumerate().map(|(i, source)| (SourceId(i as u32), source))
    }

    /// Where a byte offset of a source is. A byte order mark is no column.
    pub fn position(&self, id: SourceId, offset: u32) -> Position {
        let text = &self.get(id).text;
        let mut offset = (offset as usize).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Position {
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().filter(|&c| c != '\u{feff}').count() as u32 + 1,
        }
    }
}
