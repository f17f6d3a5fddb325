//! The structure of a shell script: lists, pipelines, simple commands and groups.
//!
//! Loops, conditions, functions and here-strings are not covered; a script with them has no structure.

use super::token::{Token, Word, tokens};

/// A sequence of statements.
pub(super) type List = Vec<Statement>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) first: Pipeline,
    /// Each with whether it follows `||` instead of `&&`.
    pub(super) rest: Vec<(bool, Pipeline)>,
    pub(super) background: bool,
}

/// Commands joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) negated: bool,
    pub(super) commands: Vec<Command>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// The words of a simple command, assignments included.
    Simple { words: Vec<String>, to: Redirected },
    /// `{ …; }`, or `( … )` with its own options.
    Group { list: List, subshell: bool, to: Redirected },
}

/// Where the redirections of a command lead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Redirected {
    /// Whether one writes a file.
    pub(super) writes: bool,
    /// The file that gets the standard output, `/dev/null` included.
    pub(super) output: Option<String>,
}

/// Words that start a construct that is not covered.
const COMPOUND: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "coproc", "[[", "]]",
];
/// Depth of groups.
const MAX_DEPTH: usize = 20;

/// The structure of a script; `None` if it contains something that is not covered.
pub(super) fn parse(script: &str) -> Option<List> {
    let tokens = tokens(script)?;
    let mut parser = Parser { tokens: &tokens, depth: 0 };
    let list = parser.list()?;
    parser.tokens.is_empty().then_some(list)
}

struct Parser<'t> {
    tokens: &'t [Token],
    depth: usize,
}

impl<'t> Parser<'t> {
    fn take(&mut self, operator: &str) -> bool {
        let is_next =
            matches!(self.tokens.first(), Some(Token::Operator(next)) if *next == operator);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    /// The next word if it is unquoted and has this text.
    fn take_word(&mut self, text: &str) -> bool {
        let is_next = self.is_word(text);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn is_word(&self, text: &str) -> bool {
        matches!(self.tokens.first(), Some(Token::Word(word)) if !word.quoted && word.text == text)
    }

    fn skip_lines(&mut self) {
        while self.take(";") {}
    }

    fn list(&mut self) -> Option<List> {
        let mut list = List::new();
        loop {
            self.skip_lines();
            let ends = matches!(self.tokens.first(), None | Some(Token::Operator(")")));
            if ends || self.is_word("}") {
                return Some(list);
            }
            let mut statement = self.statement()?;
            statement.background = self.take("&");
            let is_end = matches!(self.tokens.first(), None | Some(Token::Operator(")" | ";")));
            if !statement.background && !is_end {
                return None;
            }
            list.push(statement);
        }
    }

    fn statement(&mut self) -> Option<Statement> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            let or = match () {
                () if self.take("&&") => false,
                () if self.take("||") => true,
                () => return Some(Statement { first, rest, background: false }),
            };
            self.skip_lines();
            rest.push((or, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let mut negated = false;
        while self.take_word("!") {
            negated = !negated;
        }
        let mut commands = vec![self.command()?];
        while self.take("|") || self.take("|&") {
            self.skip_lines();
            commands.push(self.command()?);
        }
        Some(Pipeline { negated, commands })
    }

    fn command(&mut self) -> Option<Command> {
        let subshell = self.take("(");
        if !subshell && !self.take_word("{") {
            return self.simple();
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let list = self.list()?;
        let closed = if subshell { self.take(")") } else { self.take_word("}") };
        self.depth -= 1;
        let mut to = Redirected::default();
        self.redirections(&mut to)?;
        (closed && !list.is_empty()).then_some(Command::Group { list, subshell, to })
    }

    /// Adds redirections.
    fn redirections(&mut self, to: &mut Redirected) -> Option<()> {
        while let Some(Token::Redirection { writes, output }) = self.tokens.first() {
            let Some(Token::Word(target)) = self.tokens.get(1) else { return None };
            let is_stream = |c: char| c.is_ascii_digit() || c == '-';
            let is_stream = target.text.chars().all(is_stream);
            to.writes |= *writes && !is_stream && !target.text.starts_with("/dev/");
            if *output {
                to.output = (!is_stream).then(|| target.text.clone());
            }
            self.tokens = &self.tokens[2..];
        }
        Some(())
    }

    fn simple(&mut self) -> Option<Command> {
        let mut words: Vec<&Word> = Vec::new();
        let before = self.tokens.len();
        let mut to = Redirected::default();
        loop {
            self.redirections(&mut to)?;
            match self.tokens.first() {
                Some(Token::Word(word)) => words.push(word),
                // `name()` defines a function.
                Some(Token::Operator("(")) => return None,
                _ => break,
            }
            self.tokens = &self.tokens[1..];
        }
        let is_compound = |word: &&Word| !word.quoted && COMPOUND.contains(&word.text.as_str());
        if words.first().is_some_and(is_compound) || before == self.tokens.len() {
            return None;
        }
        let words = words.into_iter().map(|word| word.text.clone()).collect();
        Some(Command::Simple { words, to })
    }
}
