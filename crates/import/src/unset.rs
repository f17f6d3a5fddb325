//! Variables that a shell script reads and nothing sets.

/// The names of the variables that a script reads without a default, and that it gives no value, in the
/// order of the text. Text in single quotes and comments do not count.
pub fn unset_variables(script: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut single, mut double, mut before) = (false, false, ' ');
    let mut rest = script.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\'' if !double => single = !single,
            _ if single => {}
            '"' => double = !double,
            '\\' => drop(rest.next()),
            '#' if !double && before.is_whitespace() => {
                rest.by_ref().find(|(_, c)| *c == '\n');
            }
            '$' => {
                if let Some(name) = read_at(&script[at + 1..])
                    && !is_set(script, name)
                    && !found.iter().any(|known| known == name)
                {
                    found.push(name.to_owned());
                }
            }
            _ => {}
        }
        before = c;
    }
    found
}

/// The variable that the text after a `$` reads: `NAME` or `{NAME…}` without a default.
fn read_at(text: &str) -> Option<&str> {
    let (text, braced) = match text.strip_prefix('{') {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    let operator = after.strip_prefix(':').unwrap_or(after);
    let has_default = braced && operator.starts_with(['-', '+', '=', '?']);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (is_name && !has_default && !by_shell(name)).then_some(name)
}

/// Whether a script gives a variable a value: `NAME=`, `for NAME`, `read NAME` and the like.
fn is_set(script: &str, name: &str) -> bool {
    script.match_indices(name).any(|(at, _)| {
        let (before, after) = (&script[..at], &script[at + name.len()..]);
        let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        let is_read = before.ends_with('$') || before.ends_with("${") || before.ends_with("${#");
        let assigned = after.starts_with(['=', '[']) || after.starts_with("+=");
        let command = before.trim_end_matches([' ', '\t']);
        let command = command.rsplit([' ', '\t', '\n', ';', '(']).next().unwrap_or_default();
        let named = ["for", "read", "local", "declare", "mapfile", "readarray", "-r", "-a", "-v"];
        is_whole && !is_read && (assigned || named.contains(&command))
    })
}

/// Whether `bash` itself sets a variable.
fn by_shell(name: &str) -> bool {
    const SET: [&str; 28] = [
        "COLUMNS",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HOSTNAME",
        "HOSTTYPE",
        "IFS",
        "LINENO",
        "LINES",
        "MACHTYPE",
        "OLDPWD",
        "OPTARG",
        "OPTERR",
        "OPTIND",
        "OSTYPE",
        "PIPESTATUS",
        "PPID",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELL",
        "SHELLOPTS",
        "SHLVL",
        "UID",
    ];
    SET.contains(&name) || name == "_" || name.starts_with("BASH")
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::unset_variables;

    #[test]
    fn finds_what_nothing_sets() {
        for (script, names) in [
            ("echo $A ${B} \"$C\" ${D%x} ${E:0:3} ${F[0]}", &["A", "B", "C", "D", "E", "F"][..]),
            ("echo ${A:-} ${B-x} ${C:=1} ${D:?no} ${E+y} $1 $@ $? $$ ${10} ${#}", &[]),
            ("A=1; for b in 1; do echo $A $b; done; read -r C; echo $C", &[]),
            ("echo '$A' \\$B # $C\necho \"it's $D\" $HOSTNAME $BASH_VERSION", &["D"]),
            ("echo $A; echo the word B $B, $A", &["A", "B"]),
            ("export A=2; local x; echo $A $x; while read line; do echo $line; done", &[]),
            ("", &[]),
            ("$", &[]),
            ("${", &[]),
        ] {
            assert_eq!(unset_variables(script), names, "{script}");
        }
    }
}
