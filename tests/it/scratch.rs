//! A project in a temporary folder, and the real binary in it.

use crate::running::{Start, kill_below};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A project and a state folder that vanish together, with the processes that work in them.
pub(crate) struct Scratch {
    dir: TempDir,
}

/// What a call of the binary gave.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Scratch {
    /// A folder without a project.
    pub(crate) fn bare() -> Self {
        let scratch = Scratch { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(scratch.root()).unwrap();
        scratch
    }

    /// A project with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Scratch::bare();
        std::fs::create_dir(scratch.root().join(".kb")).unwrap();
        files.iter().for_each(|(path, text)| scratch.write(path, text));
        scratch
    }

    /// The project's folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    /// The binary in the project's folder, with nothing of the caller's keys and state.
    pub(crate) fn command(&self) -> std::process::Command {
        self.program(None, env!("CARGO_BIN_EXE_kb"))
    }

    /// A program in the project's folder, as the user with this id, with nothing of the caller's keys and state.
    pub(crate) fn program(&self, user: Option<u32>, program: &str) -> std::process::Command {
        let mut command = match user {
            None => std::process::Command::new(program),
            Some(user) => {
                let mut command = std::process::Command::new("setpriv");
                let id = [format!("--reuid={user}"), format!("--regid={user}")];
                command.args(id).args(["--clear-groups", program]);
                command
            }
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.dir.path())
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .env("NO_COLOR", "1");
        command
    }

    /// Calls the binary and waits for its end.
    pub(crate) fn kb(&self, args: &[&str]) -> Said {
        self.kb_with(args, |_| {})
    }

    /// The same, with something of the call changed.
    pub(crate) fn kb_with(
        &self,
        args: &[&str],
        change: impl FnOnce(&mut std::process::Command),
    ) -> Said {
        let mut command = self.command();
        command.args(args);
        change(&mut command);
        let output = command.finish();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        Said {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// What a call prints as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let said = self.kb(args);
        serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
    }

    /// The id of the last run.
    pub(crate) fn last_run(&self) -> String {
        self.json(&["run", "show", "@last", "--json"])["run"].as_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        kill_below(self.dir.path());
    }
}

impl Said {
    /// The call ended with this code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Said {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Everything that was said, on both streams, has these texts.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Said {
        let all = format!("{}\n{}", self.out, self.err);
        for text in texts {
            assert!(all.contains(text), "`{text}` is missing in:\n{all}");
        }
        self
    }

    /// The lines of stdout as JSON.
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        let line =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.out.lines().map(line).collect()
    }
}

/// Waits for something that other processes bring about.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "it does not come: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether this machine has a kernel sandbox; prints a note if the test is skipped.
pub(crate) fn has_kernel_sandbox() -> bool {
    let has = Scratch::new(&[]).kb(&["doctor"]).out.contains("Landlock");
    if !has {
        eprintln!("skipped in part: this machine has no kernel sandbox");
    }
    has
}
