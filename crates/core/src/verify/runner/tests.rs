//! Tests of the table of runners.

use super::*;

#[test]
fn usual_runners_and_configured_commands_are_test_commands() {
    let tests = TestCommands::of(["make verify", "./ci.sh --fast"]);
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

fn found(text: &str) -> Option<String> {
    let script = Script::of_text(text);
    let used = script.commands.last().unwrap();
    hides_failures(&TestCommands::of([]).read(&used.argv)?, &script.assigned)
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
        // Any other variable can be one that the tests read.
        ("CFLAGS=-O2 make check CC=clang", "CFLAGS=-O2"),
        ("SKIP_SLOW=1 cargo test", "SKIP_SLOW=1"),
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
        "npm test -- --coverage",
        "pytest -q -x -p no:cacheprovider",
        "python -W error -m pytest tests",
        "PYTHONPATH=src pytest",
        "NO_COLOR=1 npx jest",
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

#[test]
fn an_argument_that_is_not_known_to_be_harmless_may_select() {
    let selection = |text: &str| {
        let script = Script::of_text(text);
        let used = script.commands.last().unwrap();
        let tests = TestCommands::of(["make verify", "./ci-*.sh"]);
        let test = tests.read(&used.argv).unwrap_or_else(|| panic!("{text} runs no tests"));
        test.selection().map(str::to_owned)
    };
    for text in [
        "pytest -q",
        "python3 -m pytest -x --tb=short tests",
        "pytest -p no:cacheprovider -n auto",
        "pytest -qqx -vrA -n4 -sqWerror",
        "pytest -qr A -xn 2 tests",
        "npm test",
        "npm run test -- --coverage",
        "cargo test --workspace -- --nocapture",
        "cargo test -j 2",
        "go test -count=1 ./...",
        "npx jest --ci",
        "make -j4 test",
        "mvn -q test",
        "./gradlew clean test",
        "make verify",
        "./ci-all.sh",
        "python -m unittest discover -s tests",
        "node --test",
    ] {
        assert_eq!(selection(text), None, "{text}");
    }
    for (text, argument) in [
        ("pytest -k good", "-k"),
        ("pytest --deselect=a", "--deselect=a"),
        ("pytest -qktest_a", "-qktest_a"),
        ("pytest -xk test_a", "-xk"),
        ("pytest -qcx.ini", "-qcx.ini"),
        ("python3 -m pytest -qopython_files=test_a.py", "-qopython_files=test_a.py"),
        ("pytest -qh", "-qh"),
        ("pytest -v4k", "-v4k"),
        ("pytest tests/test_a.py", "tests/test_a.py"),
        ("pytest --lf", "--lf"),
        ("pytest -p evil", "evil"),
        ("cargo test --lib", "--lib"),
        ("cargo test -- --skip slow", "--skip"),
        ("cargo test -p x", "-p"),
        ("npm test -- -t good", "-t"),
        ("npm run test:unit", "test:unit"),
        ("go test ./a", "./a"),
        ("make -C sub test", "-C"),
        ("python tests/test_a.py", "tests/test_a.py"),
        ("sh tests/a_test.sh", "tests/a_test.sh"),
    ] {
        assert_eq!(selection(text).as_deref(), Some(argument), "{text}");
    }
}

#[test]
fn forms_of_one_command_are_equal() {
    let canonical = |text: &str| {
        let script = Script::of_text(text);
        canonical(&script.commands.last().unwrap().argv).join(" ")
    };
    for (text, expected) in [
        ("npm t", "npm test"),
        ("npm run test", "npm test"),
        ("npm run test -- --ci", "npm test -- --ci"),
        ("npm run test:unit", "npm run test:unit"),
        ("python3 -m pytest -q", "pytest"),
        (".venv/bin/pytest -x", "pytest -x"),
        ("uv run pytest", "pytest"),
        ("cargo t", "cargo test"),
        ("npx jest", "jest"),
        ("make check", "make check"),
        ("ls -l", "ls -l"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}
