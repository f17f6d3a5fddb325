//! What is known about test runners: how a command that runs tests is recognised, which of its arguments select a part
//! of the tests or hide failures, and which files decide its result.
//!
//! `table` has the facts, one row for each runner; this file reads commands with them. A rule without a list of
//! selecting options: an argument that is not known to be harmless may select, so it raises doubt.

mod files;
mod selection;
mod table;
mod words;

use super::shell::Script;
use files::is_among;
pub(super) use files::{
    decides_any, defines, executed_file, executes_given_text, executes_project, is_definition,
    is_manifest, is_name, is_shell_script, is_test_folder, module_files, names_runner, python_of,
    uses_installed,
};
use table::{
    ALIASES, DISPLAY, DISPLAY_VARIABLES, INDIRECT, INTERPRETER_OPTIONS, INTERPRETERS, LAUNCHERS,
    LISTING, PACKAGE_PROGRAMS, RUNNERS, Runner,
};
use words::{fits, has, program};

/// The commands that the settings and the checks of the gate name, beside the usual runners.
pub(super) struct TestCommands(Vec<Vec<String>>);

/// A command that runs tests.
pub(super) struct TestUse<'a> {
    runner: Option<&'static Runner>,
    /// Whether the settings or a check name it.
    pub(super) named: bool,
    /// Its arguments without the words by which it was recognised.
    rest: Vec<&'a str>,
    /// All its arguments.
    args: &'a [String],
}

impl TestCommands {
    /// The commands of `testCommands` in the settings, in which `*` stands for any text.
    pub(super) fn of<'t>(settings: impl IntoIterator<Item = &'t str>) -> Self {
        let argv = |text: &str| {
            let script = Script::of_text(text);
            script.main_commands().first().map(|used| used.argv.clone())
        };
        TestCommands(settings.into_iter().filter_map(argv).collect())
    }

    /// Adds a command of a check.
    pub(super) fn with(mut self, argv: Vec<String>) -> Self {
        self.0.push(argv);
        self
    }

    /// Whether a command runs tests.
    pub(super) fn contains(&self, argv: &[String]) -> bool {
        self.read(argv).is_some()
    }

    /// The command as one that runs tests; `None` if it runs none.
    pub(super) fn read<'a>(&self, argv: &'a [String]) -> Option<TestUse<'a>> {
        let args = argv.get(1..).unwrap_or_default();
        let lists = |runner: Option<&Runner>| {
            let own = runner.map_or("", |runner| runner.listing);
            args.iter().any(|arg| has(LISTING, arg) || has(own, arg))
        };
        let begins = |command: &&Vec<String>| {
            let mut pairs = command.iter().zip(argv);
            command.len() <= argv.len() && pairs.all(|(pattern, word)| fits(pattern, word))
        };
        if let Some(command) = self.0.iter().filter(begins).max_by_key(|command| command.len()) {
            let rest = argv[command.len()..].iter().map(String::as_str).collect();
            let runner = recognise(argv).and_then(|found| found.0);
            return (!lists(None)).then_some(TestUse { runner, named: true, rest, args });
        }
        let (runner, rest) = recognise(argv)?;
        (!lists(runner)).then_some(TestUse { runner, named: false, rest, args })
    }

    /// Whether a script that could not be analysed may run tests.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        let words = text.split(|c: char| c.is_whitespace() || ";&|(){}'\"`$".contains(c));
        let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
        (0..words.len()).any(|at| self.contains(&words[at..words.len().min(at + 4)]))
    }
}

impl Runner {
    fn executes(&self, path: &str) -> bool {
        self.tests.split_whitespace().any(|end| path.ends_with(end))
    }
}

/// Whether a file is in a language that only some runners execute.
pub(super) fn is_of_a_runner(path: &str) -> bool {
    RUNNERS.iter().any(|runner| runner.executes(path))
}

impl TestUse<'_> {
    /// The name of the runner; the same for all its forms.
    pub(super) fn runner(&self) -> Option<&'static str> {
        self.runner.map(|runner| first(runner.programs))
    }

    /// Whether a file of the project decides what it runs, so that it can run any other runner.
    pub(super) fn is_indirect(&self) -> bool {
        self.runner.is_none() || self.runner().is_some_and(|name| has(INDIRECT, name))
    }

    /// Whether a target that a file of the project defines can run tests in any language.
    pub(super) fn may_run_any(&self) -> bool {
        !matches!(self.runner(), Some("npm" | "pnpm" | "bun")) && self.is_indirect()
    }

    /// Whether it executes tests in the language of a file.
    pub(super) fn executes(&self, path: &str) -> bool {
        self.runner.is_some_and(|runner| runner.executes(path))
    }

    /// Whether both execute tests in the same language, so that they can be the same tests.
    pub(super) fn shares_language(&self, other: &TestUse<'_>) -> bool {
        let of = |test: &TestUse<'_>| test.runner.map_or("", |runner| runner.tests);
        !of(self).is_empty() && of(self) == of(other)
    }

    /// Whether it has an argument.
    pub(super) fn has(&self, argument: &str) -> bool {
        self.args.iter().any(|own| own == argument)
    }

    /// The folders to which its arguments limit the tests: usual ones, which can be all that there are.
    pub(super) fn folders(&self) -> Vec<&str> {
        const FOLDERS: &str = "test tests spec specs t";
        let plain = self.rest.iter().map(|arg| arg.trim_start_matches("./").trim_end_matches('/'));
        plain.filter(|arg| has(FOLDERS, arg)).collect()
    }

    /// The option because of which exit code 0 proves nothing.
    pub(super) fn hiding_option(&self) -> Option<&str> {
        let hiding = self.runner?.hiding;
        let is_make = matches!(self.runner(), Some("make"));
        let hides = |arg: &&String| {
            let name = arg.split_once('=').map(|(name, _)| format!("{name}="));
            let spaceless = arg.replace(' ', "");
            has(hiding, arg)
                || has(hiding, &format!("{arg}="))
                || name.is_some_and(|name| has(hiding, &name))
                // Settings such as `target.x.runner=true` and `addopts=--co`.
                || ["runner=", "addopts="].iter().any(|key| has(hiding, key) && spaceless.contains(key))
                || is_make && is_short(arg)
        };
        self.args.iter().find(hides).map(String::as_str)
    }

    /// Whether a file of the project decides what the runner does, beside its tests.
    pub(super) fn is_decided_by(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let own = self.runner.map_or("", |runner| runner.files);
        // Another runner behind `make` or a script has files of its own.
        let indirect = || RUNNERS.iter().any(|runner| is_among(runner.files, path));
        is_among(own, path) || self.is_indirect() && name.contains('.') && indirect()
    }
}

/// The option or variable because of which exit code 0 of a test command proves nothing. `assigned` are the
/// assignments of its script.
pub(super) fn hides_failures(test: &TestUse<'_>, assigned: &[String]) -> Option<String> {
    let variable = || assigned.iter().find(|word| decides(word)).cloned();
    test.hiding_option().map(str::to_owned).or_else(variable)
}

/// The form under which all forms of a command of a runner are equal: `npm t` is `npm test`,
/// `python3 -m pytest` is `pytest`.
pub(super) fn canonical(argv: &[String]) -> Vec<String> {
    let Some((Some(runner), rest)) = recognise(argv) else { return plain(argv) };
    let is_program = |word: &&String| has(runner.programs, &program(word));
    let name = argv.iter().find(is_program).map_or(String::new(), |word| program(word));
    // Targets and scripts of other names are other commands.
    let exact = ["make", "mvn", "gradle", "node", "dotnet"].contains(&first(runner.programs))
        || argv.iter().any(|word| word.starts_with("test:") || word == "nextest");
    if exact {
        return plain(argv);
    }
    let verb = first(runner.verbs.split('|').next().unwrap_or_default());
    let name = if name == "py.test" { "pytest" } else { name.as_str() };
    let is_shown = |word: &&str| has(DISPLAY, word) || has(runner.display, word);
    let rest = rest.into_iter().filter(|word| !is_shown(word));
    let words = [name, verb].into_iter().filter(|word| !word.is_empty()).chain(rest);
    words.map(str::to_owned).collect()
}

/// A command whose `python3` is `python`, and whose first argument is no alias. A Python of a folder, and one of a version such as
/// `python3.9`, is another program.
fn plain(argv: &[String]) -> Vec<String> {
    let mut argv = argv.to_vec();
    if let Some(first) = argv.first_mut().filter(|first| *first == "python3") {
        *first = "python".to_owned();
    }
    if let [first, second, ..] = argv.as_mut_slice() {
        let of =
            |(programs, words, _): &&(&str, &str, &str)| has(programs, first) && has(words, second);
        if let Some((.., word)) = ALIASES.iter().find(of) {
            *second = (*word).to_owned();
        }
    }
    argv
}

/// Whether a command that ran may be, or may have started, a claimed one: the same program behind other interpreters, launchers
/// and folders, another form of the same test runner, or a target or script behind which any runner can be.
pub(super) fn may_be_same(claimed: &[String], ran: &[String]) -> bool {
    let (bare_claimed, bare_ran) = (bare(claimed), bare(ran));
    if bare_claimed == bare_ran {
        return true;
    }
    let known = TestCommands::of([]);
    let claimed = known.read(claimed).or_else(|| known.read(&bare_claimed));
    let ran = known.read(ran).or_else(|| known.read(&bare_ran));
    let Some((claimed, ran)) = claimed.zip(ran) else { return false };
    claimed.is_indirect() || ran.is_indirect() || claimed.runner() == ran.runner()
}

/// The name and the arguments of what a command executes in the end: `sh bin/tox`, `./venv/bin/tox` and `python -m tox` are `tox`.
fn bare(argv: &[String]) -> Vec<String> {
    let argv = plain(argv);
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut words = words.as_slice();
    for _ in 0..4 {
        let by_interpreter = words.split_first().filter(|(first, args)| {
            // Another version is another program.
            has(INTERPRETERS, first) && args.first().is_some_and(|arg| !arg.starts_with('-'))
        });
        let Some(inner) = by_interpreter.map(|(_, args)| args).or_else(|| behind_launcher(words))
        else {
            break;
        };
        words = inner;
    }
    let runs_script = words.len() > 2 && has(PACKAGE_PROGRAMS, words[0]) && words[1] == "run";
    let left = words.iter().enumerate().filter(|(at, _)| !runs_script || *at != 1);
    left.map(|(at, word)| if at == 0 { program(word) } else { (*word).to_owned() }).collect()
}

/// The runner of a command with the arguments that are left; no row for a file of tests.
fn recognise(argv: &[String]) -> Option<(Option<&'static Runner>, Vec<&str>)> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut words = words.as_slice();
    let mut options = Vec::new();
    for _ in 0..4 {
        let Some(inner) = behind_launcher(words) else { break };
        let is_own = |runner: &&Runner| {
            has(runner.programs, &program(words[0])) && verb_of(runner, &words[1..]).is_some()
        };
        if RUNNERS.iter().any(|runner| is_own(&runner)) {
            break;
        }
        // Options of an interpreter can switch off what tests check.
        if is_python(words) {
            let own = &words[1..words.len() - inner.len()];
            options.extend(own.iter().filter(|word| !has(INTERPRETER_OPTIONS, word)));
        }
        words = inner;
    }
    let (name, args) = words.split_first()?;
    let name = program(name);
    let runner = RUNNERS.iter().find(|runner| has(runner.programs, &name));
    if let Some((runner, rest)) = runner.and_then(|runner| Some((runner, verb_of(runner, args)?))) {
        return Some((Some(runner), rest.into_iter().chain(options).collect()));
    }
    let is_file = if has(INTERPRETERS, &name) {
        is_test_script(args)
    } else {
        is_test_file(words[0]) && words[0].contains('.')
    };
    // A run of one file is a part of the tests.
    let rest = if has(INTERPRETERS, &name) { args.to_vec() } else { words.to_vec() };
    is_file.then_some((None, rest))
}

fn is_python(words: &[&str]) -> bool {
    words.first().is_some_and(|word| has("python pypy", &program(word)))
}

/// The words behind `npx`, `uv run`, `python -m` and the like, without the options of the launcher.
fn behind_launcher<'a, 'b>(words: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let (name, args) = words.split_first()?;
    let name = program(name);
    if is_python(words) {
        let module = args.iter().position(|arg| *arg == "-m");
        let before = |at: &usize| args[..*at].iter().all(|arg| !arg.ends_with(".py"));
        return match module.filter(before) {
            Some(at) => args.get(at + 1..).filter(|rest| !rest.is_empty()),
            None => args.iter().position(|arg| *arg == "manage.py").map(|at| &args[at..]),
        };
    }
    let launcher = LAUNCHERS.iter().find(|words| {
        let mut plain = args.iter().filter(|arg| !arg.starts_with('-'));
        words[0] == name && words.get(1).is_none_or(|verb| plain.next() == Some(verb))
    })?;
    let start = match launcher.get(1) {
        Some(verb) => args.iter().position(|arg| arg == verb)? + 1,
        None => 0,
    };
    let rest = &args[start..];
    let options = rest.iter().take_while(|arg| arg.starts_with('-')).count();
    Some(&rest[options..]).filter(|rest| !rest.is_empty())
}

/// The words of a command that name programs by paths: its own, and one behind launchers such as `uv run`.
pub(super) fn program_paths(argv: &[String]) -> Vec<&str> {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut words = words.as_slice();
    let mut found = Vec::new();
    for _ in 0..4 {
        found.extend(words.first().copied().filter(|word| word.contains('/')));
        let Some(inner) = behind_launcher(words) else { break };
        words = inner;
    }
    found
}

/// The arguments of a runner without the words with which it runs tests; `None` if it has none of them.
fn verb_of<'a>(runner: &Runner, args: &[&'a str]) -> Option<Vec<&'a str>> {
    if runner.verbs.is_empty() {
        return Some(args.to_vec());
    }
    let plain: Vec<usize> = (0..args.len())
        .filter(|at| !args[*at].starts_with(['-', '+']) || args[*at] == "--test")
        .collect();
    runner.verbs.split('|').find_map(|verb| {
        let verb: Vec<&str> = verb.split(' ').collect();
        let at = plain
            .windows(verb.len())
            .position(|places| places.iter().zip(&verb).all(|(at, word)| fits(word, args[*at])))?;
        // Words before it are values of options, or other targets of `make`, `mvn` and `gradle`.
        let all_targets = ["make", "mvn", "gradle"].contains(&first(runner.programs));
        let is_value = |place: &usize| *place > 0 && args[*place - 1].starts_with('-');
        let is_first = plain[..at].iter().all(is_value);
        // `test:unit` is a part of `test`.
        let taken: Vec<usize> = (at..at + verb.len())
            .filter(|place| !verb[place - at].contains('*'))
            .map(|place| plain[place])
            .collect();
        (is_first || all_targets).then(|| {
            let rest = args.iter().enumerate().filter(|(at, _)| !taken.contains(at));
            rest.map(|(_, arg)| *arg).filter(|arg| !arg.starts_with('+')).collect()
        })
    })
}

/// Whether the first argument that is no option is a file of tests.
fn is_test_script(args: &[&str]) -> bool {
    let inline = args.iter().any(|arg| matches!(*arg, "-c" | "-e" | "-p" | "-n" | "--check"));
    let file = args.iter().find(|arg| !arg.starts_with('-'));
    !inline && file.is_some_and(|file| is_test_file(file) && file.contains('.'))
}

/// Whether the name of a file says that it contains tests: `a_test.sh`, `test_a.py`, `a.spec.js`.
pub(super) fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| matches!(part, "test" | "tests" | "spec"))
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

/// Whether a variable can decide what a command does, such as which tests run. The folder that imports come from, with its
/// usual value, cannot.
pub(super) fn decides(assignment: &str) -> bool {
    let Some((name, value)) = assignment.split_once('=') else { return false };
    let name = name.trim_end_matches('+').to_ascii_uppercase();
    let is_path = matches!(name.as_str(), "PYTHONPATH" | "NODE_PATH");
    let usual = is_path && matches!(value, "." | "src" | "./src" | "lib" | "src:." | ".:src");
    !usual && !has(DISPLAY_VARIABLES, &name)
}

/// The first word of a list.
fn first(list: &'static str) -> &'static str {
    list.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
