//! The two streams, and the few styles that are used on them.

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::io::{self, IsTerminal, Stderr, Stdout, Write};

/// Something is wrong.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Something may be.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Something is as it should be.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// The mend.
pub(super) const HINT: Style = AnsiColor::Cyan.on_default();
/// A heading.
pub(super) const TITLE: Style = Style::new().bold();
/// What matters less.
pub(super) const DIM: Style = Style::new().dimmed();

/// A text in a style; the stream drops the style where it shows no colour.
pub(super) fn paint(style: Style, text: &(impl Display + ?Sized)) -> String {
    format!("{style}{text}{style:#}")
}

/// stdout and stderr, with colour only where it is wanted (`NO_COLOR`, `TERM`, a terminal).
pub(super) struct Terminal {
    stdout: AutoStream<Stdout>,
    stderr: Stderr,
    /// Of stderr.
    colour: ColorChoice,
}

impl Terminal {
    /// The process's own streams.
    pub(super) fn new() -> Self {
        let (stdout, stderr) = (AutoStream::auto(io::stdout()), io::stderr());
        Terminal { stdout, colour: AutoStream::choice(&stderr), stderr }
    }

    /// Writes data.
    pub(super) fn out(&mut self, text: &str) -> io::Result<()> {
        self.stdout.write_all(text.as_bytes())?;
        self.stdout.flush()
    }

    /// Writes everything that is no data: in one piece, since stderr has no buffer and may be shared.
    pub(super) fn err(&mut self, text: &str) -> io::Result<()> {
        let mut shown = AutoStream::new(Vec::with_capacity(text.len()), self.colour);
        shown.write_all(text.as_bytes())?;
        self.stderr.write_all(&shown.into_inner())
    }

    /// Writes a value as JSON, indented, as data.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        self.out(&(text + "\n"))
    }

    /// Whether stderr shows colour.
    pub(super) fn err_colour(&self) -> bool {
        self.colour != ColorChoice::Never
    }

    /// Whether a live display can be drawn: stderr is a terminal that can move its cursor.
    pub(super) fn is_live(&self) -> bool {
        io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Whether a person can be asked.
    pub(super) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks a person; `None` where the input ended.
    pub(super) fn ask(&mut self, question: &str) -> Option<String> {
        self.err(&format!("{} ", paint(TITLE, question))).ok()?;
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }
}
