//! Rules for commands in list form: no value becomes a program, code of a program, or an option.

use super::code_programs::{CodeProgram, Operands, code_program, is_code_option};
use super::shell_text::variable_for;
use crate::definition::syntax::{Decoder, Node};
use crate::expression::{ScriptName, Template, placeholders_in};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Failure;

/// Checks that the program is literal, and that no value becomes the code after `-c` or `-e`.
pub(crate) fn check(words: &[Template], nodes: &[Node], decoder: &mut Decoder) {
    let literals: Vec<Option<&str>> = words.iter().map(Template::as_literal).collect();
    for (index, (word, node)) in words.iter().zip(nodes).enumerate() {
        if word.as_literal().is_some() {
            continue;
        }
        let before = index.checked_sub(1).and_then(|before| words[before].as_literal());
        let program = words[0].as_literal().unwrap_or_default();
        let start = fixed_start(node.as_text().unwrap_or_default());
        let earlier = literals.get(1..index).unwrap_or_default();
        let of_program = |option: &str| is_code_option(program, earlier, option);
        let glued = || is_glued_code(start, program) || of_program(start);
        let takes_code = |option: &str| takes_code(option) || of_program(option);
        let (message, help) = if index == 0 {
            ("the program cannot be a placeholder", "write its name; values may be arguments")
        } else if before.is_some_and(takes_code) || glued() {
            (
                "a value cannot be the code of an interpreter",
                "write the code literally and pass the value as a later argument or in `env:`",
            )
        } else {
            continue;
        };
        let found = Diagnostic::error(Code::VALUE_AS_CODE, node.span, message);
        decoder.push(found.caption("a value would become code").help(help));
    }
    check_operands(words, nodes, decoder);
    if words.first().and_then(Template::as_literal).is_some_and(|program| program.trim().is_empty())
    {
        let span = nodes.first().map(|node| node.span);
        decoder.push(
            Diagnostic::error(Code::BAD_VALUE, span, "the program is empty").help("write its name"),
        );
    }
}

/// Reports values in operands that the program executes.
fn check_operands(words: &[Template], nodes: &[Node], decoder: &mut Decoder) {
    let Some(program) = words.first().and_then(Template::as_literal) else { return };
    let literals: Vec<Option<&str>> = words[1..].iter().map(Template::as_literal).collect();
    let (mut has_code, mut last) = (false, None);
    for index in 1..words.len() {
        let Some(known) = code_program(program, &literals[..index - 1]) else { continue };
        // The word before was the subcommand that executes the operands from here on.
        has_code &= last.replace(known).is_none_or(|last| std::ptr::eq(last, known));
        let before = words[index - 1].as_literal().filter(|_| index > 1);
        let is_argument = before.is_some_and(|option| known.with_argument.contains(&option));
        match words[index].as_literal() {
            Some(word) => has_code |= !word.starts_with('-') && !is_argument,
            None if is_argument || has_code && known.operands == Operands::FirstIsCode => {}
            // Reported by `check`.
            None if before.is_some_and(takes_code) => {}
            None if is_glued_code(
                fixed_start(nodes[index].as_text().unwrap_or_default()),
                program,
            ) => {}
            None => decoder.push(executed(program, known, &nodes[index], decoder)),
        }
    }
}

/// The error for a value that a program executes, with the rewrite.
fn executed(program: &str, known: &CodeProgram, node: &Node, decoder: &Decoder) -> Diagnostic {
    let text = node.as_text().unwrap_or_default();
    let found = placeholders_in(text, &decoder.names, decoder.style).into_iter();
    let mut declared = found.filter(|one| one.meaning == ScriptName::Known);
    let inner = declared.next().map(|one| one.inner).unwrap_or_default();
    let name = variable_for(&inner);
    let read = match known.variable {
        "" => format!("`run: '{program} … \"${name}\"'`"),
        variable => format!("`{}` in its code", variable.replace("NAME", &name)),
    };
    let message = format!("a value cannot be an operand of `{program}`, which can execute it");
    Diagnostic::error(Code::VALUE_AS_CODE, node.span, message)
        .caption("a value would become code")
        .help(format!(
            "write `env: {{{name}: \"{{{{{inner}}}}}\"}}` and {read}, or pass the value on stdin"
        ))
}

/// The text before the first placeholder.
fn fixed_start(text: &str) -> &str {
    let end = ["{{", "<<", "{"].iter().filter_map(|open| text.find(open)).min();
    &text[..end.unwrap_or(text.len())]
}

/// Whether an argument that starts with this text contains the code of its own option: `-c{{x}}`,
/// `--eval={{x}}`, and `-eprint({{x}})` for an interpreter.
fn is_glued_code(start: &str, program: &str) -> bool {
    const INTERPRETERS: [&str; 16] = [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "fish",
        "python",
        "perl",
        "ruby",
        "node",
        "bun",
        "deno",
        "lua",
        "php",
        "osascript",
        "Rscript",
    ];
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let long = start
        .split_once('=')
        .is_some_and(|(option, _)| option.starts_with("--") && takes_code(option));
    let short = ["-c", "-e", "-E", "-p", "-r"].iter().any(|option| start.starts_with(option));
    long || takes_code(start) || short && INTERPRETERS.contains(&name)
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
        if word.starts_with('-') && !are_operands {
            let message = format!(
                "argument {index} of `{program}` is a value that starts with `-`, so it would be read as an option"
            );
            let help = "write `--` before it, `--option={{…}}` for the value of an option, or pass it in `env:`";
            return Err(Box::new(Failure::new(Code::VALUE_AS_CODE, message).help(help)));
        }
        if let Some(why) = other_option(name, word) {
            let message = format!("argument {index} of `{program}` is a value {why}");
            let help = "write `./{{…}}` for a file, or what stands before the value literally";
            return Err(Box::new(Failure::new(Code::VALUE_AS_CODE, message).help(help)));
        }
    }
    Ok(())
}

/// Programs that read options from a file whose name follows `@`.
const READ_OPTIONS: [&str; 18] = [
    "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "ar", "as", "rustc", "javac", "jar",
    "javadoc", "kotlinc", "swiftc", "ghc", "mcs", "csc",
];

/// Why a program reads a word as an option although it does not start with `-`.
fn other_option(program: &str, word: &str) -> Option<&'static str> {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    // A cross compiler has its target before the name: `x86_64-linux-gnu-gcc`.
    let last = plain.rsplit('-').next().unwrap_or(plain);
    let reads = READ_OPTIONS.iter().any(|known| [program, plain, last].contains(known));
    if reads && word.starts_with('@') {
        return Some("that starts with `@`, so options would be read from that file");
    }
    let (open, name) = (word.trim(), plain);
    if name == "perl" && (open.starts_with(['|', '<', '>', '+']) || open.ends_with('|')) {
        return Some(
            "that `perl -n` and `<>` would execute or write to when they open it as a file",
        );
    }
    (program == "dd" && word.contains('=')).then_some("with `=`, so it would be read as an option")
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
