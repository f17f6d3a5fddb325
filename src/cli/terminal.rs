//! The standard streams, and the text styles used on them.

use super::escape::{escaped, escaped_json};
use super::hidden_input::read_hidden;
use super::render::wrap;
use super::workflow_commands::{neutral, neutral_json};
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use console::Term;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, IsTerminal, Stderr, Stdout, Write};
use std::path::{Path, PathBuf};

/// Errors and failures.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Warnings, and runs that wait.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// What succeeded or passed.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Help texts: what to do next.
pub(super) const HINT: Style = AnsiColor::Cyan.on_default();
/// Headings and names.
pub(super) const TITLE: Style = Style::new().bold();
/// Secondary text, such as times and ids.
pub(super) const DIM: Style = Style::new().dimmed();

/// A text with a style. A stream without colour removes the style.
pub(super) fn paint(style: Style, text: &(impl Display + ?Sized)) -> String {
    format!("{style}{text}{style:#}")
}

/// stdout and stderr. Colour depends on `NO_COLOR`, `TERM` and whether the stream is a terminal.
pub(super) struct Terminal {
    stdout: AutoStream<Stdout>,
    stderr: Stderr,
    /// Colour choice of stderr.
    colour: ColorChoice,
    quiet: bool,
    /// Whether `TERM` names a terminal that cannot move the cursor.
    is_dumb: bool,
    /// Whether lines are read by GitHub Actions, which understands annotations.
    annotates: bool,
    /// The folder of the repository in a job of GitHub Actions.
    repository: PathBuf,
}

impl Terminal {
    /// The streams of this process.
    pub(super) fn new() -> Self {
        let (stdout, stderr) = (AutoStream::auto(io::stdout()), io::stderr());
        let colour = AutoStream::choice(&stderr);
        Terminal {
            stdout,
            colour,
            stderr,
            quiet: false,
            is_dumb: false,
            annotates: false,
            repository: PathBuf::new(),
        }
    }

    /// Adapts the displays to the variables that describe who reads them.
    pub(super) fn adapt(&mut self, variables: &BTreeMap<String, String>) {
        let is = |name: &str, value: &str| variables.get(name).is_some_and(|own| own == value);
        self.is_dumb = is("TERM", "dumb");
        self.annotates = is("GITHUB_ACTIONS", "true");
        self.repository = variables.get("GITHUB_WORKSPACE").map(PathBuf::from).unwrap_or_default();
    }

    /// Whether displays contain groups and annotations of GitHub Actions.
    pub(super) fn annotates(&self) -> bool {
        self.annotates
    }

    /// The streams of this process for a display, with the same readers.
    pub(super) fn for_display(&self) -> Terminal {
        Terminal {
            quiet: self.quiet,
            is_dumb: self.is_dumb,
            annotates: self.annotates,
            repository: self.repository.clone(),
            ..Terminal::new()
        }
    }

    /// A text as it is written: escaped, and where GitHub Actions reads it, without workflow commands.
    fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let safe = escaped(text);
        if self.annotates { Cow::Owned(neutral(&safe)) } else { safe }
    }

    /// If GitHub Actions reads the displays, the folder of a project in the repository, empty or with a `/` at
    /// its end; annotations name files with it.
    pub(super) fn annotated_folder(&self, root: &Path) -> Option<String> {
        let folder = root.strip_prefix(&self.repository).unwrap_or(Path::new("")).to_string_lossy();
        let end = if folder.is_empty() { "" } else { "/" };
        self.annotates.then(|| format!("{folder}{end}"))
    }

    /// Applies `--quiet`: only results and errors are printed.
    pub(super) fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// Whether `--quiet` was given.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Writes a note or the next step to stderr, unless `--quiet` was given.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.err(text) }
    }

    /// Writes what only a person at the terminal may read, such as a one-time code, to the stream that is one. Returns
    /// `false`, and writes nothing, if both are files or pipes, which may be logs.
    pub(super) fn private(&mut self, text: &str) -> io::Result<bool> {
        if io::stderr().is_terminal() {
            self.err(text)?;
        } else if io::stdout().is_terminal() {
            self.out(text)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Writes a result to stdout, escaped for a terminal, whose lines break at words.
    pub(super) fn out(&mut self, text: &str) -> io::Result<()> {
        match wrap::columns(&Term::stdout()) {
            Some(room) => self.verbatim(&wrap::wrapped(text, room)),
            None => self.verbatim(text),
        }
    }

    /// Writes a result to stdout whose lines are whole, such as a difference, escaped for a terminal.
    pub(super) fn verbatim(&mut self, text: &str) -> io::Result<()> {
        let shown = self.shown(text);
        self.stdout.write_all(shown.as_bytes())?;
        self.stdout.flush()
    }

    /// Writes data to stdout: unchanged to a pipe or file, escaped on a terminal and for GitHub Actions.
    pub(super) fn data(&mut self, text: &str) -> io::Result<()> {
        if self.annotates || io::stdout().is_terminal() {
            self.verbatim(text)
        } else {
            write_unchanged(text)
        }
    }

    /// Writes JSON to stdout. On a terminal, characters that could hide or reorder text are written as
    /// `\u` escapes, and for GitHub Actions the marker of its commands.
    pub(super) fn json_text(&mut self, text: &str) -> io::Result<()> {
        let shown = match io::stdout().is_terminal() {
            true => escaped_json(text),
            false => Cow::Borrowed(text),
        };
        write_unchanged(&if self.annotates { neutral_json(&shown) } else { shown })
    }

    /// Writes messages to stderr, escaped for a terminal, whose lines break at words.
    pub(super) fn err(&mut self, text: &str) -> io::Result<()> {
        match wrap::columns(&Term::stderr()) {
            Some(room) => self.err_verbatim(&wrap::wrapped(text, room)),
            None => self.err_verbatim(text),
        }
    }

    /// Writes messages to stderr whose lines are whole, escaped for a terminal, in one write, because stderr is not
    /// buffered and may be shared.
    pub(super) fn err_verbatim(&mut self, text: &str) -> io::Result<()> {
        let mut shown = AutoStream::new(Vec::with_capacity(text.len()), self.colour);
        shown.write_all(self.shown(text).as_bytes())?;
        self.stderr.write_all(&shown.into_inner())
    }

    /// Writes workflow commands of `kb` itself to stderr.
    pub(super) fn workflow_commands(&mut self, text: &str) -> io::Result<()> {
        self.err_raw(&escaped(text))
    }

    /// Writes a text to stderr as it is, in one write.
    pub(super) fn err_raw(&mut self, text: &str) -> io::Result<()> {
        self.stderr.write_all(text.as_bytes())
    }

    /// Writes a value as indented JSON to stdout.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        self.json_text(&(text + "\n"))
    }

    /// Writes a result to stdout: the value as JSON, or the text.
    pub(super) fn result(
        &mut self,
        json: bool,
        value: &impl serde::Serialize,
        text: impl FnOnce() -> String,
    ) -> io::Result<()> {
        if json { self.json(value) } else { self.out(&text()) }
    }

    /// Whether stderr has colour.
    pub(super) fn err_colour(&self) -> bool {
        self.colour != ColorChoice::Never
    }

    /// Whether stderr is a terminal that supports a live display.
    pub(super) fn is_live(&self) -> bool {
        io::stderr().is_terminal() && !self.is_dumb
    }

    /// Whether stdin and stderr are terminals, so that questions can be asked.
    pub(super) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks a question; `None` if the input has ended.
    pub(super) fn ask(&mut self, question: &str) -> Option<String> {
        self.err(&format!("{} ", paint(TITLE, question))).ok()?;
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// As [`Terminal::ask`]; the answer is not shown while it is typed.
    pub(super) fn ask_hidden(&mut self, question: &str) -> Option<String> {
        read_hidden(|| self.err(&format!("{} ", paint(TITLE, question)))).ok()?
    }
}

/// Writes a text to stdout without removing escape sequences.
fn write_unchanged(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
