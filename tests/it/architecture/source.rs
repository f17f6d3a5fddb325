//! A reader of Rust sources that finds every path in the code, without a compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Whether a path contains the banned parts in a row.
pub(super) fn has(path: &[String], banned: &[&str]) -> bool {
    path.windows(banned.len()).any(|part| part.iter().zip(banned).all(|(a, b)| a == b))
}

pub(super) fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A crate of the workspace below the root package.
struct Crate {
    /// Its folder of sources.
    root: PathBuf,
    modules: BTreeSet<String>,
    /// Whether its `lib.rs` is the root of its only module, which has the name of the crate, such as `process`.
    is_module: bool,
}

static CRATES: LazyLock<BTreeMap<String, Crate>> = LazyLock::new(|| {
    let read = |name: String| {
        let root = project().join("crates").join(&name).join("src");
        let lib = std::fs::read_to_string(root.join("lib.rs")).expect("each crate has a lib.rs");
        let mut code = lib.lines().filter(|line| !line.is_empty() && !line.starts_with("//!"));
        let is_module = code.any(|line| !line.starts_with("pub mod "));
        let modules = if is_module { vec![name.clone()] } else { folders(&root) };
        (name, Crate { root, modules: modules.into_iter().collect(), is_module })
    };
    folders(&project().join("crates")).into_iter().map(read).collect()
});

/// Whether the crate of this name is the module of this name.
fn is_module(name: &str) -> bool {
    CRATES.get(name).is_some_and(|found| found.is_module)
}

fn folders(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).expect("sources can be read").map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The crate of a module; `kb` for the modules of the root package.
pub(super) fn crate_of(module: &str) -> &'static str {
    let found = CRATES.iter().find(|(_, found)| found.modules.contains(module));
    found.map_or("kb", |(name, _)| name)
}

/// A source file with every path that its code names.
pub(super) struct SourceFile {
    /// Its module and the path below, such as `plan/graph/dot.rs`, whatever the crate.
    pub(super) path: String,
    /// Its place on disk.
    pub(super) file: PathBuf,
    /// The top-level module, or the name of a file directly in `src/`.
    pub(super) module: String,
    /// The path of its module, such as `plan::graph::dot`.
    pub(super) own: Vec<String>,
    /// Whether it is a `mod.rs`.
    pub(super) is_mod: bool,
    /// Every path in the code, with `use` trees taken apart.
    pub(super) paths: Vec<Vec<String>>,
    /// Of these, the paths outside `pub use`.
    pub(super) own_paths: Vec<Vec<String>>,
    /// Paths of `pub use`.
    pub(super) reexports: Vec<Vec<String>>,
    /// The code without unit tests.
    pub(super) tokens: Vec<Token>,
}

impl SourceFile {
    /// Whether the code defines an item with this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        const ITEMS: [&str; 7] = ["struct", "enum", "trait", "type", "fn", "const", "static"];
        self.tokens.windows(2).any(|pair| match pair {
            [Token::Word(item), Token::Word(own)] => ITEMS.contains(&item.as_str()) && own == name,
            _ => false,
        })
    }

    /// A path that starts with a top-level module; `None` for a path into another library.
    pub(super) fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        match path.first().map(String::as_str) {
            // In a crate of one module, the module is the root.
            Some("crate") if is_module(&self.module) => {
                Some(std::iter::once(&self.module).chain(&path[1..]).cloned().collect())
            }
            Some("crate" | "kb") => Some(path[1..].to_vec()),
            Some(name) if name.starts_with("kb_") => {
                let name = &name["kb_".len()..];
                CRATES.get(name)?;
                let module = is_module(name).then(|| name.to_owned());
                Some(module.into_iter().chain(path[1..].iter().cloned()).collect())
            }
            Some("super") => {
                let base = self.own.get(..self.own.len().checked_sub(supers)?)?;
                Some(base.iter().chain(&path[supers..]).cloned().collect())
            }
            Some("self") => Some(self.own.iter().chain(&path[1..]).cloned().collect()),
            _ => None,
        }
    }
}

/// Every file of the modules, and those of the root package. Read once for all tests.
pub(super) fn sources() -> &'static [SourceFile] {
    static SOURCES: LazyLock<Vec<SourceFile>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> Vec<SourceFile> {
    let read_all = |root: PathBuf, module: Option<&str>| -> Vec<SourceFile> {
        let files = rust_files(&root).into_iter();
        // The list of modules of a crate is no module.
        let files = files.filter(|file| {
            module.is_some()
                || !file.ends_with("lib.rs")
                || file.parent() == Some(&project().join("src"))
        });
        files.map(|file| read(&root, &file, module)).collect()
    };
    let mut files = read_all(project().join("src"), None);
    for (name, found) in CRATES.iter() {
        files.extend(read_all(found.root.clone(), found.is_module.then_some(name.as_str())));
    }
    files
}

/// All Rust files below a folder.
pub(super) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut open = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("sources can be read") {
            let path = entry.expect("sources can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

fn read(root: &Path, path: &Path, module: Option<&str>) -> SourceFile {
    let below = path.strip_prefix(root).expect("it was found there");
    let below = match module {
        Some(module) if below == Path::new("lib.rs") => Path::new(module).join("mod.rs"),
        Some(module) => Path::new(module).join(below),
        None => below.to_owned(),
    };
    let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let text = std::fs::read_to_string(path).expect("sources are UTF-8");
    let is_mod = below.file_name().is_some_and(|name| name == "mod.rs");
    let names = parts.iter().map(|part| part.trim_end_matches(".rs").to_owned());
    let tokens = without_visibility(without_tests(tokens(&text)));
    let (reexported, own) = split_reexports(&tokens);
    SourceFile {
        path: parts.join("/"),
        file: path.to_owned(),
        module: parts[0].trim_end_matches(".rs").to_owned(),
        own: names.take(parts.len() - usize::from(is_mod)).collect(),
        is_mod,
        paths: paths(&tokens),
        own_paths: paths(&own),
        reexports: paths(&reexported),
        tokens,
    }
}

/// The tokens of all `pub use` items, and the other tokens.
fn split_reexports(tokens: &[Token]) -> (Vec<Token>, Vec<Token>) {
    let word = |i: usize, text: &str| tokens.get(i) == Some(&Token::Word(text.to_owned()));
    let (mut reexported, mut own, mut i) = (Vec::new(), Vec::new(), 0);
    while i < tokens.len() {
        if word(i, "pub") && word(i + 1, "use") {
            let end = (i..tokens.len()).find(|&j| tokens[j] == Token::Mark(';'));
            let end = end.unwrap_or(tokens.len());
            reexported.extend_from_slice(&tokens[i + 2..end]);
            reexported.push(Token::Mark(';'));
            i = end;
        } else {
            own.push(tokens[i].clone());
            i += 1;
        }
    }
    (reexported, own)
}

/// Removes the scope of `pub(super)` and `pub(in path)`, which is no import.
fn without_visibility(tokens: Vec<Token>) -> Vec<Token> {
    let word = |i: usize, text: &str| tokens.get(i) == Some(&Token::Word(text.to_owned()));
    let (mut kept, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        kept.push(tokens[i].clone());
        let scoped = ["super", "crate", "self", "in"].iter().any(|scope| word(i + 2, scope));
        let open = tokens.get(i + 1) == Some(&Token::Mark('('));
        i = if word(i, "pub") && open && scoped {
            (i..tokens.len())
                .find(|&j| tokens[j] == Token::Mark(')'))
                .map_or(tokens.len(), |close| close + 1)
        } else {
            i + 1
        };
    }
    kept
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Colons,
    Mark(char),
}

/// The code of a text: words, `::` and single marks, without comments, strings and characters.
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

/// After a character literal, or after the quote of a lifetime.
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

/// Removes `#[cfg(test)] mod … { … }`: unit tests may import anything.
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

pub(super) fn end_of_block(tokens: &[Token], open: usize) -> usize {
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

/// Every path in the code: `a::{b, c::d}` as `a::b` and `a::c::d`; a single word is a path too. The path of a
/// glob import ends with `*`.
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
        if tokens.get(i) == Some(&Token::Mark('*')) {
            own.push("*".to_owned());
            i += 1;
            break;
        }
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
    // The new name of `a as b` is no path.
    let renames = tokens.get(i) == Some(&Token::Word("as".to_owned())) && !prefix.is_empty();
    if renames { i + 2 } else { i }
}

#[test]
fn the_reader_sees_only_code() {
    let text = r##"
        use crate::{plan::{Plan, StepIx}, value as v};
        // use crate::cli;
        /* crate::engine /* crate::llm */ */
        fn f<'a>(x: &'a str) -> char { let _ = "crate::tool"; let _ = r#"crate::wire"#; '"' }
        fn g() { crate::run::decide(std::time::Duration::ZERO) }
        #[cfg(test)] mod tests { use crate::journal::Journal; }
        fn h() { super::super::verify::x(); }
        use crate::attempt::*;
    "##;
    let mut file = SourceFile {
        path: String::new(),
        file: PathBuf::new(),
        module: "x".to_owned(),
        own: ["x", "y"].map(str::to_owned).to_vec(),
        is_mod: false,
        paths: paths(&without_tests(tokens(text))),
        own_paths: Vec::new(),
        reexports: Vec::new(),
        tokens: Vec::new(),
    };
    let used = |file: &SourceFile| -> std::collections::BTreeSet<String> {
        let absolute = file.paths.iter().filter_map(|path| file.absolute(path));
        absolute.map(|path| path.join("::")).collect()
    };
    let expected =
        ["attempt::*", "plan::Plan", "plan::StepIx", "run::decide", "value", "verify::x"];
    assert_eq!(used(&file).into_iter().collect::<Vec<_>>(), expected);
    file.own.push("z".to_owned());
    assert!(used(&file).contains("x::verify::x"));
    let named: Vec<String> = file.paths.iter().map(|path| path.join("::")).collect();
    assert!(named.contains(&"std::time::Duration::ZERO".to_owned()), "{named:?}");
}
