//! Options and variables with which a test command exits with 0 whatever its tests do.

/// Options of runners: the programs, options as they are written, and options whose value follows after `=`
/// or as the next argument.
const OPTIONS: &[(&[&str], &[&str], &[&str])] = &[
    (
        &["make", "gmake"],
        &["--ignore-errors", "--touch", "--question", "--recon"],
        &["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "--eval"],
    ),
    (&["npm", "pnpm", "yarn"], &[], &["--script-shell", "--node-options"]),
    (
        &["mvn", "mvnw"],
        &["-fn", "--fail-never", "-DtestFailureIgnore", "-Dmaven.test.failure.ignore"],
        &["-DtestFailureIgnore", "-Dmaven.test.failure.ignore"],
    ),
    (&["gradle", "gradlew"], &["-m"], &["--exclude-task"]),
    (&["go"], &[], &["-exec", "--exec"]),
    (&["pytest", "py.test", "python"], PYTEST, &[]),
    (&["rspec"], &["--init"], &["--failure-exit-code"]),
    (&["jest"], &[], &["--testFailureExitCode"]),
    (&["mocha"], &["--pass-on-failing-test-suite"], &[]),
    (&["mix"], &[], &["--exit-status"]),
    (&["tox"], &["--notest", "-l", "--showconfig"], &[]),
    (&["nox"], &["-l", "--list-sessions", "--install-only"], &[]),
    (&["ctest"], &["--show-only"], &["--show-only"]),
    (&["rake"], &["-P", "-T", "-W", "--prereqs", "--tasks"], &[]),
    (&["prove"], &[], &["-e", "--exec"]),
];

/// Settings of runners that name options or the program that executes tests.
const SETTINGS: &[(&[&str], &str)] =
    &[(&["cargo"], "runner="), (&["pytest", "py.test", "python"], "addopts=")];

const PYTEST: &[&str] =
    &["--setup-only", "--setup-plan", "--collectonly", "--markers", "--cache-show", "-V"];

/// Variables from which runners take options or the program that executes tests, in capitals.
const VARIABLES: [&str; 11] = [
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "NPM_CONFIG_SCRIPT_SHELL",
    "NPM_CONFIG_NODE_OPTIONS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MFLAGS",
    "GOFLAGS",
    "MAVEN_ARGS",
    "MAVEN_OPTS",
    "SPEC_OPTS",
];

/// The option or variable because of which exit code 0 of a test command proves nothing. `assigned` are the
/// assignments of its script.
pub(super) fn hides_failures(argv: &[String], assigned: &[String]) -> Option<String> {
    let variable = || assigned.iter().find(|word| decides(word)).cloned();
    // Launchers such as `npx` and `uv run` stand before the runner.
    let option = argv.iter().enumerate().find_map(|(at, word)| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        argv[at + 1..].iter().find(|arg| is_hiding(name, arg)).cloned()
    });
    option.or_else(variable)
}

/// Whether a runner with this argument can exit with 0 whatever its tests do.
fn is_hiding(program: &str, arg: &str) -> bool {
    let name = arg.split_once('=').map_or(arg, |(name, _)| name);
    let option = OPTIONS.iter().any(|(programs, plain, valued)| {
        programs.contains(&program) && (plain.contains(&arg) || valued.contains(&name))
    });
    let is_make = matches!(program, "make" | "gmake");
    let spaceless = || arg.replace(' ', "");
    let setting = || {
        let mut settings = SETTINGS.iter().filter(|(programs, _)| programs.contains(&program));
        settings.any(|(_, setting)| spaceless().contains(setting))
    };
    option || is_make && is_short(arg) || setting()
}

/// Whether an argument is a group of short options of `make` with one that ignores errors or executes
/// nothing.
fn is_short(arg: &str) -> bool {
    let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| {
        let flags = letters.split(['j', 'C', 'f', 'I', 'o', 'W', 'l', 'O']).next();
        flags.is_some_and(|flags| flags.contains(['i', 't', 'q', 'n']))
    })
}

/// Whether an assignment is to a variable that decides what a runner does.
fn decides(assignment: &str) -> bool {
    let Some((name, value)) = assignment.split_once('=') else { return false };
    let name = name.trim_end_matches('+').to_ascii_uppercase();
    let loads = ["require", "import", "loader", "-r "].iter().any(|option| value.contains(option));
    let is_runner = name.starts_with("CARGO_TARGET_") && name.ends_with("_RUNNER");
    VARIABLES.contains(&name.as_str()) || is_runner || name == "NODE_OPTIONS" && loads
}

#[cfg(test)]
mod tests {
    use super::super::shell::Script;
    use super::hides_failures;

    fn found(text: &str) -> Option<String> {
        let script = Script::of_text(text);
        let used = script.commands.last().unwrap();
        hides_failures(&used.argv, &script.assigned)
    }

    #[test]
    fn options_and_variables_that_hide_failures_are_known() {
        for (text, what) in [
            ("make -i test", "-i"),
            ("make -ki test", "-ki"),
            ("make test SHELL=/bin/true", "SHELL=/bin/true"),
            ("npm test --script-shell=/bin/true", "--script-shell=/bin/true"),
            ("npm --script-shell /bin/true test", "--script-shell"),
            ("mvn -fn test", "-fn"),
            ("mvn test -Dmaven.test.failure.ignore=true", "-Dmaven.test.failure.ignore=true"),
            ("go test -exec true ./...", "-exec"),
            ("cargo test --config target.x.runner=true", "target.x.runner=true"),
            ("pytest -o addopts=--co", "addopts=--co"),
            ("uv run pytest --setup-plan", "--setup-plan"),
            ("python3 -m pytest --setup-only", "--setup-only"),
            ("bundle exec rspec --failure-exit-code 0", "--failure-exit-code"),
            ("npx mocha --pass-on-failing-test-suite", "--pass-on-failing-test-suite"),
            ("PYTEST_ADDOPTS=--co pytest", "PYTEST_ADDOPTS=--co"),
            ("export MAKEFLAGS=-i; make test", "MAKEFLAGS=-i"),
            ("npm_config_script_shell=/bin/true npm test", "npm_config_script_shell=/bin/true"),
            ("env CARGO_TARGET_X_RUNNER=true cargo test", "CARGO_TARGET_X_RUNNER=true"),
            ("NODE_OPTIONS='--require ./x.js' npm test", "NODE_OPTIONS=--require ./x.js"),
        ] {
            assert_eq!(found(text).as_deref(), Some(what), "{text}");
        }
    }

    #[test]
    fn usual_test_commands_hide_nothing() {
        for text in [
            "make test",
            "make -j4 -C tests test",
            "make -sj2 check",
            "CFLAGS=-O2 make check CC=clang",
            "npm test -- --coverage",
            "pytest -q -x -p no:cacheprovider",
            "python -W error -m pytest tests",
            "PYTHONPATH=src pytest",
            "NODE_OPTIONS=--experimental-vm-modules npx jest",
            "RUST_BACKTRACE=1 cargo test --lib -- -i",
            "mvn -q -DfailIfNoTests=false test",
            "go test -run TestA -count=1 ./...",
            "ctest --output-on-failure",
            "rspec -e name",
            "cargo test --config net.offline=true",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
