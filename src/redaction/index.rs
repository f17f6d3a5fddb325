use std::ops::Range;

/// Spellings from this many bytes on are found although they are folded over lines.
const FOLDED: usize = 12;
/// The deepest indentation of a folded line.
const INDENT: usize = 64;
/// Bits of the filter: a few thousand spellings light one in a hundred.
const FILTER_BITS: u32 = 18;
const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);

/// Finds spellings in a text: a filter over the first four bytes, which says no to nearly every
/// place at the price of one look, then the few spellings that begin so.
pub(super) struct Index {
    /// Sorted, so that those with a common beginning are neighbours.
    spellings: Vec<Box<str>>,
    by_first: Box<[Range<usize>; 256]>,
    filter: Box<[u64; FILTER_WORDS]>,
    longest: usize,
}

/// What begins at one place of a text.
#[derive(Debug, Clone, Copy, Default)]
struct Begun<'i> {
    /// The end of what reaches furthest, and which that is.
    whole: Option<(usize, &'i str)>,
    /// Whether the text ends before some spelling does.
    open: bool,
}

impl Index {
    /// Of these spellings, sorted, each of at least four bytes.
    pub(super) fn of<'a>(spellings: impl Iterator<Item = &'a str>) -> Index {
        let spellings: Vec<Box<str>> = spellings.map(Into::into).collect();
        let mut by_first = Box::new([const { 0..0 }; 256]);
        for (at, spelling) in spellings.iter().enumerate() {
            let range = &mut by_first[usize::from(spelling.as_bytes()[0])];
            *range = if range.end == 0 { at..at + 1 } else { range.start..at + 1 };
        }
        let mut filter = Box::new([0; FILTER_WORDS]);
        for start in spellings.iter().filter_map(|spelling| spelling.as_bytes().first_chunk()) {
            let bit = bit_of(*start);
            filter[bit / 64] |= 1 << (bit % 64);
        }
        let longest = spellings.iter().map(|spelling| spelling.len()).max().unwrap_or(0);
        Index { spellings, by_first, filter, longest }
    }

    /// Calls back with each place at which spellings begin, from the first on: its start, its end
    /// and the spelling that reaches furthest.
    pub(super) fn each<'i>(&'i self, text: &[u8], mut take: impl FnMut(usize, usize, &'i str)) {
        // Places before this one have a line break in their first four bytes.
        let mut folded_before = (1..text.len().min(3)).rfind(|at| may_fold(text[*at])).unwrap_or(0);
        for (at, start) in text.array_windows::<4>().enumerate() {
            if may_fold(start[3]) {
                folded_before = at + 3;
            }
            let folded = at < folded_before;
            if (self.may_begin(*start) || (folded && self.may_begin_folded(&text[at..])))
                && let Some((end, spelling)) = self.begun(text, at).whole
            {
                take(at, end, spelling);
            }
        }
    }

    fn may_begin(&self, start: [u8; 4]) -> bool {
        let bit = bit_of(start);
        self.filter[bit / 64] >> (bit % 64) & 1 == 1
    }

    fn may_begin_folded(&self, text: &[u8]) -> bool {
        let (first, count) = unfolded(text);
        count == 4 && self.may_begin(first)
    }

    /// What begins at that place: all spellings at once, byte by byte.
    fn begun(&self, text: &[u8], at: usize) -> Begun<'_> {
        let mut begun = Begun::default();
        let like = self.by_first[usize::from(text[at])].clone();
        self.descend(text, at + 1, Descent { like, done: 1, folded: false }, &mut begun);
        begun
    }

    fn descend<'i>(&'i self, text: &[u8], at: usize, from: Descent, begun: &mut Begun<'i>) {
        let Descent { mut like, mut done, folded } = from;
        let mut at = at;
        loop {
            let all = &self.spellings[like.clone()];
            let Some(first) = all.first() else { return };
            // The shortest of those with a common beginning stands first.
            if first.len() == done {
                let reaches = begun.whole.is_none_or(|(end, _)| end < at);
                if reaches && (!folded || done >= FOLDED) {
                    begun.whole = Some((at, first));
                }
                like.start += 1;
                continue;
            }
            let Some(byte) = text.get(at) else {
                begun.open |= !folded || all.iter().any(|spelling| spelling.len() >= FOLDED);
                return;
            };
            if may_fold(*byte) {
                self.go_on_after(text, at, Descent { like: like.clone(), done, folded }, begun);
            }
            like = self.going_on(like, done, *byte);
            (at, done) = (at + 1, done + 1);
        }
    }

    /// Goes on behind a line break that is not the spelling's own, or is written otherwise there.
    fn go_on_after<'i>(&'i self, text: &[u8], at: usize, from: Descent, begun: &mut Begun<'i>) {
        let long = |like: &Range<usize>| {
            self.spellings[like.clone()].iter().any(|spelling| spelling.len() >= FOLDED)
        };
        let after = match fold(&text[at..]) {
            Fold::Of(length) => at + length,
            Fold::Open => {
                begun.open |= long(&from.like);
                return;
            }
            Fold::None => return,
        };
        // Only one fold at a place.
        if text
            .get(after)
            .is_some_and(|byte| may_fold(*byte) && matches!(fold(&text[after..]), Fold::Of(_)))
        {
            return;
        }
        let own = self.going_on(from.like.clone(), from.done, b'\n');
        if !own.is_empty() {
            let own = Descent { like: own, done: from.done + 1, folded: true };
            self.descend(text, after, own, begun);
        }
        self.descend(text, after, Descent { folded: true, ..from }, begun);
    }

    /// Those of a range with a common beginning whose next byte is this one.
    fn going_on(&self, like: Range<usize>, done: usize, byte: u8) -> Range<usize> {
        let all = &self.spellings[like.clone()];
        let next = |spelling: &str| spelling.as_bytes().get(done).copied();
        let from = all.partition_point(|spelling| next(spelling) < Some(byte));
        let count = all[from..].partition_point(|spelling| next(spelling) == Some(byte));
        like.start + from..like.start + from + count
    }

    /// The first place from which on the text may be the beginning of a spelling.
    pub(super) fn open_from(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(2 * self.longest + INDENT);
        let open = (first..text.len()).find(|at| self.is_open(text, *at));
        open.unwrap_or(text.len())
    }

    fn is_open(&self, text: &[u8], at: usize) -> bool {
        let rest = &text[at..];
        // Whatever begins in the middle of a character is no spelling.
        if rest[0] & 0xC0 == 0x80 {
            return false;
        }
        let worth = rest.first_chunk().is_none_or(|start| self.may_begin(*start)) || {
            let (first, count) = unfolded(rest);
            count < 4 || self.may_begin(first)
        };
        worth && self.begun(text, at).open
    }
}

/// How far a search has come: the spellings that are like the text up to here, how much of them
/// that is, and whether the text was folded on the way.
struct Descent {
    like: Range<usize>,
    done: usize,
    folded: bool,
}

fn bit_of(start: [u8; 4]) -> usize {
    (u32::from_le_bytes(start).wrapping_mul(0x9E37_79B1) >> (32 - FILTER_BITS)) as usize
}

enum Fold {
    Of(usize),
    /// The text may end in the middle of one.
    Open,
    None,
}

fn may_fold(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b'\\')
}

/// A line break and the indentation after it, as it is or as JSON writes it.
fn fold(text: &[u8]) -> Fold {
    const BREAKS: [&[u8]; 5] = [b"\r\n", b"\n", b"\r", b"\\r\\n", b"\\n"];
    let Some(line_break) = BREAKS.iter().find(|line_break| text.starts_with(line_break)) else {
        let open = text == b"\\" || text == b"\\r" || text == b"\\r\\";
        return if open { Fold::Open } else { Fold::None };
    };
    let indent = text[line_break.len()..].iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    match indent.count() {
        indent if indent > INDENT => Fold::None,
        indent => Fold::Of(line_break.len() + indent),
    }
}

/// The first four bytes of a text without line breaks among them, and how many there are.
fn unfolded(text: &[u8]) -> ([u8; 4], usize) {
    let (mut first, mut count, mut at) = ([0; 4], 0, 0);
    while count < 4 && at < text.len() {
        if count > 0
            && may_fold(text[at])
            && let Fold::Of(length) = fold(&text[at..])
        {
            at += length;
            if at == text.len() {
                break;
            }
        } else if count > 0 && matches!(fold(&text[at..]), Fold::Open) {
            break;
        }
        first[count] = text[at];
        (count, at) = (count + 1, at + 1);
    }
    (first, count)
}
