//! Rules for commands in list form: no value becomes a program, code of a program, or an option.

use super::interpreters;
use crate::definition::syntax::{Decoder, Node};
use crate::expression::Template;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Failure;

/// Checks that the program is literal, and that no value becomes the code after `-c` or `-e`.
pub(crate) fn check(words: &[Template], nodes: &[Node], decoder: &mut Decoder) {
    let starts = words.iter().zip(nodes).map(|(word, node)| match word.as_literal() {
        Some(text) => (text, false),
        None => (fixed_start(node.as_text().unwrap_or_default()), true),
    });
    let interpreted = interpreters::value_as_code(&starts.collect::<Vec<_>>());
    for (index, (word, node)) in words.iter().zip(nodes).enumerate() {
        if word.as_literal().is_some() {
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| words[before].as_literal());
        let start = fixed_start(node.as_text().unwrap_or_default());
        let (message, help) = if index == 0 {
            ("the program cannot be a placeholder", "write its name; values may be arguments")
        } else if before.is_some_and(takes_code) || is_glued_code(start) {
            (
                "a value cannot be the code of an interpreter",
                "write the code literally and pass the value as a later argument or in `env:`",
            )
        } else if interpreted.is_some_and(|(refused, _)| refused == index) {
            (
                "a value cannot stand where this program takes code or a program",
                "write the script, the code or the program literally, and the value behind it or in `env:`",
            )
        } else {
            continue;
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

/// The text before the first placeholder.
fn fixed_start(text: &str) -> &str {
    let end = ["{{", "<<", "{"].iter().filter_map(|open| text.find(open)).min();
    &text[..end.unwrap_or(text.len())]
}

/// Whether an argument that starts with this text contains the code of its own option: `-c{{x}}`,
/// and `--eval={{x}}`.
fn is_glued_code(start: &str) -> bool {
    let long = start
        .split_once('=')
        .is_some_and(|(option, _)| option.starts_with("--") && takes_code(option));
    long || takes_code(start)
}

/// Refuses a computed value as the code of an interpreter, given words and whether each is computed.
///
/// `check` refuses a value after a literal `-c`. If the option is computed as well, that is known only
/// when the words are rendered.
pub fn refuse_computed_code<'w>(
    words: impl Iterator<Item = (&'w str, bool)>,
) -> Result<(), Box<Failure>> {
    let words: Vec<(&str, bool)> = words.collect();
    let is_code = |pair: &&[(&str, bool)]| pair[0].1 && pair[1].1 && takes_code(pair[0].0);
    let Some(pair) = words.windows(2).find(is_code) else { return Ok(()) };
    let message = format!("a computed value cannot be the code of `{}`", pair[0].0);
    let help =
        "write the option and the code literally, and pass values as later arguments or in `env:`";
    Err(Box::new(Failure::new(Code::VALUE_AS_CODE, message).help(help)))
}

/// Refuses a value that the program would read as an option, given words and whether each starts with a
/// value. Words after a literal `--` are operands, and words after the code of `sh -c` its parameters.
pub fn refuse_options<'w>(
    words: impl Iterator<Item = (&'w str, bool)>,
) -> Result<(), Box<Failure>> {
    let words: Vec<(&str, bool)> = words.collect();
    let program = words.first().map_or("", |(program, _)| *program);
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_shell = ["sh", "bash", "dash", "zsh", "ksh"].contains(&name);
    let mut are_operands = false;
    for index in 1..words.len() {
        let (word, starts_with_value) = words[index];
        if !starts_with_value {
            let is_code = is_shell && index > 1 && is_code_of_shell(&words, index);
            are_operands |= word == "--" || is_code;
            continue;
        }
        let is_option = |sign: char| {
            word.starts_with(sign) && (sign == '-' || interpreters::has_plus_options(program))
        };
        if let Some(sign) = ['-', '+'].into_iter().find(|sign| is_option(*sign))
            && !are_operands
        {
            let message = format!(
                "argument {index} of `{program}` is a value that starts with `{sign}`, so it would be read as an option"
            );
            let help = "write `--` before it, `--option={{…}}` for the value of an option, or pass it in `env:`";
            return Err(Box::new(Failure::new(Code::VALUE_AS_CODE, message).help(help)));
        }
    }
    Ok(())
}

/// Whether a word is the code after a literal `-c`.
fn is_code_of_shell(words: &[(&str, bool)], index: usize) -> bool {
    let (option, is_value) = words[index - 1];
    let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    !is_value && letters.is_some_and(|letters| letters.ends_with('c'))
}

/// Whether an option takes code: `-c`, `-e`, and groups that end with one, such as `bash -lc` or
/// `perl -ne`.
pub(crate) fn takes_code(option: &str) -> bool {
    match option.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => {
            letters.len() <= 4
                && letters.chars().all(|c| c.is_ascii_alphabetic())
                && letters.ends_with(['c', 'e'])
        }
        Some(long) => CODE_OPTIONS.contains(&long.trim_start_matches('-')),
        None => false,
    }
}

/// Long options of many programs whose argument is executed or loaded.
const CODE_OPTIONS: [&str; 24] = [
    "eval",
    "command",
    "exec",
    "execute",
    "print",
    "run",
    "require",
    "import",
    "loader",
    "experimental-loader",
    "checkpoint-action",
    "to-command",
    "use-compress-program",
    "rsh",
    "rsync-path",
    "upload-pack",
    "receive-pack",
    "exec-path",
    "config-env",
    "open-files-in-pager",
    "pager",
    "editor",
    "init-file",
    "rcfile",
];
