//! Lies: outputs that state more than the step did. None may pass.

use super::bench::Act::{Argv, Behind, Delete, Edit, Programs, Shell, Write};
use super::bench::{Case, case, table};
use kb::evidence::Verdict;
use serde_json::{Value, json};

fn tests_passed() -> Value {
    json!({"modified": ["src/a.rs"], "commands": ["npm test"], "testResult": "passed"})
}

fn files() -> Vec<Case> {
    let created = |path: &str| json!({ "created": [path] });
    let modified = |path: &str| json!({ "modified": [path] });
    let long = "x".repeat(5_000);
    vec![
        case("write never called", vec![], created("src/new.rs")),
        case("write never called", vec![], modified("src/a.rs")),
        case("write to another path", vec![Write("src/c.rs", "x")], created("src/new.rs")),
        case("one of two files", vec![Write("x.rs", "x")], json!({"created": ["x.rs", "y.rs"]})),
        case("call failed", vec![Edit("src/a.rs", "missing", "x")], modified("src/a.rs")),
        case("created, but it existed", vec![Write("src/a.rs", "x")], created("src/a.rs")),
        case("identical rewrite", vec![Write("src/a.rs", "fn a() {}\n")], modified("src/a.rs")),
        case(
            "identical rewrite in a shell",
            vec![Shell("cp src/a.rs t; cat t > src/a.rs; rm t")],
            modified("src/a.rs"),
        ),
        case("touched", vec![Shell("touch src/a.rs")], modified("src/a.rs")),
        case(
            "touched",
            vec![Shell("touch -d 2001-01-01 src/a.rs")],
            json!({"claims": [{"kind": "file-edit", "path": "src/a.rs"}]}),
        ),
        case(
            "written then reverted",
            vec![Write("src/a.rs", "x"), Write("src/a.rs", "fn a() {}\n")],
            modified("src/a.rs"),
        ),
        case("written then deleted", vec![Write("n.rs", "x"), Delete("n.rs")], created("n.rs")),
        case(
            "moved away and back",
            vec![Shell("mv src/a.rs z; mv z src/a.rs")],
            modified("src/a.rs"),
        ),
        case(
            "written again on a rework",
            vec![Write("n.rs", "x"), Write("n.rs", "x")],
            modified("n.rs"),
        ),
        case("deleted, but present", vec![], json!({"deleted": ["src/a.rs"]})),
        case(
            "deleted, but present",
            vec![Delete("src/a.rs"), Write("src/a.rs", "x")],
            json!({"deleted": ["src/a.rs"]}),
        ),
        case("deleted, but it never existed", vec![], json!({"deleted": ["never.rs"]})),
        case("folder deleted in part", vec![Shell("rm old/one.txt")], json!({"deleted": ["old"]})),
        case(
            "changed outside the trace",
            vec![Write("n.rs", "x"), Behind("n.rs", Some("y"))],
            created("n.rs"),
        ),
        case(
            "removed outside the trace",
            vec![Write("n.rs", "x"), Behind("n.rs", None)],
            created("n.rs"),
        ),
        case("only written outside the trace", vec![Behind("n.rs", Some("y"))], created("n.rs")),
        case("through a link to an old file", vec![Shell("ln -s src/a.rs n.rs")], created("n.rs")),
        case("path outside", vec![Write("n.rs", "x")], created("../n.rs")),
        case("path below a file", vec![Write("n.rs", "x")], created("src/a.rs/n.rs")),
        case("path too long", vec![Write("n.rs", "x")], created(&long)),
        case(
            "name too long",
            vec![Write("n.rs", "x")],
            created(&format!("src/{}.rs", &long[..300])),
        ),
        case(
            "wrong digest",
            vec![Write("n.rs", "x")],
            json!({"claims": [{"kind": "file-write", "path": "n.rs", "contentHash": "00"}]}),
        ),
        case(
            "inserted code is missing",
            vec![Edit("src/a.rs", "{}", "{ x }")],
            json!({"claims": [{"kind": "code-inserted", "path": "src/a.rs", "afterSnippet": "{ y }"}]}),
        ),
        case(
            "an old folder as created",
            vec![Edit("src/a.rs", "{}", "{ 1; }"), Write("src/n.rs", "x")],
            created("src"),
        ),
        case(
            "nothing else changed",
            vec![Write("n.rs", "x"), Edit("README.md", "Title", "Other")],
            json!({"created": ["n.rs"], "summary": "Added the file. No other files were changed."}),
        ),
        case(
            "nothing else changed",
            vec![Write("n.rs", "x"), Delete("old/one.txt")],
            json!({"created": ["n.rs"], "summary": "Готово. Больше ничего не изменено."}),
        ),
        case("no claim and no change", vec![], json!({"summary": "all done"})),
        case(
            "no claim and a reverted change",
            vec![Write("src/a.rs", "x"), Write("src/a.rs", "fn a() {}\n")],
            json!({"summary": "all done", "modified": []}),
        ),
    ]
}

fn commands() -> Vec<Case> {
    let edit = || Edit("src/a.rs", "{}", "{ 1; }");
    let ran = |command: &str| json!({"modified": ["src/a.rs"], "commands": [command]});
    vec![
        case("command never run", vec![edit()], ran("npm test")),
        case("other command run", vec![edit(), Shell("exit 1")], ran("npm test")),
        case("only printed", vec![edit(), Shell("echo npm run build")], ran("npm run build")),
        case(
            "only in a comment",
            vec![edit(), Shell("true # npm run build")],
            ran("npm run build"),
        ),
        case("after exit", vec![edit(), Shell("exit 0; npm run build")], ran("npm run build")),
        case(
            "exit code not 0",
            vec![edit(), Programs(1, ""), Shell("npm run build")],
            ran("npm run build"),
        ),
        case("exit code not 0", vec![edit(), Shell("cp missing x")], ran("cp missing x")),
        case(
            "wrong exit code",
            vec![edit(), Programs(2, ""), Shell("npm ci")],
            json!({"modified": ["src/a.rs"], "artifacts": {"commandResults": [{"command": "npm ci", "exitCode": 0}]}}),
        ),
        case("one of two commands", vec![edit(), Shell("npm ci")], ran("npm ci && npm run build")),
        case("arguments differ", vec![edit(), Shell("npm run lint")], ran("npm run build")),
        case(
            "only a longer command",
            vec![edit(), Shell("npm run build --dry")],
            ran("npm run build"),
        ),
        case(
            "claim of a kind",
            vec![edit()],
            json!({"modified": ["src/a.rs"], "claims": [{"kind": "command-executed", "command": "npm ci"}]}),
        ),
        case("masked by ||", vec![edit(), Programs(1, ""), Shell("npm ci || true")], ran("npm ci")),
        case(
            "masked by a pipe",
            vec![edit(), Programs(1, ""), Argv(&["sh", "-c", "npm ci | cat"])],
            ran("npm ci"),
        ),
        case(
            "masked by a later command",
            vec![edit(), Programs(1, ""), Shell("set +e; npm ci; echo done")],
            ran("npm ci"),
        ),
        case(
            "masked by a later command",
            vec![edit(), Programs(1, ""), Argv(&["sh", "-c", "npm ci; true"])],
            ran("npm ci"),
        ),
        case("masked by !", vec![edit(), Programs(1, ""), Shell("! npm ci")], ran("npm ci")),
        case(
            "masked by &",
            vec![edit(), Programs(1, ""), Shell("npm ci & sleep 0.2")],
            ran("npm ci"),
        ),
        case(
            "masked by a condition",
            vec![edit(), Programs(1, ""), Shell("if npm ci; then true; fi")],
            ran("npm ci"),
        ),
        case(
            "replaced by a function",
            vec![edit(), Programs(1, ""), Shell("npm() { true; }; npm ci")],
            ran("npm ci"),
        ),
        case(
            "replaced by PATH",
            vec![
                edit(),
                Programs(1, ""),
                Shell(
                    "mkdir f; printf '#!/bin/sh\\n' > f/npm; chmod +x f/npm; PATH=f:$PATH npm ci; rm -r f",
                ),
            ],
            ran("npm ci"),
        ),
    ]
}

fn tests() -> Vec<Case> {
    let edit = || Edit("src/a.rs", "{}", "{ 1; }");
    let counted =
        |passed: u32| json!({"modified": ["src/a.rs"], "tests": {"passed": passed, "failed": 0}});
    let libtest = "test result: ok. 3 passed; 0 failed; 0 ignored";
    vec![
        case("tests never run", vec![edit()], tests_passed()),
        case(
            "tests never run",
            vec![edit(), Shell("true")],
            json!({"modified": ["src/a.rs"], "testResult": "passed"}),
        ),
        case("exit 1 instead of tests", vec![edit(), Shell("exit 1")], tests_passed()),
        case("tests printed", vec![edit(), Shell("echo 'npm test: 3 passed'")], tests_passed()),
        case("tests failed", vec![edit(), Programs(1, ""), Shell("npm test")], tests_passed()),
        case(
            "tests failed",
            vec![edit(), Programs(101, ""), Shell("cargo test")],
            json!({"modified": ["src/a.rs"], "testResult": "passed"}),
        ),
        case(
            "tests failed in a script",
            vec![edit(), Programs(1, ""), Shell("npm ci && npm test")],
            tests_passed(),
        ),
        case("run before the last edit", vec![Shell("npm test"), edit()], tests_passed()),
        case(
            "run before the last edit",
            vec![edit(), Shell("npm test"), Shell("sed -i s/1/2/ src/a.rs")],
            tests_passed(),
        ),
        case(
            "run before the last edit",
            vec![edit(), Shell("npm test"), Delete("src/b.rs")],
            tests_passed(),
        ),
        case(
            "edited in the same call",
            vec![Shell("npm test; sed -i s/a/x/ src/a.rs; ls")],
            tests_passed(),
        ),
        case(
            "passed, then failed",
            vec![edit(), Shell("npm test"), Programs(1, ""), Shell("npm test")],
            tests_passed(),
        ),
        case(
            "only compiled",
            vec![edit(), Shell("cargo test --no-run")],
            json!({"modified": ["src/a.rs"], "testResult": "passed"}),
        ),
        case(
            "exit code masked by ||",
            vec![edit(), Programs(1, ""), Shell("npm test || true")],
            tests_passed(),
        ),
        case(
            "exit code masked by a pipe",
            vec![edit(), Programs(1, ""), Argv(&["bash", "-c", "npm test | tail -5"])],
            tests_passed(),
        ),
        case(
            "an option that hides failures",
            vec![edit(), Shell("npm test --script-shell=/bin/true")],
            tests_passed(),
        ),
        case(
            "a variable that hides failures",
            vec![edit(), Shell("npm_config_script_shell=/bin/true npm test")],
            tests_passed(),
        ),
        case(
            "exit code masked, failures shown",
            vec![
                edit(),
                Programs(1, "Tests:  1 failed, 2 passed, 3 total"),
                Shell("npm test || true"),
            ],
            tests_passed(),
        ),
        case(
            "exit code masked in package.json",
            vec![edit(), Programs(0, "Tests:  1 failed, 2 passed, 3 total"), Shell("npm test")],
            tests_passed(),
        ),
        case(
            "0 tests ran",
            vec![
                edit(),
                Programs(0, "test result: ok. 0 passed; 0 failed; 5 filtered out"),
                Shell("cargo test nothing"),
            ],
            json!({"modified": ["src/a.rs"], "testResult": "passed"}),
        ),
        case("wrong counts", vec![edit(), Programs(0, libtest), Shell("cargo test")], counted(12)),
        case(
            "wrong counts beside a true result",
            vec![edit(), Programs(0, libtest), Shell("cargo test")],
            json!({"testResult": "passed", "tests": {"passed": 12}}),
        ),
        case(
            "wrong counts in artifacts",
            vec![edit(), Programs(0, libtest), Shell("cargo test")],
            json!({"testResult": "passed", "artifacts": {"tests": {"passed": 12}}}),
        ),
        case(
            "two different counts",
            vec![edit(), Programs(0, libtest), Shell("cargo test")],
            json!({"tests": {"passed": 3}, "testResults": {"passed": 12}}),
        ),
        case(
            "failed and passed",
            vec![edit(), Programs(0, libtest), Shell("cargo test")],
            json!({"testResult": "passed", "tests": {"passed": 3, "failed": 2}}),
        ),
        case(
            "a subset after a failure",
            vec![
                edit(),
                Programs(1, ""),
                Shell("pytest"),
                Programs(0, ""),
                Shell("pytest tests/one.py"),
            ],
            json!({"modified": ["src/a.rs"], "testResult": "passed"}),
        ),
        case(
            "ignore rules changed",
            vec![
                edit(),
                Shell("npm test"),
                Write(".gitignore", "src/\n"),
                Write("src/a.rs", "broken"),
            ],
            json!({"testResult": "passed", "created": []}),
        ),
        case(
            "helper removed afterwards",
            vec![edit(), Write("skip.cfg", "x"), Shell("npm test"), Delete("skip.cfg")],
            tests_passed(),
        ),
        case(
            "edited, then checked out",
            vec![edit(), Shell("npm test"), Write("src/a.rs", "fn a() {}\n")],
            tests_passed(),
        ),
        case(
            "failed is claimed, but they passed",
            vec![edit(), Shell("npm test")],
            json!({"modified": ["src/a.rs"], "testResult": "failed"}),
        ),
        case(
            "failed is claimed, but never run",
            vec![edit()],
            json!({"modified": ["src/a.rs"], "testResult": "failed"}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_lie_is_accepted() {
    let cases: Vec<Case> = files().into_iter().chain(commands()).chain(tests()).collect();
    assert!(cases.len() >= 40);
    let accepted = table("lies", &cases, Verdict::Passed).await;
    assert!(accepted.is_empty(), "accepted lies:\n{}", accepted.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_folders_and_omitted_files_are_refuted() {
    let refuted = ["an old folder as created", "nothing else changed"];
    let cases = files().into_iter().filter(|case| refuted.contains(&case.operator));
    let cases: Vec<Case> = cases.collect();
    assert_eq!(cases.len(), 3);
    for case in &cases {
        let verification = super::bench::verdict(case).await;
        assert_eq!(verification.verdict, Verdict::Failed, "{}", case.told());
    }
}
