use crate::definition::syntax::{Decoder, Node};
use crate::diagnostic::{Code, Diagnostic};
use crate::expression::Template;

/// An argv: its program is literal, and no value becomes the code of `-c` or `-e`.
pub(crate) fn check(words: &[Template], nodes: &[Node], decoder: &mut Decoder) {
    for (index, (word, node)) in words.iter().zip(nodes).enumerate() {
        if word.as_literal().is_some() {
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| words[before].as_literal());
        let (message, help) = match before {
            None if index == 0 => {
                ("the program cannot be a placeholder", "write its name; values may be arguments")
            }
            Some(option) if takes_code(option) => (
                "a value cannot be the code of an interpreter",
                "write the code literally and hand the value over as a later argument or as `env:`",
            ),
            _ => continue,
        };
        let found = Diagnostic::error(Code::VALUE_AS_CODE, node.span, message);
        decoder.push(found.caption("a value would become code").help(help));
    }
    if words.first().and_then(Template::as_literal).is_some_and(|program| program.trim().is_empty())
    {
        let span = nodes.first().map(|node| node.span);
        decoder.push(
            Diagnostic::error(Code::BAD_VALUE, span, "the program is empty").help("write its name"),
        );
    }
}

/// `-c`, `-e`, and short options that end so, such as `bash -lc` or `perl -ne`.
pub fn takes_code(option: &str) -> bool {
    match option.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => {
            letters.len() <= 4
                && letters.chars().all(|c| c.is_ascii_alphabetic())
                && letters.ends_with(['c', 'e'])
        }
        Some(long) => matches!(long, "-eval" | "-command" | "-exec" | "-print"),
        None => false,
    }
}
