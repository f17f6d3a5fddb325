//! The house keeps to its plan: who may import whom, what stays pure, who alone meets the system.
//!
//! The table is DESIGN §2 with the rows that were widened on the way, each with its reason; the same
//! table stands in the crate's own documentation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A room: whether it is pure, and which other rooms it may import.
struct Room {
    name: &'static str,
    pure: bool,
    may: &'static [&'static str],
}

const fn pure(name: &'static str, may: &'static [&'static str]) -> Room {
    Room { name, pure: true, may }
}

const fn room(name: &'static str, may: &'static [&'static str]) -> Room {
    Room { name, pure: false, may }
}

/// Each row names rooms above it alone, so that the house has no circles.
#[rustfmt::skip]
const HOUSE: &[Room] = &[
    pure("diagnostic", &[]),
    pure("value", &[]),
    room("clock", &["value"]),
    room("redaction", &["value"]),
    // What hears of a process's end, and what follows from it in the engine, share a thread.
    room("task", &[]),
    pure("evidence", &["value"]),
    pure("expression", &["diagnostic", "value"]),
    pure("definition", &["diagnostic", "value", "expression"]),
    pure("plan", &["diagnostic", "value", "evidence", "expression", "definition"]),
    // `expr` checks are expressions, and a verdict's failure has a code.
    pure("verify", &["diagnostic", "value", "evidence", "expression", "definition"]),
    pure("run", &["diagnostic", "value", "evidence", "expression", "definition", "plan", "verify"]),
    // The types of the seam: below the specialist, which is one of those that fill them.
    room("attempt", &["value", "evidence", "definition"]),
    // How strictly it syncs is a setting.
    room("journal", &["value", "clock", "definition", "run"]),
    // A process that cannot be started is a failure with a code; so for the two rows below.
    room("process", &["diagnostic", "value", "clock", "redaction", "task"]),
    room("workspace", &["diagnostic", "value", "clock", "redaction", "evidence"]),
    room("http", &["diagnostic", "value"]),
    room("tool", &[
        "diagnostic", "value", "clock", "redaction", "evidence", "definition", "process",
        "workspace", "http",
    ]),
    // A script's placeholders are expressions.
    room("llm", &["diagnostic", "value", "clock", "redaction", "expression", "definition", "attempt"]),
    room("specialist", &[
        "diagnostic", "value", "clock", "redaction", "evidence", "expression", "definition",
        "attempt", "tool", "llm",
    ]),
    room("executor", &[
        "diagnostic", "value", "clock", "redaction", "evidence", "expression", "definition", "plan",
        "verify", "attempt", "process", "workspace", "http", "tool", "llm", "specialist",
    ]),
    // It evaluates conditions and asks the executor to observe, so it sees what those are made of.
    room("engine", &[
        "diagnostic", "value", "clock", "redaction", "task", "evidence", "expression", "definition",
        "plan", "verify", "run", "attempt", "journal", "executor",
    ]),
    // The views of definitions and plans are made from them.
    pure("wire", &["diagnostic", "value", "evidence", "definition", "plan", "run"]),
    room("project", &["diagnostic", "value", "definition"]),
    room("service", &[
        "diagnostic", "value", "clock", "redaction", "evidence", "expression", "definition", "plan",
        "verify", "run", "attempt", "journal", "process", "workspace", "tool", "llm", "specialist",
        "executor", "engine", "wire", "project",
    ]),
    room("cli", &["diagnostic", "value", "wire", "service"]),
];

#[test]
fn rooms_import_only_what_their_row_allows() {
    let mut wrong = BTreeSet::new();
    for file in sources() {
        let Some(room) = room_of(&file.room) else { continue };
        for used in file.rooms_used() {
            if used != room.name && !room.may.contains(&used.as_str()) {
                wrong.insert(format!("{} imports `{used}`", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "against the table of DESIGN §2:\n{}", lines(&wrong));
}

#[test]
fn each_row_names_rooms_above_it_and_each_room_has_a_row() {
    let mut above: Vec<&str> = Vec::new();
    for room in HOUSE {
        for name in room.may {
            assert!(
                above.contains(name),
                "`{}` may import `{name}`, which is not above it",
                room.name
            );
        }
        above.push(room.name);
    }
    let rooms: BTreeSet<String> = sources().into_iter().map(|file| file.room).collect();
    let rows: BTreeSet<String> = HOUSE.iter().map(|room| room.name.to_owned()).collect();
    let files: BTreeSet<String> = ["lib", "main"].map(str::to_owned).into();
    assert_eq!(&rooms - &files, rows);
}

#[test]
fn pure_rooms_import_only_pure_rooms() {
    for room in HOUSE.iter().filter(|room| room.pure) {
        for name in room.may {
            let other = room_of(name).expect("the row was checked to exist");
            assert!(other.pure, "`{}` is pure and may import `{name}`, which is not", room.name);
        }
    }
}

#[test]
fn pure_rooms_know_no_clock_files_network_threads_or_hash_order() {
    const BANNED: &[&[&str]] = &[
        &["tokio"],
        &["tokio_util"],
        &["futures"],
        &["reqwest"],
        &["rusqlite"],
        &["std", "fs"],
        &["std", "env"],
        &["std", "net"],
        &["std", "thread"],
        &["std", "process"],
        &["std", "time", "SystemTime"],
        &["std", "time", "Instant"],
        &["HashMap"],
        &["HashSet"],
        &["async"],
        &["await"],
    ];
    let mut wrong = BTreeSet::new();
    for file in sources().iter().filter(|file| room_of(&file.room).is_some_and(|room| room.pure)) {
        for path in &file.paths {
            for banned in BANNED.iter().filter(|banned| has(path, banned)) {
                wrong.insert(format!("{} names `{}`", file.path, banned.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "in pure rooms:\n{}", lines(&wrong));
}

#[test]
fn only_the_clock_asks_for_the_time() {
    outside("clock", &[&["SystemTime", "now"], &["Timestamp", "now"], &["Zoned", "now"]]);
    // Tokio's own instants, which tests can pause, are for its timers and for nothing else.
    let paused = |file: &SourceFile| {
        let names = |path: &[&str]| file.paths.iter().any(|named| has(named, path));
        names(&["tokio", "time", "Instant"]) && !names(&["std", "time", "Instant", "now"])
    };
    let reads = |file: &&SourceFile| file.paths.iter().any(|path| has(path, &["Instant", "now"]));
    for file in sources().iter().filter(reads) {
        assert!(file.room == "clock" || paused(file), "{} asks for the time", file.path);
    }
}

#[test]
fn only_process_starts_processes() {
    outside("process", &[&["std", "process", "Command"], &["tokio", "process"]]);
}

#[test]
fn every_room_says_what_it_is() {
    for room in HOUSE {
        let path = source_root().join(room.name).join("mod.rs");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text.starts_with("//!"), "{} begins without `//!`", path.display());
    }
}

fn outside(room: &str, banned: &[&[&str]]) {
    let mut wrong = BTreeSet::new();
    for file in sources().iter().filter(|file| file.room != room) {
        for path in &file.paths {
            for banned in banned.iter().filter(|banned| has(path, banned)) {
                wrong.insert(format!("{} names `{}`", file.path, banned.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "outside of `{room}/`:\n{}", lines(&wrong));
}

fn has(path: &[String], banned: &[&str]) -> bool {
    path.windows(banned.len()).any(|part| part.iter().zip(banned).all(|(a, b)| a == b))
}

fn room_of(name: &str) -> Option<&'static Room> {
    HOUSE.iter().find(|room| room.name == name)
}

fn lines(wrong: &BTreeSet<String>) -> String {
    wrong.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// A source file, with every path that its code names.
struct SourceFile {
    /// Below `src/`.
    path: String,
    /// Its first folder, or its own name at the top.
    room: String,
    /// How many `super::` lead out of the crate's rooms.
    depth: usize,
    /// `use` trees taken apart, and the paths in between.
    paths: Vec<Vec<String>>,
}

impl SourceFile {
    fn rooms_used(&self) -> BTreeSet<String> {
        let first = |path: &Vec<String>| {
            let supers = path.iter().take_while(|part| *part == "super").count();
            let after = match path.first().map(String::as_str) {
                Some("crate") => 1,
                Some("kb") => 1,
                Some("super") if supers >= self.depth => supers,
                _ => return None,
            };
            path.get(after).filter(|name| room_of(name).is_some()).cloned()
        };
        self.paths.iter().filter_map(first).collect()
    }
}

fn sources() -> Vec<SourceFile> {
    let root = source_root();
    let mut open = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("`src/` can be read") {
            let path = entry.expect("`src/` can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(read(&root, &path));
            }
        }
    }
    files
}

fn read(root: &Path, path: &Path) -> SourceFile {
    let below = path.strip_prefix(root).expect("it was found there");
    let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let text = std::fs::read_to_string(path).expect("sources are UTF-8");
    let is_mod = below.file_name().is_some_and(|name| name == "mod.rs");
    SourceFile {
        path: parts.join("/"),
        room: parts[0].trim_end_matches(".rs").to_owned(),
        depth: parts.len() - usize::from(is_mod),
        paths: paths(&without_tests(tokens(&text))),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Colons,
    Mark(char),
}

/// The code of a text: words, `::` and single marks; comments, strings and characters are left out.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c == '/' && at(i + 1) == '/' {
            i = (i..chars.len()).find(|&j| chars[j] == '\n').unwrap_or(chars.len());
        } else if c == '/' && at(i + 1) == '*' {
            i = end_of_comment(&chars, i);
        } else if c == '"' {
            i = end_of_string(&chars, i);
        } else if c == '\'' {
            i = end_of_quote(&chars, i);
        } else if let Some(end) = end_of_raw_string(&chars, i) {
            i = end;
        } else if c.is_alphanumeric() || c == '_' {
            let end = (i..chars.len())
                .find(|&j| !(chars[j].is_alphanumeric() || chars[j] == '_'))
                .unwrap_or(chars.len());
            tokens.push(Token::Word(chars[i..end].iter().collect()));
            i = end;
        } else if c == ':' && at(i + 1) == ':' {
            tokens.push(Token::Colons);
            i += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Mark(c));
            }
            i += 1;
        }
    }
    tokens
}

fn end_of_comment(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut i = start;
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) if depth == 1 => return i + 2,
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
    }
    i
}

fn end_of_string(chars: &[char], start: usize) -> usize {
    let mut i = start + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// Past a character; past the quote alone where it begins a lifetime.
fn end_of_quote(chars: &[char], start: usize) -> usize {
    match (chars.get(start + 1), chars.get(start + 2)) {
        (Some('\\'), _) => {
            let end = (start + 3..chars.len()).find(|&j| chars[j] == '\'');
            end.map_or(chars.len(), |end| end + 1)
        }
        (Some(_), Some('\'')) => start + 3,
        _ => start + 1,
    }
}

fn end_of_raw_string(chars: &[char], start: usize) -> Option<usize> {
    let before = start.checked_sub(1).map(|i| chars[i]);
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let mut i = start + usize::from(chars[start] == 'b');
    if chars.get(i) != Some(&'r') {
        return None;
    }
    i += 1;
    let hashes = chars[i..].iter().take_while(|&&c| c == '#').count();
    i += hashes;
    if chars.get(i) != Some(&'"') {
        return None;
    }
    let closes = |j: usize| {
        chars[j] == '"' && chars[j + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
    };
    let end = (i + 1..chars.len()).find(|&j| closes(j))?;
    Some(end + 1 + hashes)
}

/// Without `#[cfg(test)] mod … { … }`: tests in place may use what they like.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let word = |text: &str| Token::Word(text.to_owned());
    let attribute = [
        Token::Mark('#'),
        Token::Mark('['),
        word("cfg"),
        Token::Mark('('),
        word("test"),
        Token::Mark(')'),
        Token::Mark(']'),
        word("mod"),
    ];
    let mut kept = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if tokens[i..].starts_with(&attribute) && tokens.get(i + 9) == Some(&Token::Mark('{')) {
            i = end_of_block(&tokens, i + 9);
        } else {
            kept.push(tokens[i].clone());
            i += 1;
        }
    }
    kept
}

fn end_of_block(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Mark('{') => depth += 1,
            Token::Mark('}') if depth == 1 => return i + 1,
            Token::Mark('}') => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Every path that is named: `a::{b, c::d}` as `a::b` and `a::c::d`, a lone word as itself.
fn paths(tokens: &[Token]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i] {
            Token::Word(_) => i = path(tokens, i, &[], &mut found),
            _ => i += 1,
        }
    }
    found
}

fn path(tokens: &[Token], start: usize, prefix: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut own = prefix.to_vec();
    let mut i = start;
    while let Some(Token::Word(word)) = tokens.get(i) {
        own.push(word.clone());
        i += 1;
        if tokens.get(i) != Some(&Token::Colons) {
            break;
        }
        i += 1;
    }
    if tokens.get(i) == Some(&Token::Mark('{'))
        && tokens.get(i.wrapping_sub(1)) == Some(&Token::Colons)
    {
        i += 1;
        while i < tokens.len() && tokens[i] != Token::Mark('}') {
            i = match tokens[i] {
                Token::Word(_) => path(tokens, i, &own, found),
                _ => i + 1,
            };
        }
        return i + 1;
    }
    found.push(own);
    i
}

#[test]
fn the_reader_of_sources_sees_code_alone() {
    let text = r##"
        use crate::{plan::{Plan, StepIx}, value as v};
        // use crate::cli;
        /* crate::engine /* crate::llm */ */
        fn f<'a>(x: &'a str) -> char { let _ = "crate::tool"; let _ = r#"crate::wire"#; '"' }
        fn g() { crate::run::decide(std::time::Duration::ZERO) }
        #[cfg(test)] mod tests { use crate::journal::Journal; }
        fn h() { super::super::verify::x(); }
    "##;
    let mut file = SourceFile {
        path: String::new(),
        room: "x".to_owned(),
        depth: 2,
        paths: paths(&without_tests(tokens(text))),
    };
    let used: Vec<String> = file.rooms_used().into_iter().collect();
    assert_eq!(used, ["plan", "run", "value", "verify"]);
    file.depth = 3;
    assert!(!file.rooms_used().contains("verify"));
    let named: BTreeMap<String, usize> =
        file.paths.iter().map(|path| (path.join("::"), path.len())).collect();
    assert!(named.contains_key("crate::plan::StepIx"), "{named:?}");
    assert!(named.contains_key("std::time::Duration::ZERO"));
}
