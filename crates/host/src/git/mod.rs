//! `kb`'s own `git`: nothing that configuration files of a repository or user name is executed, and neither is a
//! program of the project.

mod settings;

pub use settings::GitSettings;

use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_process::{ProcessEnd, Spawn, Supervisor};
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The maximum run time of one command.
const LIMIT: Duration = Duration::from_secs(600);
/// The maximum output of one command, in bytes.
const OUTPUT: usize = 64 << 20;
/// Settings that make `git` execute programs or change more than it is asked to.
const OFF: [(&str, &str); 18] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.autocrlf", "false"),
    ("submodule.recurse", "false"),
    ("commit.gpgSign", "false"),
    ("commit.template", "/dev/null"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("rebase.autoStash", "false"),
    ("rebase.updateRefs", "false"),
    ("rerere.enabled", "false"),
    ("protocol.allow", "never"),
    ("merge.renormalize", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("log.showSignature", "false"),
];
/// Settings whose names contain a name of the user and whose values are programs.
const PROGRAMS: &str = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|diff\..*\.(command|textconv))$";

/// Runs `git`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    supervisor: Supervisor,
    /// Whether git fails where it needs a filter, instead of doing without it.
    needs_filters: bool,
}

impl Git {
    /// Started by this supervisor, without the variables that the settings pass to steps.
    pub fn new(supervisor: &Supervisor) -> Git {
        Git { supervisor: supervisor.of_kb(), needs_filters: false }
    }

    /// The same, but git fails for a file whose filter is required: it would store what the filter keeps out.
    pub(crate) fn failing_without_filters(self) -> Git {
        Git { needs_filters: true, ..self }
    }

    /// Runs a command in a directory and returns its output.
    pub(crate) async fn run(&self, cwd: &Path, args: &[&str]) -> Result<String, Box<Failure>> {
        self.run_with(cwd, args, "").await
    }

    /// The same with an input.
    pub(crate) async fn run_with(
        &self,
        cwd: &Path,
        args: &[&str],
        stdin: &str,
    ) -> Result<String, Box<Failure>> {
        let programs = self.programs_in(cwd).await?;
        let off = OFF.iter().map(|(name, value)| (*name, *value));
        let is_kept = |name: &&String| self.needs_filters && name.ends_with(".required");
        let named = programs.iter().filter(|name| !is_kept(name)).map(|name| {
            if name.ends_with(".required") { (name.as_str(), "false") } else { (name.as_str(), "") }
        });
        let settings: Vec<(&str, &str)> = off.chain(named).collect();
        self.start(cwd, args, &settings, stdin).await
    }

    /// The first line of the output, or `None` if the command failed or there is none.
    pub(crate) async fn line(&self, cwd: &Path, args: &[&str]) -> Option<String> {
        let output = self.run(cwd, args).await.ok()?;
        let line = output.lines().next().filter(|line| !line.is_empty())?;
        Some(line.to_owned())
    }

    /// Settings of the command line for the author of a commit: `kb`, where git knows none.
    pub(crate) async fn identity(&self, cwd: &Path) -> Vec<String> {
        let mut args = Vec::new();
        for (name, value) in [("user.name", "kb"), ("user.email", "kb@localhost")] {
            if self.line(cwd, &["config", name]).await.is_none() {
                args.extend(["-c".to_owned(), format!("{name}={value}")]);
            }
        }
        args
    }

    /// The changes of a work tree, a line each, as `git status --porcelain` prints them. The filters that settings
    /// name decide what a change is: they run if the supervisor confines them. Elsewhere git does without them, and
    /// a file that one of them converts may count as changed.
    pub async fn status(&self, root: &Path, is_confined: bool) -> Result<String, Box<Failure>> {
        let args = ["status", "--porcelain=v1", "--untracked-files=normal", "--", "."];
        if is_confined {
            self.start(root, &args, &[("core.fsmonitor", "false")], "").await
        } else {
            self.run(root, &args).await
        }
    }

    /// Names of settings whose values are programs, of all configuration files. Reading them executes
    /// nothing.
    async fn programs_in(&self, cwd: &Path) -> Result<Vec<String>, Box<Failure>> {
        let args = ["config", "--name-only", "-z", "--get-regexp", PROGRAMS];
        let found = self.start(cwd, &args, &OFF, "").await.unwrap_or_default();
        // A name that is not known exactly cannot be switched off.
        if let Some(name) = found.split('\0').find(|name| name.contains('\u{fffd}')) {
            let message =
                format!("git would execute the setting `{name}`, whose name is not UTF-8");
            let help = "rename the filter or driver in the settings of git";
            return Err(Box::new(Failure::new(Code::TREE_UNAVAILABLE, message).help(help)));
        }
        Ok(found.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    async fn start(
        &self,
        cwd: &Path,
        args: &[&str],
        settings: &[(&str, &str)],
        stdin: &str,
    ) -> Result<String, Box<Failure>> {
        let mut env: Vec<(String, String)> = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_EDITOR", "true"),
            ("GIT_SEQUENCE_EDITOR", "true"),
            ("GIT_PAGER", "cat"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            // A repository of a model may lack objects and name a program that brings them.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            // Settings of the user may name a file for traces.
            ("GIT_TRACE2", "0"),
            ("GIT_TRACE2_EVENT", "0"),
            ("GIT_TRACE2_PERF", "0"),
            ("LC_ALL", "C"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        env.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
        for (index, (name, value)) in settings.iter().enumerate() {
            env.push((format!("GIT_CONFIG_KEY_{index}"), (*name).to_owned()));
            env.push((format!("GIT_CONFIG_VALUE_{index}"), (*value).to_owned()));
        }
        let mut argv: Vec<String> =
            ["git"].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
        // `diff.external` has no value that switches it off.
        let is_value = |at: usize| matches!(argv[at - 1].as_str(), "-c" | "-C");
        let command = (1..argv.len()).find(|at| !argv[*at].starts_with('-') && !is_value(*at));
        if let Some(at) = command.filter(|at| argv[*at] == "diff") {
            argv.insert(at + 1, "--no-ext-diff".to_owned());
        }
        let spawn = Spawn {
            argv,
            own_program: true,
            cwd: cwd.to_owned(),
            env,
            stdin: stdin.as_bytes().to_vec(),
            timeout: Some(LIMIT),
            idle: None,
            max_stream: OUTPUT,
        };
        let ended = self.supervisor.run(spawn, &CancellationToken::new(), None).await;
        let name = args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or("git");
        let failed = |message: String| Box::new(Failure::new(Code::TREE_UNAVAILABLE, message));
        match ended.end {
            ProcessEnd::Code(0) => Ok(ended.stdout),
            ProcessEnd::Code(_) | ProcessEnd::Signal(_) => {
                let said = |text: &str| text.trim().lines().last().map(str::to_owned);
                let why = said(&ended.stderr).or_else(|| said(&ended.stdout));
                let why = why.unwrap_or_else(|| "no message".to_owned());
                Err(failed(format!("`git {name}` failed: {why}")))
            }
            ProcessEnd::NotStarted(reason) => {
                let failure = failed(format!("`git` did not start: {reason}"));
                Err(Box::new(failure.help("install git, or write `workspace: copy`")))
            }
            ProcessEnd::TimedOut | ProcessEnd::Idle => {
                Err(failed(format!("`git {name}` did not end within 10 minutes")))
            }
            ProcessEnd::Cancelled | ProcessEnd::Lost => {
                Err(failed(format!("`git {name}` was stopped")))
            }
        }
    }
}
