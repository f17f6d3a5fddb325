//! Characters that people do not see and that models and programs read.

use regex::Regex;
use std::sync::LazyLock;

static IGNORABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\p{Default_Ignorable_Code_Point}").expect("the class exists"));
/// Ignorable, control, format, separator and private characters, without the signs that enclose a number, and the blank
/// of Braille, which is drawn as nothing.
static INVISIBLE: LazyLock<Regex> = LazyLock::new(|| {
    let classes = r"[[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\x{2800}]--\p{Prepended_Concatenation_Mark}]";
    Regex::new(classes).expect("the classes exist")
});

/// Marks that are drawn on the letter before them and belong to one script, such as the points of Hebrew.
static SCRIPT_MARK: LazyLock<Regex> = LazyLock::new(|| {
    let classes = r"[[\p{Mn}\p{Me}]--[\p{Script=Inherited}\p{Script=Common}]]";
    Regex::new(classes).expect("the classes exist")
});
/// Signs that enclose the number behind them.
static NUMBER_SIGN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\p{Prepended_Concatenation_Mark}").expect("the class exists"));

/// Whether file systems may ignore a character in names.
pub fn is_ignorable(c: char) -> bool {
    !c.is_ascii() && IGNORABLE.is_match(c.encode_utf8(&mut [0; 4]))
}

/// Whether the character of a text at a byte is hidden from people, or changes the direction of the text. Line breaks and
/// tabs are not. One selector after a character and one joiner between two, as emoji and scripts need them, are shown. A
/// mark of a script is hidden without a letter other than ASCII before it, and a sign of numbers without such a letter or a
/// number behind it.
pub fn is_hidden(text: &str, at: usize, c: char) -> bool {
    if c.is_ascii() && !c.is_control() || matches!(c, '\n' | '\r' | '\t') {
        return false;
    }
    if !is_invisible(c) {
        return lacks_neighbour(text, at, c);
    }
    let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
    let mut before = before.chars().rev();
    let is_shown = |c: &char| !is_invisible(*c) && !c.is_whitespace();
    let is_letter = |c: Option<char>| c.filter(is_shown).is_some_and(|c| !c.is_ascii());
    match c {
        '\u{fe0e}' | '\u{fe0f}' => {
            let has_forms = |c: char| !c.is_ascii() || c.is_ascii_digit() || matches!(c, '#' | '*');
            !before.next().filter(is_shown).is_some_and(has_forms)
        }
        '\u{200c}' | '\u{200d}' => {
            let last = before.next();
            let last = if last == Some('\u{fe0f}') { before.next() } else { last };
            !(is_letter(last) && is_letter(after.chars().next()))
        }
        _ => true,
    }
}

/// Whether a mark has no letter of its kind before it, or a sign of numbers nothing to enclose.
fn lacks_neighbour(text: &str, at: usize, c: char) -> bool {
    let is = |class: &Regex, c: char| class.is_match(c.encode_utf8(&mut [0; 4]));
    if is(&SCRIPT_MARK, c) {
        let base = text[..at].chars().rev().find(|c| !is(&SCRIPT_MARK, *c));
        return !base.is_some_and(|base| !base.is_ascii() && !base.is_whitespace());
    }
    let next = text[at + c.len_utf8()..].chars().next();
    is(&NUMBER_SIGN, c)
        && !next.is_some_and(|c| c.is_numeric() || !c.is_ascii() && c.is_alphabetic())
}

fn is_invisible(c: char) -> bool {
    !(' '..='~').contains(&c) && INVISIBLE.is_match(c.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        text.char_indices().filter(|(at, c)| is_hidden(text, *at, *c)).map(|(_, c)| c).collect()
    }

    #[test]
    fn what_unicode_does_not_show_is_hidden() {
        for bad in "\u{1b}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{200b}\u{200e}\u{2028}\u{2029}\
                    \u{202e}\u{2060}\u{2066}\u{2800}\u{3164}\u{e000}\u{feff}\u{ffa0}\u{fff9}\u{fffa}\u{fffb}\
                    \u{1d173}\u{e0041}\u{e0100}\u{16fe4}\u{1107f}\u{110bd}"
            .chars()
        {
            assert_eq!(hidden(&format!("a{bad}b")), bad.to_string(), "{bad:?}");
        }
        assert_eq!(hidden("ad\u{200d}min"), "\u{200d}");
        assert_eq!(hidden("\u{915}\u{200d}\u{200d}\u{915}"), "\u{200d}\u{200d}");
        assert_eq!(hidden("x\u{fe0f} \u{2764}\u{fe0f}\u{fe0f}"), "\u{fe0f}\u{fe0f}");
    }

    #[test]
    fn what_scripts_and_emoji_need_is_shown() {
        for text in [
            "\u{645}\u{6cc}\u{200c}\u{62e}",
            "\u{1f469}\u{200d}\u{1f52c}",
            "1\u{fe0f}\u{20e3}",
            "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
            "\u{600}12",
            "\u{5e9}\u{5c1}\u{5b8}\u{5dc}",
            "\u{915}\u{94d}\u{937}",
            "e\u{301}",
            "a\tb\r\n",
            "\u{e9}\u{65e5}",
        ] {
            assert_eq!(hidden(text), "", "{text}");
        }
    }
}
