//! Texts of commands, without their analysis.

/// A command line without quotes, with one space between words and one separator between commands.
pub(super) fn plain(text: &str) -> String {
    let bare: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '`' | '\\')).collect();
    let parts =
        bare.split([';', '\n']).map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" && ")
}

/// Commands whose exit code 1 is an answer and no failure.
pub(super) fn is_question(command: &str) -> bool {
    const QUESTIONS: [&str; 10] =
        ["grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "which", "pgrep"];
    let program = command.split(' ').next().unwrap_or_default();
    QUESTIONS.contains(&program)
        || command.starts_with("git diff")
        || command.starts_with("git grep")
}

/// Whether a command only inspects files and programs, so its exit code is an answer.
pub(super) fn only_looks(argv: &[String]) -> bool {
    const LOOKS: [&str; 7] = ["ls", "find", "stat", "file", "wc", "command", "type"];
    let program = argv.first().map_or("", String::as_str);
    LOOKS.contains(&program) || is_question(&argv.join(" ")) || records(argv) && shows(argv)
}

/// Whether all operands of a command are files that it can take away or put back.
pub(super) fn moves_files(argv: &[String]) -> bool {
    const MOVES: [&str; 8] = ["mv", "cp", "rm", "ln", "mkdir", "rmdir", "rsync", "chmod"];
    let program = argv.first().map_or("", String::as_str);
    let program = program.rsplit('/').next().unwrap_or_default();
    let git = ["mv", "rm", "checkout", "restore", "stash"];
    MOVES.contains(&program)
        || program == "git" && argv.get(1).is_some_and(|verb| git.contains(&verb.as_str()))
}

/// Whether a command of git shows or records files and changes none.
pub(super) fn records(argv: &[String]) -> bool {
    const VERBS: [&str; 6] = ["add", "commit", "status", "log", "show", "blame"];
    let [program, verb, ..] = argv else { return false };
    program == "git" && VERBS.contains(&verb.as_str())
}

/// Whether a command of git shows something.
fn shows(argv: &[String]) -> bool {
    argv.get(1).is_some_and(|verb| !["add", "commit"].contains(&verb.as_str()))
}

/// Whether a command has all words of another text in their order, and both begin with the same word.
pub(super) fn has_in_order(command: &str, text: &str) -> bool {
    let mut words = command.split(' ');
    let begins = words.clone().next() == text.split(' ').next();
    begins && text.split(' ').all(|word| words.any(|own| own == word))
}

/// Whether a command has a program as it is written, if that says which one of its name: by a path or a version.
pub(super) fn has_program(argv: &[String], program: &str) -> bool {
    let mut chars = program.chars().skip_while(|c| !c.is_ascii_digit());
    let has_version = chars.any(|c| c == '.');
    !has_version && !program.contains('/') || argv.iter().any(|word| word == program)
}
