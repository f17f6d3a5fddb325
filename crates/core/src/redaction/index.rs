//! The search for encodings in a text.

use super::escapes::{Escape, Meaning, Unread, read_each};
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

/// The minimum length of an encoding that is found across line breaks, in bytes.
const FOLDED: usize = 12;
/// The size of the filter in bits, as a power of two. A few thousand encodings set one bit in a
/// hundred.
const FILTER_BITS: u32 = 18;
const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);

/// Finds encodings in a text, with or without escapes. A filter over four bytes rejects nearly every
/// position with one lookup; then the few encodings with that prefix are compared.
pub(super) struct Index {
    /// Sorted, so that encodings with a common prefix are neighbours.
    encodings: Vec<Box<str>>,
    by_first: Box<[Range<usize>; 256]>,
    /// In which of the first four positions a byte occurs, one bit each.
    among: Box<[u8; 256]>,
    /// The first two bytes.
    pairs: Box<[u64; 1 << 10]>,
    filter: Box<[u64; FILTER_WORDS]>,
    escapes: Vec<&'static Escape>,
    /// Which escapes start with a byte, one bit each.
    opens: Box<[u32; 256]>,
}

/// The matches that start at one position of a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MatchStart<'i> {
    /// The longest match: its end and the encoding.
    pub(super) whole: Option<(usize, &'i str)>,
    /// Whether the text ends within a possible match.
    pub(super) open: bool,
}

/// The state of a search: the encodings that match the text so far, the length of the match, and
/// whether it extends over a line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Descent {
    at: usize,
    done: usize,
    from: usize,
    to: usize,
    folded: bool,
}

/// The first four decoded bytes of a text.
#[derive(Debug, Clone, Copy, Default)]
struct Start {
    bytes: [u8; 4],
    count: usize,
}

impl Index {
    /// An index of encodings, which must be sorted and at least four bytes long.
    pub(super) fn of<'a>(
        encodings: impl Iterator<Item = &'a str>,
        escapes: impl Iterator<Item = &'static Escape>,
    ) -> Index {
        let encodings: Vec<Box<str>> = encodings.map(Into::into).collect();
        let mut by_first = Box::new([const { 0..0 }; 256]);
        for (at, encoding) in encodings.iter().enumerate() {
            let range = &mut by_first[usize::from(encoding.as_bytes()[0])];
            *range = if range.end == 0 { at..at + 1 } else { range.start..at + 1 };
        }
        let (mut pairs, mut filter) = (Box::new([0; 1 << 10]), Box::new([0; FILTER_WORDS]));
        let mut among = Box::new([0; 256]);
        for start in encodings.iter().filter_map(|encoding| encoding.as_bytes().first_chunk()) {
            for (place, byte) in start.iter().enumerate() {
                among[usize::from(*byte)] |= 1 << place;
            }
            let (bit, pair) = (bit_of(*start), pair_of(*start));
            filter[bit / 64] |= 1 << (bit % 64);
            pairs[pair / 64] |= 1 << (pair % 64);
        }
        let escapes: Vec<_> = escapes.collect();
        let mut opens = Box::new([0; 256]);
        for (row, escape) in escapes.iter().enumerate() {
            escape.opens.iter().for_each(|byte| opens[usize::from(*byte)] |= 1 << row);
        }
        Index { encodings, by_first, among, pairs, filter, escapes, opens }
    }

    /// Calls `take` with each position at which encodings start, in order, until it breaks. If the
    /// text `ends`, no match is left open.
    pub(super) fn each<'i>(
        &'i self,
        text: &[u8],
        ends: bool,
        mut take: impl FnMut(usize, MatchStart<'i>) -> ControlFlow<()>,
    ) {
        // One bit for this position and each of the next three: a match may start with an escape.
        let mut escaped = 0;
        for at in (0..text.len().min(3)).filter(|at| self.opens(text[*at])) {
            escaped |= self.begins_around(text, at, ends);
        }
        for (at, start) in text.array_windows::<4>().enumerate() {
            if self.opens(start[3]) {
                escaped |= self.begins_around(text, at + 3, ends);
            }
            if (self.may_begin(*start) || escaped & 1 == 1)
                && take(at, self.started(text, at)).is_break()
            {
                return;
            }
            escaped >>= 1;
        }
        if !ends {
            let rest = text.len().saturating_sub(3)..text.len();
            let _ = rest.into_iter().try_for_each(|at| take(at, self.started(text, at)));
        }
    }

    /// The positions, from the third before an escape to its own, at which encodings may start if it
    /// is decoded; one bit each.
    #[inline(never)]
    fn begins_around(&self, text: &[u8], escape: usize, ends: bool) -> u8 {
        let first = escape.saturating_sub(3);
        let mut begins = 0;
        self.read(&text[escape..], |reading| match reading {
            Some((length, means)) => {
                let among =
                    means.bytes().first().map_or(0b1110, |byte| self.among[usize::from(*byte)]);
                for at in (first..=escape).filter(|at| among >> (escape - at) & 1 == 1) {
                    let start = Start::default().and(&text[at..escape]).and(means.bytes());
                    if self.may_go_on(text, escape + length, start, ends) {
                        begins |= 1 << (at - first);
                    }
                }
            }
            None if ends => {}
            None => begins = 0b1111,
        });
        begins
    }

    fn opens(&self, byte: u8) -> bool {
        self.opens[usize::from(byte)] != 0
    }

    /// Decodes the start of a text in all possible ways: the length and the meaning, or `None` if the
    /// text ends within a possible escape.
    fn read(&self, text: &[u8], mut take: impl FnMut(Option<(usize, Meaning)>)) {
        let rows = self.opens[usize::from(text[0])];
        read_each(text, &self.escapes, rows, |reading| match reading {
            Ok(reading) => take(Some(reading)),
            Err(Unread::Open) => take(None),
            Err(Unread::Other) => {}
        });
    }

    fn may_begin(&self, start: [u8; 4]) -> bool {
        let bit = bit_of(start);
        self.filter[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Whether encodings may start with these bytes and continue with the decoded text at `at`.
    fn may_go_on(&self, text: &[u8], at: usize, start: Start, ends: bool) -> bool {
        match start.count {
            0 => {}
            1 if self.by_first[usize::from(start.bytes[0])].is_empty() => return false,
            1 => {}
            4 => return self.may_begin(start.bytes),
            _ => {
                let pair = pair_of(start.bytes);
                if self.pairs[pair / 64] >> (pair % 64) & 1 == 0 {
                    return false;
                }
            }
        }
        let Some(byte) = text.get(at) else { return !ends };
        let mut may = self.may_go_on(text, at + 1, start.and(&[*byte]), ends);
        if !may && self.opens(*byte) {
            self.read(&text[at..], |reading| {
                may |= match reading {
                    Some((length, means)) => {
                        self.may_go_on(text, at + length, start.and(means.bytes()), ends)
                    }
                    None => !ends,
                };
            });
        }
        may
    }

    /// The matches that start at a position: all encodings at once, byte by byte.
    fn started(&self, text: &[u8], at: usize) -> MatchStart<'_> {
        let mut started = MatchStart::default();
        let to = self.encodings.len();
        let mut next = Some(Descent { at, done: 0, from: 0, to, folded: false });
        // States after a decoded escape, in the order of the text. Each is visited once, however many
        // ways lead to it.
        let mut read = BTreeSet::new();
        while let Some(descent) = next {
            self.descend(text, descent, &mut started, &mut read);
            next = read.pop_first();
        }
        started
    }

    fn descend<'i>(
        &'i self,
        text: &[u8],
        mut descent: Descent,
        started: &mut MatchStart<'i>,
        read: &mut BTreeSet<Descent>,
    ) {
        while let Some(first) = self.encodings[descent.from..descent.to].first() {
            let Descent { at, done, folded, .. } = descent;
            // The shortest encoding with a common prefix comes first.
            if first.len() == done {
                let reaches = started.whole.is_none_or(|(end, _)| end < at);
                if reaches && (!folded || done >= FOLDED) {
                    started.whole = Some((at, first));
                }
                descent.from += 1;
                continue;
            }
            let Some(byte) = text.get(at) else {
                started.open |= self.believes(descent);
                return;
            };
            if self.opens(*byte) {
                self.read(&text[at..], |reading| match reading {
                    Some((_, means)) if means.folded && done == 0 => {}
                    Some((length, means)) => {
                        let next = self.going_on(descent, means.bytes());
                        let folded = folded || means.folded;
                        if next.from < next.to {
                            read.insert(Descent { at: at + length, folded, ..next });
                        }
                    }
                    None => started.open |= self.believes(descent),
                });
            }
            descent = self.going_on(descent, &[*byte]);
            descent.at += 1;
        }
    }

    /// Whether a continued match could count.
    fn believes(&self, descent: Descent) -> bool {
        let mut like = self.encodings[descent.from..descent.to].iter();
        !descent.folded || like.any(|encoding| encoding.len() >= FOLDED)
    }

    /// The encodings of a state that continue with these bytes.
    fn going_on(&self, mut descent: Descent, bytes: &[u8]) -> Descent {
        for byte in bytes {
            let Descent { done, from, to, .. } = descent;
            let like = match done {
                0 => self.by_first[usize::from(*byte)].clone(),
                _ => {
                    let all = &self.encodings[from..to];
                    let next = |encoding: &str| encoding.as_bytes().get(done).copied();
                    let first = all.partition_point(|encoding| next(encoding) < Some(*byte));
                    let rest = &all[first..];
                    let count = rest.partition_point(|encoding| next(encoding) == Some(*byte));
                    from + first..from + first + count
                }
            };
            (descent.from, descent.to, descent.done) = (like.start, like.end, done + 1);
        }
        descent
    }
}

impl Start {
    fn and(mut self, bytes: &[u8]) -> Start {
        for (place, byte) in self.bytes[self.count..].iter_mut().zip(bytes) {
            *place = *byte;
            self.count += 1;
        }
        self
    }
}

fn pair_of(start: [u8; 4]) -> usize {
    usize::from(u16::from_le_bytes([start[0], start[1]]))
}

fn bit_of(start: [u8; 4]) -> usize {
    (u32::from_le_bytes(start).wrapping_mul(0x9E37_79B1) >> (32 - FILTER_BITS)) as usize
}
