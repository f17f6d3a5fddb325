//! The files that models can write and that a command or its variables name.
//!
//! What gets the network of this machine or a secret executes none of them. The project does not exist for most of it
//! ([`ProcessLauncher::without_workspace`]). A coding agent works on the project, so the way to its program leads past it:
//! its words and variables name nothing of it, and neither do the folders of `PATH`, links and `#!` lines.

use super::named_paths::{NamedPaths, attached_path};
use super::process_launcher::ProcessLauncher;
use kb_process::{interpreter_of, program_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many interpreters of interpreters are followed; the kernel follows four.
const INTERPRETERS: usize = 5;

/// Why nothing of the project may be on the way to a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lending {
    /// What it has, as the predicate of a message.
    has: &'static str,
    /// What would permit it.
    pub(super) instead: &'static str,
}

impl Lending {
    /// It gets what models do not have.
    pub(super) const MORE: Lending = Lending {
        has: "has `network: open` or a secret",
        instead: "give it neither the network nor a secret",
    };
    /// It is a coding agent that works with the tools of `kb`.
    pub(super) const KB_TOOLS: Lending = Lending {
        has: "works with the tools of kb, so the project does not exist for it",
        instead: "let it work with its own tools: `tools: own`",
    };
}

impl ProcessLauncher {
    /// The files of the project, of what the sandbox opens for writing, and of package caches, that the words of a command
    /// name: its program, operands, also those in `PATH`, and the interpreters that `#!` lines in them name.
    pub fn files_named(&self, argv: &[String]) -> Vec<PathBuf> {
        let path = self.base().get("PATH").unwrap_or_default();
        let words = argv.iter().skip(1).map(|word| self.root().join(word));
        // `env NAME` and `sh -c NAME` start a program of `PATH` too.
        let names = argv.iter().skip(1).flat_map(|word| word.split_whitespace());
        let names = names.filter(|name| !name.contains('/'));
        let programs = names.filter_map(|name| program_of(name, self.root(), path));
        self.written_files(argv, path, words.chain(programs))
    }

    fn written_files(
        &self,
        argv: &[String],
        path: &str,
        words: impl Iterator<Item = PathBuf>,
    ) -> Vec<PathBuf> {
        let program = argv.first().and_then(|name| program_of(name, self.root(), path));
        let named = program.into_iter().chain(words).filter(|path| path.is_file());
        let mut files = Vec::new();
        let mut seen = BTreeSet::new();
        for path in named.flat_map(with_interpreters) {
            if self.is_written(&path) && seen.insert(path.clone()) {
                files.push(path);
            }
        }
        files
    }

    /// Refuses a command, with its variables, if one of its words or variables, or what they lead to, is a place that models
    /// can write; the error is the predicate of a message. Otherwise returns its `PATH`, without such folders.
    pub(super) fn require_outside(
        &self,
        (argv, env): (&[String], &[(String, String)]),
        lent: Lending,
    ) -> Result<(String, String), String> {
        let own = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| &**value);
        let path = self.trusted_path(own.or(self.base().get("PATH")).unwrap_or_default());
        let paths = self.named_paths();
        let words = || argv.iter().skip(1);
        let named = || words().map(|word| self.root().join(word));
        let named = || named().chain(words().flat_map(|word| paths.of(word, true)));
        let file = || self.written_files(argv, &path, named()).into_iter().next();
        let file = || file().map(|path| path.display().to_string());
        let place = argv.iter().find_map(|word| self.place_in(word)).or_else(file);
        let found = place.map(|place| format!("command names `{place}`")).or_else(|| {
            let mut variables = env.iter().filter(|(name, _)| name != "PATH");
            variables.find_map(|(name, value)| {
                self.place_in(value).map(|place| format!("variable `{name}` names `{place}`"))
            })
        });
        match found {
            None => Ok(("PATH".to_owned(), path)),
            Some(found) => Err(format!("{}, and its {found}, which a model could write", lent.has)),
        }
    }

    /// The first place in a text that lies in the project, or in what the sandbox opens for writing, whether it exists or
    /// not: by its absolute path, in any form. Variables that name package caches are usual.
    fn place_in(&self, text: &str) -> Option<String> {
        let paths = self.named_paths();
        let words = text.split_whitespace().filter_map(attached_path);
        let attached = words.flat_map(|word| paths.of(word, false));
        let mut all = paths.of(text, false).into_iter().chain(attached);
        let is_opened = |path: &PathBuf| self.is_own(path) || self.base().is_opened(path);
        all.find(is_opened).map(|path| path.display().to_string())
    }

    fn named_paths(&self) -> NamedPaths<'_> {
        NamedPaths { cwd: self.root(), home: self.base().get("HOME").map(Path::new) }
    }

    /// The folders of a `PATH` that commands in the sandbox cannot write.
    fn trusted_path(&self, path: &str) -> String {
        let is_trusted = |dir: &&str| {
            let dir = Path::new(dir);
            dir.is_absolute() && !self.is_written(dir)
        };
        path.split(':').filter(is_trusted).collect::<Vec<_>>().join(":")
    }

    /// Whether models can write a path, or what decides where it leads: a folder or a link on the way.
    fn is_written(&self, path: &Path) -> bool {
        self.is_own(path) || self.base().is_untrusted(path)
    }

    /// Whether a path, or a link that it is, lies in the files of the run, which are a worktree or copy or the project.
    pub fn is_own(&self, path: &Path) -> bool {
        let is_below = |path: &Path| {
            let real = path.ancestors().find_map(|above| above.canonicalize().ok());
            real.is_some_and(|real| real.starts_with(self.root()))
        };
        let folder = path.parent().filter(|_| path.is_symlink());
        is_below(path) || folder.is_some_and(is_below)
    }
}

/// A program and the interpreters that `#!` lines name.
fn with_interpreters(program: PathBuf) -> impl Iterator<Item = PathBuf> {
    let next = |program: &PathBuf| interpreter_of(program).filter(|used| used.is_absolute());
    std::iter::successors(Some(program), next).take(INTERPRETERS)
}
