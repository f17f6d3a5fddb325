//! Tokens of a shell script: words without their quotes, operators and redirections.
//!
//! Text that this tokenizer does not cover, such as command substitution, gives no tokens at all, so
//! that no conclusion is drawn from it.

/// A token of a shell script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// `;`, `&`, `|`, `|&`, `&&`, `||`, `(` or `)`. A line end is `;`.
    Operator(&'static str),
    /// The next word is the target of a redirection: whether it is written, and whether with the standard output.
    Redirection {
        writes: bool,
        output: bool,
    },
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    /// Without quotes; expansions such as `$HOME` stay as they are written.
    pub(super) text: String,
    /// Whether a part is quoted, so that it is not a reserved word.
    pub(super) quoted: bool,
}

/// The tokens of a script; `None` if it contains something that is not covered.
pub(super) fn tokens(script: &str) -> Option<Vec<Token>> {
    let mut reader = Reader { chars: script.chars().collect(), ..Reader::default() };
    while let Some(c) = reader.peek(0) {
        reader.next(c)?;
    }
    reader.end_word();
    reader.documents.is_empty().then_some(reader.tokens)
}

#[derive(Default)]
struct Reader {
    chars: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
    word: Option<Word>,
    /// The delimiters of here-documents that start after this line.
    documents: Vec<String>,
    /// Whether the next word is the delimiter of a here-document.
    delimiter: bool,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self, c: char) -> Option<()> {
        self.at += 1;
        match c {
            ' ' | '\t' | '\r' => self.end_word(),
            '\n' => self.line_end()?,
            '#' if self.word.is_none() => {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            '\'' => self.single_quoted()?,
            '"' => self.double_quoted()?,
            '\\' => match self.peek(0)? {
                '\n' => self.at += 1,
                next => {
                    self.at += 1;
                    self.push(next, true);
                }
            },
            '`' => return None,
            '$' => self.expansion(false)?,
            ';' if self.peek(0) == Some(';') => return None,
            ';' => self.operator(";"),
            '&' if self.take('&') => self.operator("&&"),
            '&' if self.peek(0) == Some('>') => {
                self.end_word();
                self.at += 1;
                self.redirection(true, true)?;
            }
            '&' => self.operator("&"),
            '|' if self.take('|') => self.operator("||"),
            '|' if self.take('&') => self.operator("|&"),
            '|' => self.operator("|"),
            '(' => self.operator("("),
            ')' => self.operator(")"),
            '<' | '>' => {
                let descriptor = self.take_descriptor();
                self.end_word();
                match (c, self.peek(0)) {
                    (_, Some('(')) => return None,
                    ('<', Some('<')) if self.peek(1) != Some('<') => {
                        self.at += 1;
                        self.take('-');
                        (self.delimiter, self.word) = (true, None);
                    }
                    _ => {
                        let writes = c == '>';
                        let output = descriptor.is_none_or(|own| own == "1");
                        self.redirection(writes, writes && output)?;
                    }
                }
            }
            c => self.push(c, false),
        }
        Some(())
    }

    fn take(&mut self, c: char) -> bool {
        let is_next = self.peek(0) == Some(c);
        self.at += usize::from(is_next);
        is_next
    }

    fn push(&mut self, c: char, quoted: bool) {
        let word = self.word.get_or_insert_default();
        word.text.push(c);
        word.quoted |= quoted;
    }

    fn single_quoted(&mut self) -> Option<()> {
        self.word.get_or_insert_default().quoted = true;
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            match c {
                '\'' => return Some(()),
                c => self.push(c, true),
            }
        }
    }

    fn double_quoted(&mut self) -> Option<()> {
        self.word.get_or_insert_default().quoted = true;
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            match c {
                '"' => return Some(()),
                '`' => return None,
                '$' => self.expansion(true)?,
                '\\' => match self.peek(0)? {
                    '\n' => self.at += 1,
                    next @ ('$' | '`' | '"' | '\\') => {
                        self.at += 1;
                        self.push(next, true);
                    }
                    _ => self.push('\\', true),
                },
                c => self.push(c, true),
            }
        }
    }

    /// A variable is kept as text. Command substitution, arithmetic and `$'…'` are not covered.
    fn expansion(&mut self, quoted: bool) -> Option<()> {
        match self.peek(0) {
            Some('(' | '[') => None,
            Some('\'' | '"') if !quoted => None,
            Some('{') => {
                self.push('$', quoted);
                loop {
                    let c = self.peek(0)?;
                    self.at += 1;
                    match c {
                        '`' | '(' | '\'' | '"' | '\n' => return None,
                        c => self.push(c, quoted),
                    }
                    if c == '}' {
                        return Some(());
                    }
                }
            }
            _ => {
                self.push('$', quoted);
                Some(())
            }
        }
    }

    /// `2` of `2>file` is no word, but the number of a stream.
    fn take_descriptor(&mut self) -> Option<String> {
        let is_number =
            |word: &mut Word| !word.quoted && word.text.bytes().all(|byte| byte.is_ascii_digit());
        self.word.take_if(is_number).map(|word| word.text)
    }

    /// The rest of an operator such as `>`, `>>`, `>&`, `>|`, `<<<` or `<>`.
    fn redirection(&mut self, writes: bool, output: bool) -> Option<()> {
        while matches!(self.peek(0), Some('<' | '>' | '&' | '|')) {
            self.at += 1;
        }
        self.tokens.push(Token::Redirection { writes, output });
        Some(())
    }

    fn operator(&mut self, operator: &'static str) {
        self.end_word();
        self.tokens.push(Token::Operator(operator));
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.delimiter) {
            self.documents.push(word.text)
        } else {
            self.tokens.push(Token::Word(word))
        }
    }

    /// Ends a line and skips the here-documents that it announced.
    fn line_end(&mut self) -> Option<()> {
        self.operator(";");
        for delimiter in std::mem::take(&mut self.documents) {
            loop {
                let rest = self.chars.get(self.at..).filter(|rest| !rest.is_empty())?;
                let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at += (length + 1).min(rest.len());
                if line.trim_start_matches('\t') == delimiter {
                    break;
                }
            }
        }
        Some(())
    }
}
