//! Programs that execute code of their arguments, and where a value can stand among these.
//!
//! A value in front of the literal code is refused unless its place is known to hold data. Other programs are not known:
//! their options can execute values too (`tar -I`, `ssh -o`).

use std::ops::RangeFrom;

/// How a program reads its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// After this number of operands the command that it starts. `NAME=value` in front of it sets a variable.
    Command(usize),
    /// A script or its code; all further arguments are those of the script.
    Script,
    /// After this number of operands the code. Options can follow, and one that starts with `+` is code.
    Text(usize),
}

/// Programs by the names without version, and the options whose argument is data.
const PROGRAMS: &[(Reads, &[&str], &[&str])] = &[
    (Reads::Command(0), &["busybox", "command", "doas", "env", "exec", "nice", "nohup"], &[]),
    (Reads::Command(0), &["setsid", "stdbuf", "strace", "sudo", "time", "unshare", "xargs"], &[]),
    (Reads::Command(1), &["chroot", "flock", "timeout"], &[]),
    (
        Reads::Script,
        &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"],
        &["-o", "+o", "-O", "+O"],
    ),
    (Reads::Script, &["awk", "gawk", "mawk", "nawk"], &["-F", "-v"]),
    (Reads::Script, &["python", "pypy"], &["-W", "-X"]),
    (
        Reads::Script,
        &["bun", "deno", "lua", "luajit", "node", "nodejs", "perl", "php", "ruby"],
        &[],
    ),
    (Reads::Script, &["Rscript", "expect", "guile", "julia", "osascript", "tclsh", "wish"], &[]),
    (Reads::Text(0), &["bc", "dc", "ed", "emacs", "ex", "gdb", "lldb", "nvim", "vi", "vim"], &[]),
    (Reads::Text(0), &["gsed", "sed"], &["-l"]),
    (Reads::Text(1), &["sqlite"], &["-separator"]),
];

/// A word of a command: its text before the first value, and whether there is one.
type Word<'w> = (&'w str, bool);

/// The index of the first value that stands where a program takes code, and the name of the program, given the text of each
/// word up to its first value, and whether it has one.
pub fn value_as_code<'w>(words: &[(&'w str, bool)]) -> Option<(usize, &'w str)> {
    let mut start = 0;
    loop {
        let name = words.get(start)?.0;
        let (reads, data) = program(name)?;
        let rest = start + 1..;
        match reads {
            Reads::Command(operands) => match command(words, rest, operands) {
                Found::Value(index) => return Some((index, name)),
                Found::Code(index) => start = index,
                Found::Nothing => return None,
            },
            Reads::Script | Reads::Text(_) => {
                return text(words, rest, reads, data).map(|index| (index, name));
            }
        }
    }
}

/// Whether a program executes code of its arguments or of a file, and starts no other program with its arguments.
pub fn is_interpreter(name: &str) -> bool {
    matches!(program(name), Some((Reads::Script | Reads::Text(_), _)))
}

/// Whether an argument that starts with `+` is an option of a program.
pub(super) fn has_plus_options(name: &str) -> bool {
    matches!(program(name), Some((Reads::Text(_), _)))
}

fn program(name: &str) -> Option<(Reads, &'static [&'static str])> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let row = PROGRAMS.iter().find(|(_, names, _)| names.contains(&name));
    row.map(|(reads, _, data)| (*reads, *data))
}

/// What stands first: a value in the place of code, or the literal code.
enum Found {
    Value(usize),
    Code(usize),
    Nothing,
}

/// The command that a program starts.
fn command(words: &[Word<'_>], rest: RangeFrom<usize>, operands: usize) -> Found {
    let mut seen = 0;
    for (index, (word, has_value)) in words.iter().enumerate().skip(rest.start) {
        let is_option = is_option(word);
        // The name of a program starts with none of the characters of a number, a duration or an option.
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || "/._".contains(c));
        match (has_value, is_option) {
            _ if is_assignment(word) => {}
            (false, true) => {}
            (false, false) if seen >= operands && is_name => return Found::Code(index),
            (true, false) if seen < operands => seen += 1,
            (false, false) => seen += 1,
            (true, _) => return Found::Value(index),
        }
    }
    Found::Nothing
}

/// The first value in front of the code of an interpreter, or in an option of one that reads options everywhere.
fn text(words: &[Word<'_>], rest: RangeFrom<usize>, reads: Reads, data: &[&str]) -> Option<usize> {
    let (operands, reads_all) = match reads {
        Reads::Command(operands) | Reads::Text(operands) => (operands, true),
        Reads::Script => (0, false),
    };
    let (mut seen, mut has_code) = (0, false);
    for (index, (word, has_value)) in words.iter().enumerate().skip(rest.start) {
        let before = words[index - 1];
        let is_first = index == rest.start;
        let is_behind = !is_first && !before.1 && is_option(before.0) && before.0 != "--";
        let is_data = is_behind && data.contains(&before.0);
        let is_option = is_option(word);
        match (has_value, is_option) {
            _ if is_data => {}
            (true, true) if !has_code || reads_all => return Some(index),
            (true, false) if has_code && !(reads_all && is_behind) => {}
            (true, false) if !has_code && seen < operands && !is_behind => seen += 1,
            (true, _) if has_code && !reads_all => {}
            (true, _) => return Some(index),
            (false, true) => {}
            (false, false) if is_behind || seen >= operands => has_code = true,
            (false, false) => seen += 1,
        }
        if has_code && !reads_all {
            return None;
        }
    }
    None
}

fn is_option(word: &str) -> bool {
    word.starts_with(['-', '+'])
}

/// Whether a word starts with `NAME=`.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::value_as_code;

    /// The index of the refused word; `$` is where its value starts.
    fn refused(command: &str) -> Option<usize> {
        let words = command.split(' ').map(|word| match word.split_once('$') {
            Some((start, _)) => (start, true),
            None => (word, false),
        });
        value_as_code(&words.collect::<Vec<_>>()).map(|(index, _)| index)
    }

    #[test]
    fn a_value_stands_behind_the_literal_code_of_an_interpreter() {
        for command in [
            "python3 build.py $",
            "python3 -u build.py --name=$ $",
            "/usr/bin/python3.11 -W $ -m pytest $",
            "bash -o pipefail -c code sh $",
            "bash script.sh -x$",
            "perl -ne print $",
            "node server.js --port=$",
            "awk -F $ -v x=$ {print} $",
            "sed -i s/a/b/ $",
            "sed -n -e p -e q $",
            "sqlite3 $ select",
            "gdb -batch -ex bt $",
            "env A=$ cargo test $",
            "env -i A=$ python3 x.py $",
            "timeout $ cargo test $",
            "timeout 5 make $",
            "nice -n 5 cargo $",
            "nice -n 5 sed s/a/b/ $",
            "echo $",
            "git commit -m $",
            "tar -czf $ src",
        ] {
            assert_eq!(refused(command), None, "{command}");
        }
    }

    #[test]
    fn a_value_is_no_code_of_an_interpreter_and_no_program() {
        for (command, index) in [
            ("python3 $", 1),
            ("python3 -- $", 2),
            ("python3 -X dev $", 3),
            ("perl -M$ -e 1", 1),
            ("perl -E $", 2),
            ("node -p $", 2),
            ("node -$", 1),
            ("awk $", 1),
            ("awk x=$ file", 1),
            ("awk -F , $", 3),
            ("sed $ file", 1),
            ("sed -n $", 2),
            ("sed --expression=$ file", 1),
            ("sed s/a/b/ file -f $", 4),
            ("gdb -batch -ex $", 3),
            ("gdb program -ex $", 3),
            ("vim -es +$ +q", 2),
            ("sqlite3 :memory: $", 2),
            ("sqlite3 -cmd $ x.db", 2),
            ("env -S $", 2),
            ("env -S$", 1),
            ("env --split-string=$", 1),
            ("env $", 1),
            ("timeout 5 $", 2),
            ("timeout 5 nice -n 3 sed $", 6),
            ("nice -n 5 $", 3),
            ("busybox awk $", 2),
        ] {
            assert_eq!(refused(command), Some(index), "{command}");
        }
    }
}
