//! What a shell script does with exit codes by itself: `exit`, `false` and `set`.

use super::syntax::{Command, Pipeline, Statement};

/// The options of the shell that decide which exit codes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) errexit: bool,
    pub(super) pipefail: bool,
}

/// `exit` and `exit $?` at the end leave the exit code as it is.
pub(super) fn is_transparent_exit(statement: &Statement) -> bool {
    let Pipeline { negated: false, commands } = &statement.first else { return false };
    let [Command::Simple { words, .. }] = commands.as_slice() else { return false };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_exit = matches!(words.as_slice(), ["exit"] | ["exit", "$?"]);
    is_exit && statement.rest.is_empty() && !statement.background
}

/// `exit`, `exit 1` and `false` after `||` keep a failure.
pub(super) fn is_failing_exit(pipeline: &Pipeline) -> bool {
    let Pipeline { negated: false, commands } = pipeline else { return false };
    let [Command::Simple { words, .. }] = commands.as_slice() else { return false };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["exit"] | ["exit", "$?"] => true,
        ["exit", code] => code.parse::<u8>().is_ok_and(|code| code != 0),
        _ => false,
    }
}

/// Applies `set`; `None` if an argument is not covered.
pub(super) fn set(args: &[String], options: &mut Options) -> Option<()> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let on = match arg.chars().next()? {
            '-' => true,
            '+' => false,
            _ => return None,
        };
        for flag in arg.chars().skip(1) {
            match flag {
                'e' => options.errexit = on,
                'u' | 'x' | 'v' | 'f' | 'a' | 'E' => {}
                'o' => match args.next()?.as_str() {
                    "errexit" => options.errexit = on,
                    "pipefail" => options.pipefail = on,
                    "nounset" | "xtrace" | "verbose" | "errtrace" => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
    Some(())
}
