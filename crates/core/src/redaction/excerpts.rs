//! The search for excerpts of long encodings, such as one line of a wrapped base64 text.

use std::ops::Range;

/// The minimum length of an excerpt that is masked, in bytes.
const SHORTEST: usize = 16;
/// Encodings are indexed by the blocks at each multiple of this length. Every excerpt contains one.
const BLOCK: usize = SHORTEST / 2;
/// Size of the filter in bits, as a power of two.
const FILTER_BITS: u32 = 18;
/// How many places of one block are compared, because a text may repeat a block many times.
const COMPARED: usize = 64;

/// Finds excerpts of encodings in a text.
pub(super) struct Excerpts {
    encodings: Vec<Box<[u8]>>,
    /// Content, encoding and position of each block, sorted.
    blocks: Vec<(u64, u32, u32)>,
    filter: Box<[u64; 1 << (FILTER_BITS - 6)]>,
}

/// An excerpt in a text, and the number of its encoding.
pub(super) struct Excerpt {
    pub(super) range: Range<usize>,
    pub(super) encoding: usize,
}

impl Excerpts {
    /// An index of these encodings. Those that are too short to have an excerpt are never found.
    pub(super) fn of<'a>(encodings: impl Iterator<Item = &'a str>) -> Excerpts {
        let encodings: Vec<Box<[u8]>> = encodings.map(|text| text.as_bytes().into()).collect();
        let mut blocks = Vec::new();
        let mut filter = Box::new([0; 1 << (FILTER_BITS - 6)]);
        for (number, encoding) in encodings.iter().enumerate() {
            if encoding.len() < SHORTEST {
                continue;
            }
            for (at, block) in encoding.chunks_exact(BLOCK).enumerate() {
                let block = block_of(block);
                let bit = bit_of(block);
                filter[bit / 64] |= 1 << (bit % 64);
                blocks.push((block, number as u32, (at * BLOCK) as u32));
            }
        }
        blocks.sort_unstable();
        Excerpts { encodings, blocks, filter }
    }

    /// The excerpts in a text, in the order in which they start. They may overlap.
    pub(super) fn found_in(&self, text: &[u8]) -> Vec<Excerpt> {
        let mut found: Vec<Excerpt> = Vec::new();
        if self.blocks.is_empty() || text.len() < SHORTEST {
            return found;
        }
        let mut at = 0;
        while let Some(block) = text.get(at..at + BLOCK) {
            let block = block_of(block);
            let bit = bit_of(block);
            let longest = match self.filter[bit / 64] >> (bit % 64) & 1 {
                1 => self.longest(text, at, block),
                _ => None,
            };
            // The next excerpt may overlap with this one by less than a block.
            at = longest.as_ref().map_or(at, |new| new.range.end - BLOCK) + 1;
            found.extend(longest);
        }
        found
    }

    /// The longest excerpt around a block of the text.
    fn longest(&self, text: &[u8], at: usize, block: u64) -> Option<Excerpt> {
        let first = self.blocks.partition_point(|(other, ..)| *other < block);
        let places = self.blocks[first..].iter().take_while(|(other, ..)| *other == block);
        let excerpts = places.take(COMPARED).map(|(_, encoding, place)| {
            let (number, place) = (*encoding as usize, *place as usize);
            let encoding = &self.encodings[number];
            let before = common(text[..at].iter().rev(), encoding[..place].iter().rev());
            let after = common(text[at..].iter(), encoding[place..].iter());
            Excerpt { range: at - before..at + after, encoding: number }
        });
        excerpts.filter(|excerpt| excerpt.range.len() >= SHORTEST).max_by_key(|e| e.range.len())
    }

    /// The length of the longest end of a text that may be the start of an excerpt.
    pub(super) fn open_end(&self, text: &[u8]) -> usize {
        let long = self.encodings.iter().filter(|encoding| encoding.len() >= SHORTEST);
        let ends = long.flat_map(|encoding| (1..=encoding.len()).map(|end| &encoding[..end]));
        let end = &text[text.len().saturating_sub(SHORTEST - 1)..];
        ends.map(|part| common(end.iter().rev(), part.iter().rev())).max().unwrap_or_default()
    }
}

fn common<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

fn block_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |block, byte| block << 8 | u64::from(*byte))
}

fn bit_of(block: u64) -> usize {
    (block.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - FILTER_BITS)) as usize
}
