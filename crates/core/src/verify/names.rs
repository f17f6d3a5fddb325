//! Files, packages and symbols that the answer of a specialist names which only reads: whether they are anywhere.

use super::finding::Finding;
use super::keys::is_neutral;
use super::observation::{NamePlace, NamesSeen, Observation, ObservationQuery, Observations};
use super::statement::{
    Act, Meaning, Sentence, Statement, Token, is_function_word, means, number, tokens,
};

/// Most names that are looked up, and the names that a reason shows.
const NAMES: usize = 60;
const LISTED: usize = 5;

/// A name in an answer.
struct Named<'s> {
    name: &'s str,
    is_path: bool,
    says: Presence,
}

/// What the sentence says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Something was seen there: a line, a content, an entry about it. So it exists.
    There,
    /// It is named, as in a recommendation.
    Mentioned,
    /// A plan, a wish or an order names it.
    ToCome,
    /// The language of the sentence is not known, so that it can be a denial.
    Unclear,
}

/// The query for the names of an answer; `None` if it names nothing.
pub(super) fn names_query(statements: &[Statement]) -> Option<ObservationQuery> {
    let mut names: Vec<String> =
        named(statements).iter().map(|named| named.name.to_owned()).collect();
    names.sort();
    names.dedup();
    names.truncate(NAMES);
    (!names.is_empty()).then_some(ObservationQuery::Names(names))
}

/// What was found out about the names of an answer: a file that is nowhere refutes it, unless it can be one to come;
/// a package or symbol that is nowhere is doubt, because it can be one of a language or of a program.
pub(super) fn named_findings<'s>(
    statements: &'s [Statement],
    observations: &Observations,
) -> impl Iterator<Item = Finding> + use<'s> {
    let seen = names_query(statements).and_then(|query| observations.get(&query));
    let seen = match seen {
        Some(Observation::Names(seen)) => seen.clone(),
        _ => NamesSeen::default(),
    };
    let (mut invented, mut doubtful, mut to_come) = (Vec::new(), Vec::new(), Vec::new());
    for Named { name, is_path, says } in named(statements) {
        let says = if seen.to_come { Presence::ToCome } else { says };
        let list = match (seen.places.get(name), is_path, says) {
            (None | Some(NamePlace::Known | NamePlace::Elsewhere), _, _) => continue,
            (Some(NamePlace::Nowhere), true, Presence::There) if name.contains('/') => {
                &mut invented
            }
            (Some(_), _, Presence::There | Presence::Mentioned)
            | (Some(_), true, Presence::Unclear) => &mut doubtful,
            (Some(_), true, Presence::ToCome) => &mut to_come,
            (Some(_), false, Presence::ToCome | Presence::Unclear) => continue,
        };
        if list.len() < LISTED && !list.contains(&name) {
            list.push(name);
        }
    }
    let finding = |names: Vec<&str>, of: &dyn Fn(String) -> Finding| {
        (!names.is_empty()).then(|| of(format!("`{}`", names.join("`, `"))))
    };
    let findings = [
        finding(invented, &|names| {
            Finding::failed(format!(
                "the answer names {names}, which does not exist: not in the project, in a result that the \
                 specialist received, or in its task"
            ))
        }),
        finding(doubtful, &|names| {
            Finding::inconclusive(format!(
                "the answer names {names}, and neither the project nor what the specialist received has it"
            ))
        }),
        finding(to_come, &|names| {
            Finding::unchecked(format!("files that the answer names do not exist yet: {names}"))
        }),
    ];
    findings.into_iter().flatten()
}

/// Whether a task asks for something that does not exist yet, such as a plan or a new file.
pub fn asks_for_new(task: &str) -> bool {
    Sentence::all(task).iter().any(is_to_come) || !is_known_script(task)
}

fn is_to_come(sentence: &Sentence) -> bool {
    sentence.has(Meaning::ToCome) || sentence.has(Meaning::ToMake)
}

/// Whether a text is in a script whose words are known.
fn is_known_script(text: &str) -> bool {
    let is_known = |c: char| c.is_ascii() || ('\u{80}'..'\u{530}').contains(&c);
    text.chars().filter(|c| c.is_alphabetic()).all(is_known)
}

/// Whether a text can be in one of the languages whose denials are known: in their script, and not without their function
/// words.
fn is_readable(text: &str) -> bool {
    /// The number of words of which one is a function word.
    const EACH: usize = 5;
    let words = tokens(text).into_iter().filter_map(|token| match token {
        Token::Word(word) if word.chars().any(char::is_alphabetic) => Some(word),
        Token::Word(_) | Token::Path(_) | Token::Code(_) => None,
    });
    let words: Vec<String> = words.collect();
    let function = words.iter().filter(|word| is_function_word(word)).count();
    is_known_script(text) && words.len() <= function * EACH
}

/// The names of an answer; what a sentence says not to be there has none, but for a path with a line: there is a line.
fn named(statements: &[Statement]) -> Vec<Named<'_>> {
    let mut found = Vec::new();
    for said in statements {
        let sentence = &said.sentence;
        let denies = [Meaning::Denial, Meaning::Without, Meaning::Absent];
        let denies = said.denied || denies.iter().any(|meaning| sentence.has(*meaning));
        let shows_line = |path: &str| {
            let of_entry = said.in_key && names_line(sentence);
            (of_entry || has_line(&sentence.text, path)) && !sentence.has(Meaning::Absent)
        };
        let is_content = [Act::Contains, Act::Read].iter().any(|act| sentence.says(*act));
        let has_failed = sentence.says(Act::Failed) || sentence.words.iter().any(|w| is_nothing(w));
        let is_content = is_content && !has_failed;
        // The words of an entry, without its path, can be in another script than its key.
        let is_known = || sentence.words.iter().all(|word| is_known_script(word));
        let says = if sentence.has(Meaning::Unreal) || is_to_come(sentence) {
            Presence::ToCome
        } else if !said.in_key && !is_readable(&sentence.text) || !is_known() {
            Presence::Unclear
        } else if said.in_key && says_there(sentence) || is_content {
            Presence::There
        } else {
            Presence::Mentioned
        };
        // A line below another key, such as `hypothetical`, is no more than a path there.
        let is_open = said.in_key && !names_line(sentence) && says != Presence::There;
        let of_line = match is_wish(sentence) || is_open {
            true => Presence::Mentioned,
            false => Presence::There,
        };
        let paths = sentence.located_paths().into_iter().filter(|path| is_relative(path));
        let paths = paths.filter_map(|name| {
            let says = if shows_line(name) { of_line } else { says };
            (shows_line(name) || !denies).then_some(Named { name, is_path: true, says })
        });
        found.extend(paths);
        if denies {
            continue;
        }
        let names = sentence.names().into_iter().chain(sentence.plain_names());
        let names = names.map(|name| without_version(name.trim_end_matches("()")));
        let names = names.filter(|name| is_identifier(name));
        found.extend(names.map(|name| Named { name, is_path: false, says }));
    }
    found
}

/// Whether a key says that something is or was there: what was found, or where it is. A key with another word can be about what
/// was looked for (`searched`, `expectedFile`), and is doubt at most.
fn says_there(sentence: &Sentence) -> bool {
    const THERE: &str = "path paths line lines location locations place places source sources found finding findings used usage \
        usages defined definition definitions issue issues error errors bug bugs problem problems";
    let is_place = |word: &str| {
        let means_it = [Meaning::Files, Meaning::Part, Meaning::Symbol, Meaning::Tests];
        let acts = [Act::Contains, Act::Read].map(Meaning::Act);
        means_it.iter().chain(&acts).any(|meaning| means(word, *meaning))
            || THERE.split_whitespace().any(|known| known == word)
            || is_neutral(word)
    };
    let mut words = sentence.words.iter();
    let is_known = |word: &String| is_place(word) || is_function_word(word);
    if names_line(sentence) { words.any(|word| is_place(word)) } else { words.all(is_known) }
}

/// Whether a sentence is a plan, a wish or a condition, and no denial.
fn is_wish(sentence: &Sentence) -> bool {
    let denies = |word: &String| {
        let known = means(word, Meaning::Denial) || means(word, Meaning::Nothing);
        known || ["cannot", "neither", "нет"].contains(&word.as_str())
    };
    let wishes = |word: &String| means(word, Meaning::Unreal) && !denies(word);
    is_to_come(sentence) || sentence.words.iter().any(wishes)
}

fn is_nothing(word: &str) -> bool {
    ["nothing", "nichts", "ничего"].contains(&word)
}

/// Whether an entry has the number of a line.
fn names_line(sentence: &Sentence) -> bool {
    sentence.words.windows(2).any(|pair| pair[0] == "line" && number(&pair[1]).is_some())
}

/// Whether a text has the number of a line behind a path.
fn has_line(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let after = text[at + path.len()..].strip_prefix(':');
        after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Whether a path can be one of the project: no pattern, no placeholder, not above or outside of it.
pub(super) fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '~', '$'])
        && !path.contains(['*', '{', '<', '$', '?', '\\'])
        && !path.split('/').any(|part| part == "..")
}

/// A name without the version behind it: `requests>=2`, `requests[socks]==1.2`, `lodash@4.17`.
fn without_version(name: &str) -> &str {
    let scope = usize::from(name.starts_with('@'));
    let end = name[scope..].find(['=', '<', '>', '~', '!', '^', '[', '@']);
    end.map_or(name, |end| &name[..scope + end])
}

/// Whether a text in backticks is a name of code or of a package, and no command, value or expression.
fn is_identifier(text: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || c == '_' || c == '@';
    text.chars().count() >= 3
        && text.starts_with(starts)
        && text.chars().all(|c| c.is_alphanumeric() || "_.:#@/-".contains(c))
        && (text.starts_with('@') || !text.contains('/'))
}
