//! Whether a value in a shell text would be code of another program: of `bash -c`, `python3 -c`, `sed`, of a
//! here-document that a program executes, or of a builtin such as `trap`.

use super::shell::Quoted;
use kb_language::definition::{is_interpreter, value_as_code};

/// Commands that execute their arguments, or hand them to another shell.
const EXECUTE: [&str; 11] =
    ["alias", "eval", "fc", "find", "let", "parallel", "ssh", "su", "trap", "typeset", "watch"];
/// Commands that copy a here-document.
const COPY: [&str; 2] = ["cat", "tee"];
/// Operators of `[[` that evaluate their operands, and with them the commands in these.
const ARITHMETIC: [&str; 6] = [" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge "];

/// Whether a value between these two parts of a shell text would be code.
pub(super) fn is_code(before: &str, after: &str) -> bool {
    let mut reader = Reader { levels: vec![Level::default()], documents: Vec::new() };
    if let Some(document) = reader.read(before) {
        return document.is_quoted || !document.is_copied;
    }
    let Level { mut words, word, .. } = reader.levels.pop().unwrap_or_default();
    if words.iter().any(|word| EXECUTE.contains(&base(word))) {
        return true;
    }
    let rest = after.split(['\n', ';', '&', '|']).next().unwrap_or_default();
    let is_test = words.iter().any(|word| word == "[[");
    let line = format!("{} {rest} ", words.join(" "));
    if line.contains("((") || is_test && ARITHMETIC.iter().any(|operator| line.contains(operator)) {
        return true;
    }
    words.push(word);
    // The program is not always the first word: assignments, keywords and wrappers stand before it.
    let last = words.len() - 1;
    let starts = (0..words.len()).filter(|first| *first == 0 || is_interpreter(&words[*first]));
    starts.into_iter().any(|first| {
        let words = &words[first..];
        let words = words.iter().enumerate().map(|(at, word)| (word.as_str(), first + at == last));
        value_as_code(&words.collect::<Vec<_>>()).is_some()
    })
}

/// What is reported for such a value.
pub(super) fn as_code(value: &str) -> String {
    format!(
        "`{value}` is code of another program here; pass it in `env:` and let that program read the variable"
    )
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// A command that is read, also one in `$(…)`.
#[derive(Default)]
struct Level {
    words: Vec<String>,
    word: String,
    quoted: Option<Quoted>,
    /// Whether a backtick ends it.
    is_backtick: bool,
}

impl Level {
    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self) {
        self.word.clear();
        self.words.clear();
    }
}

/// A here-document whose text begins on the next line.
#[derive(Clone)]
struct Document {
    end: String,
    /// Whether the shell puts no variables into it.
    is_quoted: bool,
    /// Whether a program only copies it.
    is_copied: bool,
}

struct Reader {
    levels: Vec<Level>,
    documents: Vec<Document>,
}

impl Reader {
    /// Reads a shell text. Returns the here-document in which it ends.
    fn read(&mut self, text: &str) -> Option<Document> {
        let mut line_start = 0;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let mut length = c.len_utf8();
            let level = self.levels.last_mut()?;
            match (level.quoted.unwrap_or(Quoted::Not), c) {
                (Quoted::Single, '\'') => level.quoted = None,
                (Quoted::Single, _) => level.word.push(c),
                (Quoted::Not | Quoted::Double, '\\') => {
                    let next = rest[1..].chars().next();
                    length += next.map_or(0, char::len_utf8);
                    level.word.extend(next.filter(|c| *c != '\n'));
                }
                (_, '$') if rest.starts_with("$((") => {
                    level.word.push_str("((");
                    length = 3;
                }
                (_, '$') if rest.starts_with("$(") => {
                    self.levels.push(Level::default());
                    length = 2;
                }
                (_, '`') => {
                    if level.is_backtick {
                        self.levels.pop();
                    } else {
                        self.levels.push(Level { is_backtick: true, ..Level::default() });
                    }
                }
                (Quoted::Double, '"') => level.quoted = None,
                (Quoted::Double, _) => level.word.push(c),
                (Quoted::Not, '\'') => level.quoted = Some(Quoted::Single),
                (Quoted::Not, '"') => level.quoted = Some(Quoted::Double),
                (Quoted::Not, '#') if level.word.is_empty() => {
                    length = rest.find('\n').unwrap_or(rest.len());
                }
                (Quoted::Not, '<') if rest.starts_with("<<") && !rest.starts_with("<<<") => {
                    level.end_word();
                    let line_end = rest.find('\n').map_or(text.len(), |end| at + end);
                    let (document, used) = document(rest, &text[line_start..line_end]);
                    self.documents.push(document);
                    length = used;
                }
                (Quoted::Not, '\n') => {
                    level.end_command();
                    match self.skip_documents(&rest[1..]) {
                        Ok(skipped) => length += skipped,
                        Err(document) => return Some(document),
                    }
                    line_start = at + length;
                }
                (Quoted::Not, ')') => {
                    level.end_command();
                    if self.levels.len() > 1 {
                        self.levels.pop();
                    }
                }
                (Quoted::Not, '(') if rest.starts_with("((") => {
                    level.word.push_str("((");
                    length = 2;
                }
                (Quoted::Not, ';' | '&' | '|' | '(' | '{' | '}')
                    if level.word.is_empty() || !"{}".contains(c) =>
                {
                    level.end_command();
                }
                (Quoted::Not, _) if c.is_whitespace() => level.end_word(),
                (Quoted::Not, _) => level.word.push(c),
            }
            at += length;
        }
        None
    }

    /// The length of the here-documents that begin here, or the one that does not end.
    fn skip_documents(&mut self, text: &str) -> Result<usize, Document> {
        let mut skipped = 0;
        for document in std::mem::take(&mut self.documents) {
            let mut lines = text[skipped..].split_inclusive('\n');
            loop {
                let Some(line) = lines.next().filter(|line| line.ends_with('\n')) else {
                    return Err(document);
                };
                skipped += line.len();
                if line.trim() == document.end {
                    break;
                }
            }
        }
        Ok(skipped)
    }
}

/// The here-document of a text that starts with `<<`, and the length of its operator and end word.
fn document(text: &str, line: &str) -> (Document, usize) {
    let after = text[2..].trim_start_matches('-');
    let word = after.trim_start_matches([' ', '\t']);
    let end = word.find(|c: char| c.is_whitespace() || ";&|)<>".contains(c)).unwrap_or(word.len());
    let used = text.len() - word.len() + end;
    let word = &word[..end];
    let is_quoted = word.contains(['\'', '"', '\\']);
    let first = line.split_whitespace().next().map(base);
    let is_copied = first.is_some_and(|first| COPY.contains(&first)) && !line.contains('|');
    let end = word.replace(['\'', '"', '\\'], "");
    (Document { end, is_quoted, is_copied }, used)
}

#[cfg(test)]
mod tests {
    use super::is_code;

    /// Whether a value in the place of `@` is code.
    fn code(text: &str) -> bool {
        let (before, after) = text.split_once('@').unwrap();
        is_code(before, after)
    }

    #[test]
    fn values_of_ordinary_commands_are_data() {
        for text in [
            "echo \"@\"",
            "echo '@'",
            "echo a; X=$(echo @); echo $X",
            "python3 build.py --name=@",
            "bash -c 'make' && echo @",
            "sed -i s/a/b/ @",
            "cat <<EOF > file\nname: @\nEOF",
            "cat <<-EOF\n\tx\n\tEOF\necho @",
            "if [[ \"@\" == main ]]; then true; fi",
            "git commit -m \"it's @\" # bash -c",
            "docker run -e X=@ image",
            "docker exec @ ls",
            "# bash -c \"\necho @",
        ] {
            assert!(!code(text), "{text}");
        }
    }

    #[test]
    fn values_in_the_code_of_other_programs_are_code() {
        for text in [
            "bash -c \"echo @\"",
            "bash -c 'echo \"@\"'",
            "python3 -c 'print(\"@\")'",
            "node -e \"console.log('@')\"",
            "echo x | sh -c \"cat; echo @\"",
            "FOO=1 timeout 5 bash -c \"echo @\"",
            "if ! python3 -c \"@\"; then true; fi",
            "python3 <<EOF\nprint(\"@\")\nEOF",
            "python3 - <<'EOF'\nprint(\"@\")\nEOF",
            "cat <<EOF | sh\n@\nEOF",
            "cat <<'EOF'\n@\nEOF",
            "X=$(bash -c \"echo @\")",
            "X=`bash -c \"echo @\"`",
            "trap 'echo @' EXIT",
            "alias e='echo @'; true",
            "eval echo @",
            "sed -i \"s/V/@/\" file",
            "ssh host \"echo @\"",
            "echo $((1 + @))",
            "(( @ > 1 ))",
            "if [[ @ -eq 1 ]]; then true; fi",
            "cat <<EOF\nx\nEOF\nbash -c \"@\"",
        ] {
            assert!(code(text), "{text}");
        }
    }
}
