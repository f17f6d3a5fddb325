//! Whether a command executes files of the project: by the names of its programs.
//!
//! The commands of a script that is analysed are compared with a kept list of programs that execute no file,
//! so a program that is not on it counts as one that does. A script with loops, conditions or functions is
//! searched for the names of interpreters, build tools and test runners instead. `git` executes hooks.

use super::shell::{SHELL, Script};

/// A hook of git that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHook {
    /// Its name, such as `pre-commit`.
    pub name: String,
    /// Its text, unless it is no shell script.
    pub script: Option<String>,
}

/// Programs that execute files of the directory that they run in, or files that they are given. Names
/// without the version.
const PROGRAMS: &str = " sh bash dash ash zsh ksh mksh fish csh tcsh source . exec eval python pypy perl \
    ruby jruby irb node nodejs bun bunx ts-node tsx deno php lua luajit rscript r julia groovy scala \
    elixir erl iex clojure clj lein tclsh wish expect guile racket sbcl swipl octave java javac kotlin \
    dotnet go osascript pwsh powershell make gmake ninja just rake task invoke tox nox cargo rustc npm \
    npx pnpm pnpx yarn pip poetry uv uvx pipx pdm hatch pytest py.test coverage bundle rspec cucumber \
    composer phpunit prove gradle gradlew mvn mvnw ant sbt bazel bazelisk buck buck2 cmake ctest meson \
    scons waf swift xcodebuild mix rebar stack cabal ghc runghc dune opam jest vitest mocha ava tap webpack \
    vite rollup gulp grunt eslint prettier stylelint next nuxt turbo nx lerna playwright cypress direnv \
    pre-commit lefthook act sphinx-build jekyll latexmk ansible-playbook vagrant earthly skaffold \
    conftest gdb vim vi nvim view ex ed emacs m4 psql mysql mariadb sqlite sqlite3 duckdb terraform tofu pulumi \
    packer docker-compose crontab at pdflatex xelatex lualatex gnuplot ";

/// Programs that execute another one, which is one of their words.
const WRAPPERS: &str = " env sudo doas su runuser nohup nice ionice timeout time setsid stdbuf chroot \
    unshare setpriv systemd-run strace ltrace valgrind busybox command xargs find fd parallel entr \
    watch script flock faketime dbus-run-session xvfb-run ";

/// Directories of installed programs.
const INSTALLED: [&str; 6] = ["/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/snap/"];

/// Programs that execute no file of the project, unless an option of [`OPTIONS`] makes them. Builtins of shells
/// are among them.
const OTHERS: &str = " : [ [[ true false test echo printf cd pushd popd export unset set shift read local declare \
    typeset readonly exit wait jobs umask ulimit let hash type which whereis \
    cat cp mv rm ln mkdir rmdir touch chmod chown chgrp ls dir stat du df pwd basename dirname realpath readlink \
    mktemp head tail wc cut tr sort uniq comm join paste fold fmt nl od xxd hexdump tee tac rev seq shuf split \
    csplit expr sleep date cal id whoami groups hostname uname nproc arch md5sum sha1sum sha224sum sha256sum \
    sha384sum sha512sum b2sum cksum sum base32 base64 basenc dd sync truncate yes factor numfmt install mkfifo \
    kill pgrep pkill killall ps free uptime lsof who tty stty clear tput tree file strings column iconv \
    dos2unix unix2dos grep egrep fgrep rg diff cmp jq yq sed awk gawk mawk xmllint \
    tar gzip gunzip zcat bzip2 bunzip2 xz unxz zstd unzstd lz4 zip unzip cpio ar \
    git git-lfs gh glab hub curl wget ping dig host nslookup nc ssh scp sftp rsync http https xh \
    docker podman kubectl aws gcloud gsutil az doctl s3cmd rclone redis-cli mail mailx sendmail msmtp notify-send logger \
    openssl gpg age sops ssh-keygen cosign minisign ffmpeg ffprobe kb ";

/// Options of [`OTHERS`] whose value is a program or a file that names one.
const OPTIONS: &[(&str, &[&str])] = &[
    (
        "tar",
        &[
            "-I",
            "-F",
            "--use-compress",
            "--to-command",
            "--checkpoint-action",
            "--info-script",
            "--rsh-command",
        ],
    ),
    ("sort", &["--compress-prog"]),
    ("ssh", &["-F", "-o"]),
    ("scp", &["-F", "-o", "-S"]),
    ("sftp", &["-F", "-o", "-S"]),
    ("rsync", &["-e", "--rsh"]),
    ("curl", &["-K", "--config"]),
    ("wget", &["--config", "--use-askpass"]),
    ("sed", &["-f", "--file"]),
    ("awk", &["-f", "--file"]),
    ("gawk", &["-f", "--file", "-i", "-l"]),
    ("mawk", &["-f", "--file"]),
    ("docker", &["compose"]),
    ("podman", &["compose"]),
    ("git", &["-c", "--exec-path", "--config-env"]),
    ("zip", &["-TT"]),
    ("split", &["--filter"]),
    ("csplit", &["--filter"]),
    ("gpg", &["--options"]),
];

/// Commands of git that run no hook but those of indexes and references.
const WITHOUT_HOOKS: &str = " status log diff show rev-parse ls-files ls-tree describe config add init rev-list \
    cat-file blame grep shortlog remote fetch --version version help ";

/// Whether a process with these arguments executes files of the project. `hooks` are those of the repository.
pub fn executes_project_code(argv: &[String], hooks: &[GitHook]) -> bool {
    let script = Script::of(argv);
    if argv.iter().any(|text| searches_project(text)) {
        return true;
    }
    match &script.unparsed {
        Some(text) => {
            let text = own_shell(argv).unwrap_or(text);
            text_executes(text) || text.contains("git") && hooks.iter().any(hook_executes)
        }
        None => {
            !script.sourced.is_empty()
                || script.commands.iter().any(|used| command_executes(&used.argv, hooks))
        }
    }
}

/// Whether a text sets `PATH` to a value with a directory that is not absolute.
fn searches_project(text: &str) -> bool {
    const ELSEWHERE: [&str; 6] = ["/", "~", "$PATH", "${PATH", "$HOME", "${HOME"];
    let words = text.split(|c: char| c.is_whitespace() || ";&|()\"'".contains(c));
    let values = words.filter_map(|word| word.strip_prefix("PATH="));
    let is_elsewhere = |directory: &str| ELSEWHERE.iter().any(|start| directory.starts_with(start));
    values.filter(|value| !value.is_empty()).any(|value| !value.split(':').all(is_elsewhere))
}

/// The script of a `run:` step or of `shell:exec`. That its shell executes it is no file of the project.
fn own_shell(argv: &[String]) -> Option<&str> {
    let (script, shell) = argv.split_last()?;
    (shell == SHELL).then_some(script)
}

fn command_executes(argv: &[String], hooks: &[GitHook]) -> bool {
    let Some((program, args)) = argv.split_first() else { return false };
    let name = name(program);
    if listed(WRAPPERS, &name) {
        return wrapped_executes(args, hooks);
    }
    if program_executes(program) || !listed(OTHERS, &name) {
        return true;
    }
    let options = OPTIONS.iter().find(|(known, _)| *known == name).map_or(&[][..], |found| found.1);
    let chosen = args.iter().any(|arg| options.iter().any(|option| arg.starts_with(option)));
    // The names of files can be options.
    let globs = !options.is_empty() && args.iter().any(|arg| arg.starts_with(['*', '?', '[']));
    chosen || globs || name == "git" && git_executes(args, hooks)
}

/// Whether the words of a wrapper name a program that executes files of the project.
fn wrapped_executes(args: &[String], hooks: &[GitHook]) -> bool {
    let starts = |arg: &String| {
        listed(OTHERS, &name(arg)) && !arg.contains('/') || listed(WRAPPERS, &name(arg))
    };
    let first = args.iter().position(starts);
    let executes = |(at, arg): (usize, &String)| {
        let found = at > 0 && args[at - 1].starts_with("-exec");
        arg != "." && program_executes(arg) || found && (arg == "{}" || !starts(arg))
    };
    args.iter().enumerate().any(executes)
        || first.is_some_and(|at| command_executes(&args[at..], hooks))
}

/// Whether a command of git runs a hook that executes files of the project.
fn git_executes(args: &[String], hooks: &[GitHook]) -> bool {
    let mut words = args.iter();
    let command = loop {
        match words.next().map(String::as_str) {
            Some("-C" | "--git-dir" | "--work-tree") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            other => break other.unwrap_or("help"),
        }
    };
    if listed(WITHOUT_HOOKS, command) {
        return false;
    }
    let runs = |hook: &&GitHook| match hook.name.as_str() {
        "pre-push" => command == "push",
        "reference-transaction" => true,
        _ => command != "push",
    };
    hooks.iter().filter(runs).any(hook_executes)
}

/// Whether a hook executes files of the project.
fn hook_executes(hook: &GitHook) -> bool {
    let is_command = |line: &&str| !line.trim_start().starts_with('#');
    hook.script.as_deref().is_none_or(|script| {
        text_executes(&script.lines().filter(is_command).collect::<Vec<_>>().join("\n"))
    })
}

/// Whether the program is on the list, is a file outside of the directories of installed programs, or is
/// not known before the shell expands it.
fn program_executes(program: &str) -> bool {
    let is_installed = INSTALLED.iter().any(|directory| program.starts_with(directory));
    program.contains(['$', '`'])
        || program.contains('/') && !is_installed
        || listed(PROGRAMS, &name(program))
}

/// The name of a program without its directory and version, in small letters.
fn name(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if base.is_empty() { name.to_owned() } else { base.to_ascii_lowercase() }
}

fn listed(list: &str, name: &str) -> bool {
    !name.is_empty() && list.contains(&format!(" {name} "))
}

/// The same for a script that is not analysed: quotes are ignored.
fn text_executes(text: &str) -> bool {
    const KEYWORDS: [&str; 10] =
        ["then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"];
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ';' | '&' | '|' | '(' | ')' | '`' | '\n' => spaced.push_str(" ; "),
            '"' | '\'' => {}
            c => spaced.push(c),
        }
    }
    let (mut starts, mut wrapped) = (true, false);
    for word in spaced.split_whitespace() {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        // `$` is what is left of `$(`.
        let executes = starts && !is_assignment && word != "$" && word != ";";
        let is_program = executes || wrapped && word != ".";
        if is_program && !KEYWORDS.contains(&word) && program_executes(word) {
            return true;
        }
        wrapped = word != ";" && (wrapped || executes && listed(WRAPPERS, &name(word)));
        starts =
            word == ";" || KEYWORDS.contains(&word) || starts && (is_assignment || word == "$");
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> bool {
        executes_project_code(&["bash", "-euo", "pipefail", "-c", text].map(str::to_owned), &[])
    }

    #[test]
    fn programs_that_execute_files_of_the_project_are_known() {
        for text in [
            "npm test",
            "bash ci.sh",
            "./ci.sh",
            "tools/run --fast",
            "/home/me/project/run.sh",
            "python3.12 -m pytest",
            "cd sub && make -j4",
            "CI=1 cargo test 2>&1 | tail",
            ". ./env.sh",
            "source bin/activate && echo",
            "$TEST",
            "bash -c \"$TEST\"",
            "find . -name '*.sh' -exec sh {} ;",
            "timeout 5 ./x",
            "sudo make install",
            "if npm test; then echo ok; fi",
            "for f in *.sh; do ./$f; done",
            "x=$(./tool)",
            "while true; do tools/run; done",
            "sed -f program.sed a",
            "PATH=.:$PATH; ls",
            "export PATH=node_modules/.bin:$PATH && ls",
            "find . -name x -exec {} \\;",
            "find . -name x -exec unknown {} +",
            "tar cf /dev/null *",
            "tar -I ./zip -cf /dev/null .",
            "ssh -F config host",
            "timeout 5 rsync -e ./x a b:",
            "docker compose up",
            "unknown-program file",
        ] {
            assert!(script(text), "{text}");
        }
    }

    #[test]
    fn other_programs_are_not() {
        for text in [
            "git add src/a.rs && git commit -qm 'run make'",
            "cp src/a.rs /tmp/",
            "cat a/b | wc -l",
            "/usr/bin/git status",
            "find . -name '*.rs'",
            "grep -r TODO src",
            "curl -fsS https://example.org",
            "docker build .",
            "if [ -f src/a.rs ]; then git push; fi",
            "x=$(git rev-parse HEAD); echo $x",
            "sed -n 1p src/a.rs",
            "PATH=/usr/local/bin:$PATH gh pr create",
            "export PATH=\"$HOME/bin:${PATH}\" && gh pr create",
            "tar czf /tmp/a.tgz src",
            "find . -name '*.o' -exec rm {} +",
            "timeout 5 rsync -a src/ host:src",
            "git -C sub push origin main",
            "rm -f *.o",
        ] {
            assert!(!script(text), "{text}");
        }
    }

    #[test]
    fn git_executes_what_its_hooks_do() {
        let hook = |name: &str, script: Option<&str>| GitHook {
            name: name.to_owned(),
            script: script.map(str::to_owned),
        };
        let tests = [hook("pre-commit", Some("#!/bin/sh\nnpm test\n"))];
        let lfs = [hook(
            "post-checkout",
            Some("#!/bin/sh\ncommand -v git-lfs || exit 2\ngit lfs post-checkout \"$@\""),
        )];
        let other = [hook("pre-push", None)];
        for (hooks, text, executes) in [
            (&tests, "git add a && git commit -qm x", true),
            (&tests, "git -C sub -P commit -qm x", true),
            (&tests, "git push", false),
            (&tests, "git status; git diff --stat", false),
            (&tests, "if true; then git commit -qm x; fi", true),
            (&lfs, "git commit -qm x", false),
            (&other, "git commit -qm x", false),
            (&other, "git push", true),
        ] {
            let argv = ["bash", "-euo", "pipefail", "-c", text].map(str::to_owned);
            assert_eq!(executes_project_code(&argv, hooks), executes, "{text}");
        }
    }
}
