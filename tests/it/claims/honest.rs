//! Honest reports that are easy to refute by mistake. None may fail.

use super::bench::Act::{Argv, Behind, Delete, Edit, Programs, Shell, Write};
use super::bench::{Case, case, table};
use kb::evidence::Verdict;
use serde_json::{Value, json};

fn files() -> Vec<Case> {
    let created = |path: &str| json!({ "created": [path] });
    let modified = |path: &str| json!({ "modified": [path] });
    vec![
        case("file written", vec![Write("n.rs", "x")], created("n.rs")),
        case("file edited", vec![Edit("src/a.rs", "{}", "{ 1; }")], modified("./src//a.rs")),
        case(
            "file edited in a shell",
            vec![Shell("sed -i 's/a/x/' src/a.rs")],
            modified("src/a.rs"),
        ),
        case(
            "formatter after the edit",
            vec![Write("src/a.rs", "fn a(){1;}"), Shell("sed -i 's/(){/() {/' src/a.rs")],
            modified("src/a.rs"),
        ),
        case("line ends changed", vec![Shell("sed -i 's/$/\\r/' src/a.rs")], modified("src/a.rs")),
        case(
            "through a linked folder",
            vec![Edit("linked/deep/c.rs", "{}", "{ 1; }")],
            modified("linked/deep/c.rs"),
        ),
        case(
            "through a linked folder",
            vec![Write("linked/new.rs", "x")],
            created("linked/new.rs"),
        ),
        case(
            "through a link to a file",
            vec![Shell("ln -s src/a.rs l.rs"), Write("l.rs", "x")],
            modified("src/a.rs"),
        ),
        case("absolute path", vec![Write("n.rs", "x")], created("$ROOT/n.rs")),
        case("absolute path through an alias", vec![Write("n.rs", "x")], created("$ALIAS/n.rs")),
        case("trailing slash", vec![Write("lib/n.rs", "x")], created("lib/")),
        case(
            "renamed after the write",
            vec![Write("t.rs", "x"), Shell("mv t.rs n.rs")],
            created("n.rs"),
        ),
        case(
            "success at the second try",
            vec![Edit("src/a.rs", "missing", "x"), Edit("src/a.rs", "{}", "{ 1; }")],
            modified("src/a.rs"),
        ),
        case("Cyrillic name", vec![Write("док.txt", "x")], created("док.txt")),
        case("empty file", vec![Shell("touch empty.txt")], created("empty.txt")),
        case(
            "empty folder",
            vec![Shell("mkdir made"), Write("n.rs", "x")],
            json!({"created": ["made", "n.rs"]}),
        ),
        case("folder deleted", vec![Shell("rm -r old")], json!({"deleted": ["old/"]})),
        case("file deleted", vec![Delete("src/b.rs")], json!({"deleted": ["src/b.rs"]})),
        case(
            "own temporary file removed",
            vec![Write("tmp.rs", "x"), Write("n.rs", "x"), Delete("tmp.rs")],
            created("n.rs"),
        ),
        case(
            "ignored file",
            vec![Shell("mkdir -p build && echo x > build/out")],
            created("build/out"),
        ),
        case("written on a rework", vec![Write("n.rs", "x"), Write("n.rs", "y")], modified("n.rs")),
        case(
            "claims with anchors",
            vec![Edit("src/a.rs", "{}", "{ 1; }")],
            json!({"claims": [{"kind": "code-inserted", "path": "src/a.rs", "afterSnippet": "{ 1; }"}, {"kind": "file-write", "path": "src/a.rs"}]}),
        ),
        case(
            "another file changed outside",
            vec![Write("n.rs", "x"), Behind("other.rs", Some("y"))],
            created("n.rs"),
        ),
        case("new folder", vec![Write("lib/n.rs", "x"), Write("lib/m.rs", "x")], created("lib")),
        case(
            "nothing else changed",
            vec![Write("lib/n.rs", "x"), Edit("src/a.rs", "{}", "{ 1; }")],
            json!({"created": ["lib/"], "changedFiles": ["src/a.rs"],
                "summary": "Nothing else was changed."}),
        ),
        case(
            "nothing else changed, beside a by-product",
            vec![Write("n.rs", "x"), Shell("echo x > out.log")],
            json!({"created": ["n.rs"], "summary": "No other files were modified."}),
        ),
        case(
            "nothing else changed in one file",
            vec![Write("n.rs", "x"), Edit("src/a.rs", "{}", "{ 1; }")],
            json!({"created": ["n.rs"], "summary": "Nothing else was changed in n.rs."}),
        ),
        case(
            "nothing else changed, through links",
            vec![Edit("linked/deep/c.rs", "{}", "{ 1; }"), Write("t.rs", "x"), Delete("t.rs")],
            json!({"modified": ["linked/deep/c.rs"], "summary": "Only this file was changed."}),
        ),
        case(
            "declared no-op",
            vec![Shell("true")],
            json!({"created": [], "modified": [], "noChanges": "no error was found", "summary": "nothing to do"}),
        ),
    ]
}

fn executed() -> Vec<Case> {
    let edit = || Edit("src/a.rs", "{}", "{ 1; }");
    let report = |commands: &[&str], tests: &str| -> Value {
        json!({"modified": ["src/a.rs"], "commands": commands, "testResult": tests})
    };
    let passed = || report(&["npm test"], "passed");
    vec![
        case("tests passed", vec![edit(), Shell("npm test")], passed()),
        case(
            "tests passed with a summary",
            vec![edit(), Programs(0, "Tests:  3 passed, 3 total"), Shell("npm test")],
            passed(),
        ),
        case(
            "claimed counts",
            vec![edit(), Programs(0, "Tests:  3 passed, 3 total"), Shell("npm test")],
            json!({"modified": ["src/a.rs"], "tests": {"passed": 3, "failed": 0}}),
        ),
        case(
            "claimed counts beside a result",
            vec![edit(), Programs(0, "Tests:  3 passed, 3 total"), Shell("npm test")],
            json!({"testResult": "passed", "testsPassed": true, "tests": {"passed": 3}}),
        ),
        case(
            "failed, with the number of passed tests",
            vec![edit(), Programs(1, "Tests:  1 failed, 2 passed, 3 total"), Shell("npm test")],
            json!({"testResult": "failed", "tests": {"passed": 2}}),
        ),
        case(
            "second run passed",
            vec![
                edit(),
                Programs(1, ""),
                Shell("npm test"),
                Write("src/a.rs", "fn a() { 2; }"),
                Programs(0, ""),
                Shell("npm test"),
            ],
            passed(),
        ),
        case("in a subfolder", vec![edit(), Shell("cd src && npm test")], passed()),
        case("as arguments", vec![edit(), Argv(&["npm", "test"])], passed()),
        case("in a shell of its own", vec![edit(), Shell("bash -c 'npm test'")], passed()),
        case("with assignments", vec![edit(), Shell("CI=1 npm  test 2>&1")], passed()),
        case(
            "claim with assignments",
            vec![edit(), Argv(&["npm", "test"])],
            report(&["cd . && CI=1 'npm' \"test\""], "passed"),
        ),
        case(
            "through a pipe with pipefail",
            vec![edit(), Shell("npm test 2>&1 | tail -20")],
            report(&["npm test 2>&1 | tail -20"], "passed"),
        ),
        case(
            "in a script",
            vec![edit(), Shell("npm ci\nnpm test\necho done")],
            report(&["npm ci", "npm test"], "passed"),
        ),
        case(
            "as one command",
            vec![edit(), Shell("npm ci"), Shell("npm test")],
            report(&["npm ci && npm test"], "passed"),
        ),
        case(
            "document edited after the tests",
            vec![edit(), Shell("npm test"), Write("README.md", "x")],
            passed(),
        ),
        case(
            "ignored file written after the tests",
            vec![
                edit(),
                Shell("npm test"),
                Shell("mkdir -p build; echo x > build/log"),
                Write("build/b.js", "x"),
            ],
            passed(),
        ),
        case(
            "touched after the tests",
            vec![edit(), Shell("npm test"), Shell("touch src/a.rs")],
            passed(),
        ),
        case(
            "edit undone after the tests",
            vec![
                edit(),
                Shell("npm test"),
                Write("src/b.rs", "x"),
                Write("src/b.rs", "fn b() {}\n"),
            ],
            passed(),
        ),
        case("tests write a file", vec![edit(), Shell("sh -c 'npm test > log.json'")], passed()),
        case(
            "failing tests reported",
            vec![edit(), Programs(1, ""), Shell("npm test")],
            report(&["npm test"], "failed"),
        ),
        case(
            "failing tests reported",
            vec![edit(), Programs(1, "1 failed, 2 passed in 0.1s"), Shell("pytest -q")],
            report(&["pytest -q (exit 1)"], "failed"),
        ),
        case("tests skipped", vec![edit()], report(&[], "skipped")),
        case(
            "failing command reported",
            vec![edit(), Programs(2, ""), Shell("npm run lint")],
            json!({"modified": ["src/a.rs"], "artifacts": {"commandResults": [{"command": "npm run lint", "exitCode": 2}]}}),
        ),
        case(
            "failing command reported",
            vec![edit(), Programs(2, ""), Shell("npm run lint")],
            json!({"modified": ["src/a.rs"], "commands": ["npm run lint (exit 2)"]}),
        ),
        case(
            "command repeated after a failure",
            vec![edit(), Programs(1, ""), Shell("npm ci"), Programs(0, ""), Shell("npm ci")],
            json!({"modified": ["src/a.rs"], "commands": ["npm ci"]}),
        ),
        case(
            "exit code 1 of grep",
            vec![edit(), Shell("grep -r TODO src")],
            json!({"modified": ["src/a.rs"], "commands": ["grep -r TODO src"]}),
        ),
        case(
            "command of the settings",
            vec![Write("ci.sh", "true\n"), Shell("chmod +x ci.sh"), Shell("./ci.sh")],
            json!({"created": ["ci.sh"], "testResult": "passed"}),
        ),
        case(
            "a file of tests",
            vec![Write("tests/a_test.sh", "true\n"), Shell("sh -eu tests/a_test.sh")],
            json!({"created": ["tests/a_test.sh"], "commands": ["sh -eu tests/a_test.sh"], "testResult": "passed"}),
        ),
        case(
            "here-document, then tests",
            vec![Shell("cat > n.rs <<'EOF'\nfn n() { $(x) }\nEOF\nnpm test")],
            json!({"created": ["n.rs"], "commands": ["npm test"], "testResult": "passed"}),
        ),
        case(
            "error in a true summary",
            vec![edit(), Shell("npm test")],
            json!({"modified": ["src/a.rs"], "commands": ["npm test"], "testResult": "passed", "summary": "fixed the error that failed"}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_honest_report_is_refuted() {
    let cases: Vec<Case> = files().into_iter().chain(executed()).collect();
    assert!(cases.len() >= 25);
    let refuted = table("honest reports", &cases, Verdict::Failed).await;
    assert!(refuted.is_empty(), "refuted honest reports:\n{}", refuted.join("\n"));
}
