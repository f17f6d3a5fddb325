//! Which files of a project decide what a command does, and which file it executes.

use super::table::{INDIRECT, INTERPRETERS, LAUNCHERS, MAKE, MANIFESTS, RUNNERS, Runner};
use super::words::{fits, has, program};

/// Whether a path is a manifest of a project, which has settings of its tests beside much else.
pub(in crate::verify) fn is_manifest(path: &str) -> bool {
    is_among(MANIFESTS, path)
}

/// Whether a file defines targets that a command runs: without any of them the command could not run.
pub(in crate::verify) fn is_definition(path: &str) -> bool {
    is_among(MAKE.files, path)
}

/// Whether a word is the name of a test runner.
pub(in crate::verify) fn is_name(word: &str) -> bool {
    RUNNERS.iter().any(|runner| has(runner.programs, word))
}

/// Whether the code in the arguments of an interpreter names a test runner.
pub(in crate::verify) fn names_runner(argv: &[String]) -> bool {
    let code = argv.iter().skip_while(|word| !["-c", "-e"].contains(&word.as_str())).nth(1);
    let is_interpreter = argv.first().is_some_and(|word| has(INTERPRETERS, &program(word)));
    let mut names = code.into_iter().flat_map(|code| code.split(|c: char| !c.is_alphanumeric()));
    is_interpreter && names.any(is_name)
}

/// Whether the file that a command executes is a script of a shell: it is one by its interpreter, or by its name.
pub(in crate::verify) fn is_shell_script(argv: &[String]) -> bool {
    const SHELLS: &str = "sh bash dash zsh";
    let by_shell = argv.first().is_some_and(|word| has(SHELLS, &program(word)));
    by_shell
        || executed_file(argv).is_some_and(|file| {
            let name = file.rsplit('/').next().unwrap_or(file);
            argv[0] == file && name.rsplit_once('.').is_none_or(|(_, end)| has(SHELLS, end))
        })
}

/// The interpreter of Python behind a command: the program itself, the one beside a program of its folder, or the first of
/// `PATH`. `None` if the command does not execute Python.
pub(in crate::verify) fn python_of(argv: &[String]) -> Option<String> {
    const PYTHON: &str = "python";
    const OF_PYTHON: &str = "pytest py.test nose nose2 tox nox";
    let first = argv.first()?;
    let name = program(first);
    if name == PYTHON {
        return Some(first.clone());
    }
    let folder = first.rsplit_once('/').map(|(folder, _)| folder);
    let is_own = has(OF_PYTHON, &name);
    let can_be = is_own || uses_installed(argv) || is_shell_script(argv);
    Some(match folder.filter(|_| is_own) {
        Some(folder) => format!("{folder}/python3"),
        None => "python3".to_owned(),
    })
    .filter(|_| can_be)
}

/// Whether a command runs what a file of the project says, such as a target of `make` or a script of `npm`.
pub(in crate::verify) fn is_indirect(argv: &[String]) -> bool {
    argv.first().is_some_and(|word| has(INDIRECT, &program(word)))
}

/// Whether a command can run what is installed in the project: by a target or script, or by a launcher such as `npx`.
pub(in crate::verify) fn uses_installed(argv: &[String]) -> bool {
    let launches = |words: &[&str]| {
        argv.len() > words.len() && argv.iter().zip(words).all(|(own, word)| own == word)
    };
    is_indirect(argv) || LAUNCHERS.iter().any(|words| launches(words))
}

/// Whether a file decides what one of the known runners does.
pub(in crate::verify) fn decides_any(path: &str) -> bool {
    RUNNERS.iter().any(|runner| is_among(runner.files, path))
}

/// Whether a file says what a target or a script behind a command does.
pub(in crate::verify) fn defines(argv: &[String], path: &str) -> bool {
    let own =
        |runner: &&Runner| argv.first().is_some_and(|word| has(runner.programs, &program(word)));
    is_indirect(argv) && RUNNERS.iter().filter(own).any(|runner| is_among(runner.files, path))
}

/// The file of the project that a command executes: its program, or the script of an interpreter.
pub(in crate::verify) fn executed_file(argv: &[String]) -> Option<&str> {
    let (first, args) = argv.split_first()?;
    if has(INTERPRETERS, &program(first)) {
        // With `-n` and `--check` an interpreter reads a file and does not execute it.
        let script = args.iter().find(|arg| {
            !arg.starts_with('-') || matches!(arg.as_str(), "-c" | "-e" | "-m" | "-n" | "--check")
        });
        return script.filter(|arg| !arg.starts_with('-')).map(String::as_str);
    }
    first.contains('/').then_some(first.as_str())
}

/// Whether a command is an interpreter with the code among its arguments or on its standard input.
pub(in crate::verify) fn executes_given_text(argv: &[String]) -> bool {
    let Some((first, args)) = argv.split_first() else { return false };
    let is_code = |arg: &String| {
        let is_group = arg.starts_with('-') && !arg.starts_with("--");
        arg == "-" || is_group && arg.ends_with(['c', 'e', 'p']) || has("--eval --print", arg)
    };
    let options = || args.iter().take_while(|arg| arg.starts_with('-'));
    has(INTERPRETERS, &program(first)) && (args.is_empty() || options().any(is_code))
}

/// The files that can be the module of `python -m MODULE`; none for another command.
pub(in crate::verify) fn module_files(argv: &[String]) -> Vec<String> {
    let is_python = argv.first().is_some_and(|word| has("python pypy", &program(word)));
    let module = argv.iter().skip_while(|word| *word != "-m").nth(1).filter(|_| is_python);
    let path = module.map(|module| module.replace('.', "/"));
    path.into_iter()
        .flat_map(|path| [format!("{path}.py"), format!("{path}/__main__.py")])
        .collect()
}

/// Whether a command executes code of the project: a file of it, or a target or script that a file of it defines.
pub(in crate::verify) fn executes_project(argv: &[String]) -> bool {
    const RUNS: &str = "run run-script exec test t";
    let manager = |name: &str| has("npm pnpm yarn bun", name);
    let name = argv.first().map(|word| program(word)).unwrap_or_default();
    let verb = argv.iter().skip(1).find(|word| !word.starts_with('-'));
    let runs = verb.is_some_and(|verb| has(RUNS, verb));
    executed_file(argv).is_some() || is_indirect(argv) && (!manager(&name) || runs)
}

/// Whether a folder has this name because tests are in it. A file in it that is no test itself is a helper of all of them.
pub(in crate::verify) fn is_test_folder(name: &str) -> bool {
    ["test", "tests", "spec", "specs", "__tests__"].contains(&name)
}

/// Whether a path is one of the files of a runner.
pub(super) fn is_among(files: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    files.split_whitespace().any(|pattern| match pattern.split_once('/') {
        Some((folder, _)) => path.split('/').rev().skip(1).any(|part| part == folder),
        None => fits(pattern, name),
    })
}
