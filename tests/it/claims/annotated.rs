//! Reports with notes beside what is compared: lines behind paths, exit codes behind commands, digests of texts,
//! files that were there for a time. What the notes say is compared too.

use super::bench::Act::{self, Delete, Edit, Shell, Write};
use super::bench::{case, verdict};
use kb::evidence::Verdict::{self, Failed, Inconclusive, Passed, Unchecked};
use kb::value::Digest;
use serde_json::{Value, json};

async fn check(acts: impl Fn() -> Vec<Act>, reports: Vec<(Value, Verdict)>) {
    for (report, expected) in reports {
        let case = case("annotated", acts(), report.clone());
        let found = verdict(&case).await;
        assert_eq!(found.verdict, expected, "{report}: {:?}", found.reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_beside_paths_are_compared_with_the_difference() {
    let write = || vec![Write("n/x.rs", "fn x() {}\n")];
    let new = vec![
        (json!({"created": ["n/x.rs (new)"]}), Passed),
        (json!({"created": ["n/x.rs:1"]}), Passed),
        (json!({"created": ["[n/x.rs](n/x.rs)"]}), Passed),
        (json!({"created": ["n/x.rs:99"]}), Unchecked),
        (json!({"created": ["n/y.rs (new)"]}), Failed),
        (json!({"created": [{"path": "n/x.rs", "lines": 1}]}), Passed),
        (json!({"created": [{"path": "n/x.rs", "lines": 40}]}), Inconclusive),
        (json!({"created": ["n/x.rs"], "functionsAdded": ["x"]}), Passed),
    ];
    check(write, new).await;
    let edit = || vec![Edit("src/a.rs", "{}", "{ b(); }")];
    let edited = vec![
        (json!({"modified": ["src/a.rs (line 1)"]}), Passed),
        (json!({"summary": "Changed `src/a.rs`:1."}), Passed),
        (json!({"summary": "Worked on src/a.rs."}), Passed),
        (json!({"summary": "Worked on src/b.rs."}), Inconclusive),
        (json!({"summary": "It worked."}), Inconclusive),
        (json!({"modified": ["src/a.rs"], "summary": "See the fields of the report."}), Passed),
        (json!({"modified": ["src/a.rs"], "summary": "See that it is fast."}), Unchecked),
        (json!({"modified": ["src/a.rs:50-60"]}), Unchecked),
        (json!({"modified": ["src/a.rs"], "summary": "Only src/a.rs was changed."}), Passed),
        // The function was there before.
        (json!({"modified": ["src/a.rs"], "functionsAdded": ["a"]}), Unchecked),
    ];
    check(edit, edited).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_behind_commands_are_compared_with_the_exit_code() {
    let of = |command: &str| json!({"modified": ["src/a.rs"], "commands": [command]});
    let reports = vec![
        (of("sh -c 'exit 2' → exit 2"), Passed),
        (of("sh -c 'exit 2' -> 2"), Passed),
        (of("`sh -c 'exit 2'` exited with code 2"), Passed),
        (of("sh -c 'exit 2' (exit code: 2)"), Passed),
        (of("sh -c 'exit 2' → exit 0"), Failed),
        // A number alone may be what the command printed.
        (of("sh -c 'exit 2' -> 1"), Inconclusive),
    ];
    let edit = || Edit("src/a.rs", "{}", "{ b(); }");
    check(|| vec![edit(), Shell("sh -c 'exit 2'")], reports).await;
    let report =
        json!({"modified": ["src/a.rs"], "summary": "`sh venv/bin/activate` exits with 0."});
    check(|| vec![edit(), Shell("sh venv/bin/activate")], vec![(report, Passed)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_does_not_say_that_a_command_ran_is_doubt() {
    let of = |command: &str| json!({"modified": ["src/a.rs"], "commands": [command]});
    let open = [
        "make deploy: left to CI",
        "make deploy [not run]",
        "make deploy（未执行）",
        "make deploy — for CI",
        "npm publish, later",
        "cargo bench (skipped)",
        "make deploy?",
        "(CI) make deploy",
        "later: make deploy",
        "make deploy ✗",
        "~~make deploy~~",
        "make deploy -- not executed",
        "make deploy when approved",
        "<make deploy>",
    ];
    let fields = [
        json!({"command": "make deploy", "status": "deferred"}),
        json!({"command": "make deploy", "exitCode": "n/a"}),
        json!({"command": "make deploy", "note": "left to CI"}),
    ];
    let of_entry = |entry: &Value| json!({"modified": ["src/a.rs"], "commands": [entry]});
    let fields = fields.iter().map(|entry| (of_entry(entry), Inconclusive));
    let said = ["make deploy", "make deploy: done", "make deploy ✅", "make deploy [exit 0]"];
    let open = open.iter().map(|command| (of(command), Inconclusive));
    let said = said.iter().map(|command| (of(command), Failed));
    let reports = open.chain(fields).chain(said).collect();
    check(|| vec![Edit("src/a.rs", "{}", "{ b(); }")], reports).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn digests_of_texts_and_temporary_files_are_those_of_the_record() {
    let entry = |digest: Digest| {
        let claim = json!({"kind": "code-inserted", "path": "n/x.rs", "afterSnippet": "    1\n", "contentHash": digest.to_string()});
        json!({"claims": [claim]})
    };
    let digests = vec![
        (entry(Digest::of("    1\n")), Passed),
        (entry(Digest::of("    1")), Passed),
        (entry(Digest::of("1")), Passed),
        (entry(Digest::of("2")), Failed),
    ];
    check(|| vec![Write("n/x.rs", "fn x() -> u8 {\n    1\n}\n")], digests).await;
    let both = |path: &str| json!({"created": [path], "deleted": [path]});
    let temporary = || vec![Write("n/t.txt", "x"), Delete("n/t.txt")];
    let reports = vec![
        (both("n/t.txt"), Passed),
        (both("n/u.txt"), Failed),
        (json!({"created": ["n/t.txt"]}), Failed),
    ];
    check(temporary, reports).await;
    check(|| vec![Write("n/t.txt", "x")], vec![(both("n/t.txt"), Failed)]).await;
}
