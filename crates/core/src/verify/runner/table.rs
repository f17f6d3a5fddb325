//! The test runners that are recognised without settings: one row for each.

/// What is known about a test runner. Lists are words separated by spaces; `*` at the end of a word stands for
/// any rest.
pub(super) struct Runner {
    /// The names of its program, without directory and version; the first is the one in messages.
    pub(super) programs: &'static str,
    /// The words with which it runs tests, alternatives separated by `|`; empty if it always does.
    pub(super) verbs: &'static str,
    /// Arguments that select no part of the tests and hide no failure. All others may.
    pub(super) harmless: &'static str,
    /// Those of them that change only what it shows, beside [`DISPLAY`].
    pub(super) display: &'static str,
    /// Options of the same kind with a value, which follows after `=` or as the next argument.
    pub(super) valued: &'static str,
    /// Letters of short options without a value that can stand together, as in `-qx`; one of `valued` may end the group.
    pub(super) flags: &'static str,
    /// Options and settings with which it exits with 0 whatever its tests do; those with a value end with `=`.
    pub(super) hiding: &'static str,
    /// Options with which it runs no test.
    pub(super) listing: &'static str,
    /// Files beside the tests that decide what it runs: names, with a folder if they are in one.
    pub(super) files: &'static str,
    /// The ends of the names of files with tests that it executes, if other runners do not.
    pub(super) tests: &'static str,
}

/// A runner without verbs and special options.
const PLAIN: Runner = Runner {
    programs: "",
    verbs: "",
    harmless: "",
    display: "",
    valued: "",
    flags: "",
    hiding: "",
    listing: "",
    files: "",
    tests: "",
};

const SCRIPTS: &str = ".js .jsx .ts .tsx .mjs .cjs";

/// Arguments of that kind of most runners.
pub(super) const HARMLESS: &str = "-v -vv -q -s --verbose --quiet --silent --color --color=* --colors --no-color \
    --ci --coverage --no-progress -B --batch-mode --";

/// Options that change only what any runner shows: `-v` of some prints their version.
pub(super) const DISPLAY: &str =
    "--verbose --quiet --silent --color --color=* --colors --no-color --no-progress";

/// Options with which most runners execute no test.
pub(super) const LISTING: &str = "--help -h --version --no-run --collect-only --co --list --listTests --list-tests \
    --dry-run --if-present --just-print --showConfig --fixtures";

const PACKAGE_SCRIPT: Runner = Runner {
    verbs: "test|run test|run-script test|test:*|run test:*",
    harmless: "-i --runInBand --run --watchAll=false --watch=false --no-watch --reporter=* -s --no-color",
    hiding: "--script-shell= --node-options=",
    tests: SCRIPTS,
    files: "package.json .npmrc jest.config.* vitest.config.* vite.config.* .mocharc* babel.config.* tsconfig.json",
    ..PLAIN
};

const JEST: Runner = Runner {
    harmless: "run -i --runInBand --run --watchAll=false --watch=false --no-watch --reporter=* --bail --no-cache",
    hiding: "--testFailureExitCode= --pass-on-failing-test-suite --passWithNoTests",
    files: PACKAGE_SCRIPT.files,
    tests: SCRIPTS,
    ..PLAIN
};

pub(super) const MAKE: Runner = Runner {
    verbs: "test|tests|check|spec|test-*",
    harmless: "-j* -k --keep-going -s -w --no-print-directory -B --always-make V=* CC=* CXX=* CFLAGS=* CXXFLAGS=* \
        LDFLAGS=* PYTHON=*",
    valued: "-j --jobs",
    hiding: "--ignore-errors --touch --question --recon SHELL= .SHELLFLAGS= MAKEFLAGS= --eval= -P -T -W --prereqs \
        --tasks",
    listing: "-n",
    files: "Makefile makefile GNUmakefile *.mk justfile Justfile .justfile Taskfile.yml Rakefile",
    ..PLAIN
};

const GRADLE: &str = "build.gradle build.gradle.kts settings.gradle gradlew gradle.properties";

/// A row for each runner; the first whose program and verb fit counts.
pub(super) const RUNNERS: &[Runner] = &[
    Runner {
        programs: "pytest py.test",
        display: "-v -vv -q",
        harmless: "--exitfirst --maxfail=* --tb=* --durations=* --cov --cov=* --cov-* \
            --no-header --no-summary --strict-markers --strict-config --full-trace --showlocals --dist=* \
            --junitxml=* --junit-xml=* --disable-warnings --cache-clear --ff --failed-first --capture=* -p no:cacheprovider no:randomly no:warnings . ./ \
            tests tests/ ./tests test test/",
        flags: "qvsxl",
        valued: "-n -r -W --tb --maxfail --durations --cov --timeout --log-level --log-cli-level --junitxml --color",
        hiding: "--setup-only --setup-plan --collectonly --markers --cache-show -V addopts=",
        tests: ".py",
        files: "conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml pyproject.toml tox.ini setup.cfg pytest.py pytest/* _pytest/* \
            sitecustomize.py usercustomize.py *.pth *.pyc",
        ..PLAIN
    },
    Runner {
        programs: "unittest nose nose2",
        display: "-v -vv -q",
        harmless: "discover -b --buffer -f --failfast -s -t tests tests/ . test",
        tests: ".py",
        files: "unittest.py unittest/* sitecustomize.py usercustomize.py *.pth *.pyc",
        ..PLAIN
    },
    Runner {
        programs: "cargo",
        display: "-v -vv -q",
        verbs: "test|t|nextest run|nextest r",
        harmless: "--workspace --all --all-features --no-fail-fast --release -r --locked --offline \
            --frozen --nocapture --no-capture --include-ignored --show-output --test-threads=* net.offline=*",
        valued: "-j --jobs --test-threads --profile --message-format --target-dir --features --config --color",
        hiding: "runner=",
        files: "Cargo.toml .cargo/* build.rs rust-toolchain rust-toolchain.toml nextest.toml",
        ..PLAIN
    },
    Runner {
        programs: "npm",
        verbs: "test|t|tst|run test|run-script test|test:*|run test:*",
        ..PACKAGE_SCRIPT
    },
    Runner { programs: "pnpm yarn", ..PACKAGE_SCRIPT },
    Runner {
        programs: "bun deno",
        verbs: "test",
        harmless: "-A --allow-*",
        tests: SCRIPTS,
        files: "package.json bunfig.toml deno.json deno.jsonc",
        ..PLAIN
    },
    Runner { programs: "jest vitest ava tap", ..JEST },
    Runner {
        programs: "mocha",
        harmless: "test test/ --recursive --exit --bail",
        hiding: JEST.hiding,
        files: JEST.files,
        tests: SCRIPTS,
        ..PLAIN
    },
    Runner {
        programs: "go",
        display: "-v -vv -q",
        verbs: "test",
        harmless: "./... -race -cover -count=* -timeout=* -failfast -vet=* -json -coverprofile=* -parallel=*",
        valued: "-count -timeout -parallel -p -coverprofile",
        flags: "",
        hiding: "-exec= --exec=",
        listing: "-c -list -n",
        files: "go.mod go.work vendor/*",
        tests: ".go",
    },
    Runner {
        programs: "dotnet swift mix bazel flutter dart",
        verbs: "test",
        hiding: "--exit-status=",
        listing: "-c",
        ..PLAIN
    },
    Runner {
        programs: "mvn mvnw",
        verbs: "test|verify",
        harmless: "clean -U -T* -DfailIfNoTests=*",
        hiding: "-fn --fail-never -DtestFailureIgnore -Dmaven.test.failure.ignore -DtestFailureIgnore= \
            -Dmaven.test.failure.ignore=",
        listing: "-DskipTests -DskipTests=* -Dmaven.test.skip* -Dtest.skip*",
        files: "pom.xml mvnw .mvn/*",
        ..PLAIN
    },
    Runner {
        programs: "gradle gradlew",
        verbs: "test|check|*:test",
        harmless: "clean --info --stacktrace --no-daemon --parallel --rerun-tasks --console=*",
        hiding: "-m --exclude-task=",
        listing: "-x",
        files: GRADLE,
        ..PLAIN
    },
    Runner { programs: "make gmake just task rake", ..MAKE },
    Runner {
        programs: "ctest",
        harmless: "--output-on-failure --test-dir=* -j* build build/ -V -VV",
        valued: "--test-dir -j --parallel --timeout",
        hiding: "--show-only --show-only=",
        listing: "-N",
        files: "CMakeLists.txt CTestTestfile.cmake",
        ..PLAIN
    },
    Runner {
        programs: "rspec",
        harmless: "--format=* spec",
        valued: "-f --format",
        hiding: "--init --failure-exit-code=",
        tests: ".rb",
        files: ".rspec spec_helper.rb rails_helper.rb",
        ..PLAIN
    },
    Runner {
        programs: "phpunit pest",
        display: "-v -vv -q",
        harmless: "--testdox",
        files: "phpunit.xml phpunit.xml.dist",
        ..PLAIN
    },
    Runner {
        programs: "tox",
        hiding: "--notest -l --showconfig",
        files: "tox.ini pyproject.toml setup.cfg conftest.py",
        ..PLAIN
    },
    Runner {
        programs: "nox",
        hiding: "-l --list-sessions --install-only",
        files: "noxfile.py conftest.py",
        ..PLAIN
    },
    Runner {
        programs: "prove bats",
        harmless: "-r -l -b t test tests tests/",
        hiding: "-e= --exec=",
        ..PLAIN
    },
    Runner {
        programs: "node",
        verbs: "--test",
        harmless: "--test",
        files: JEST.files,
        tests: SCRIPTS,
        ..PLAIN
    },
    Runner {
        programs: "manage.py",
        verbs: "test",
        harmless: "--noinput --parallel --keepdb",
        files: "manage.py settings.py",
        tests: ".py",
        ..PLAIN
    },
];

/// Files that describe a project and can hold settings of its tests, or are a part of the work.
pub(super) const MANIFESTS: &str = "package.json pyproject.toml setup.cfg Cargo.toml go.mod go.work vendor/* pom.xml \
    build.gradle build.gradle.kts settings.gradle gradle.properties CMakeLists.txt tsconfig.json babel.config.* \
    vite.config.* deno.json deno.jsonc bunfig.toml build.rs settings.py";

/// Variables that change what is shown of a run and nothing that it does.
pub(super) const DISPLAY_VARIABLES: &str = "NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS RUST_BACKTRACE \
    PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE";

/// Programs that run others, as the words before those: `uv run`, `npx`.
pub(super) const LAUNCHERS: &[&[&str]] = &[
    &["npx"],
    &["bunx"],
    &["uvx"],
    &["uv", "run"],
    &["poetry", "run"],
    &["pipenv", "run"],
    &["hatch", "run"],
    &["rye", "run"],
    &["pdm", "run"],
    &["bundle", "exec"],
    &["npm", "exec"],
    &["pnpm", "exec"],
    &["pnpm", "dlx"],
    &["yarn", "exec"],
    &["yarn", "run"],
    &["yarn"],
];

/// Programs whose file or target decides what they run, so that they can run any other runner.
pub(super) const INDIRECT: &str =
    "make gmake just task rake npm pnpm yarn bun tox nox sh bash hatch";

/// Words before the module of a Python that change nothing of what its tests check.
pub(super) const INTERPRETER_OPTIONS: &str = "-m -B -u -v -q -X*";

/// Interpreters that can execute a file of tests.
pub(super) const INTERPRETERS: &str = "python pypy node sh bash dash zsh ruby perl php lua";

/// Words that programs document as others, such as `npm run-script` for `npm run`: programs, words, and the word.
pub(super) const ALIASES: &[(&str, &str, &str)] = &[
    ("npm pnpm yarn bun", "run-script rum urn", "run"),
    ("npm pnpm bun", "i", "install"),
    ("npm", "clean-install ic", "ci"),
    ("cargo", "b", "build"),
    ("cargo", "c", "check"),
    ("cargo", "r", "run"),
    ("cargo", "d", "doc"),
];

/// Programs that run a script of the package by its name alone.
pub(super) const PACKAGE_PROGRAMS: &str = "npm pnpm yarn bun";
