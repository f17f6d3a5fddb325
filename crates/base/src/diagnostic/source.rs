//! Sources of definitions: texts, spans and positions.

use std::sync::Arc;

/// Identifies a text in [`Sources`]. The default is the first one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A text with its path for messages.
#[derive(Debug, Clone)]
pub struct Source {
    /// Relative to the project root if the file is inside; `/`-separated.
    pub path: Arc<str>,
    /// The whole text as read, including a byte order mark and CRLF.
    pub text: Arc<str>,
}

/// A range of bytes of a source. The default is empty, at the start of the first one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The source that the offsets refer to.
    pub source: SourceId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end` of a source; an `end` before `start` counts as `start`.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        Span { source, start: start as u32, end: end.max(start) as u32 }
    }
}

/// A line and a column of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The texts of one load. Ids stay valid as long as this value.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text with its path.
    pub fn add(&mut self, path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceId {
        self.0.push(Source { path: path.into(), text: text.into() });
        SourceId(self.0.len() as u32 - 1)
    }

    /// The source with a path.
    pub fn find(&self, path: &str) -> Option<SourceId> {
        let found = self.0.iter().position(|source| &*source.path == path);
        found.map(|at| SourceId(at as u32))
    }

    /// The source of an id that [`Sources::add`] returned; panics for any other id.
    pub fn get(&self, id: SourceId) -> &Source {
        &self.0[id.0 as usize]
    }

    /// The position of a byte offset. A byte order mark does not count as a column.
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
