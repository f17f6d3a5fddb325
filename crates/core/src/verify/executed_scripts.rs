//! Files of the project that a target of `make` or a script of `package.json` executes: the step that changes one decides what
//! the command does.

use super::observation::{Observation, ObservationQuery, Observations};

/// The file that defines what a command executes, if it is one of a target or a script.
pub(super) fn definition_file(argv: &[String]) -> Option<&'static str> {
    match argv.first()?.as_str() {
        "make" => Some("Makefile"),
        "npm" | "pnpm" | "yarn" | "bun" => Some("package.json"),
        _ => None,
    }
}

/// Whether a file was observed to have the text that a query counts.
pub(super) fn is_in_file(query: &ObservationQuery, observations: &Observations) -> bool {
    let Some(Observation::Files(Ok(found))) = observations.get(query) else { return false };
    found.iter().any(|file| file.occurrences.is_some_and(|count| count > 0))
}

/// The pattern of a word of a command: `python3` is `python`.
pub(super) fn word_pattern(word: &str) -> String {
    match word {
        "python" | "python3" => "python3?".to_owned(),
        word => regex::escape(word),
    }
}

/// The query whether the definition of a target or script names a file of the project that it executes. Another file than a
/// script of a shell can be the work that another target starts: only the target itself counts then.
pub(super) fn executes_query(argv: &[String], path: &str) -> Option<ObservationQuery> {
    let file = definition_file(argv).filter(|file| *file != path)?;
    let name =
        argv.iter().skip(1).rfind(|word| !word.starts_with('-')).map(|word| regex::escape(word));
    let path_of = regex::escape(path);
    let is_shell = [".sh", ".bash"].iter().any(|end| path.ends_with(end));
    let pattern = match (file, is_shell, name) {
        ("Makefile", true, _) => format!(r"(?m)^\t.*\b{path_of}\b"),
        ("Makefile", false, Some(name)) => {
            format!(r"(?m)^{name}[ \t]*:(?:[^=\n].*)?\n(?:\t.*\n)*?\t.*\b{path_of}\b")
        }
        ("package.json", true, _) => format!(r#":\s*"(?:[^"]*[\s/])?{path_of}\b[^"]*""#),
        ("package.json", false, Some(name)) => {
            format!(r#""{name}"\s*:\s*"(?:[^"]*[\s/])?{path_of}\b[^"]*""#)
        }
        _ => return None,
    };
    Some(ObservationQuery::Files { pattern: file.to_owned(), count: Some(pattern) })
}

/// The queries for commands and the files that the step changed.
pub(super) fn executes_queries<'a>(
    commands: &'a [Vec<String>],
    changed: &'a [&'a str],
) -> impl Iterator<Item = ObservationQuery> + 'a {
    let pairs = commands.iter().flat_map(|argv| changed.iter().map(move |path| (argv, *path)));
    pairs.filter_map(|(argv, path)| executes_query(argv, path)).take(EXECUTED)
}

/// Most such queries of one gate.
const EXECUTED: usize = 200;
