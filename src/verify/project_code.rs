//! Whether a command executes files of the project: the programs that do, by their names.
//!
//! A kept list, as that of programs that execute their operands: interpreters, build tools, test
//! runners, and programs that are files of the project themselves. What another program executes is up
//! to the author of the playbook.

use super::shell::{SHELL, Script};

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
    conftest ";

/// Programs that execute another one, which is one of their words.
const WRAPPERS: &str = " env sudo doas su runuser nohup nice ionice timeout time setsid stdbuf chroot \
    unshare setpriv systemd-run strace ltrace gdb valgrind busybox command xargs find fd parallel entr \
    watch script flock faketime dbus-run-session xvfb-run ";

/// Directories of installed programs.
const INSTALLED: [&str; 6] = ["/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/snap/"];

/// Whether a process with these arguments executes files of the project.
pub fn executes_project_code(argv: &[String]) -> bool {
    let script = Script::of(argv);
    match &script.unparsed {
        Some(text) => text_executes(own_shell(argv).unwrap_or(text)),
        None => {
            !script.sourced.is_empty()
                || script.commands.iter().any(|used| command_executes(&used.argv))
        }
    }
}

/// The script of a `run:` step or of `shell:exec`. That its shell executes it is no file of the project.
fn own_shell(argv: &[String]) -> Option<&str> {
    let (script, shell) = argv.split_last()?;
    (shell == SHELL).then_some(script)
}

fn command_executes(argv: &[String]) -> bool {
    let Some((program, args)) = argv.split_first() else { return false };
    let name = name(program);
    let reads_code = ["awk", "gawk", "mawk", "sed"].contains(&name.as_str())
        && args.iter().any(|arg| arg.starts_with("-f") || arg.starts_with("--file"));
    reads_code
        || program_executes(program)
        || listed(WRAPPERS, &name) && args.iter().any(|arg| arg != "." && program_executes(arg))
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
        executes_project_code(&["bash", "-euo", "pipefail", "-c", text].map(str::to_owned))
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
        ] {
            assert!(!script(text), "{text}");
        }
    }
}
