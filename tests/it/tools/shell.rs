//! `shell:exec`: results, limits, approvals, and the evidence of what a command changed.

use super::bench::{Bench, Setup, bench, call, call_of, told};
use insta::assert_snapshot;
use kb::definition::ApprovalLevel;
use kb::evidence::{ChangeKind, InvocationStatus};
use kb::tool::Call;
use kb::value::{Digest, Json};
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn approved(files: &[(&'static str, &'static str)]) -> Bench {
    Setup { yes: true, files: files.to_vec(), ..Setup::default() }.bench()
}

fn by_specialist(args: Json) -> Call {
    call_of(&["shell:exec"], "shell:exec", args)
}

#[tokio::test]
async fn runs_a_shell_line_or_a_program() {
    let bench = bench(&[("src/a.txt", "x")]);
    let cases = [
        (json!({"command": "echo out; echo err >&2"}), 0, "out\n", "err\n"),
        (json!({"argv": ["printf", "%s|%s", "a b", "$HOME"]}), 0, "a b|$HOME", ""),
        (json!({"command": "ls", "cwd": "src"}), 0, "a.txt\n", ""),
        (json!({"command": "printf %s \"$WORD\"", "env": {"WORD": "a;b"}}), 0, "a;b", ""),
    ];
    for (args, code, out, err) in cases {
        let result = bench.ok("shell:exec", args.clone()).await;
        let expected = json!({"exitCode": code, "stdout": out, "stderr": err});
        assert_eq!(result, expected, "{args}");
    }
}

#[tokio::test]
async fn a_shell_line_stops_at_its_first_error() {
    let bench = bench(&[]);
    for (command, code) in [("false; echo on", 1), ("false | true; echo on", 1), ("exit 7", 7)] {
        let result = bench.run("shell:exec", json!({"command": command})).await;
        assert_eq!(result.status, InvocationStatus::Failed, "{command}");
        let expected = json!({"exitCode": code, "stdout": "", "stderr": ""});
        assert_eq!(result.result, expected, "{command}");
        let message = result.failure.unwrap().message;
        assert_eq!(message, format!("the command exited with code {code}"));
        assert_eq!(json!(result.process.unwrap())["exitCode"], code);
    }
    let unset = bench.run("shell:exec", json!({"command": "echo $NO_SUCH_THING"})).await;
    assert_eq!(unset.status, InvocationStatus::Failed);
}

#[tokio::test]
async fn refuses_what_no_call_may_ask_for() {
    let bench = bench(&[("file", "")]);
    let mut lines = Vec::new();
    for args in [
        json!({}),
        json!({"command": "ls", "argv": ["ls"]}),
        json!({"argv": []}),
        json!({"command": "ls", "cwd": ".."}),
        json!({"command": "ls", "cwd": "file"}),
        json!({"command": "ls", "env": {"KB_IDEMPOTENCY_KEY": "x"}}),
        json!({"command": "ls", "env": {"PATH": "."}}),
        json!({"command": "ls", "env": {"A=B": "x"}}),
        json!({"argv": ["no-such-program-anywhere"]}),
    ] {
        lines.push(told_or_error(bench.run("shell:exec", args).await));
    }
    assert_snapshot!(lines.join("\n"), @r"
    Failed KB0603 pass either `command` or `argv`
    Failed KB0603 pass either `command` or `argv`
    Failed KB0603 invalid arguments for `shell:exec`: `argv`: value has less than 1 item
    Denied KB0605 `..` leads out of the workspace
    Failed KB0609 `file` is a file, not a directory
    Denied KB0620 the environment variable `KB_IDEMPOTENCY_KEY` cannot be set by a call
    Denied KB0620 the environment variable `PATH` cannot be set by a call
    Denied KB0620 the environment variable `A=B` cannot be set by a call
    Failed KB0616 the command could not be started: no program `no-such-program-anywhere` in PATH
    ");
}

fn told_or_error(result: kb::tool::CallResult) -> String {
    assert!(result.result["error"]["code"].is_string(), "{}", result.result);
    told(&result)
}

#[tokio::test]
async fn is_stopped_at_the_shorter_of_its_limits() {
    let bench = bench(&[]);
    let cancel = CancellationToken::new();
    let slow =
        |ms: u64| call("shell:exec", json!({"command": "echo begun; sleep 60", "timeoutMs": ms}));
    let cases = [(100, 60_000), (60_000, 100)];
    for (own, attempt) in cases {
        let attempt = bench.tools.for_attempt(Some(Duration::from_millis(attempt)));
        let (result, invocation) = attempt.call(&slow(own), &cancel).await;
        assert_eq!(told(&result), "Timeout KB0615 the command timed out after 100ms");
        assert_eq!(result.result["stdout"], "begun\n");
        assert_eq!(result.result["exitCode"], Json::Null);
        assert_eq!(json!(invocation.process.unwrap())["end"], "timeout");
    }
}

#[tokio::test]
async fn is_stopped_when_its_step_is() {
    let bench = bench(&[]);
    let cancel = CancellationToken::new();
    let slow = call("shell:exec", json!({"command": "sleep 60"}));
    let work = bench.tools.call(&slow, &cancel);
    let stop = async { cancel.cancel() };
    let ((result, _), ()) = tokio::join!(work, stop);
    assert_eq!(told(&result), "Failed KB0621 the tool call was cancelled");
}

#[tokio::test]
async fn records_what_the_command_changed() {
    let bench = bench(&[
        (".gitignore", "target\n"),
        ("kept", "same"),
        ("edited", "old"),
        ("gone", "x"),
        ("target/out", "1"),
    ]);
    let command =
        "echo new > edited; rm gone; mkdir -p a/b; printf hi > a/b/c; echo 2 > target/out";
    let (_, invocation) = bench.make(&call("shell:exec", json!({"command": command}))).await;
    let seen: Vec<_> = invocation
        .changes
        .iter()
        .map(|c| (c.path.as_str(), c.kind().unwrap(), c.after.as_ref().and_then(|a| a.sha256)))
        .collect();
    let expected = [
        ("a/b/c", ChangeKind::Created, Some(Digest::of("hi"))),
        ("edited", ChangeKind::Modified, Some(Digest::of("new\n"))),
        ("gone", ChangeKind::Deleted, None),
    ];
    assert_eq!(seen, expected);
    let process = json!(invocation.process.unwrap());
    assert_eq!(process["argv"][0], "bash");
    assert_eq!((&process["cwd"], &process["end"]), (&json!("."), &json!("exit")));

    let quiet = Call { evidence: false, ..call("shell:exec", json!({"command": "touch x"})) };
    assert!(bench.make(&quiet).await.1.changes.is_empty());
}

#[tokio::test]
async fn counts_what_it_cuts_of_a_long_output() {
    let bench = bench(&[]);
    let result =
        bench.ok("shell:exec", json!({"command": "head -c 3000000 /dev/zero | tr '\\0' x"})).await;
    assert_eq!(result["stdout"].as_str().unwrap().len(), 1 << 20);
    assert_eq!(result["note"], "truncated: 1951424 more bytes of stdout, 0 of stderr");
}

#[tokio::test]
async fn a_specialist_needs_an_approval_or_the_sandbox() {
    use ApprovalLevel::{Kernel, None, Process};
    let cases = [
        (false, Process, Option::None, false),
        (false, Kernel, Option::None, true),
        (true, None, Option::None, true),
        (false, Process, Some(Process), true),
        (false, None, Some(Process), false),
        (false, None, Some(None), true),
    ];
    for (yes, sandbox, wanted, allowed) in cases {
        let mut settings = kb::definition::Settings::default();
        settings.sandbox.critical_unapproved_at = wanted.unwrap_or_default();
        let setup = Setup { settings, yes, sandbox: Some(sandbox), ..Setup::default() };
        let bench = setup.bench();
        let (result, _) = bench.make(&by_specialist(json!({"command": "true"}))).await;
        let label = format!("{yes} {sandbox:?} {wanted:?}");
        assert_eq!(result.status == InvocationStatus::Success, allowed, "{label}");
        if !allowed {
            assert!(
                told(&result).starts_with("Denied KB0604 `shell:exec` requires approval"),
                "{label}"
            );
            assert_eq!(result.result["error"]["help"], "start the run with `--yes`");
        }
        assert_eq!(
            bench.run("shell:exec", json!({"command": "true"})).await.status,
            InvocationStatus::Success
        );
    }
}

#[tokio::test]
async fn a_specialist_that_changes_definitions_has_failed() {
    let bench = approved(&[("playbooks/p.yml", "id: p")]);
    let write = by_specialist(json!({"command": "echo x >> playbooks/p.yml; echo y > fine"}));
    let (result, invocation) = bench.make(&write).await;
    assert_eq!(
        told(&result),
        "Failed KB0606 the command changed protected paths: `playbooks/p.yml`"
    );
    assert_eq!(invocation.changes.len(), 2);
    let author = bench.run("shell:exec", json!({"command": "echo x >> playbooks/p.yml"})).await;
    assert_eq!(author.status, InvocationStatus::Success);
}

#[tokio::test]
async fn a_specialist_that_changes_what_ignore_rules_hide_has_failed() {
    let files = [
        (".gitignore", "agents\n"),
        ("agents/a.md", "abc"),
        (".git/config", "abc"),
        (".git/hooks/pre-commit", "abc"),
        (".git/HEAD", "abc"),
    ];
    let cases = [
        ("echo x > agents/a.md", "agents/a.md"),
        ("echo x > .git/hooks/post-checkout", ".git/hooks/post-checkout"),
        ("chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("rm .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("ln -s /etc/hosts .git/hooks/update", ".git/hooks/update"),
        ("mkdir .git/info; echo '*' > .git/info/exclude", ".git/info/exclude"),
        ("mv .git/config kept; ln -s ../kept .git/config", ".git/config"),
        ("cp -p .git/config k; printf xyz > .git/config; touch -r k .git/config", ".git/config"),
        ("mkdir .KB; echo x > .KB/y", ".KB/y"),
        ("echo x > .git/HEAD; mkdir -p .git/info; echo x > .git/info/refs", ""),
        ("touch .git/config agents/a.md; ls .git > /dev/null", ""),
    ];
    for (command, changed) in cases {
        for evidence in [true, false] {
            let bench = approved(&files);
            let call = Call { evidence, ..by_specialist(json!({"command": command})) };
            let (result, invocation) = bench.make(&call).await;
            match changed {
                "" => assert_eq!(result.status, InvocationStatus::Success, "{command}"),
                path => {
                    let told = told(&result);
                    let begins = "Failed KB0606 the command changed protected paths: ";
                    // A link of git's settings protects the file that it leads to.
                    assert!(
                        told.starts_with(begins) && told.contains(&format!("`{path}`")),
                        "{told}"
                    );
                    assert!(invocation.changes.iter().any(|c| c.path == path), "{command}");
                }
            }
            let free = bench.run("shell:exec", json!({"command": command})).await;
            assert!(free.failure.is_none_or(|f| f.code.as_str() != "KB0606"), "{command}");
        }
    }
}

#[tokio::test]
async fn the_step_environment_reaches_the_command() {
    let bench = bench(&[("sub/x", "")]);
    let mut with_env = call("shell:exec", json!({"command": "echo $A $B; pwd | sed 's:.*/::'"}));
    with_env.env = vec![("A".into(), "1".into()), ("B".into(), "2".into())];
    with_env.cwd = "sub".into();
    let (result, invocation) = bench.make(&with_env).await;
    assert_eq!(result.result["stdout"], "1 2\nsub\n");
    let process = json!(invocation.process.unwrap());
    assert_eq!((&process["cwd"], &process["env"]), (&json!("sub"), &json!(["A", "B"])));
}

#[tokio::test]
async fn the_kernel_holds_the_writes_of_a_specialist() {
    if kb::tool::sandbox_level(Default::default()) != ApprovalLevel::Kernel {
        return eprintln!("skipped: this kernel has no Landlock of Linux 6.2 or later");
    }
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("file");
    std::fs::write(&target, "old").unwrap();
    let bench = Setup { sandbox: Some(ApprovalLevel::Kernel), ..Setup::default() }.bench();
    let out = target.display();
    let cases = [
        (format!("echo x > {out}"), false),
        (format!("rm {out}"), false),
        (format!("truncate -s 0 {out}"), false),
        (format!("bash -c 'setsid -w sh -c \"echo x > {out}\"'"), false),
        (format!("ln {out} inside; echo x > inside"), false),
        (format!("ln -s {out} link; echo x > link"), false),
        (format!("cat {out}"), false),
        ("mkdir -p a/b && echo x > a/b/c && mv a/b/c d".into(), true),
        ("echo x > \"$TMPDIR/t\" && echo x > /dev/null && echo x > /dev/stderr".into(), true),
    ];
    for (command, works) in cases {
        let (result, _) = bench.make(&by_specialist(json!({"command": command}))).await;
        let worked = result.status == InvocationStatus::Success;
        assert_eq!(worked, works, "{command}: {}", result.result);
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "old", "{command}");
    }
    let free = format!("echo new > {out}");
    bench.ok("shell:exec", json!({"command": free})).await;
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "new\n");
}
