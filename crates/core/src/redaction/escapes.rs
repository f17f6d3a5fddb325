//! Encodings of single characters. A search decodes them wherever they occur, so it does not matter
//! which characters a program escapes, or whether it mixes encodings.

/// The maximum indentation that is skipped at the start of a line.
pub(super) const INDENT: usize = 64;
/// The maximum number of backslashes in a row that are decoded. Nesting JSON in JSON doubles them.
const MOST_BACKSLASHES: usize = 64;

/// One row of the table in `docs/security.md`.
#[cfg_attr(not(test), expect(dead_code, reason = "names are for readers and for the manual"))]
pub(super) struct Escape {
    pub(super) name: &'static str,
    /// Programs that produce it.
    pub(super) by: &'static str,
    /// The possible first bytes.
    pub(super) opens: &'static [u8],
    /// Decodes the start of a text. The number is the number of backslashes at its start.
    read: fn(&[u8], usize) -> Reading,
}

/// The number of decoded bytes and their meaning.
pub(super) type Reading = Result<(usize, Meaning), Unread>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// The text ends within a possible escape.
    Open,
    Other,
}

/// A decoded character, a byte of one, or nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    bytes: [u8; 4],
    count: usize,
    /// Whether a line break was skipped. Matches over line breaks count for long encodings only.
    pub(super) folded: bool,
}

impl Meaning {
    const NOTHING: Meaning = Meaning { bytes: [0; 4], count: 0, folded: false };

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.count]
    }
}

impl From<u8> for Meaning {
    fn from(byte: u8) -> Meaning {
        Meaning { bytes: [byte, 0, 0, 0], count: 1, folded: false }
    }
}

impl From<char> for Meaning {
    fn from(letter: char) -> Meaning {
        let mut bytes = [0; 4];
        let count = letter.encode_utf8(&mut bytes).len();
        Meaning { bytes, count, folded: false }
    }
}

#[rustfmt::skip]
pub(super) const ESCAPES: &[Escape] = &[
    Escape { name: "`%C3%A9`", by: "`curl --data-urlencode`, `jq @uri`, browsers", opens: b"%", read: percent },
    Escape { name: "`+` for a space", by: "browser forms, Python's `quote_plus`", opens: b"+", read: |_, _| Ok((1, b' '.into())) },
    Escape { name: "`\\n`", by: "JSON, `printf %q`, Python's `repr`", opens: b"\\", read: control },
    Escape { name: "`\\\"`, `\\/`, `\\ `", by: "JSON, PHP's `json_encode`, `printf %q`", opens: b"\\", read: quoted },
    Escape { name: "`\\\\`", by: "JSON, `printf %q`, Python's `repr`", opens: b"\\", read: |_, run| backslash(run, 2) },
    Escape { name: "`\\\\\\\\`", by: "JSON in JSON", opens: b"\\", read: |_, run| backslash(run, 4) },
    Escape { name: "`\\\\\\\\\\\\\\\\`", by: "JSON in JSON in JSON", opens: b"\\", read: |_, run| backslash(run, 8) },
    Escape { name: "`\\u00e9`", by: "JSON in ASCII: Python, PHP, `jq -a`", opens: b"\\", read: utf16 },
    Escape { name: "`\\xe9`", by: "Python's `ascii`", opens: b"\\", read: |text, run| letter(text, run, b'x', 2) },
    Escape { name: "`\\U0001f511`", by: "Python's `ascii`, Go's `%+q`", opens: b"\\", read: |text, run| letter(text, run, b'U', 8) },
    Escape { name: "`\\xc3\\xa9`", by: "Python's `repr` of bytes, Rust", opens: b"\\", read: byte },
    Escape { name: "`\\303\\251`", by: "`git status`, `printf %q` in ASCII", opens: b"\\", read: octal },
    Escape { name: "`'\\''`", by: "`set -x`, `jq @sh`", opens: b"'", read: |text, _| written(text, b"'\\''", b'\'') },
    Escape { name: "`'\"'\"'`", by: "Python's `shlex.quote`", opens: b"'", read: |text, _| written(text, b"'\"'\"'", b'\'') },
    Escape { name: "`&lt;`", by: "HTML, XML, `jq @html`", opens: b"&", read: named },
    Escape { name: "`&#39;`", by: "HTML of Go and PHP", opens: b"&", read: |text, _| numbered(text, b"&#", 10) },
    Escape { name: "`&#x27;`", by: "HTML of Python and JavaScript", opens: b"&", read: |text, _| numbered(text, b"&#x", 16) },
    Escape { name: "wrapped over lines", by: "`base64`, `fold`, YAML", opens: b"\n\r", read: |text, run| fold(text, run, Meaning::NOTHING) },
    Escape { name: "wrapped over lines at a space", by: "YAML, `fold -s`", opens: b"\n\r", read: |text, run| fold(text, run, b' '.into()) },
    Escape { name: "wrapped over lines in double quotes", by: "YAML", opens: b"\\", read: quoted_fold },
    Escape { name: "wrapped over lines in JSON", by: "a service that answers with base64", opens: b"\\", read: |text, run| fold(text, run, Meaning::NOTHING) },
    Escape { name: "separate lines, indented or with `\\r\\n`", by: "YAML, `unix2dos`", opens: b"\n\r", read: |text, run| fold(text, run, b'\n'.into()) },
    Escape { name: "separate lines, indented or with `\\r\\n`, in JSON", by: "a service that answers with YAML", opens: b"\\", read: |text, run| fold(text, run, b'\n'.into()) },
];

// One bit each, below.
const _: () = assert!(ESCAPES.len() <= u32::BITS as usize);

/// Decodes the start of a text with each of some rows of the table, one bit each.
pub(super) fn read_each(
    text: &[u8],
    escapes: &[&Escape],
    mut rows: u32,
    mut take: impl FnMut(Reading),
) {
    let run = backslashes(text);
    if run > MOST_BACKSLASHES {
        return;
    }
    while rows != 0 {
        take((escapes[rows.trailing_zeros() as usize].read)(text, run));
        rows &= rows - 1;
    }
}

fn percent(text: &[u8], _: usize) -> Reading {
    let byte = digits(&text[1..], 2, 16)?;
    Ok((3, (byte as u8).into()))
}

fn control(text: &[u8], run: usize) -> Reading {
    let byte = match behind(text, run)? {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'a' => 7,
        b'v' => 11,
        b'e' | b'E' => 27,
        _ => return Err(Unread::Other),
    };
    Ok((run + 1, byte.into()))
}

fn quoted(text: &[u8], run: usize) -> Reading {
    match behind(text, run)? {
        mark if mark.is_ascii() && !mark.is_ascii_alphanumeric() => Ok((run + 1, mark.into())),
        _ => Err(Unread::Other),
    }
}

fn backslash(run: usize, count: usize) -> Reading {
    if run < count { Err(Unread::Other) } else { Ok((count, b'\\'.into())) }
}

fn utf16(text: &[u8], run: usize) -> Reading {
    let (end, first) = number(text, run, b'u', 4)?;
    if !(0xD800..0xDC00).contains(&first) {
        let letter = char::from_u32(first).ok_or(Unread::Other)?;
        return Ok((end, letter.into()));
    }
    // The second half of a surrogate pair.
    let rest = &text[end..];
    let (length, second) = number(rest, backslashes(rest), b'u', 4)?;
    match char::decode_utf16([first as u16, second as u16]).next() {
        Some(Ok(letter)) => Ok((end + length, letter.into())),
        _ => Err(Unread::Other),
    }
}

fn letter(text: &[u8], run: usize, mark: u8, count: usize) -> Reading {
    let (end, number) = number(text, run, mark, count)?;
    Ok((end, char::from_u32(number).ok_or(Unread::Other)?.into()))
}

fn byte(text: &[u8], run: usize) -> Reading {
    let (end, number) = number(text, run, b'x', 2)?;
    Ok((end, (number as u8).into()))
}

fn octal(text: &[u8], run: usize) -> Reading {
    let number = digits(&text[run..], 3, 8)?;
    Ok((run + 3, u8::try_from(number).map_err(|_| Unread::Other)?.into()))
}

fn named(text: &[u8], _: usize) -> Reading {
    const NAMES: [(&[u8], u8); 5] =
        [(b"&lt;", b'<'), (b"&gt;", b'>'), (b"&amp;", b'&'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
    let mut unread = Unread::Other;
    for (name, byte) in NAMES {
        match written(text, name, byte) {
            Err(Unread::Other) => {}
            Err(Unread::Open) => unread = Unread::Open,
            read => return read,
        }
    }
    Err(unread)
}

fn numbered(text: &[u8], mark: &[u8], radix: u32) -> Reading {
    const MOST_DIGITS: usize = 7;
    let (start, _) = written(text, mark, 0)?;
    let rest = &text[start..text.len().min(start + MOST_DIGITS + 1)];
    match rest.iter().position(|byte| *byte == b';') {
        Some(count) if count > 0 => {
            let letter = char::from_u32(digits(&rest[..count], count, radix)?);
            Ok((start + count + 1, letter.ok_or(Unread::Other)?.into()))
        }
        Some(_) => Err(Unread::Other),
        None => digits(rest, MOST_DIGITS, radix).and(Err(Unread::Other)),
    }
}

/// A line break and the indentation after it, literally or escaped as in JSON. Not before an empty
/// line.
fn fold(text: &[u8], run: usize, means: Meaning) -> Reading {
    let end = after_line_break(text, run)?;
    let is_itself = end == 1 && text[0] == b'\n' && means.count > 0;
    let rest = &text[end..];
    let is_empty = match rest.first() {
        Some(b'\n' | b'\r') => true,
        Some(b'\\') => after_line_break(rest, backslashes(rest)).is_ok(),
        _ => false,
    };
    if is_itself || is_empty {
        Err(Unread::Other)
    } else {
        Ok((end, Meaning { folded: true, ..means }))
    }
}

/// A line break behind one backslash.
fn quoted_fold(text: &[u8], run: usize) -> Reading {
    if run != 1 {
        return Err(Unread::Other);
    }
    let (end, means) = fold(&text[1..], 0, Meaning::NOTHING)?;
    Ok((end + 1, means))
}

fn after_line_break(text: &[u8], run: usize) -> Result<usize, Unread> {
    let end = match behind(text, run)? {
        b'\n' if run == 0 => 1,
        b'\r' if run == 0 => 1 + usize::from(text.get(1) == Some(&b'\n')),
        b'n' if run > 0 => run + 1,
        b'r' if run > 0 => {
            let rest = &text[run + 1..];
            match backslashes(rest) {
                again if again > 0 && behind(rest, again)? == b'n' => run + 1 + again + 1,
                0 if rest.is_empty() => return Err(Unread::Open),
                _ => run + 1,
            }
        }
        _ => return Err(Unread::Other),
    };
    let indent = text[end..].iter().take(INDENT + 1);
    match indent.take_while(|byte| matches!(byte, b' ' | b'\t')).count() {
        indent if indent > INDENT => Err(Unread::Other),
        indent => Ok(end + indent),
    }
}

/// How many backslashes a text begins with; one more than may be, if there are more.
fn backslashes(text: &[u8]) -> usize {
    text.iter().take(MOST_BACKSLASHES + 1).take_while(|byte| **byte == b'\\').count()
}

/// What stands behind the backslashes.
fn behind(text: &[u8], run: usize) -> Result<u8, Unread> {
    text.get(run).copied().ok_or(Unread::Open)
}

/// The number in hex that stands behind backslashes and a mark, and where it ends.
fn number(text: &[u8], run: usize, mark: u8, count: usize) -> Result<(usize, u32), Unread> {
    if behind(text, run)? != mark {
        return Err(Unread::Other);
    }
    Ok((run + 1 + count, digits(&text[run + 1..], count, 16)?))
}

fn digits(text: &[u8], count: usize, radix: u32) -> Result<u32, Unread> {
    let digits = &text[..text.len().min(count)];
    let number = digits.iter().try_fold(0_u32, |number, byte| {
        number.checked_mul(radix)?.checked_add(char::from(*byte).to_digit(radix)?)
    });
    match number {
        Some(number) if digits.len() == count => Ok(number),
        Some(_) => Err(Unread::Open),
        None => Err(Unread::Other),
    }
}

/// A fixed text that stands for a byte.
fn written(text: &[u8], as_this: &[u8], byte: u8) -> Reading {
    if text.starts_with(as_this) {
        Ok((as_this.len(), byte.into()))
    } else if as_this.starts_with(text) {
        Err(Unread::Open)
    } else {
        Err(Unread::Other)
    }
}
