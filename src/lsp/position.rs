//! Positions of the protocol: lines and UTF-16 columns, from 0.

use kb_base::value::Json;
use serde_json::json;

/// A line and a UTF-16 column, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) character: usize,
}

impl Position {
    /// The position in the JSON of a request.
    pub(super) fn of(json: &Json) -> Option<Position> {
        let number = |key: &str| json.get(key)?.as_u64().map(|number| number as usize);
        Some(Position { line: number("line")?, character: number("character")? })
    }

    /// The position as the protocol writes it.
    pub(super) fn json(self) -> Json {
        json!({"line": self.line, "character": self.character})
    }

    /// The position of a byte offset; offsets beyond the text count as its end.
    pub(super) fn at(text: &str, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let character = before[start..].encode_utf16().count();
        Position { line: before.matches('\n').count(), character }
    }

    /// The byte offset of the position; positions beyond a line count as its end.
    pub(super) fn offset(self, text: &str) -> usize {
        let start = text.split_inclusive('\n').take(self.line).map(str::len).sum::<usize>();
        let line = text[start..].lines().next().unwrap_or_default();
        let mut units = 0;
        for (at, letter) in line.char_indices() {
            if units >= self.character {
                return start + at;
            }
            units += letter.len_utf16();
        }
        start + line.len()
    }
}

/// The JSON form of a range of bytes.
pub(super) fn range(text: &str, start: usize, end: usize) -> Json {
    json!({"start": Position::at(text, start).json(), "end": Position::at(text, end).json()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units() {
        let text = "a: 1\nключ: \u{1f600}x\n";
        let x = text.find('x').unwrap();
        let position = Position::at(text, x);
        assert_eq!(position, Position { line: 1, character: 8 });
        assert_eq!(position.offset(text), x);
        assert_eq!(Position { line: 0, character: 99 }.offset(text), 4);
        assert_eq!(Position { line: 9, character: 0 }.offset(text), text.len());
    }
}
