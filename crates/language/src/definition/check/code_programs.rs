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
        &[
            "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "nu",
            "elvish", "xonsh",
        ],
        "$NAME",
        &["-o", "-O"],
    ),
    first(&["python", "pypy", "ipython"], "os.environ[\"NAME\"]", &["-W", "-X"]),
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
            "jshell",
            "dotnet",
            "go",
            "ocaml",
            "scheme",
            "swift",
            "kotlin",
            "gnuplot",
            "maxima",
            "dc",
            "m4",
        ],
        "",
        &[],
    ),
    first(&["sed", "gsed", "ed", "ex"], "", &[]),
    first(&["npx", "bunx", "uvx", "pipx"], "", &[]),
    all(&["make", "gmake", "ninja", "just", "rake"], "$(NAME)"),
    all(
        &[
            "sqlite",
            "psql",
            "mysql",
            "mariadb",
            "duckdb",
            "mongo",
            "mongosh",
            "sqlcmd",
            "clickhouse-client",
        ],
        "",
    ),
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
            "taskset",
            "chrt",
            "prlimit",
            "cpulimit",
            "setarch",
            "linux32",
            "linux64",
            "uname26",
            "i386",
            "x86_64",
            "choom",
            "uclampset",
            "ssh-agent",
            "numactl",
            "firejail",
            "bwrap",
            "proot",
            "fakeroot",
            "xvfb-run",
            "dbus-run-session",
            "pkexec",
            "gosu",
            "su-exec",
            "chpst",
            "softlimit",
            "runcon",
            "cgexec",
            "tini",
            "dumb-init",
            "hyperfine",
            "perf",
            "valgrind",
            "lldb",
            "unbuffer",
            "rlwrap",
            "faketime",
            "eatmydata",
            "torsocks",
            "proxychains",
            "wine",
            "foreman",
            "run-parts",
            "logrotate",
            "screen",
            "socat",
            "at",
            "batch",
            "crontab",
            "source",
            ".",
            "trap",
        ],
        "",
    ),
    all(&["cmd", "powershell", "pwsh", "wscript", "cscript", "mshta", "rundll"], ""),
    all(&["vi", "vim", "vimdiff", "nvim", "view", "emacs", "less", "more", "man"], ""),
];

/// A program with subcommands of which some execute their operands.
struct Subcommands {
    name: &'static str,
    /// Options before the subcommand that have an argument.
    with_argument: &'static [&'static str],
    /// Words before the subcommand: `docker container exec`.
    groups: &'static [&'static str],
    executing: &'static [&'static str],
    operands: &'static CodeProgram,
}

const fn runner(
    name: &'static str,
    with_argument: &'static [&'static str],
    groups: &'static [&'static str],
    executing: &'static [&'static str],
) -> Subcommands {
    Subcommands { name, with_argument, groups, executing, operands: &SCRIPT }
}

const fn subcommands(
    name: &'static str,
    with_argument: &'static [&'static str],
    groups: &'static [&'static str],
    executing: &'static [&'static str],
) -> Subcommands {
    Subcommands { name, with_argument, groups, executing, operands: &COMMAND }
}

static SUBCOMMANDS: &[Subcommands] = &[
    subcommands(
        "docker",
        &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level"],
        &["container"],
        &["exec", "run", "create", "compose"],
    ),
    subcommands(
        "podman",
        &["-c", "--connection", "--url", "--root"],
        &["container"],
        &["exec", "run", "create", "unshare"],
    ),
    subcommands(
        "kubectl",
        &[
            "-n",
            "--namespace",
            "--context",
            "--cluster",
            "--kubeconfig",
            "-s",
            "--server",
            "--user",
        ],
        &[],
        &["exec", "run", "debug"],
    ),
    subcommands(
        "git",
        &["-C", "-c", "--git-dir", "--work-tree", "--namespace"],
        &[],
        &["bisect", "submodule", "filter-branch", "rebase", "difftool", "mergetool", "config"],
    ),
    runner("deno", &[], &[], &["eval", "run", "repl", "task", "x"]),
    runner("bun", &[], &[], &["run", "x", "exec"]),
    runner("go", &["-C"], &[], &["run", "tool", "generate"]),
    runner("npm", &["--prefix"], &[], &["exec", "x", "explore"]),
    runner("pnpm", &["-C", "--dir"], &[], &["exec", "dlx"]),
    runner("yarn", &["--cwd"], &[], &["exec", "dlx"]),
    runner("uv", &["--directory", "--project"], &["tool"], &["run"]),
    runner("poetry", &["-C", "--directory"], &[], &["run"]),
    runner("pipenv", &[], &[], &["run"]),
    runner("conda", &[], &[], &["run"]),
    runner("bundle", &[], &[], &["exec"]),
    subcommands("direnv", &[], &[], &["exec"]),
    subcommands("cmake", &[], &[], &["env", "time"]),
    subcommands("nix", &[], &[], &["run", "shell", "develop", "eval"]),
    subcommands("guix", &[], &[], &["shell", "environment", "repl"]),
    subcommands("lxc", &[], &[], &["exec"]),
    subcommands("incus", &[], &[], &["exec"]),
    subcommands("machinectl", &["-M", "-H"], &[], &["shell"]),
    subcommands("adb", &["-s"], &[], &["shell"]),
    subcommands("vagrant", &[], &[], &["ssh"]),
    runner("crystal", &[], &[], &["eval", "run"]),
    runner("nim", &[], &[], &["e", "r", "eval"]),
    runner("zig", &[], &[], &["run"]),
    subcommands(
        "tmux",
        &["-L", "-S", "-f"],
        &[],
        &[
            "new",
            "new-session",
            "neww",
            "new-window",
            "run",
            "run-shell",
            "splitw",
            "split-window",
            "respawn-pane",
            "send-keys",
            "if-shell",
            "source-file",
            "pipe-pane",
        ],
    ),
];

/// Options of single programs whose argument is executed or loaded: the programs, a literal word that stands
/// before if the option means this only then, the options.
const OPTIONS: &[(&[&str], Option<&str>, &[&str])] = &[
    (
        &["tar", "gtar", "bsdtar"],
        None,
        &["-I", "-F", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"],
    ),
    (&["zip"], None, &["-TT", "--unzip-command"]),
    (&["git"], Some("grep"), &["-O"]),
    (&["git"], Some("clone"), &["-u"]),
    (
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        None,
        &["-wrapper", "-fplugin", "-B", "-specs", "--specs"],
    ),
    (&["scp", "sftp"], None, &["-S", "-o", "-F"]),
    (&["curl"], None, &["-K", "--config"]),
    (&["wget"], None, &["--use-askpass", "--config"]),
    (&["sort"], None, &["--compress-program"]),
    (&["split"], None, &["--filter"]),
    (&["install"], None, &["--strip-program"]),
    (&["pandoc"], None, &["--filter", "-F", "--lua-filter", "-L"]),
    (&["helm"], None, &["--post-renderer"]),
    (&["cmake"], None, &["-P", "-C"]),
    (&["ctags"], None, &["--options"]),
    (&["cargo"], None, &["--config"]),
    (&["docker", "podman"], None, &["--entrypoint"]),
    (&["ansible"], None, &["-a", "--args", "-m", "--module-name", "--extra-vars"]),
    (&["ansible-playbook"], None, &["--extra-vars"]),
    (&["ncat", "nc"], None, &["--sh-exec", "--lua-exec"]),
];

/// After a subcommand, each operand can be executed.
static COMMAND: CodeProgram = all(&[], "");
/// After a subcommand, the first operand is executed; later ones are its arguments.
static SCRIPT: CodeProgram = first(&[], "", &[]);

/// The program with this name or path, if it executes the operands after `before`, its literal words so far.
pub(super) fn code_program(program: &str, before: &[Option<&str>]) -> Option<&'static CodeProgram> {
    let name = file_name(program);
    let executes = || {
        let known = SUBCOMMANDS.iter().find(|known| known.name == name)?;
        known.executing.contains(&known.subcommand(before)?).then_some(known.operands)
    };
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let is_loader = name == "ld.so" || name.starts_with("ld-linux");
    executes().or_else(|| is_loader.then_some(&COMMAND)).or_else(|| {
        PROGRAMS.iter().find(|known| known.names.contains(&name) || known.names.contains(&plain))
    })
}

/// Whether a text that starts an argument is an option of this program that takes code, alone or with `=`.
pub(super) fn is_code_option(program: &str, before: &[Option<&str>], start: &str) -> bool {
    let name = file_name(program);
    OPTIONS.iter().any(|(programs, word, options)| {
        let is_meant = word.is_none_or(|word| before.contains(&Some(word)));
        let start = start.strip_suffix('=').unwrap_or(start);
        is_meant && programs.contains(&name) && options.contains(&start)
    })
}

impl Subcommands {
    /// The first operand that is no group of subcommands.
    fn subcommand<'w>(&self, before: &[Option<&'w str>]) -> Option<&'w str> {
        let mut words = before.iter();
        while let Some(word) = words.next() {
            let word = (*word)?;
            if self.with_argument.contains(&word) {
                words.next();
            } else if !word.starts_with('-') && !self.groups.contains(&word) {
                return Some(word);
            }
        }
        None
    }
}

/// The name of a program without its folder and `.exe`.
fn file_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}
