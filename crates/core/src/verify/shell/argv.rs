//! The command behind assignments, wrappers such as `env` and `timeout`, and `bash -c`.

/// The meaning of the words of a simple command.
pub(super) enum Unwrapped {
    /// Only assignments or redirections.
    Nothing,
    /// An assignment to a variable that decides which program later commands execute.
    Search,
    /// A shell with a script: `bash -c TEXT`.
    Shell { text: String, errexit: bool, pipefail: bool },
    /// A program with its arguments.
    Command {
        argv: Vec<String>,
        /// Whether an assignment decides which program is executed.
        other_program: bool,
    },
}

/// Builtins that change what later commands mean.
const OPAQUE: [&str; 13] = [
    "eval", "trap", "alias", "unalias", "shopt", "enable", "hash", "builtin", "return", "break",
    "continue", "kill", "set",
];
/// Variables that decide which program or code a command executes.
const SEARCH: [&str; 7] =
    ["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS"];

/// Builtins that set variables.
const SETTERS: [&str; 8] =
    ["export", "declare", "readonly", "typeset", "unset", "read", "mapfile", "printf"];
/// Folders of the programs of a system.
const FOLDERS: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// The command of these words; `None` if it changes what later commands mean.
pub(super) fn unwrap(words: &[String]) -> Option<Unwrapped> {
    let mut other_program = false;
    let mut words = words;
    loop {
        while let [first, rest @ ..] = words
            && is_assignment(first)
        {
            other_program |= is_search(first);
            words = rest;
        }
        let Some((program, args)) = words.split_first() else {
            return Some(if other_program { Unwrapped::Search } else { Unwrapped::Nothing });
        };
        if OPAQUE.contains(&program.as_str()) {
            return None;
        }
        words = match program.as_str() {
            "env" | "/usr/bin/env" => env(args)?,
            "timeout" => timeout(args)?,
            wrapper if WRAPPERS.contains(&wrapper) && executes(wrapper, args) => operands(args),
            setter if SETTERS.contains(&setter) && sets_search(setter, args) => {
                return Some(Unwrapped::Search);
            }
            _ => break,
        };
        if words.is_empty() {
            return None;
        }
    }
    if let Some(shell) = shell(words) {
        return shell.filter(|_| !other_program);
    }
    Some(Unwrapped::Command { argv: words.to_vec(), other_program })
}

/// Whether a word is `NAME=value`.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
}

/// The file that the command executes in the same shell, and whether its name is that of a file that
/// tools generate to set up their environment.
pub(super) fn source(argv: &[String]) -> Option<(&str, bool)> {
    let [program, file, ..] = argv else { return None };
    let is_source = program == "source" || program == ".";
    let is_known = ENVIRONMENT_FILES.iter().any(|known| file.ends_with(known));
    is_source.then_some((file.as_str(), is_known))
}

/// Names of files that tools generate to set up their environment.
pub(in crate::verify) const ENVIRONMENT_FILES: [&str; 3] =
    ["bin/activate", ".cargo/env", ".nvm/nvm.sh"];

/// Whether a command changes the working directory.
pub(super) fn is_move(program: &str) -> bool {
    matches!(program, "cd" | "pushd" | "popd")
}

/// The working directory after such a command; `None` if it is not known.
pub(super) fn moved(cwd: &str, argv: &[String]) -> Option<String> {
    let [program, folder] = argv else { return None };
    let is_plain = program == "cd" && !folder.starts_with(['-', '~']) && !folder.contains('$');
    is_plain.then(|| {
        if folder.starts_with('/') || cwd.is_empty() {
            folder.clone()
        } else {
            format!("{cwd}/{folder}")
        }
    })
}

fn is_search(assignment: &str) -> bool {
    let name = assignment.split(['=', '+']).next().unwrap_or_default();
    is_assignment(assignment) && SEARCH.contains(&name)
}

/// Whether a builtin sets such a variable: by an assignment, or by its name, as `read PATH` does. To name it is no change for
/// `export PATH`.
fn sets_search(builtin: &str, args: &[String]) -> bool {
    let by_name = !["export", "declare", "readonly", "typeset"].contains(&builtin);
    args.iter().any(|arg| is_search(arg) || by_name && SEARCH.contains(&arg.as_str()))
}

/// Programs that execute their operands and exit with their code.
const WRAPPERS: [&str; 10] =
    ["nice", "nohup", "time", "command", "exec", "stdbuf", "ionice", "taskset", "chrt", "setsid"];

/// Whether a wrapper executes its operands, and waits for them.
fn executes(wrapper: &str, args: &[String]) -> bool {
    let has = |options: &[&str]| args.iter().any(|arg| options.contains(&arg.as_str()));
    match wrapper {
        "command" => !has(&["-v", "-V"]),
        "setsid" => has(&["-w", "--wait"]),
        _ => true,
    }
}

/// The words after options and their numbers: `-n 5`, `-oL`.
fn operands(args: &[String]) -> &[String] {
    let is_own =
        |arg: &&String| arg.starts_with('-') || arg.starts_with(|c: char| c.is_ascii_digit());
    let own = args.iter().take_while(is_own).count();
    &args[own..]
}

/// The words after `env` and its options.
fn env(mut args: &[String]) -> Option<&[String]> {
    loop {
        args = match args {
            [flag, rest @ ..] if flag == "-i" || flag == "--" => rest,
            [flag, _, rest @ ..] if flag == "-u" => rest,
            [flag, ..] if flag.starts_with('-') => return None,
            _ => return Some(args),
        };
    }
}

/// The words after `timeout`, its options and the duration.
fn timeout(mut args: &[String]) -> Option<&[String]> {
    loop {
        args = match args {
            [flag, _, rest @ ..] if flag == "-s" || flag == "-k" => rest,
            [flag, rest @ ..] if flag.starts_with("--") && flag.contains('=') => rest,
            [flag, rest @ ..] if flag == "-v" || flag == "--foreground" => rest,
            [flag, ..] if flag.starts_with('-') => return None,
            [_, rest @ ..] => return Some(rest),
            [] => return None,
        };
    }
}

/// The text after `bash -c`, with the options. The outer `None`: no shell, or a script file. The inner
/// one: an option that is not covered.
fn shell(words: &[String]) -> Option<Option<Unwrapped>> {
    const SHELLS: [&str; 5] = ["bash", "sh", "dash", "zsh", "ash"];
    let (program, mut args) = words.split_first()?;
    // One behind another path can be any program.
    let usual = FOLDERS.iter().find_map(|folder| program.strip_prefix(folder));
    let name = usual.unwrap_or(program);
    if !SHELLS.contains(&name) {
        return None;
    }
    let (mut errexit, mut pipefail, mut text) = (false, false, false);
    let mut only_parses = false;
    while let [arg, rest @ ..] = args
        && arg.len() > 1
        && arg.starts_with('-')
    {
        args = rest;
        if arg == "--norc" || arg == "--noprofile" || arg == "--posix" {
            continue;
        }
        for flag in arg.chars().skip(1) {
            match flag {
                'c' => text = true,
                'e' => errexit = true,
                'l' | 'u' | 'x' | 'v' => {}
                'n' => only_parses = true,
                'o' => {
                    let Some((option, rest)) = args.split_first() else { return Some(None) };
                    match option.as_str() {
                        "errexit" => errexit = true,
                        "pipefail" => pipefail = true,
                        "nounset" | "xtrace" => {}
                        _ => return Some(None),
                    }
                    args = rest;
                }
                _ => return Some(None),
            }
        }
    }
    let script = args.first().filter(|_| text)?;
    if only_parses {
        return Some(None);
    }
    Some(Some(Unwrapped::Shell { text: script.clone(), errexit, pipefail }))
}
