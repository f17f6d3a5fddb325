//! `fs:edit`: exact replacements and what is refused.

use super::bench::bench;
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Edits a file with this content; gives the result and the new content, or the refusal.
async fn check(content: &'static str, args: Value) -> String {
    let bench = bench(&[("f", content)]);
    let mut full = json!({"path": "f"});
    for (key, value) in args.as_object().unwrap() {
        full[key] = value.clone();
    }
    let result = bench.run("fs:edit", full).await;
    match result.failure {
        None => format!("{} -> {:?}", result.result, bench.text("f")),
        Some(failure) => {
            assert_eq!(bench.text("f"), content);
            format!("{} ({})", failure.message, failure.help.unwrap_or_default())
        }
    }
}

#[tokio::test]
async fn replaces_the_one_place() {
    let cases = [
        ("a\nb\nc\n", json!({"old": "b", "new": "B"}), r#"{"replaced":1,"line":2} -> "a\nB\nc\n""#),
        ("aXbX", json!({"old": "X", "new": "", "all": true}), r#"{"replaced":2,"line":1} -> "ab""#),
        (
            "a\r\nb\r\nc",
            json!({"old": "a\nb", "new": "1\n2\n3"}),
            r#"{"replaced":1,"line":1} -> "1\r\n2\r\n3\r\nc""#,
        ),
        (
            "a\r\nb\r\n",
            json!({"old": "b", "new": "x\ny"}),
            r#"{"replaced":1,"line":2} -> "a\r\nx\r\ny\r\n""#,
        ),
        (
            "a\r\nb\n",
            json!({"old": "b\n", "new": "c\n"}),
            r#"{"replaced":1,"line":2} -> "a\r\nc\n""#,
        ),
        ("$1 \\n", json!({"old": "$1", "new": "$0\\"}), r#"{"replaced":1,"line":1} -> "$0\\ \\n""#),
    ];
    for (content, args, expected) in cases {
        assert_eq!(check(content, args).await, expected);
    }
}

#[tokio::test]
async fn tells_why_it_does_not_replace() {
    let mut told = Vec::new();
    for (content, args) in [
        ("a\nb\n", json!({"old": "x", "new": "y"})),
        ("fn a() {\n    one\n}\n", json!({"old": "one\ntwo", "new": "y"})),
        ("x\nx x\n\nx\n", json!({"old": "x", "new": "y"})),
        ("x\n", json!({"old": "x", "new": "x"})),
    ] {
        told.push(check(content, args).await);
    }
    assert_snapshot!(told.join("\n"), @r"
    `old` does not occur in `f` (read the file and copy the text exactly, including whitespace)
    `old` does not occur in `f`, but line 2 matches its first line except for whitespace (whitespace or a later line differs; read these lines and copy them exactly)
    `old` occurs 4 times in `f`: lines 1, 2, 2, 4 (add a line before or after to make it unique, or set `all` to true)
    `old` and `new` are identical (pass the replacement text as `new`)
    ");
}

#[tokio::test]
async fn edits_only_text_files_that_are_there() {
    let bench = bench(&[]);
    std::fs::write(bench.dir.path().join("latin"), b"caf\xe9").unwrap();
    let args = |path: &str| json!({"path": path, "old": "caf", "new": "x"});
    let told =
        [bench.refused("fs:edit", args("latin")).await, bench.refused("fs:edit", args("no")).await];
    assert_eq!(told[0], "Failed KB0610 `latin` is not a text file; it has 4 bytes");
    assert_eq!(told[1], "Failed KB0608 `no` does not exist");
}
