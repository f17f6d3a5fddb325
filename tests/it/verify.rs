//! LANGUAGE §6: claims against evidence and disk, and the checks of a gate, over real tools and files.

use kb::definition::{
    ApprovalLevel, Check, ClaimPolicy, CommandCheck, FileCheck, FileCount, JudgeCheck, Schema,
    Settings,
};
use kb::diagnostic::{SourceId, Span};
use kb::evidence::{Invocation, InvocationStatus, Verification};
use kb::executor::{GateRequest, HostAccess, run_gate};
use kb::expression::{Expression, Names, Origin, Root, Scope, Style, Template};
use kb::process::{BaseEnvironment, Supervisor};
use kb::redaction::Redactor;
use kb::tool::{Approvals, Call, Caller, Toolbox, ToolboxParts};
use kb::value::{Json, StepId};
use kb::workspace::Workspace;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A workspace with what a step did in it so far.
struct Work {
    dir: tempfile::TempDir,
    tools: Toolbox,
    host: HostAccess,
    trace: Vec<Invocation>,
}

/// The step under the gate: `own.output` is its output.
struct Own(Json);

impl Scope for Own {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        match (root, field) {
            (Root::Step(_), Some("output")) => Some(Arc::new(self.0.clone())),
            _ => None,
        }
    }
}

fn work(files: &[(&str, &str)]) -> Work {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let parts = ToolboxParts {
        tools: Vec::new(),
        doubles: None,
        memory: None,
        clock: kb::clock::Clock::system().into(),
        workspace: Workspace::open(dir.path(), &[], &[]).unwrap(),
        supervisor: Supervisor::new(BaseEnvironment::select(std::env::vars(), &[])),
        settings: Arc::new(Settings::default()),
        approvals: Approvals { yes: true },
        redactor: Arc::new(Redactor::default()),
        sandbox: ApprovalLevel::Kernel,
    };
    let host = HostAccess::of(&parts);
    Work { dir, tools: Toolbox::new(parts), host, trace: Vec::new() }
}

impl Work {
    async fn call(&mut self, tool: &str, args: Json) -> &mut Invocation {
        let call = Call {
            approved: false,
            answers: Default::default(),
            id: format!("c{}", self.trace.len() + 1),
            tool: tool.into(),
            args,
            caller: Caller::Author,
            env: Vec::new(),
            cwd: String::new(),
            evidence: true,
        };
        let (result, invocation) = self.tools.call(&call, &CancellationToken::new()).await;
        assert_eq!(result.status, InvocationStatus::Success, "{:#}", result.result);
        self.trace.push(invocation);
        self.trace.last_mut().unwrap()
    }

    async fn write(&mut self, path: &str, content: &str) {
        self.call("fs:write", json!({"path": path, "content": content})).await;
    }

    async fn delete(&mut self, path: &str) {
        self.call("fs:delete", json!({"path": path})).await;
    }

    async fn shell(&mut self, command: &str) {
        self.call("shell:exec", json!({"command": command})).await;
    }

    /// Changes a file behind everybody's back.
    fn secretly(&self, path: &str, content: Option<&str>) {
        let path = self.dir.path().join(path);
        match content {
            Some(content) => std::fs::write(path, content).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
    }

    fn request(&self, output: Json) -> GateRequest {
        GateRequest {
            of: None,
            tree: None,
            tools: Default::default(),
            checks: Vec::new(),
            claims: ClaimPolicy::Strict,
            changes_declared: false,
            after_refuted: false,
            expect_changes: false,
            output: Arc::new(output),
            output_schema: None,
            trace: self.trace.clone(),
            unwatched: false,
            env: Vec::new(),
            cwd: String::new(),
            sandboxed: None,
            confined: kb::attempt::Live::always(None),
            timeout: None,
            judged: None,
            received: None,
            excused: Vec::new(),
            asked: Default::default(),
            earlier: Vec::new(),
        }
    }

    async fn judge(&self, request: GateRequest) -> Verification {
        let scope = Own((*request.output).clone());
        run_gate(request, &scope, &self.host, (&CancellationToken::new(), None), None).await
    }

    /// The verdict over an output's claims, with its reason.
    async fn claims(&self, output: Json) -> String {
        told(&self.judge(self.request(output)).await)
    }

    /// The verdict over checks alone.
    async fn checks(&self, checks: Vec<Check>) -> String {
        let request = GateRequest {
            tools: Default::default(),
            checks,
            claims: ClaimPolicy::None,
            ..self.request(json!({"count": 3, "files": ["a.rs"], "option": "-c", "code": "exit 0"}))
        };
        told(&self.judge(request).await)
    }
}

fn told(verification: &Verification) -> String {
    match &verification.reason {
        Some(reason) => format!("{}: {reason}", verification.verdict),
        None => verification.verdict.to_string(),
    }
}

fn names() -> Names {
    Names { steps: [StepId::new("own").unwrap()].into(), ..Names::default() }
}

const ORIGIN: Origin =
    Origin { span: Span { source: SourceId(0), start: 0, end: 1 }, verbatim: None };

fn template(text: &str) -> Template {
    Template::parse(text, ORIGIN, &names(), Style::Playbook).unwrap()
}

fn file(path: &str) -> Check {
    Check::File(FileCheck {
        path: template(path),
        min_count: 1,
        count: None,
        changed: None,
        absent: false,
    })
}

fn at_least(path: &str, min_count: u32) -> Check {
    Check::File(FileCheck {
        path: template(path),
        min_count,
        count: None,
        changed: None,
        absent: false,
    })
}

fn absent(path: &str) -> Check {
    Check::File(FileCheck {
        path: template(path),
        min_count: 1,
        count: None,
        changed: None,
        absent: true,
    })
}

fn changed(path: &str, changed: bool) -> Check {
    Check::File(FileCheck {
        path: template(path),
        min_count: 1,
        count: None,
        changed: Some(changed),
        absent: false,
    })
}

fn containing(path: &str, pattern: &str, min: u32, max: Option<u32>) -> Check {
    let count = Some(FileCount { pattern: pattern.to_owned(), min, max });
    Check::File(FileCheck {
        path: template(path),
        min_count: 1,
        count,
        changed: None,
        absent: false,
    })
}

fn command(argv: &[&str]) -> Check {
    deciding(argv, &[])
}

fn deciding(argv: &[&str], inputs: &[&str]) -> Check {
    Check::Command(CommandCheck {
        argv: argv.iter().map(|word| template(word)).collect(),
        inputs: inputs.iter().map(|glob| (*glob).to_owned()).collect(),
        may_change: Vec::new(),
        must_fail_before: false,
        must_fail: false,
        tests: None,
        timeout: None,
    })
}

fn expr(source: &str) -> Check {
    Check::Expr(Expression::parse(source, ORIGIN, &names(), Style::Playbook).unwrap())
}

#[tokio::test]
async fn claims_with_matching_evidence_pass() {
    let mut work = work(&[("old.rs", "old"), ("gone.rs", "x"), ("kept.rs", "x")]);
    work.write("src/new.rs", "one").await;
    work.write("src/new.rs", "two").await;
    work.write("old.rs", "changed").await;
    work.delete("gone.rs").await;
    work.shell("mkdir -p gen && echo g > gen/a.txt && echo more >> kept.rs").await;
    let output = json!({
        "summary": "Done.",
        "created": ["src/new.rs", "./gen/a.txt"],
        "modified": ["old.rs", "kept.rs"],
        "deleted": ["gone.rs"],
    });
    let verification = work.judge(work.request(output)).await;
    assert_eq!(told(&verification), "passed");
    assert_eq!(verification.checks.len(), 5);
    assert_eq!(verification.confidence, kb::evidence::Confidence::High);
    let detail = &verification.checks[0];
    assert_eq!(detail.check, "claim created src/new.rs");
    assert_eq!(detail.evidence.as_ref().unwrap()["calls"], json!(["c1", "c2"]));
    assert_eq!(detail.evidence.as_ref().unwrap()["now"]["size"], json!(3));
    let absolute = work.dir.path().canonicalize().unwrap().join("src/new.rs");
    // A report may name the other changes anywhere.
    let beside = json!(["old.rs", "gone.rs", "kept.rs", "gen/a.txt"]);
    for output in [
        json!({"created": [absolute], "beside": beside}),
        json!({"created": ["src"], "modified": ["gen/"], "beside": beside}),
    ] {
        let excused = vec!["beside".to_owned()];
        let request = GateRequest { excused, ..work.request(output) };
        assert_eq!(told(&work.judge(request).await), "passed");
    }
}

#[tokio::test]
async fn a_claim_without_evidence_fails_whatever_is_on_disk() {
    let mut work = work(&[("there.rs", "x"), ("src/a.rs", "x")]);
    work.call("fs:read", json!({"path": "there.rs"})).await;
    for (output, expected) in [
        (
            json!({"created": ["src/greeting.sh"]}),
            "failed: `src/greeting.sh` is claimed as created, but no recorded call wrote it and it is not on disk",
        ),
        (
            json!({"created": ["there.rs"]}),
            "failed: `there.rs` is claimed as created, but no recorded call wrote it; the existing file is not the work of this step",
        ),
        (
            json!({"modified": ["there.rs"]}),
            "failed: `there.rs` is claimed as modified, but no recorded call changed it",
        ),
        (
            json!({"deleted": ["there.rs"]}),
            "failed: `there.rs` is claimed as deleted, but no recorded call deleted it and it still exists",
        ),
        (
            json!({"deleted": ["never.rs"]}),
            "failed: `never.rs` is claimed as deleted, but no recorded call deleted it; it did not exist before",
        ),
        (
            json!({"created": ["src"]}),
            "failed: the folder `src` is claimed as created, but files in it existed before the step started",
        ),
        (
            json!({"created": ["../out.rs"]}),
            "failed: `../out.rs` is claimed as created, but `../out.rs` leads out of the workspace",
        ),
        (
            json!({"artifacts": {"filesCreated": [{"file": "x.rs", "lines": 3}], "other": ["y"]}}),
            "failed: `x.rs` is claimed as created, but no recorded call wrote it and it is not on disk",
        ),
        (
            json!({"files_modified": "x.rs"}),
            "failed: `x.rs` is claimed as modified, but no recorded call changed it and it is not on disk",
        ),
    ] {
        assert_eq!(work.claims(output).await, expected);
    }
}

#[tokio::test]
async fn a_claim_must_agree_in_order_with_what_was_before() {
    let mut work = work(&[("old.rs", "old"), ("same.rs", "same")]);
    work.write("old.rs", "new").await;
    work.write("born.rs", "x").await;
    work.write("same.rs", "other").await;
    work.write("same.rs", "same").await;
    work.write("brief.rs", "x").await;
    work.delete("brief.rs").await;
    for (output, expected) in [
        (
            json!({"created": ["old.rs"]}),
            "failed: `old.rs` is claimed as created, but it existed before the step started",
        ),
        (
            json!({"modified": ["born.rs"]}),
            "failed: `born.rs` is claimed as modified, but it did not exist before: the step created it",
        ),
        (
            json!({"modified": ["same.rs"]}),
            "failed: `same.rs` is claimed as modified, but its content is the same as before the step",
        ),
        (
            json!({"created": ["brief.rs"]}),
            "failed: `brief.rs` is claimed as created, but the last recorded call deleted it (`fs:delete`, call `c6`)",
        ),
        (
            json!({"deleted": ["brief.rs"]}),
            "inconclusive: `brief.rs` is claimed as deleted, but it did not exist before the step started",
        ),
        (
            json!({"deleted": ["old.rs"]}),
            "failed: `old.rs` is claimed as deleted, but it still exists",
        ),
    ] {
        assert_eq!(work.claims(output).await, expected);
    }
    // A second attempt edits what the first one created, and may say either.
    work.write("born.rs", "better").await;
    for kind in ["modified", "created"] {
        let output = json!({kind: ["born.rs"], "beside": "old.rs and same.rs"});
        let found = work.claims(output).await;
        assert!(found.starts_with("unchecked: 1 statement holds, 1 was not checked"), "{found}");
    }
}

#[tokio::test]
async fn what_is_on_disk_must_be_what_was_recorded() {
    let mut work = work(&[("old.rs", "old"), ("gone.rs", "x")]);
    work.write("new.rs", "abc").await;
    work.write("lost.rs", "abc").await;
    work.write("old.rs", "newer").await;
    work.delete("gone.rs").await;
    work.secretly("new.rs", Some("abd"));
    work.secretly("lost.rs", None);
    work.secretly("gone.rs", Some("back"));
    for (output, expected) in [
        (
            json!({"created": ["new.rs"]}),
            "failed: `new.rs` is claimed as created, but its content differs from what the last recorded call wrote (`fs:write`, call `c1`): 3 bytes now, 3 then, with another digest",
        ),
        (
            json!({"created": ["lost.rs"]}),
            "failed: `lost.rs` is claimed as created and a recorded call wrote it (`fs:write`, call `c2`), but it is no longer on disk",
        ),
        (
            json!({"deleted": ["gone.rs"]}),
            "failed: `gone.rs` is claimed as deleted and a recorded call deleted it, but it exists again",
        ),
        (
            json!({"modified": ["old.rs"], "beside": "new.rs, lost.rs and gone.rs"}),
            "inconclusive: `lost.rs` was written by `fs:write` (call `c2`) and is gone, and no recorded call did that",
        ),
    ] {
        assert_eq!(work.claims(output).await, expected);
    }
}

#[tokio::test]
async fn where_the_record_has_gaps_absence_in_it_proves_nothing_and_on_disk_it_does() {
    let mut work = work(&[("there.rs", "x")]);
    work.call("fs:exists", json!({"path": "a"})).await.status = InvocationStatus::Unknown;
    assert_eq!(
        work.claims(json!({"created": ["there.rs"]})).await,
        "inconclusive: `there.rs` is claimed as created, but no recorded call wrote it; the existing file is not the work of this step; the outcome of the call `c1` of `fs:exists` is unknown"
    );
    assert_eq!(
        work.claims(json!({"created": ["a.rs"]})).await,
        "failed: `a.rs` is claimed as created, but no recorded call wrote it and it is not on disk"
    );
}

#[tokio::test]
async fn looking_is_no_work() {
    let mut work = work(&[]);
    work.write("a.rs", "x").await;
    work.trace[0].purpose = kb::evidence::Purpose::Verification;
    assert!(work.claims(json!({"created": ["a.rs"]})).await.starts_with("failed: `a.rs`"));
}

#[tokio::test]
async fn under_warn_a_refuted_claim_is_listed_and_passes() {
    let work = work(&[]);
    let request =
        GateRequest { claims: ClaimPolicy::Warn, ..work.request(json!({"created": ["a.rs"]})) };
    let verification = work.judge(request).await;
    assert_eq!(verification.verdict, kb::evidence::Verdict::Passed);
    assert_eq!(verification.confidence, kb::evidence::Confidence::Low);
    assert_eq!(verification.reason, verification.checks[0].reason);
    let reason = verification.checks[0].reason.as_deref().unwrap();
    assert!(verification.checks[0].warning);
    assert!(reason.starts_with("`a.rs` is claimed as created, but"), "{reason}");
    let request =
        GateRequest { claims: ClaimPolicy::None, ..work.request(json!({"created": ["a.rs"]})) };
    assert_eq!(work.judge(request).await.checks, []);
}

#[tokio::test]
async fn expected_changes_that_did_not_happen_are_refuted() {
    let mut work = work(&[("a.rs", "x")]);
    let silent = json!({"summary": "done", "created": []});
    let request =
        |work: &Work| GateRequest { expect_changes: true, ..work.request(silent.clone()) };
    let nothing = "failed: the step was expected to change files, but it claims nothing and no change was recorded, and \
                   the output says nothing; name the changes, or submit `noChanges` with the reason";
    assert_eq!(told(&work.judge(request(&work)).await), nothing);
    work.write("a.rs", "y").await;
    work.write("a.rs", "x").await;
    assert_eq!(told(&work.judge(request(&work)).await), nothing);
    work.write("a.rs", "z").await;
    assert_eq!(told(&work.judge(request(&work)).await), "passed");
    let unchecked = "unchecked: the output claims nothing, and the step has no checks";
    assert_eq!(told(&work.judge(work.request(silent)).await), unchecked);
}

#[tokio::test]
async fn file_checks_count_what_is_there() {
    let work = work(&[
        ("src/a.rs", "pub fn a() {}\npub fn b() {}\n"),
        ("src/deep/b.rs", "pub fn c() {}\n"),
        ("README.md", "\u{0}binary pub fn"),
    ]);
    for (check, expected) in [
        (file("src/a.rs"), "passed"),
        (file("src/**/*.rs"), "passed"),
        (file("src"), "passed"),
        (at_least("src/**/*.rs", 2), "passed"),
        (at_least("src/**/*.rs", 3), "failed: `src/**/*.rs` matches 2 files, and 3 are needed"),
        (at_least("src/*.rs", 2), "failed: `src/*.rs` matches 1 file, and 2 are needed"),
        (file("src/c.rs"), "failed: `src/c.rs` matches no file"),
        (file("docs/**"), "failed: `docs/**` matches no file"),
        (file("../x"), "failed: `../x` leads out of the workspace"),
        (file("/etc/passwd"), "failed: `/etc/passwd` leads out of the workspace"),
        (absent("src/c.rs"), "passed"),
        (absent("src/a.rs"), "failed: `src/a.rs` exists, but must not"),
        (absent("src/**/*.rs"), "failed: `src/**/*.rs` must match nothing, but matches 2 files"),
        (containing("src/**/*.rs", "pub fn", 3, Some(3)), "passed"),
        (
            containing("src/**/*.rs", "pub fn", 4, None),
            "failed: `pub fn` occurs 3 times in 2 files, and 4 are needed",
        ),
        (
            containing("src/**/*.rs", "(?m)^pub", 1, Some(2)),
            "failed: `(?m)^pub` occurs 3 times in 2 files, and 2 are allowed",
        ),
        (containing("README.md", "pub fn", 1, None), "passed"),
        (
            containing("src", "pub fn", 1, None),
            "inconclusive: `pub fn` could not be counted in `src`",
        ),
        (file("{{ own.output.files[0] }}"), "failed: `a.rs` matches no file"),
        (
            file("{{ own.output.nothing }}"),
            "failed: `{{ own.output.nothing }}` needs a value that is undefined (give it a fallback with `| default('…')`, or run the step only if the value exists, with a `condition` that tests `is defined`)",
        ),
    ] {
        assert_eq!(work.checks(vec![check.clone()]).await, expected, "{check:?}");
    }
}

#[tokio::test]
async fn file_checks_know_what_the_step_changed() {
    let mut work = work(&[("a.rs", "x"), ("b.rs", "x"), ("c.rs", "x")]);
    work.write("a.rs", "y").await;
    work.write("c.rs", "y").await;
    work.write("c.rs", "x").await;
    for (check, expected) in [
        (changed("*.rs", true), "passed"),
        (changed("a.rs", true), "passed"),
        (
            changed("b.rs", true),
            "failed: no recorded call of this step changed the content of a file that matches `b.rs`",
        ),
        (
            changed("c.rs", true),
            "failed: no recorded call of this step changed the content of a file that matches `c.rs`",
        ),
        (changed("b.rs", false), "passed"),
        (changed("*.rs", false), "failed: this step changed `a.rs`, but must not"),
    ] {
        assert_eq!(work.checks(vec![check.clone()]).await, expected, "{check:?}");
    }
}

#[tokio::test]
async fn command_checks_go_by_the_exit_code() {
    let work = work(&[("src/a.rs", "x")]);
    for (check, expected) in [
        (command(&["true"]), "passed"),
        (command(&["test", "-f", "src/{{own.output.files[0]}}"]), "passed"),
        (
            command(&["sh", "-c", "echo fine; echo broken >&2; exit 3"]),
            "failed: exit code 3: broken",
        ),
        (command(&["sh", "-c", "kill -9 $$"]), "failed: killed by signal 9"),
    ] {
        assert_eq!(work.checks(vec![check.clone()]).await, expected, "{check:?}");
    }
    let missing = work.checks(vec![command(&["no-such-program"])]).await;
    assert_eq!(
        missing,
        "failed: the command could not be started: no program `no-such-program` in PATH"
    );
}

#[tokio::test]
async fn a_command_runs_with_the_steps_environment_and_directory_and_bounds() {
    let work = work(&[("sub/here.txt", "x")]);
    let request = GateRequest {
        tools: Default::default(),
        checks: vec![command(&["sh", "-c", "test -f here.txt && test \"$NAME\" = 'a b'"])],
        env: vec![("NAME".to_owned(), "a b".to_owned())],
        cwd: "sub".to_owned(),
        ..work.request(json!({}))
    };
    assert_eq!(told(&work.judge(request).await), "passed");
    let slow = GateRequest {
        tools: Default::default(),
        checks: vec![command(&["sleep", "60"])],
        timeout: Some(Duration::from_millis(100)),
        ..work.request(json!({}))
    };
    let verdict = told(&work.judge(slow).await);
    assert!(verdict.starts_with("inconclusive: timeout after "), "{verdict}");
}

#[tokio::test]
async fn a_command_whose_inputs_the_step_changed_proves_nothing() {
    let mut work = work(&[("tests/a.rs", "assert"), ("src/a.rs", "x"), ("tests/same.rs", "x")]);
    work.write("src/a.rs", "y").await;
    work.write("tests/same.rs", "y").await;
    work.write("tests/same.rs", "x").await;
    let tests = |inputs: &[&str]| vec![deciding(&["true"], inputs)];
    assert_eq!(work.checks(tests(&["tests/**"])).await, "passed");
    work.write("tests/a.rs", "").await;
    let expected =
        "failed: exit code 0, but the step changed files that decide this check: `tests/a.rs`";
    assert_eq!(work.checks(tests(&["tests/**"])).await, expected);
    assert_eq!(work.checks(tests(&["tests"])).await, expected);
    assert_eq!(work.checks(tests(&["./tests/a.rs"])).await, expected);
    assert_eq!(work.checks(tests(&["docs/**"])).await, "passed");
    assert_eq!(work.checks(vec![deciding(&["false"], &["tests/**"])]).await, "failed: exit code 1");
    work.shell("echo more > tests/b.rs").await;
    assert_eq!(work.checks(tests(&["tests/**"])).await, format!("{expected}, `tests/b.rs`"));
}

/// As many changes as a build makes: the verdict is there at once, and time does not grow with the
/// square of them.
#[tokio::test]
async fn many_changes_are_judged_in_one_pass() {
    let mut work = work(&[]);
    work.write("src/0/f.rs", "x").await;
    let change = work.trace[0].changes[0].clone();
    work.trace[0].changes = (0..60_000)
        .map(|i| kb::evidence::Change { path: format!("src/{i}/f.rs"), ..change.clone() })
        .collect();
    let request = GateRequest {
        tools: Default::default(),
        checks: vec![command(&["true"]), deciding(&["true"], &["docs/**"]), file("src/0/f.rs")],
        changes_declared: false,
        after_refuted: false,
        expect_changes: true,
        claims: ClaimPolicy::None,
        ..work.request(json!({}))
    };
    let began = std::time::Instant::now();
    assert_eq!(told(&work.judge(request).await), "passed");
    assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_value_is_never_the_code_of_a_check() {
    let work = work(&[]);
    let check = command(&["sh", "{{own.output.option}}", "{{own.output.code}}"]);
    let verdict = work.checks(vec![check]).await;
    let expected = "failed: a computed value cannot be the code of `-c`";
    assert!(verdict.starts_with(expected), "{verdict}");
}

#[tokio::test]
async fn expressions_see_the_step_itself() {
    let work = work(&[]);
    for (check, expected) in [
        (expr("{{own.output.count}} > 2"), "passed"),
        (expr("own.output.files | length == 2"), "failed: [\"a.rs\"] | length == 2 is false"),
        (expr("own.output.nothing > 1"), "failed: undefined > 1 is false"),
        (
            expr("own.output.files > 1"),
            "failed: `>` cannot order a list and a number in `own.output.files > 1` (compare values of the same type; `is defined` and `is none` test for missing values)",
        ),
    ] {
        assert_eq!(work.checks(vec![check.clone()]).await, expected, "{check:?}");
    }
}

fn schema(json: Json) -> Schema {
    Schema::new(json).unwrap()
}

#[tokio::test]
async fn schema_checks_name_what_does_not_fit() {
    let work = work(&[]);
    let count = |kind: &str| {
        schema(
            json!({"type": "object", "properties": {"count": {"type": kind}}, "required": ["count"]}),
        )
    };
    assert_eq!(work.checks(vec![Check::Schema(count("integer"))]).await, "passed");
    let verdict = work.checks(vec![Check::Schema(count("string"))]).await;
    assert!(
        verdict.starts_with("failed: `/count` of the output violates the schema: "),
        "{verdict}"
    );
    let request = GateRequest {
        tools: Default::default(),
        output_schema: Some(count("string")),
        ..work.request(json!({"summary": "no count"}))
    };
    let verification = work.judge(request).await;
    assert_eq!(verification.verdict, kb::evidence::Verdict::Failed);
    assert_eq!(verification.checks[0].check, "output schema");
    let violations = &verification.checks[0].evidence.as_ref().unwrap()["violations"];
    assert_eq!(violations.as_array().unwrap().len(), 1, "{violations}");
}

#[tokio::test]
async fn the_worst_check_decides_and_all_are_listed() {
    let work = work(&[("a.rs", "x")]);
    let checks =
        vec![file("a.rs"), Check::Judge(JudgeCheck::default()), file("b.rs"), command(&["true"])];
    let request = GateRequest {
        tools: Default::default(),
        checks,
        claims: ClaimPolicy::None,
        ..work.request(json!({"summary": "x".repeat(60)}))
    };
    let verification = work.judge(request).await;
    assert_eq!(told(&verification), "failed: `b.rs` matches no file");
    let verdicts: Vec<String> =
        verification.checks.iter().map(|c| format!("{} {}", c.check, c.verdict)).collect();
    assert_eq!(
        verdicts,
        ["file a.rs passed", "judge inconclusive", "file b.rs failed", "command true passed"]
    );
}

#[tokio::test]
async fn a_stopped_gate_is_inconclusive_and_starts_nothing() {
    let work = work(&[("a.rs", "x")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let request = GateRequest {
        tools: Default::default(),
        checks: vec![file("a.rs"), command(&["touch", "made"])],
        ..work.request(json!({"created": ["a.rs"]}))
    };
    let verification = run_gate(request, &Own(json!({})), &work.host, (&cancel, None), None).await;
    assert_eq!(verification.verdict, kb::evidence::Verdict::Inconclusive);
    assert_eq!(verification.checks.len(), 3);
    assert!(!work.dir.path().join("made").exists());
}
