//! The programs that execute their operands, and how their code reads a variable.

/// How a program treats its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// The first operand is code or a file with code; later operands are its arguments.
    FirstIsCode,
    /// Any operand can be code, a command, or an assignment that changes one.
    AllAreCode,
}

/// A program that executes operands.
pub(super) struct CodeProgram {
    /// File names, without the version.
    names: &'static [&'static str],
    pub(super) operands: Operands,
    /// Its expression for the variable `NAME`; empty if a shell script has to pass it.
    pub(super) variable: &'static str,
    /// Options whose argument is neither code nor a file with code.
    pub(super) with_argument: &'static [&'static str],
}

const fn first(
    names: &'static [&'static str],
    variable: &'static str,
    with_argument: &'static [&'static str],
) -> CodeProgram {
    CodeProgram { names, operands: Operands::FirstIsCode, variable, with_argument }
}

const fn all(names: &'static [&'static str], variable: &'static str) -> CodeProgram {
    CodeProgram { names, operands: Operands::AllAreCode, variable, with_argument: &[] }
}

const PROGRAMS: &[CodeProgram] = &[
    first(
        &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"],
        "$NAME",
        &["-o", "-O"],
    ),
    first(&["python", "pypy"], "os.environ[\"NAME\"]", &["-W", "-X"]),
    first(&["perl"], "$ENV{NAME}", &[]),
    first(&["ruby", "jruby"], "ENV[\"NAME\"]", &[]),
    first(&["node", "nodejs", "bun", "ts-node", "tsx"], "process.env.NAME", &[]),
    first(&["deno"], "Deno.env.get(\"NAME\")", &[]),
    first(&["php"], "getenv(\"NAME\")", &["-d"]),
    first(&["lua", "luajit"], "os.getenv(\"NAME\")", &[]),
    first(&["awk", "gawk", "mawk", "nawk"], "ENVIRON[\"NAME\"]", &["-v", "--assign", "-F"]),
    first(
        &[
            "osascript",
            "Rscript",
            "R",
            "julia",
            "groovy",
            "scala",
            "elixir",
            "erl",
            "ghci",
            "runghc",
            "tclsh",
            "wish",
            "expect",
            "guile",
            "racket",
            "sbcl",
            "swipl",
            "octave",
            "java",
            "dotnet",
            "go",
        ],
        "",
        &[],
    ),
    first(&["sed", "gsed", "ed", "ex"], "", &[]),
    first(&["npx", "bunx", "uvx", "pipx"], "", &[]),
    all(&["make", "gmake", "ninja", "just", "rake"], "$(NAME)"),
    all(&["sqlite", "psql", "mysql", "mariadb", "duckdb"], ""),
    all(&["ssh", "mosh", "rsh", "sshpass"], ""),
    all(&["find", "fd", "xargs", "parallel", "entr", "watch", "script", "flock"], ""),
    all(
        &[
            "env",
            "sudo",
            "doas",
            "su",
            "runuser",
            "nohup",
            "nice",
            "ionice",
            "timeout",
            "time",
            "setsid",
            "stdbuf",
            "chroot",
            "unshare",
            "nsenter",
            "setpriv",
            "systemd-run",
            "strace",
            "ltrace",
            "gdb",
            "busybox",
            "exec",
            "eval",
            "command",
            "start-stop-daemon",
        ],
        "",
    ),
    all(&["cmd", "powershell", "pwsh", "wscript", "cscript", "mshta", "rundll"], ""),
    all(&["vi", "vim", "nvim", "view", "emacs", "less", "more", "man"], ""),
];

/// Programs with a subcommand that executes the operands after it.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("docker", &["exec", "run", "compose"]),
    ("podman", &["exec", "run"]),
    ("kubectl", &["exec", "run", "debug"]),
    ("git", &["bisect", "submodule", "filter-branch", "rebase", "difftool", "mergetool", "config"]),
];

const SUBCOMMAND: CodeProgram = all(&[], "");

/// The program with this name or path, if it executes operands. `subcommand` is its first operand.
pub(super) fn code_program(
    program: &str,
    subcommand: Option<&str>,
) -> Option<&'static CodeProgram> {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let name = match name {
        "R" => name,
        _ => name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-'),
    };
    let known = PROGRAMS.iter().find(|known| known.names.contains(&name));
    let executes = || {
        let (_, subcommands) = SUBCOMMANDS.iter().find(|(program, _)| *program == name)?;
        subcommands.contains(&subcommand?).then_some(&SUBCOMMAND)
    };
    known.or_else(executes)
}
