//! Later commands of the author, as the user of the test and, if that is root, as an ordinary user too: after a
//! specialist that could write, whatever the size of the project, and also if `kb` was killed meanwhile.

use crate::running::Start;
use crate::scratch::{Scratch, until};
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SPECIALIST: &str =
    "schema: kb.specialist/1\nid: worker\nrole: You write.\ntools: [shell:exec]\n";
/// Settings that say nothing.
const NONE: &str = "limits: {}\n";
const PLANT: &str = "echo pwned > $HOME/pwned";

/// A project of a user, whose specialist runs a command before a step of the author.
struct Tried {
    scratch: Scratch,
    user: Option<u32>,
}

impl Tried {
    fn new(user: Option<u32>, settings: &str, command: &str, later: &str) -> Tried {
        let playbook = format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: work, agent: worker, task: Write., verify: {{claims: none}}}}\n  - {{id: later, dependsOn: work, {later}}}\n"
        );
        let call = json!({"tool": "shell:exec", "args": {"command": command}});
        let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
        let script = json!({"schema": "kb.script/1", "steps": {"work": turns}}).to_string();
        let scratch = Scratch::new(&[
            (".kb/playbooks/p.yml", &playbook),
            (".kb/kb.config.yml", settings),
            (".kb/specialists/worker.yml", SPECIALIST),
            ("script.yml", &script),
            (".gitignore", "dist\n"),
        ]);
        let tried = Tried { scratch, user };
        std::fs::create_dir_all(tried.home().join("home")).unwrap();
        tried.give();
        tried
    }

    /// Gives all files to the user.
    fn give(&self) {
        let Some(user) = self.user else { return };
        let owner = format!("{user}:{user}");
        let mut command = Command::new("chown");
        assert!(command.args(["-hR", &owner]).arg(self.home()).finish().status.success());
    }

    fn home(&self) -> PathBuf {
        self.scratch.root().parent().unwrap().to_owned()
    }

    /// A program in the project, as the user.
    fn command(&self, program: &str) -> Command {
        let mut command = self.scratch.program(self.user, program);
        command.env("HOME", self.home().join("home"));
        command
    }

    fn kb(&self, args: &[&str]) -> (i32, String) {
        let output = self.command(env!("CARGO_BIN_EXE_kb")).args(args).finish();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code().unwrap_or(-1), said)
    }

    fn is_pwned(&self) -> bool {
        self.home().join("home/pwned").exists()
    }
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];

/// This user, and an ordinary one if this is root and the binary can be started by everybody.
fn users() -> Vec<Option<u32>> {
    if !Scratch::new(&[]).kb(&["doctor"]).out.contains("Landlock") {
        eprintln!("skipped: this machine has no kernel sandbox");
        return Vec::new();
    }
    let is_open = |path: &Path| path.metadata().is_ok_and(|found| found.mode() & 0o005 == 0o005);
    let binary = Path::new(env!("CARGO_BIN_EXE_kb"));
    let all_open = binary.ancestors().filter(|path| !path.as_os_str().is_empty()).all(is_open);
    let has_setpriv = Command::new("setpriv").arg("--version").finish_if_found().is_some();
    if rustix::process::geteuid().is_root() && all_open && has_setpriv {
        vec![None, Some(65_534)]
    } else {
        eprintln!("skipped as an ordinary user: needs root, `setpriv` and a readable binary");
        vec![None]
    }
}

/// Each attack fails, and works as the author trusts it.
#[test]
fn later_commands_are_confined_for_every_user() {
    let secrets = "secrets: {T: {command: [sh, x.sh]}}\n";
    let commit = "git init -q . && git config user.name a && git config user.email a@b && git commit -qm one --allow-empty && git commit -qm two --allow-empty";
    let todo = format!(
        "GIT_SEQUENCE_EDITOR='echo break >' git rebase -iq HEAD~1 && echo 'exec {PLANT}' > .git/rebase-merge/git-rebase-todo"
    );
    for user in users() {
        for (command, later) in [
            ("echo 'PLANT' > x.sh", "run: sh x.sh"),
            ("echo 'PLANT' > x.sh", "run: [sh, x.sh]"),
            ("mkdir dist; echo 'PLANT' > dist/x.sh", "run: sh dist/x.sh"),
            ("echo 'PLANT' > x.sh", "tool: shell:exec, input: {command: sh x.sh}"),
            ("echo 'PLANT' > x.sh", "gate: [{command: [sh, x.sh]}]"),
        ] {
            let attempt = |later: &str| {
                let command = command.replace("PLANT", PLANT);
                let tried = Tried::new(user, NONE, &command, later);
                let (_, said) = tried.kb(&RUN);
                (tried.is_pwned(), said)
            };
            let (escaped, said) = attempt(later);
            assert!(!escaped, "{user:?} {command} {later}: {said}");
            let (executed, said) = attempt(&format!("sandbox: never, {later}"));
            assert!(executed, "{user:?} {command} {later}: {said}");
        }
        // The git of `kb` executes nothing of a rebase that began before.
        let later = "tool: 'git:commit', input: {paths: [x.sh], message: m}";
        let tried = Tried::new(user, "sandbox: {write: [.git]}\n", "echo > x.sh", later);
        let prepare = format!("{commit} && {todo}");
        assert!(tried.command("sh").args(["-ec", &prepare]).finish().status.success());
        let (code, said) = tried.kb(&RUN);
        assert!(code == 0 && !tried.is_pwned(), "{user:?}: {said}");
        let later = "run: 'true', env: {T: '{{secrets.T}}'}";
        let command = format!("echo '{PLANT}; echo told-77a1f0c2' > x.sh");
        let tried = Tried::new(user, secrets, &command, later);
        std::fs::write(tried.scratch.root().join("x.sh"), "echo told-77a1f0c2\n").unwrap();
        tried.give();
        let (_, said) = tried.kb(&RUN);
        assert!(!tried.is_pwned() && said.contains("later"), "{user:?}: {said}");
    }
}

/// A project of which evidence does not see all files.
#[test]
fn a_specialist_counts_among_more_than_a_hundred_thousand_files() {
    if users().is_empty() {
        return;
    }
    let command = format!("echo '{PLANT}' > z/99/x.sh");
    let tried = Tried::new(None, NONE, &command, "run: sh z/99/x.sh");
    for folder in 0..101 {
        let folder = tried.scratch.root().join(format!("z/{folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        (0..1_000).for_each(|file| drop(std::fs::File::create(folder.join(file.to_string()))));
    }
    let (code, said) = tried.kb(&RUN);
    assert!(code == 1 && !tried.is_pwned(), "{said}");
}

/// `kb` is killed, or interrupted twice, while a call writes what no record names.
#[test]
fn a_specialist_counts_whose_call_was_killed() {
    for user in users() {
        for signals in [&["-KILL"][..], &["-INT", "-INT"]] {
            let command = format!(
                "test -e dist/go || {{ mkdir dist; echo '{PLANT}' > dist/x.sh; touch dist/go; sleep 60; }}"
            );
            let tried = Tried::new(user, NONE, &command, "run: sh dist/x.sh");
            let mut kb =
                tried.command(env!("CARGO_BIN_EXE_kb")).args(RUN).stderr(Stdio::null()).start();
            until("the call", || tried.scratch.has("dist/go"));
            for signal in signals {
                let pid = kb.id().to_string();
                Command::new("kill").args([*signal, pid.as_str()]).finish();
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
            kb.wait().unwrap();
            let (code, said) = tried.kb(&["run", "resume", "@last"]);
            assert!(code != 0 && !tried.is_pwned(), "{user:?} {signals:?}: {said}");
            assert!(said.contains("later"), "{user:?} {signals:?}: {said}");
        }
    }
}

/// A folder that cannot be read hides no protected path: that it cannot be read is noticed itself.
#[test]
fn an_unreadable_folder_hides_no_repository() {
    for user in users() {
        let hide =
            "mkdir -p q sub; chmod 000 q; git init -q sub; echo true > sub/.git/hooks/post-commit";
        let tried = Tried::new(user, NONE, hide, "run: 'true'");
        let (code, said) = tried.kb(&RUN);
        assert!(code == 1 && said.contains("KB0606"), "{user:?}: {said}");
        // A repository in it. Root reads it in spite of its mode.
        let inside = "git init -q q; chmod 000 q";
        let (code, said) = Tried::new(user, NONE, inside, "run: 'true'").kb(&RUN);
        assert!(code == 1 && said.contains("KB0606"), "{user:?}: {said}");
        // One that was there before, and a repository beside it.
        let tried = Tried::new(user, NONE, "git init -q sub", "run: 'true'");
        let hidden = "mkdir q && chmod 000 q";
        assert!(tried.command("sh").args(["-ec", hidden]).finish().status.success());
        let (code, said) = tried.kb(&RUN);
        assert!(code == 1 && said.contains("KB0606"), "{user:?}: {said}");
        let tried = Tried::new(user, NONE, "echo 1 > a", "run: 'true'");
        assert!(tried.command("sh").args(["-ec", hidden]).finish().status.success());
        let (code, said) = tried.kb(&RUN);
        assert_eq!(code, 0, "{user:?}: {said}");
    }
}
