//! Which commands run tests: the settings name some, and the usual runners are recognised.

use super::shell::Script;

/// The commands of `testCommands` in the settings.
pub(super) struct TestCommands(Vec<Vec<String>>);

/// Arguments with which a runner executes no test.
const NO_RUN: [&str; 14] = [
    "--help",
    "-h",
    "--version",
    "--no-run",
    "--collect-only",
    "--co",
    "--list",
    "--listTests",
    "--list-tests",
    "--dry-run",
    "--if-present",
    "--just-print",
    "--showConfig",
    "--fixtures",
];

impl TestCommands {
    pub(super) fn of(settings: &[String]) -> Self {
        let argv = |text: &String| {
            let script = Script::of_text(text);
            script.main_commands().first().map(|used| used.argv.clone())
        };
        TestCommands(settings.iter().filter_map(argv).collect())
    }

    /// Whether a command runs tests.
    pub(super) fn contains(&self, argv: &[String]) -> bool {
        let runs = !argv.iter().any(|arg| NO_RUN.contains(&arg.as_str()));
        let named = self.0.iter().any(|command| argv.starts_with(command));
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        runs && (named || is_runner(&words))
    }

    /// Whether a script that could not be analysed may run tests.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        const TEXTS: [&str; 23] = [
            "npm test",
            "npm run test",
            "npm t",
            "pnpm test",
            "yarn test",
            "bun test",
            "deno test",
            "cargo test",
            "cargo nextest",
            "pytest",
            "unittest",
            "go test",
            "jest",
            "vitest",
            "mocha",
            "mvn",
            "gradle",
            "make test",
            "just test",
            "ctest",
            "rspec",
            "phpunit",
            "dotnet test",
        ];
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = self.0.iter().any(|command| text.contains(&command.join(" ")));
        named || TEXTS.iter().any(|runner| text.contains(runner))
    }
}

/// Whether a command is a test runner that is recognised without settings.
fn is_runner(argv: &[&str]) -> bool {
    let Some((program, args)) = argv.split_first() else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    let verbs = verbs(args);
    let verb = verbs.first().copied().unwrap_or_default();
    let second = verbs.get(1).copied().unwrap_or_default();
    match program {
        "pytest" | "py.test" | "jest" | "vitest" | "mocha" | "ava" | "tap" | "rspec"
        | "phpunit" | "pest" | "tox" | "nox" | "prove" | "bats" => true,
        "ctest" => !args.contains(&"-N"),
        "cargo" => {
            let verbs: Vec<&str> =
                verbs.into_iter().filter(|verb| !verb.starts_with('+')).collect();
            matches!(verbs.as_slice(), ["test" | "t", ..] | ["nextest", "run" | "r", ..])
        }
        "npm" | "pnpm" | "yarn" => {
            let is_test = |name: &str| name == "test" || name.starts_with("test:");
            let script = matches!(verb, "run" | "run-script") && is_test(second);
            let exec = matches!(verb, "exec" | "dlx" | "x") || program == "yarn";
            is_test(verb)
                || (program == "npm" && matches!(verb, "t" | "tst"))
                || script
                || (exec && is_runner(after(args, if verb == "exec" { verb } else { "" })))
        }
        "npx" | "bunx" => is_runner(&verbs),
        "bun" | "deno" | "go" | "dotnet" | "swift" | "mix" | "bazel" | "flutter" | "dart" => {
            verb == "test" && !args.contains(&"-c")
        }
        "mvn" | "mvnw" => {
            let skips =
                args.iter().any(|arg| arg.starts_with("-DskipTests") || arg.contains("test.skip"));
            !skips && verbs.iter().any(|verb| matches!(*verb, "test" | "verify"))
        }
        "gradle" | "gradlew" => {
            let is_test =
                |verb: &&str| matches!(*verb, "test" | "check") || verb.ends_with(":test");
            !args.contains(&"-x") && verbs.iter().any(is_test)
        }
        "make" | "gmake" | "just" | "task" | "rake" => {
            let is_test = |verb: &&str| {
                matches!(*verb, "test" | "tests" | "check" | "spec") || verb.starts_with("test-")
            };
            !args.contains(&"-n") && verbs.iter().any(is_test)
        }
        "uv" | "poetry" | "pipenv" | "hatch" | "rye" | "pdm" if verb == "run" => {
            is_runner(after(args, "run"))
        }
        "bundle" if verb == "exec" => is_runner(after(args, "exec")),
        _ => is_interpreted_test(program, args),
    }
}

/// An interpreter with a module or file of tests: `python -m pytest`, `sh tests/a_test.sh`; or such a
/// file as the program.
fn is_interpreted_test(program: &str, args: &[&str]) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match name {
        "python" | "pypy" => {
            let module = args.iter().position(|arg| *arg == "-m").and_then(|at| args.get(at + 1));
            let is_module =
                |name: &&&str| matches!(**name, "pytest" | "unittest" | "nose" | "nose2");
            module.filter(is_module).is_some()
                || (module.is_none() && is_test_script(args))
                || matches!(args, ["manage.py", "test", ..])
        }
        "node" => args.contains(&"--test") || is_test_script(args),
        "sh" | "bash" | "dash" | "zsh" | "ruby" | "perl" | "php" | "lua" => is_test_script(args),
        _ => is_test_file(program) && program.contains('.'),
    }
}

/// Whether the first argument that is no option is a file of tests.
fn is_test_script(args: &[&str]) -> bool {
    let inline = args.iter().any(|arg| matches!(*arg, "-c" | "-e" | "-p" | "-n" | "--check"));
    let file = args.iter().find(|arg| !arg.starts_with('-'));
    !inline && file.is_some_and(|file| is_test_file(file) && file.contains('.'))
}

/// Whether the name of a file says that it contains tests: `a_test.sh`, `test_a.py`, `a.spec.js`.
fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| matches!(part, "test" | "tests" | "spec"))
}

/// The arguments that are no options and no values of the usual options.
fn verbs<'a>(args: &[&'a str]) -> Vec<&'a str> {
    const WITH_VALUE: [&str; 12] = [
        "--prefix",
        "-C",
        "-w",
        "--workspace",
        "--filter",
        "-F",
        "--dir",
        "--cwd",
        "-f",
        "--manifest-path",
        "-p",
        "--project",
    ];
    let mut verbs = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg {
            arg if WITH_VALUE.contains(arg) => {
                args.next();
            }
            arg if arg.starts_with('-') => {}
            arg => verbs.push(*arg),
        }
    }
    verbs
}

/// The arguments after a verb, without options of the launcher.
fn after<'a, 'b>(args: &'b [&'a str], verb: &str) -> &'b [&'a str] {
    let start = args.iter().position(|arg| *arg == verb).map_or(0, |at| at + 1);
    let rest = &args[start..];
    let options = rest.iter().take_while(|arg| arg.starts_with('-')).count();
    &rest[options..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_runners_and_configured_commands_are_test_commands() {
        let tests = TestCommands::of(&["make verify".to_owned(), "./ci.sh --fast".to_owned()]);
        let is_test = |text: &str| {
            let script = Script::of_text(text);
            script.commands.iter().any(|used| tests.contains(&used.argv))
        };
        for text in [
            "cargo test",
            "cargo t -p x",
            "cargo +nightly test --lib",
            "cargo nextest run",
            "npm test",
            "npm t",
            "npm run test",
            "npm run test:unit",
            "npm --prefix web test",
            "pnpm test",
            "pnpm -r run test",
            "yarn test",
            "yarn jest",
            "pnpm exec vitest",
            "npx jest",
            "npx --yes vitest run",
            "bun test",
            "deno test -A",
            "pytest -q",
            "python -m pytest tests",
            "python3.12 -m unittest",
            "python -W error -m pytest",
            "uv run pytest",
            "poetry run python -m pytest",
            ".venv/bin/pytest",
            "./node_modules/.bin/jest",
            "go test ./...",
            "mvn -q test",
            "./mvnw verify",
            "./gradlew test",
            "gradle :app:test",
            "make test",
            "make -C sub check",
            "just test",
            "ctest --test-dir build",
            "rspec",
            "bundle exec rspec",
            "vendor/bin/phpunit",
            "dotnet test",
            "node --test",
            "make verify",
            "./ci.sh --fast --color",
            "sh -eu tests/a_test.sh",
            "python tests/test_a.py",
            "./test.sh",
            "CI=1 timeout 60 npm test",
            "bash -c 'npm test'",
        ] {
            assert!(is_test(text), "{text}");
        }
        for text in [
            "echo npm test",
            "exit 1",
            "npm install",
            "npm run build",
            "cargo build",
            "cargo test --no-run",
            "pytest --collect-only",
            "jest --listTests",
            "make -n test",
            "make",
            "go vet ./...",
            "go test -c",
            "python -m http.server",
            "python x.py",
            "ls tests",
            "cat tests/a_test.sh",
            "test -f x",
            "[ -f tests/a.sh ]",
            "ctest -N",
            "mvn -DskipTests verify",
            "git commit -m 'npm test'",
            "npm test --if-present",
            "bash -n tests/a_test.sh",
            "./ci.sh",
            "cargo --version",
            "true",
        ] {
            assert!(!is_test(text), "{text}");
        }
    }
}
