//! Sentences that report something without a word of the table: that something was done or found, by the forms of a
//! language and not by its verbs.

use super::sentence::Sentence;
use super::words::Meaning;

/// Words before a verb whose subject is the agent: pronouns, auxiliaries and joints.
const LEAD: &str = "i i've we we've have has had also then and now finally next first both after that я мы также и затем потом \
    теперь ich wir habe haben auch dann und nun";
/// Auxiliaries of the passive voice, and those of German, where the participle is the last word.
const PASSIVE: &str = "was were been";
const PASSIVE_GERMAN: &str = "wurde wurden worden";
/// Past forms of verbs that have no regular one.
const IRREGULAR: &str = "did made took gave saw found kept left put set built sent got went held brought began chose drew felt \
    knew led lost met paid stood swept told thought threw understood won shut spent cut fed hit drove spun wrote ran read";
/// Words that look like past forms and state nothing.
const OTHER_FORMS: &str = "need needed speed feed embed exceed proceed based related required used unused supposed indeed hundred \
    unrelated limited shared";
/// Words for all and for nothing: what they apply to was found out.
const QUANTIFIERS: &str = "all every everything everyone each nothing none no zero any entire entirely whole fully completely \
    все каждый каждая ничего ни весь вся полностью целиком alles alle jede jeder jedes nichts kein keine komplett vollständig";

fn is_one(word: &str, of: &str) -> bool {
    of.split_whitespace().any(|known| known == word)
}

impl Sentence {
    /// Whether the sentence reports an act or a result: a past form whose subject is the agent, or in the passive
    /// voice; a share or a percentage; a mark; a word for all or for nothing; tests.
    pub(in crate::verify) fn reports(&self) -> bool {
        let is_unneeded = self.has(Meaning::Nothing) && self.has(Meaning::Needed);
        let is_about = !(self.has(Meaning::Others) || self.has(Meaning::Unreal) || is_unneeded);
        is_about
            && (self.has(Meaning::Tests)
                || self.starts_with_past()
                || self.has_passive()
                || self.words.iter().any(|word| is_one(word, QUANTIFIERS))
                || has_share(&self.text)
                || self.text.contains(is_mark))
    }

    /// Whether the subject of a past form is the agent. `Worked.` and `Did it.` say nothing beside the claims.
    fn starts_with_past(&self) -> bool {
        if self.words.len() < 3 {
            return false;
        }
        let mut own = self.words.iter().map(String::as_str);
        let verb = own.find(|word| !is_one(word, LEAD) && !is_adverb(word));
        let last = self.words.last().is_some_and(|word| is_german_participle(word));
        last || verb.is_some_and(|verb| is_past(verb) || is_russian_past(verb))
    }

    fn has_passive(&self) -> bool {
        let is_participle = |verb: &String| is_past(verb) || verb.ends_with("en");
        let passive = |(at, word): (usize, &String)| {
            let next = self.words[at + 1..].iter().find(|word| !is_adverb(word));
            let last = self.words.last().filter(|last| last.ends_with('t') || last.ends_with("en"));
            is_one(word, PASSIVE) && next.is_some_and(is_participle)
                || is_one(word, PASSIVE_GERMAN) && last.is_some()
        };
        self.words.iter().enumerate().any(passive)
            || self.words.iter().any(|word| is_russian_participle(word))
    }
}

fn is_adverb(word: &str) -> bool {
    word.ends_with("ly") && word.len() > 4
}

fn is_past(word: &str) -> bool {
    let regular = word.ends_with("ed") && word.len() > 4 && word.is_ascii();
    !is_one(word, OTHER_FORMS) && (regular || is_one(word, IRREGULAR))
}

/// Whether a word ends like a past form, with or without the ending of a reflexive verb: `убедился`.
fn is_russian_past(word: &str) -> bool {
    let bare = word.trim_end_matches("сь").trim_end_matches("ся");
    let bare = bare.strip_suffix(['а', 'о', 'и']).unwrap_or(bare);
    let ends = ["ил", "ал", "ел", "ул", "ял", "ыл"].iter().any(|end| bare.ends_with(end));
    ends && word.chars().count() > 3
}

/// Whether a word ends like a short passive participle: `сделано`, `закрыты`.
fn is_russian_participle(word: &str) -> bool {
    let Some(stem) = word.strip_suffix(['а', 'о', 'ы']) else { return false };
    let ends = ["ан", "ен", "ят", "ут", "ыт"].iter().any(|end| stem.ends_with(end));
    ends && word.chars().count() > 5
}

/// `gemessen`, `geprüft`, `validiert` at the end.
fn is_german_participle(word: &str) -> bool {
    let is_strong = word.starts_with("ge") && (word.ends_with('t') || word.ends_with("en"));
    (is_strong || word.ends_with("iert")) && word.chars().count() > 5
}

/// Whether a text has a percentage, or a number of others: `12/12`, `12 of 12`.
fn has_share(text: &str) -> bool {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || "(),;".contains(c)).collect();
    let is_number = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    let is_share = |word: &&str| {
        let percent = word.strip_suffix('%').unwrap_or_default();
        let of = word.split_once('/').is_some_and(|(a, b)| is_number(&a) && is_number(&b));
        of || percent.starts_with(|c: char| c.is_ascii_digit())
    };
    let spaced = words.windows(3).any(|three| {
        is_number(&three[0]) && ["of", "из", "von"].contains(&three[1]) && is_number(&three[2])
    });
    spaced
        || words.iter().any(|word| is_share(&word.trim_end_matches(['.', ':'])))
        || words.windows(2).any(|two| is_number(&two[0]) && two[1].starts_with('%'))
}

/// Whether a character is a mark such as `✓`, and no arrow or line of a table.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27BF}' | '\u{2B50}'..='\u{2B55}' | '\u{1F300}'..='\u{1FAFF}')
}

#[cfg(test)]
mod cases {
    use super::Sentence;

    #[test]
    fn reports_are_known_by_their_form() {
        for (text, expected) in [
            ("I carefully validated the settings", true),
            ("Benchmarked the loader: it is twice as fast", true),
            ("The customer was finally informed", true),
            ("12/12 scenarios behave", true),
            ("The throughput grew by 40%", true),
            ("Everything behaves", true),
            ("No regressions", true),
            ("Stage environment: \u{2705}", true),
            ("The suite is happy", true),
            ("Сверил результаты со стендом", true),
            ("Нагрузка измерена на стенде", true),
            ("Die Laufzeit habe ich gemessen", true),
            ("Die Kunden wurden informiert", true),
            ("Worked", false),
            ("The import got a comment", false),
            ("The server reads its port from the settings", false),
            ("Texts are read by load, as the page says", false),
            ("Callers should validate everything", false),
            ("Based on the page, the loader reads texts", false),
            ("Der Import hat einen Kommentar", false),
            ("Функция читает текст из файла", false),
        ] {
            let found = Sentence::all(text).iter().any(Sentence::reports);
            assert_eq!(found, expected, "{text}");
        }
    }
}
