//! What the index asks of the project: which files it has, and what is in them.

use kb_base::value::Digest;

/// The files of a project that may be indexed. Paths are relative to its root.
pub trait Files {
    /// All files with their stat data.
    fn list(&self) -> Vec<(String, Stamp)>;
    /// The content of a file now; `None` if there is none that may be read.
    fn read(&self, path: &str) -> Option<Content>;
    /// The collection that a file belongs to.
    fn corpus(&self, path: &str) -> Corpus {
        Corpus::of_path(path)
    }
    /// A text with its secrets masked.
    fn mask(&self, text: &str) -> String;
    /// The time that the system gives to files now, in nanoseconds since 1970.
    fn now(&self) -> i64;
    /// Says when the structure of one file took too long to read.
    fn patience(&self) -> Patience;
}

/// Begins the time for one file; the returned function says when it is over.
pub type Patience = fn() -> Box<dyn FnMut() -> bool>;

/// Stat data of a file. Equal stamps mean equal contents, unless the file changed just before it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime: i64,
    /// Time of the last change of content or metadata, nanoseconds since 1970.
    pub ctime: i64,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Digest of all of its bytes.
    pub sha256: Digest,
    /// Its text, not masked; `None` if it is no text or too large to be indexed.
    pub text: Option<String>,
}

/// A collection of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corpus {
    /// Source code, settings and other texts.
    Code,
    /// Prose: Markdown, reStructuredText, AsciiDoc and plain text.
    Docs,
}

impl Corpus {
    /// All collections by name.
    pub const NAMES: [&str; 2] = ["code", "docs"];

    /// The collection with this name.
    pub fn named(name: &str) -> Option<Corpus> {
        [Corpus::Code, Corpus::Docs].into_iter().find(|corpus| corpus.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Corpus::Code => "code",
            Corpus::Docs => "docs",
        }
    }

    /// The collection that a file belongs to, by the ending of its name.
    pub fn of_path(path: &str) -> Corpus {
        const PROSE: [&str; 6] = ["md", "markdown", "rst", "adoc", "txt", "mdx"];
        let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let is_prose = ending.is_some_and(|ending| PROSE.contains(&ending.as_str()));
        if is_prose { Corpus::Docs } else { Corpus::Code }
    }
}

/// The lines of a text as they are shown: masked. None if masking joins lines, because the numbers of the others would
/// be wrong then.
pub(crate) fn shown_lines(text: &str, files: &dyn Files) -> Vec<String> {
    let masked = files.mask(text);
    let lines: Vec<String> = masked.lines().map(str::to_owned).collect();
    if lines.len() == text.lines().count() { lines } else { Vec::new() }
}
