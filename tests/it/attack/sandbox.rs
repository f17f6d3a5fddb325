//! Commands of a specialist against the kernel sandbox. A row says what they may do, not how they
//! are kept from it; where the kernel has no Landlock, the tests say so and end.

use crate::running::Start;
use crate::tools::bench::{Bench, Setup, call_of, put};
use kb::definition::{ApprovalLevel, Settings, ToolSecurity};
use kb::evidence::InvocationStatus;
use kb::process::{BaseEnvironment, ProcessLevel, Supervisor};
use kb::tool::{CallResult, sandbox_level};
use serde_json::json;
use std::path::Path;

/// Whether this kernel can sandbox commands; prints a note if the test is skipped.
fn has_kernel_sandbox() -> bool {
    let held = sandbox_level(Default::default()) == ApprovalLevel::Kernel;
    if !held {
        eprintln!("skipped: this kernel has no Landlock of Linux 6.2 or later");
    }
    held
}

fn confined(
    supervisor: &Supervisor,
    files: &[(&'static str, &'static str)],
    settings: Settings,
) -> Bench {
    let (sandbox, files) = (Some(ApprovalLevel::Kernel), files.to_vec());
    let supervisor = Some(supervisor.clone());
    Setup { sandbox, settings, files, supervisor, ..Setup::default() }.bench()
}

/// Both ways in which `kb` starts processes: in groups, and in namespaces where there are any.
fn supervisors() -> Vec<Supervisor> {
    let base = BaseEnvironment::select(std::env::vars(), &[]);
    let groups = Supervisor::new(base.clone()).without_namespaces();
    let kept = Supervisor::new(base).with_init_program(env!("CARGO_BIN_EXE_kb"));
    match kept.level() {
        ProcessLevel::PidNamespace => vec![groups, kept],
        ProcessLevel::Group => {
            eprintln!("skipped in part: no namespaces here");
            vec![groups]
        }
    }
}

async fn shell(bench: &Bench, command: &str) -> CallResult {
    let args = json!({"command": command, "timeoutMs": 20_000});
    bench.make(&call_of(&["shell:exec"], "shell:exec", args)).await.0
}

/// Runs commands with `OUT` in the place of a folder outside; each must do as its row says.
async fn check(bench: &Bench, outside: &Path, rows: &[(&str, bool)]) {
    for (command, works) in rows {
        let command = command.replace("OUT", &outside.display().to_string());
        let result = shell(bench, &command).await;
        let worked = result.status == InvocationStatus::Success;
        assert_eq!(worked, *works, "`{command}`: {:#}", result.result);
    }
}

#[tokio::test]
async fn a_command_writes_and_reads_in_its_project_only() {
    for supervisor in supervisors().iter().filter(|_| has_kernel_sandbox()) {
        writes_and_reads(supervisor).await;
    }
}

async fn writes_and_reads(supervisor: &Supervisor) {
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "file", "old");
    put(outside.path(), "run.sh", "#!/bin/sh\necho ran\n");
    let bench = confined(supervisor, &[("own", "x")], Settings::default());
    std::os::unix::fs::symlink(outside.path(), bench.dir.path().join("link")).unwrap();
    let rows = [
        ("echo x > OUT/file", false),
        ("echo x >> OUT/new", false),
        ("mkdir OUT/folder", false),
        ("rm OUT/file", false),
        ("truncate -s 0 OUT/file", false),
        ("mv own OUT/own", false),
        ("mv OUT/file stolen", false),
        ("ln OUT/file stolen", false),
        ("ln own OUT/own", false),
        ("ln -s own OUT/own", false),
        ("mkfifo OUT/pipe", false),
        ("mknod disk b 8 0", false),
        ("mknod null c 1 3", false),
        ("mount -t tmpfs none .", false),
        ("unshare -Urm mount -t tmpfs none .", false),
        ("chroot OUT /run.sh", false),
        ("echo x > link/file", false),
        ("echo x > /proc/self/cwd/link/file", false),
        ("echo x > /proc/self/root/OUT/file", false),
        ("bash -c 'setsid -w sh -c \"echo x > OUT/file\"'", false),
        ("cat OUT/file", false),
        ("cat link/file", false),
        ("cat /proc/self/cwd/link/file", false),
        ("cat < OUT/file", false),
        ("ls OUT", false),
        ("cp OUT/file copy", false),
        ("tar cf all.tar OUT", false),
        ("sh OUT/run.sh", false),
        ("OUT/run.sh", false),
        ("mkdir -p a/b && echo x > a/b/c && mv a/b/c d && cat d && ls a", true),
        ("echo x > \"$TMPDIR/t\" && cat \"$TMPDIR/t\" && rm \"$TMPDIR/t\"", true),
        ("echo x > /dev/null && echo x > /dev/stderr && head -c 4 /dev/urandom > r", true),
        ("cat <(echo substituted) && cat <<< here", true),
        ("cat /etc/passwd > /dev/null && cat /proc/self/status > /dev/null", true),
        ("printf '#!/bin/sh\\necho mine' > m && chmod +x m && ./m", true),
    ];
    check(&bench, outside.path(), &rows).await;
    assert_eq!(std::fs::read_to_string(outside.path().join("file")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn the_places_of_secrets_are_closed() {
    for supervisor in supervisors().iter().filter(|_| has_kernel_sandbox()) {
        reads_no_secrets(supervisor).await;
    }
}

async fn reads_no_secrets(supervisor: &Supervisor) {
    let home = tempfile::tempdir().unwrap();
    let secret = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".gnupg/private-keys-v1.d/k",
        ".config/gh/hosts.yml",
        ".config/gcloud/access_tokens.db",
        ".config/git/credentials",
        ".kube/config",
        ".docker/config.json",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".cargo/credentials.toml",
        ".gem/credentials",
        ".m2/settings.xml",
        ".gradle/gradle.properties",
        ".bash_history",
        ".mozilla/firefox/p/logins.json",
        ".local/share/keyrings/login.keyring",
        ".local/state/kb/p-1/kb.db",
        ".password-store/a.gpg",
        "Documents/letter.txt",
        "other-project/.env",
    ];
    let open = [
        ".cargo/config.toml",
        ".cargo/registry/x",
        ".cargo/bin/tool",
        ".rustup/settings.toml",
        ".pyenv/version",
        ".nvm/nvm.sh",
        ".local/bin/tool",
        ".local/lib/python3/x.py",
        ".gitconfig",
        ".config/git/ignore",
        ".cache/pip/x",
    ];
    secret.iter().chain(&open).for_each(|at| put(home.path(), at, "text"));
    let bench = homely(supervisor, home.path(), Settings::default());
    // One command tries all of them and names those that it reached.
    let tried = |places: &[&str]| {
        let out = home.path().display();
        format!(
            "set +e; for at in {}; do cat {out}/$at >/dev/null && echo r $at; \
             echo x 2>/dev/null >>{out}/$at && echo w $at; done; true",
            places.join(" ")
        )
    };
    let reached = shell(&bench, &tried(&secret)).await;
    assert_eq!(reached.result["stdout"], "", "a secret was reached");
    let written = |at: &str| at.starts_with(".cache") || at.starts_with(".cargo/registry");
    let expected: String = open
        .iter()
        .flat_map(|at| {
            [format!("r {at}\n"), if written(at) { format!("w {at}\n") } else { String::new() }]
        })
        .collect();
    assert_eq!(shell(&bench, &tried(&open)).await.result["stdout"], expected);
    check(&bench, home.path(), &[("ls OUT", false), ("ls OUT/.config", false)]).await;

    let mut settings = Settings::default();
    settings.sandbox.read = vec!["~/Documents".into()];
    settings.sandbox.write = vec!["~/other-project".into()];
    let rows = [
        ("cat OUT/Documents/letter.txt", true),
        ("echo x > OUT/Documents/letter.txt", false),
        ("cat OUT/other-project/.env && echo x > OUT/other-project/new", true),
        ("cat OUT/.ssh/id_ed25519", false),
    ];
    check(&homely(supervisor, home.path(), settings), home.path(), &rows).await;
}

/// A confined bench whose home directory is another.
fn homely(supervisor: &Supervisor, home: &Path, settings: Settings) -> Bench {
    let bench = confined(supervisor, &[], Settings::default());
    let variables = std::env::vars().filter(|(name, _)| name != "HOME");
    let variables = variables.chain([("HOME".to_owned(), home.display().to_string())]);
    let parts = kb::tool::ToolboxParts {
        doubles: None,
        memory: None,
        clock: kb::clock::Clock::system().into(),
        tools: Vec::new(),
        workspace: bench.parts.workspace.clone(),
        supervisor: match supervisor.level() {
            ProcessLevel::Group => {
                Supervisor::new(BaseEnvironment::select(variables, &[])).without_namespaces()
            }
            ProcessLevel::PidNamespace => Supervisor::new(BaseEnvironment::select(variables, &[]))
                .with_init_program(env!("CARGO_BIN_EXE_kb")),
        },
        settings: settings.into(),
        approvals: Default::default(),
        redactor: Default::default(),
        sandbox: ApprovalLevel::Kernel,
    };
    Bench::new(bench.dir, parts)
}

#[tokio::test]
async fn toolchains_work_in_the_sandbox() {
    for supervisor in supervisors().iter().filter(|_| has_kernel_sandbox()) {
        builds(supervisor).await;
    }
}

async fn builds(supervisor: &Supervisor) {
    let bench = confined(
        supervisor,
        &[
            ("a.py", "import ssl, json, ctypes; print(json.dumps([1]))"),
            ("a.c", "int main(){return 0;}"),
            ("a.js", "require('crypto').randomBytes(4); console.log(require('os').cpus().length)"),
            ("a.rs", "fn main() { println!(\"hi\") }"),
        ],
        Settings::default(),
    );
    let programs = [
        ("python3", "python3 a.py"),
        ("node", "node a.js"),
        ("perl", "perl -MPOSIX -e 'print getpid()'"),
        ("gcc", "gcc a.c -o a.out && ./a.out"),
        ("rustc", "rustc -C opt-level=0 a.rs && ./a"),
        (
            "cargo",
            "cargo --version && { cargo locate-project || true; } 2>&1 | grep -q 'could not find'",
        ),
        (
            "git",
            "rm -rf r && mkdir r && cd r && { git status || true; } 2>&1 | grep -q 'not a git repo'",
        ),
        ("curl", "curl --version"),
    ];
    let mut tried = 0;
    for (program, command) in programs {
        let found = format!("command -v {program}");
        if bench.run("shell:exec", json!({"command": found})).await.failure.is_some() {
            eprintln!("skipped: no `{program}` here");
            continue;
        }
        check(&bench, Path::new(""), &[(command, true)]).await;
        tried += 1;
    }
    assert!(tried > 0, "no toolchain was tried");
}

#[tokio::test]
async fn a_command_reaches_no_process_outside() {
    for supervisor in supervisors().iter().filter(|_| has_kernel_sandbox()) {
        reaches_no_process(supervisor).await;
    }
}

async fn reaches_no_process(supervisor: &Supervisor) {
    let bench = confined(supervisor, &[], Settings::default());
    let own = std::process::id();
    let mut victim = std::process::Command::new("sleep").arg("600").start();
    let pid = victim.id();
    let scoped = cfg!(target_os = "linux")
        && kb::process::KernelSandbox::detect().unwrap().description().contains("signals");
    let commands = [
        format!("cat /proc/{own}/environ"),
        format!("cat /proc/{pid}/environ"),
        format!("ls -l /proc/{own}/fd/"),
        format!("cat /proc/{own}/root/etc/hostname"),
        format!("echo x > /proc/{own}/oom_score_adj"),
    ];
    for command in &commands {
        check(&bench, Path::new(""), &[(command, false)]).await;
    }
    if scoped {
        for signal in ["STOP", "TERM", "KILL", "HUP"] {
            check(&bench, Path::new(""), &[(&format!("kill -{signal} {pid}"), false)]).await;
        }
        check(&bench, Path::new(""), &[("sleep 60 & kill -KILL $!", true)]).await;
    } else {
        eprintln!("skipped in part: this kernel does not hold signals (Linux 6.12)");
    }
    assert!(victim.try_wait().unwrap().is_none(), "the process outside is gone");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// Of root's powers it has those that containers leave to their root, without making devices: bits 0,
/// 1, 3–8, 10, 13 and 31. A test that runs as somebody else has none to begin with.
#[tokio::test]
async fn a_command_has_few_of_the_powers_of_root() {
    let within = "while read -r name bits; do case $name in Cap[IPE]*) \
        [ $((0x$bits & ~0x800025fb)) = 0 ] || exit 1;; esac; done < /proc/self/status";
    for supervisor in supervisors().iter().filter(|_| has_kernel_sandbox()) {
        let bench = confined(supervisor, &[], Settings::default());
        check(&bench, Path::new(""), &[(within, true)]).await;
    }
}

#[tokio::test]
async fn a_command_that_meets_a_closed_place_is_told() {
    for supervisor in supervisors().iter().filter(|_| has_kernel_sandbox()) {
        is_told(supervisor).await;
    }
}

async fn is_told(supervisor: &Supervisor) {
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "file", "x");
    let bench = confined(supervisor, &[], Settings::default());
    let result = shell(&bench, &format!("cat {}/file", outside.path().display())).await;
    let note = result.result["note"].as_str().unwrap();
    assert!(note.contains("`sandbox.read`"), "{note}");
    let result = shell(&bench, "exec 3<>/dev/tcp/127.0.0.1/9").await;
    // Without a network of its own the connection was refused by this machine.
    if supervisor.missing_isolation().is_empty() {
        let note = result.result["note"].as_str().unwrap();
        assert!(note.contains("`network: open` in the specialist `helper`"), "{note}");
    } else {
        assert_eq!(result.result.get("note"), None);
    }
    assert_eq!(shell(&bench, "false").await.result.get("note"), None);
}

/// Definitions, settings, hooks and the state of `kb`, with the kernel's sandbox on and off. Where a
/// mount namespace holds them, nothing of theirs changes; elsewhere the call has failed afterwards.
#[tokio::test]
async fn what_people_decide_is_not_changed_by_a_command() {
    let files = [
        ("playbooks/p.yml", "id: p"),
        (".kb/kb.config.yml", "env: {}"),
        (".git/config", "[core]"),
        (".git/hooks/update.sample", "x"),
        (".git/HEAD", "ref: refs/heads/main"),
        (".git/modules/m/config", "[core]"),
        ("state/kb/kb.db", "journal"),
        ("src/a", "x"),
        (".gitignore", "ignored\n"),
    ];
    // What is there is held by a mount, where there is one; what is new is seen afterwards.
    let there = [
        "echo x >> playbooks/p.yml",
        "echo x > playbooks/new.yml",
        "rm playbooks/p.yml",
        "mv playbooks books && mkdir playbooks && echo x > playbooks/p.yml",
        "ln playbooks/p.yml src/hard && echo x >> src/hard",
        "echo x > .kb/kb.config.yml",
        "mkdir -p .kb/specialists && echo x > .kb/specialists/x.yml",
        "rm -r .kb && mkdir .kb && echo x > .kb/kb.config.yml",
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "cp .git/config c && echo x >> c && mv c .git/config",
        "echo x >> .git/modules/m/config",
        "mkdir -p .git/modules/m/hooks && echo x > .git/modules/m/hooks/update",
        "mkdir -p .git/worktrees/w && echo x > .git/worktrees/w/commondir",
        "mv .git g && mkdir .git && echo x > .git/config",
    ];
    let new = [
        "mkdir -p workflows && echo x > workflows/w.md",
        "mkdir -p agents/deep && echo x > agents/deep/a.md",
        "mkdir -p sub/.git/hooks && echo x > sub/.git/hooks/pre-commit",
        "mkdir -p sub && echo 'gitdir: ../src' > sub/.git",
        "mkdir -p ignored/deep/.git && echo x > ignored/deep/.git/config",
        "mkdir -p sub/.kb && echo x > sub/.kb/kb.config.yml",
        "mkdir -p sub/.KB && echo x > sub/.KB/kb.config.yml",
        "mkdir -p .husky && echo x > .husky/pre-commit",
        "echo '* filter=x' > .gitattributes",
        "echo x > .envrc",
    ];
    let mut attacks = 0;
    let held = if has_kernel_sandbox() { ApprovalLevel::Kernel } else { ApprovalLevel::Process };
    let off = supervisors().swap_remove(0);
    // In groups the kernel adds nothing to what is seen afterwards, so the quick form leaves it out.
    let skipped = if crate::proof::is_full() { 0 } else { supervisors().len() - 1 };
    let on = supervisors().into_iter().skip(skipped).map(|supervisor| (held, supervisor));
    for (level, supervisor) in [(ApprovalLevel::Process, off)].into_iter().chain(on) {
        let has_mounts = supervisor.level() == ProcessLevel::PidNamespace;
        let mounts = level == ApprovalLevel::Kernel && has_mounts;
        let fresh = || {
            let (sandbox, supervisor) = (Some(level), Some(supervisor.clone()));
            let files = files.to_vec();
            Setup { sandbox, supervisor, yes: true, files, ..Setup::default() }.bench()
        };
        for command in there.iter().chain(&new) {
            let bench = fresh();
            let result = shell(&bench, command).await;
            attacks += 1;
            assert_ne!(result.status, InvocationStatus::Success, "{level:?} `{command}`");
            let changed = result.failure.unwrap().code.as_str() == "KB0606";
            if mounts && there.contains(command) {
                assert!(!changed, "{level:?} `{command}` changed it: {:#}", result.result);
                assert_eq!(bench.text("playbooks/p.yml"), "id: p", "`{command}`");
                assert_eq!(bench.text(".kb/kb.config.yml"), "env: {}", "`{command}`");
                assert_eq!(bench.text(".git/config"), "[core]", "`{command}`");
                assert!(!bench.has(".git/hooks/pre-commit"), "`{command}`");
            } else {
                assert!(changed, "{level:?} `{command}`: {:#}", result.result);
            }
        }
        let bench = fresh();
        for command in [
            "cat playbooks/p.yml .kb/kb.config.yml .git/config",
            "mkdir -p src/playbooks && echo x > src/playbooks/p.yml",
            "echo x > .gitignore && mkdir .github && echo x > .github/x",
        ] {
            check(&bench, Path::new(""), &[(command, true)]).await;
        }
        let data = "echo x > .git/HEAD && mkdir -p .git/objects/aa && echo x > .git/objects/aa/b";
        check(&bench, Path::new(""), &[(data, !mounts)]).await;
    }
    crate::proof::record("sandbox: protected places", None, [("commands", attacks)]);
}

#[tokio::test]
async fn the_state_in_the_workspace_is_closed_to_commands() {
    let kept = supervisors().into_iter().find(|s| s.level() == ProcessLevel::PidNamespace);
    let Some(supervisor) = kept.as_ref().filter(|_| has_kernel_sandbox()) else {
        return eprintln!("skipped: no mount namespaces here");
    };
    let bench = confined(supervisor, &[("state/kb/kb.db", "journal")], Settings::default());
    let parts = kb::tool::ToolboxParts {
        doubles: None,
        memory: None,
        clock: kb::clock::Clock::system().into(),
        tools: Vec::new(),
        workspace: kb::workspace::Workspace::open(bench.dir.path(), &[], &["state/kb".into()])
            .unwrap(),
        supervisor: bench.parts.supervisor.clone(),
        settings: Default::default(),
        approvals: Default::default(),
        redactor: Default::default(),
        sandbox: ApprovalLevel::Kernel,
    };
    let bench = Bench::new(bench.dir, parts);
    let rows = [
        ("echo x > state/kb/kb.db", false),
        ("rm state/kb/kb.db", false),
        ("mv state/kb elsewhere", false),
        ("echo x > state/other", true),
    ];
    check(&bench, Path::new(""), &rows).await;
    assert_eq!(bench.text("state/kb/kb.db"), "journal");
}

const ONE_STEP: (&str, &str) = (
    "playbooks/p.yml",
    "schema: kb.playbook/1\nid: p\nname: p\nsteps:\n  - {id: a, run: [\"true\"]}\n",
);

/// What the levels come to for whoever runs `kb`, on a kernel that has less than this one: the
/// variable takes away, which is all it can do.
#[test]
fn a_run_below_the_required_level_is_refused_and_every_level_is_told() {
    use crate::scratch::Scratch;
    let kernel = sandbox_level(Default::default()) == ApprovalLevel::Kernel;
    let rows = [
        ("sandbox: {require: kernel}", "process", Some("kernel")),
        ("sandbox: required", "process", Some("kernel")),
        ("sandbox: {require: process}", "none", Some("process")),
        ("sandbox: {require: process}", "process", None),
        ("sandbox: {require: none}", "none", None),
        ("env: {}", "none", None),
        ("sandbox: required", "kernel", if kernel { None } else { Some("kernel") }),
    ];
    for (settings, reached, missing) in rows {
        let scratch = Scratch::new(&[ONE_STEP, (".kb/kb.config.yml", settings)]);
        let at_most = reached;
        let lower = |command: &mut std::process::Command| {
            command.env("KB_SANDBOX_AT_MOST", at_most);
        };
        let reached = if kernel || reached != "kernel" { reached } else { "process" };
        let said = scratch.kb_with(&["playbook", "run", "p"], lower);
        let doctor = scratch.kb_with(&["doctor"], lower);
        let label = format!("{settings} at {reached}");
        match missing {
            Some(required) => {
                let said = said.code(5);
                let message = format!(
                    "`sandbox.require: {required}` is not available on this machine; the level is `{reached}`"
                );
                assert!(said.err.contains("KB0563"), "{label}: {}", said.err);
                assert!(said.err.contains(&message), "{label}: {}", said.err);
                assert!(doctor.out.contains("below the required level"), "{label}: {}", doctor.out);
            }
            None => {
                said.code(0);
                let run = scratch.last_run();
                let events = scratch.kb(&["run", "events", &run]).code(0);
                let start = format!("\"sandbox\":\"{reached}\"");
                assert!(events.out.replace(": ", ":").contains(&start), "{label}: {}", events.out);
                assert!(doctor.out.contains(reached), "{label}: {}", doctor.out);
            }
        }
    }
}

/// The path rules for reading restrict commands of a specialist by directory.
#[tokio::test]
async fn a_command_reads_only_the_directories_that_the_read_rules_allow() {
    for supervisor in supervisors().iter().filter(|_| has_kernel_sandbox()) {
        for globs in [&["sub/**"][..], &["sub/*.txt", "sub/deep/**"]] {
            reads_by_rule(supervisor, globs).await;
        }
    }
}

async fn reads_by_rule(supervisor: &Supervisor, globs: &[&str]) {
    let globs = globs.iter().map(|glob| (*glob).to_owned()).collect();
    let security = ToolSecurity { allowed_paths: vec![globs], ..ToolSecurity::default() };
    let name = kb::value::ToolName::new("fs:read").unwrap();
    let mut settings = Settings::default();
    settings.tools.security.tools.insert(name, security);
    let files = [("sub/a.txt", "inside"), ("sub/deep/b", "inside"), ("out.txt", "secret")];
    let bench = confined(supervisor, &files, settings);
    let rows = [
        ("cat sub/a.txt sub/deep/b", true),
        ("ls sub", true),
        ("cat out.txt", false),
        ("cat sub/../out.txt", false),
        ("ln -s ../out.txt sub/link; cat sub/link", false),
        ("mv out.txt sub/moved; cat sub/moved", false),
        ("ln out.txt sub/hard; cat sub/hard", false),
        ("ls .", false),
        ("echo x > new.txt && mkdir made && echo y > made/new", true),
        ("cat new.txt", false),
        ("rm new.txt", true),
    ];
    let outside = tempfile::tempdir().unwrap();
    check(&bench, outside.path(), &rows).await;
}

/// Paths inside a readable directory that the rules forbid are hidden where there are mount namespaces.
#[tokio::test]
async fn a_command_reads_no_forbidden_path_inside_a_readable_directory() {
    let denied = ["**/.env", "sub/keys/**", "notes/*.txt"].map(str::to_owned).to_vec();
    let security = ToolSecurity { denied_paths: denied, ..ToolSecurity::default() };
    let rows = [
        ("cat .env", false),
        ("cat sub/.env", false),
        ("cat sub/keys/a", false),
        ("ls sub/keys/deep", false),
        ("cat notes/a.txt", false),
        ("cat notes/../notes/a.txt", false),
        ("ln -s .env link; cat link", false),
        ("ln sub/.env hard", false),
        ("cp -r sub copy; cat copy/.env", false),
        ("mv .env plain", false),
        ("mv sub other", false),
        ("mv sub/keys sub/other", false),
        ("rm -rf sub/keys", false),
        ("chmod 777 .env sub/keys; cat .env", false),
        ("echo x > .env", false),
        ("tar -cf all.tar . || true; grep -q inside all.tar", true),
        ("grep -q secret all.tar", false),
        ("umount .env", false),
        ("unshare -m cat .env", false),
        ("cat notes/a.md sub/a.txt", true),
        ("echo x > sub/new && cat sub/new && rm sub/new", true),
    ];
    hides(security, &rows).await;
}

/// Globs below the directory that they begin with permit single files.
#[tokio::test]
async fn a_command_reads_only_the_files_of_a_directory_that_the_read_rules_allow() {
    let allowed = ["sub/*.txt", "notes/**"].map(str::to_owned).to_vec();
    let security = ToolSecurity { allowed_paths: vec![allowed], ..ToolSecurity::default() };
    let rows = [
        ("cat sub/a.txt notes/a.txt notes/a.md", true),
        ("cat sub/.env", false),
        ("cat sub/keys/a", false),
        ("ls sub/keys/deep", false),
        ("echo x > sub/new.txt && cat sub/new.txt", true),
    ];
    hides(security, &rows).await;
}

async fn hides(security: ToolSecurity, rows: &[(&str, bool)]) {
    let files = [
        (".env", "secret"),
        ("sub/.env", "secret"),
        ("sub/a.txt", "inside"),
        ("sub/keys/a", "secret"),
        ("sub/keys/deep/b", "secret"),
        ("notes/a.txt", "secret"),
        ("notes/a.md", "inside"),
    ];
    let name = kb::value::ToolName::new("fs:read").unwrap();
    let mut settings = Settings::default();
    settings.tools.security.tools.insert(name, security);
    let can_hide = |supervisor: &&Supervisor| has_kernel_sandbox() && supervisor.can_hide_paths();
    for supervisor in supervisors().iter().filter(can_hide) {
        let bench = confined(supervisor, &files, settings.clone());
        let outside = tempfile::tempdir().unwrap();
        check(&bench, outside.path(), rows).await;
        for (path, text) in &files {
            assert_eq!(bench.text(path), *text, "{path} was changed");
        }
    }
}

/// More than can be hidden is an error, not a hole.
#[tokio::test]
async fn a_command_is_denied_if_too_many_files_are_forbidden() {
    let denied = vec!["many/*.key".to_owned()];
    let security = ToolSecurity { denied_paths: denied, ..ToolSecurity::default() };
    let name = kb::value::ToolName::new("fs:read").unwrap();
    let mut settings = Settings::default();
    settings.tools.security.tools.insert(name, security);
    let can_hide = |supervisor: &&Supervisor| has_kernel_sandbox() && supervisor.can_hide_paths();
    for supervisor in supervisors().iter().filter(can_hide) {
        let bench = confined(supervisor, &[("many/a.key", "secret")], settings.clone());
        let many = bench.dir.path().join("many");
        (0..1_000).for_each(|n| std::fs::write(many.join(format!("{n}.key")), "secret").unwrap());
        let result = shell(&bench, "true").await;
        assert_eq!(result.status, InvocationStatus::Denied, "{:#}", result.result);
        std::fs::remove_file(many.join("7.key")).unwrap();
        check(&bench, &many, &[("cat many/999.key", false), ("true", true)]).await;
    }
}

/// A file of the project that runs as the user of `kb` for everybody: no call makes one.
#[tokio::test(flavor = "multi_thread")]
async fn no_file_of_the_project_gets_the_identity_of_kb() {
    if !has_kernel_sandbox() {
        return;
    }
    let python = |call: &str| format!("python3 -c 'import os; {call}'");
    let opens = python("os.open(\"o\", os.O_CREAT | os.O_WRONLY, 0o4755)");
    let temporary = python("os.open(\".\", os.O_TMPFILE | os.O_WRONLY, 0o4755)");
    let plain = python(
        "os.close(os.open(\"n\", os.O_CREAT | os.O_WRONLY, 0o755)); os.open(\"n\", 0, 0o7777)",
    );
    let rows: [(&str, bool); 8] = [
        ("chmod 4755 tool", false),
        ("chmod g+s tool", false),
        ("install -m 6755 tool other", false),
        (&opens, false),
        (&temporary, false),
        ("mknod -m 4755 pipe p", false),
        ("chmod 755 tool && cp -p tool copy", true),
        (&plain, true),
    ];
    for supervisor in supervisors() {
        let bench = confined(&supervisor, &[("tool", "#!/bin/sh\n")], Settings::default());
        check(&bench, Path::new("/nowhere"), &rows).await;
        assert_eq!(
            shell(&bench, "find . -perm /6000 | grep .").await.status,
            InvocationStatus::Failed
        );
    }
}
