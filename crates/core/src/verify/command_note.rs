//! Notes around a claimed command: text that is no part of a command line, such as `make deploy, later` and `[not run] make
//! deploy`.

use super::claim_entry::{denies, says_failure};
use super::keys::{EXIT_CODES, is_key};
use super::statement::{Act, Meaning, means};
use kb_base::value::Json;

const BRACKETS: [(char, char); 4] = [('(', ')'), ('[', ']'), ('（', '）'), ('【', '】')];

/// Splits `npm test (exit 1)` and `npm test [exit 1]` into the command and what stands in the brackets behind it.
pub(super) fn bracket_behind(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (open, close) = BRACKETS.iter().find(|(_, close)| text.ends_with(*close))?;
    let (command, note) = text.strip_suffix(*close)?.rsplit_once(*open)?;
    let is_apart = !open.is_ascii() || command.ends_with(char::is_whitespace);
    (is_apart && !command.trim().is_empty()).then_some((command, note))
}

/// Whether a note around a command says that it was not done, or is a plan.
pub(super) fn is_denied(text: &str) -> bool {
    notes(text).iter().any(|note| denies(note))
}

/// Whether a note around a command leaves open whether it ran: it does not say so.
pub(super) fn leaves_open(text: &str) -> bool {
    let notes = notes(text);
    let has_open_note = || !notes.is_empty() && !notes.iter().any(|note| says_done(note));
    without_quotes(text).split_whitespace().skip(1).any(is_denial) || has_open_note()
}

/// Whether a field of the entry of a command, such as `status` and `note`, does not say that it ran: `status: deferred`.
pub(super) fn is_left_open(entry: &Json) -> bool {
    const NOTES: [&str; 8] =
        ["status", "state", "result", "outcome", "note", "notes", "comment", "when"];
    let fields = entry.as_object().into_iter().flatten();
    let mut notes = fields.filter(|(key, _)| is_key(key, &NOTES) || is_key(key, &EXIT_CODES));
    notes.any(|(_, value)| {
        let note = value.as_str().map(str::trim).filter(|note| !note.is_empty());
        note.is_some_and(|note| {
            note.parse::<i64>().is_err() && !says_done(note) && !says_failure(note)
        })
    })
}

/// Whether a note says that something was done: `done`, `ok`, `deployed`, `exit 0`.
fn says_done(note: &str) -> bool {
    const DONE: [Meaning; 6] = [
        Meaning::Success,
        Meaning::Finished,
        Meaning::Act(Act::Ran),
        Meaning::Act(Act::Outside),
        Meaning::Act(Act::Created),
        Meaning::Act(Act::Changed),
    ];
    let words = note.split(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
    let mut words = words.map(str::to_lowercase).filter(|word| !word.is_empty());
    let is_done = |word: String| {
        ["done", "exit", "готово", "fertig"].contains(&word.as_str())
            || DONE.iter().any(|meaning| means(&word, *meaning))
    };
    words.any(is_done) && !denies(note)
}

/// What stands around a command and is no part of a command line. Quoted texts are arguments.
fn notes(text: &str) -> Vec<String> {
    let text = without_quotes(text);
    let text = text.trim();
    let text = ["- ", "* ", "• "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    let mut found: Vec<String> = Vec::new();
    found.extend(bracket_behind(text).map(|(_, note)| note.to_owned()));
    found.extend(bracket_before(text).map(str::to_owned));
    // Text that is struck out, a placeholder, and a question.
    let is_marked = [("~~", "~~"), ("<", ">")]
        .iter()
        .any(|(open, close)| text.starts_with(open) && text.ends_with(close));
    found.extend((is_marked || text.ends_with(['?', '？'])).then(String::new));
    let words: Vec<&str> = text.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let before = &words[..at];
        let after = words.get(at + 1..).unwrap_or_default();
        let has_both = !before.is_empty() && !after.is_empty();
        let ends = word.len() > 1 && word.ends_with([':', ',', '：', '，', '、']);
        let is_dash = ["-", "–", "—", "→", "->", "=>"].contains(word)
            && after.first().is_some_and(|next| next.starts_with(char::is_alphabetic));
        if ends && !after.is_empty() {
            found.push(after.join(" "));
            // `later: make deploy`
            found.extend(before.is_empty().then(|| (*word).to_owned()));
        } else if has_both && (is_dash || ["#", "//"].contains(word)) {
            found.push(after.join(" "));
        } else if is_sign(word) {
            found.push((*word).to_owned());
        }
    }
    found
}

/// Whether a word of a command line denies, defers or limits: `make deploy -- not executed`, `make deploy when approved`. What
/// begins with a dash is an option.
fn is_denial(word: &str) -> bool {
    const DENIALS: [Meaning; 6] = [
        Meaning::Nothing,
        Meaning::Unreal,
        Meaning::Denial,
        Meaning::Condition,
        Meaning::Partly,
        Meaning::Left,
    ];
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    !word.starts_with('-') && DENIALS.iter().any(|meaning| means(&bare, *meaning))
}

/// What stands in brackets before a command. A subshell is followed by an operator.
fn bracket_before(text: &str) -> Option<&str> {
    let (open, close) = BRACKETS.iter().find(|(open, _)| text.starts_with(*open))?;
    let (note, command) = text.strip_prefix(*open)?.split_once(*close)?;
    command.trim_start().starts_with(char::is_alphanumeric).then_some(note)
}

/// Whether a word is a sign and no word of a command, such as `✗` and `✅`.
fn is_sign(word: &str) -> bool {
    word.chars().all(|c| !c.is_ascii() && !c.is_alphanumeric())
}

/// A text without what stands in quotation marks of a shell.
fn without_quotes(text: &str) -> String {
    let mut open: Option<char> = None;
    let mut bare = String::with_capacity(text.len());
    for c in text.chars() {
        match open {
            Some(mark) if c == mark => open = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => open = Some(c),
            None => bare.push(c),
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::leaves_open;

    #[test]
    fn a_note_that_does_not_say_that_a_command_ran_leaves_it_open() {
        for (text, expected) in [
            ("make deploy: left to CI", true),
            ("make deploy [not run]", true),
            ("make deploy（未执行）", true),
            ("make deploy — for CI", true),
            ("make deploy, later", true),
            ("make deploy?", true),
            ("(CI) make deploy", true),
            ("later: make deploy", true),
            ("make deploy ✗", true),
            ("make deploy # by CI", true),
            ("make deploy // CI", true),
            ("make deploy -- not executed", true),
            ("make deploy; not run", true),
            ("make deploy when approved", true),
            ("- [ ] make deploy", true),
            ("<make deploy>", true),
            ("~~make deploy~~", true),
            ("make deploy", false),
            ("make deploy: done", false),
            ("make deploy ✅", false),
            ("done: make deploy", false),
            ("make deploy — deployed to production", false),
            ("(cd app && make) && make deploy", false),
            ("git commit -m 'fix: later, in CI?'", false),
            ("docker run a:b sed -n 1,3p", false),
            ("tar xf - -C out", false),
            ("find . -not -name x --no-run", false),
            ("make deploy to production", false),
            ("[ -f a.txt ]", false),
        ] {
            assert_eq!(leaves_open(text), expected, "{text}");
        }
    }
}
