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

/// Whether a command has a program as it is written, if that says which one of its name: by a path or a version.
pub(super) fn has_program(argv: &[String], program: &str) -> bool {
    let mut chars = program.chars().skip_while(|c| !c.is_ascii_digit());
    let has_version = chars.any(|c| c == '.');
    !has_version && !program.contains('/') || argv.iter().any(|word| word == program)
}
