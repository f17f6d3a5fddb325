//! `fs:read`, `fs:write`, `fs:list`, `fs:search`, `fs:exists` and `fs:delete`.

use super::bench::{Setup, bench, call, put};
use insta::assert_snapshot;
use kb::evidence::{ChangeKind, Purpose};
use kb::value::Digest;
use serde_json::json;

#[tokio::test]
async fn reads_a_file_or_some_of_its_lines() {
    let bench = bench(&[("a.txt", "one\ntwo\r\nthree"), ("empty", ""), ("end.txt", "x\n")]);
    let cases = [
        (json!({"path": "a.txt"}), "one\ntwo\r\nthree", 3),
        (json!({"path": "./a.txt", "startLine": 2}), "two\r\nthree", 3),
        (json!({"path": "a.txt", "startLine": 2, "endLine": 2}), "two\r\n", 3),
        (json!({"path": "a.txt", "endLine": 99}), "one\ntwo\r\nthree", 3),
        (json!({"path": "empty"}), "", 0),
        (json!({"path": "end.txt"}), "x\n", 1),
    ];
    for (args, content, total) in cases {
        let expected = json!({"content": content, "totalLines": total});
        assert_eq!(bench.ok("fs:read", args.clone()).await, expected, "{args}");
    }
}

#[tokio::test]
async fn refuses_to_read_what_is_no_text_or_not_there() {
    let bench = bench(&[("a.txt", "one\n"), ("nul", "a\0b"), ("dir/x", "")]);
    std::fs::write(bench.dir.path().join("latin"), b"caf\xe9").unwrap();
    let mut told = Vec::new();
    for args in [
        json!({"path": "nul"}),
        json!({"path": "latin"}),
        json!({"path": "dir"}),
        json!({"path": "none.txt"}),
        json!({"path": "a.txt/b"}),
        json!({"path": "a.txt", "startLine": 5}),
        json!({"path": "a.txt", "startLine": 3, "endLine": 2}),
    ] {
        told.push(bench.refused("fs:read", args).await);
    }
    assert_snapshot!(told.join("\n"), @r"
    Failed KB0610 `nul` is not a text file; it has 3 bytes
    Failed KB0610 `latin` is not a text file; it has 4 bytes
    Failed KB0609 `dir` is a directory, not a file
    Failed KB0608 `none.txt` does not exist
    Failed KB0609 `a.txt` is a file, not a directory
    Failed KB0603 `startLine` is 5, and `a.txt` has 1 lines
    Failed KB0603 `startLine` 3 is after `endLine` 2
    ");
}

#[tokio::test]
async fn cuts_a_long_file_between_lines_and_says_where_to_go_on() {
    let bench = bench(&[]);
    let line = format!("{}\n", "x".repeat(999));
    put(bench.dir.path(), "long.txt", &line.repeat(300));
    let first = bench.ok("fs:read", json!({"path": "long.txt"})).await;
    assert_eq!(first["content"].as_str().unwrap().len(), 262_000);
    assert_eq!(first["totalLines"], 300);
    assert_eq!(
        first["note"],
        "truncated at 256 KiB in line 263 of 300; continue with `startLine: 263`"
    );
    let rest = bench.ok("fs:read", json!({"path": "long.txt", "startLine": 263})).await;
    assert_eq!(rest["content"].as_str().unwrap().len(), 38_000);

    put(bench.dir.path(), "wide.txt", &"é".repeat(200_000));
    let wide = bench.ok("fs:read", json!({"path": "wide.txt"})).await;
    assert_eq!(wide["content"].as_str().unwrap().len(), 256 << 10);
}

#[tokio::test]
async fn lists_folders_by_depth_and_glob_and_heeds_ignore_rules() {
    let bench = bench(&[
        (".gitignore", "target\n*.log\n"),
        (".git/HEAD", "ref"),
        (".env", "A=1"),
        ("src/main.rs", "fn main() {}"),
        ("src/deep/er/x.rs", ""),
        ("target/debug/kb", "binary"),
        ("build.log", ""),
    ]);
    let listed = async |args| {
        let result = bench.ok("fs:list", args).await;
        let entries = result["entries"].as_array().unwrap().iter();
        entries
            .map(|e| {
                format!(
                    "{}:{}:{}",
                    e["path"].as_str().unwrap(),
                    e["kind"].as_str().unwrap(),
                    e["size"]
                )
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let cases = [
        (json!({}), ".env:file:3 .gitignore:file:13 src:directory:0"),
        (json!({"path": "src"}), "src/deep:directory:0 src/main.rs:file:12"),
        (
            json!({"path": "src", "depth": 2}),
            "src/deep:directory:0 src/deep/er:directory:0 src/main.rs:file:12",
        ),
        (json!({"glob": "*.rs"}), "src/deep/er/x.rs:file:0 src/main.rs:file:12"),
        (json!({"glob": "src/*.rs"}), "src/main.rs:file:12"),
        (
            json!({"path": "src", "glob": "deep/**"}),
            "src/deep/er:directory:0 src/deep/er/x.rs:file:0",
        ),
        (json!({"path": "target", "depth": 3}), "target/debug:directory:0 target/debug/kb:file:6"),
        (json!({"glob": "*.log"}), ""),
    ];
    for (args, expected) in cases {
        assert_eq!(listed(args.clone()).await, expected, "{args}");
    }
    let refused = bench.refused("fs:list", json!({"path": ".env"})).await;
    assert_eq!(refused, "Failed KB0609 `.env` is a file, not a directory");
    let refused = bench.refused("fs:list", json!({"glob": "src/[a"})).await;
    assert!(refused.starts_with("Failed KB0607 `src/[a` is not a valid glob"), "{refused}");
}

#[tokio::test]
async fn lists_no_more_than_can_be_read() {
    let bench = bench(&[]);
    for i in 0..1_001 {
        put(bench.dir.path(), &format!("f{i:04}"), "");
    }
    let result = bench.ok("fs:list", json!({})).await;
    assert_eq!(result["entries"].as_array().unwrap().len(), 1_000);
    assert!(result["note"].as_str().unwrap().contains("first 1000"), "{result}");
}

#[tokio::test]
async fn searches_line_by_line_in_path_order() {
    let bench = bench(&[
        (".gitignore", "out\n"),
        ("a.rs", "fn one() {}\nfn two() {}\r\n"),
        ("b/c.rs", "    fn three() {}\n"),
        ("b/d.txt", "fn four\n"),
        ("out/e.rs", "fn five() {}\n"),
        ("binary", "fn\0 six"),
    ]);
    let found = async |args| {
        let result = bench.ok("fs:search", args).await;
        let matches = result["matches"].as_array().unwrap().iter();
        matches
            .map(|m| {
                format!(
                    "{}:{}:{}",
                    m["path"].as_str().unwrap(),
                    m["line"],
                    m["text"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
            .join("|")
    };
    let cases = [
        (
            json!({"pattern": r"fn \w+"}),
            "a.rs:1:fn one() {}|a.rs:2:fn two() {}|b/c.rs:1:    fn three() {}|b/d.txt:1:fn four",
        ),
        (json!({"pattern": "fn", "glob": "*.txt"}), "b/d.txt:1:fn four"),
        (json!({"pattern": "fn", "path": "b", "glob": "c.*"}), "b/c.rs:1:    fn three() {}"),
        (json!({"pattern": "^fn two", "path": "a.rs"}), "a.rs:2:fn two() {}"),
        (json!({"pattern": "five", "path": "out"}), "out/e.rs:1:fn five() {}"),
        (json!({"pattern": "nothing"}), ""),
    ];
    for (args, expected) in cases {
        assert_eq!(found(args.clone()).await, expected, "{args}");
    }
    let one = bench.ok("fs:search", json!({"pattern": "fn", "maxResults": 1})).await;
    assert_eq!(one["matches"].as_array().unwrap().len(), 1);
    assert!(one["note"].as_str().unwrap().contains("first 1 matches"));
    let refused = bench.refused("fs:search", json!({"pattern": "fn ("})).await;
    assert!(refused.starts_with("Failed KB0613 `fn (` is not a regular expression"), "{refused}");
}

#[tokio::test]
async fn shows_long_lines_in_part() {
    let bench = bench(&[]);
    put(bench.dir.path(), "min.js", &format!("needle{}\n", "é".repeat(10_000)));
    let result = bench.ok("fs:search", json!({"pattern": "needle"})).await;
    assert_eq!(result["matches"][0]["text"].as_str().unwrap().chars().count(), 301);
}

#[tokio::test]
async fn masks_what_it_shows_in_part_before_it_is_cut() {
    const TOKEN: &str = "5ecret-of-forty-characters-or-thereabout";
    let bench = bench(&[]);
    assert!(bench.parts.redactor.add("T", TOKEN));
    put(bench.dir.path(), "min.js", &format!("needle{}{TOKEN}\n", " ".repeat(280)));
    let found = bench.ok("fs:search", json!({"pattern": "needle"})).await;
    put(bench.dir.path(), "long", &format!("{}{TOKEN}", "x".repeat((256 << 10) - 12)));
    let read = bench.ok("fs:read", json!({"path": "long"})).await;
    for shown in [found["matches"][0]["text"].as_str(), read["content"].as_str()] {
        let shown = shown.unwrap();
        assert!(!shown.contains("5ecret"), "{}", &shown[shown.len() - 60..]);
    }
}

#[tokio::test]
async fn tells_what_exists() {
    let bench = bench(&[("dir/file", "")]);
    let cases = [
        ("dir", json!({"exists": true, "kind": "directory"})),
        ("dir/file", json!({"exists": true, "kind": "file"})),
        ("dir/none", json!({"exists": false, "kind": null})),
        ("dir/file/below", json!({"exists": false, "kind": null})),
    ];
    for (path, expected) in cases {
        assert_eq!(bench.ok("fs:exists", json!({"path": path})).await, expected, "{path}");
    }
}

#[tokio::test]
async fn writes_files_with_their_folders_and_records_what_changed() {
    let bench = bench(&[]);
    let args = json!({"path": "src/new/a.txt", "content": "héllo\n"});
    let (result, invocation) = bench.make(&call("fs:write", args.clone())).await;
    assert_eq!(result.result, json!({"created": true, "bytes": 7}));
    assert_eq!(bench.text("src/new/a.txt"), "héllo\n");
    let change = &invocation.changes[0];
    assert_eq!((change.path.as_str(), change.kind()), ("src/new/a.txt", Some(ChangeKind::Created)));
    assert_eq!(change.after.as_ref().unwrap().sha256, Some(Digest::of("héllo\n")));
    assert_eq!(invocation.args_hash, Digest::of_json(&args));
    assert_eq!((invocation.id.as_str(), invocation.purpose), ("c1", Purpose::Execution));

    let (result, invocation) =
        bench.make(&call("fs:write", json!({"path": "src/new/a.txt", "content": ""}))).await;
    assert_eq!(result.result, json!({"created": false, "bytes": 0}));
    let change = &invocation.changes[0];
    assert_eq!(change.kind(), Some(ChangeKind::Modified));
    assert_eq!(change.before.as_ref().unwrap().sha256, Some(Digest::of("héllo\n")));
    assert_eq!(change.after.as_ref().unwrap().sha256, Some(Digest::of("")));
    assert_eq!(std::fs::read_dir(bench.dir.path().join("src/new")).unwrap().count(), 1);
}

#[tokio::test]
async fn keeps_the_mode_of_a_file_and_the_content_of_its_other_names() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench(&[("run.sh", "old")]);
    let (path, twin) = (bench.dir.path().join("run.sh"), bench.dir.path().join("twin"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
    std::fs::hard_link(&path, &twin).unwrap();
    bench.ok("fs:write", json!({"path": "run.sh", "content": "new"})).await;
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!((bench.text("run.sh"), bench.text("twin")), ("new".into(), "old".into()));
}

#[tokio::test]
async fn writes_no_directory_and_nothing_below_a_file() {
    let bench = bench(&[("file", "x"), ("dir/y", "")]);
    let mut told = Vec::new();
    for path in ["dir", ".", "dir/..", "file/below", "none/../x"] {
        told.push(bench.refused("fs:write", json!({"path": path, "content": "z"})).await);
    }
    assert_snapshot!(told.join("\n"), @r"
    Failed KB0609 `dir` is a directory, not a file
    Failed KB0609 `.` is a directory, not a file
    Failed KB0609 `dir/..` is a directory, not a file
    Failed KB0609 `file` is a file, not a directory
    Failed KB0608 `none/../x` does not exist
    ");
    assert!(!bench.has("none"));
}

#[tokio::test]
async fn deletes_files_links_and_empty_folders() {
    let bench = bench(&[("a", "1"), ("full/x", ""), ("kept", "2")]);
    std::fs::create_dir(bench.dir.path().join("empty")).unwrap();
    std::os::unix::fs::symlink("kept", bench.dir.path().join("link")).unwrap();
    for path in ["a", "empty", "link"] {
        let (result, invocation) = bench.make(&call("fs:delete", json!({"path": path}))).await;
        assert_eq!(result.result, json!({"deleted": true}), "{path}");
        assert_eq!(invocation.changes[0].kind(), Some(ChangeKind::Deleted));
        assert!(!bench.has(path), "{path}");
    }
    assert_eq!(bench.text("kept"), "2");
    assert!(bench.refused("fs:delete", json!({"path": "full"})).await.starts_with("Failed KB0612"));
    assert!(bench.refused("fs:delete", json!({"path": "none"})).await.starts_with("Failed KB0608"));
}

#[tokio::test]
async fn compares_names_in_the_composed_form() {
    let bench = bench(&[("cafe\u{301}.txt", "old")]);
    assert_eq!(bench.ok("fs:read", json!({"path": "café.txt"})).await["content"], "old");
    let (_, invocation) =
        bench.make(&call("fs:write", json!({"path": "café.txt", "content": "new"}))).await;
    assert_eq!(invocation.changes[0].path, "café.txt");
    assert_eq!(bench.text("cafe\u{301}.txt"), "new");
    bench.ok("fs:write", json!({"path": "nai\u{308}ve", "content": ""})).await;
    assert!(bench.has("naïve"));
}

#[tokio::test]
async fn reads_on_in_a_long_result() {
    let bench = bench(&[]);
    put(bench.dir.path(), "a.txt", &"é".repeat(5_000));
    let attempt = bench.tools.for_attempt(None);
    let cancel = tokio_util::sync::CancellationToken::new();
    let mut read = call("fs:read", json!({"path": "a.txt"}));
    read.id = "r1".into();
    let (whole, _) = attempt.call(&read, &cancel).await;
    let whole = kb::value::json_text(&whole.result);
    let (mut text, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let next = call("output:read", json!({"ref": "r1", "offset": offset}));
        let (piece, _) = attempt.call(&next, &cancel).await;
        text += piece.result["content"].as_str().unwrap();
        offset = piece.result["next"].clone();
    }
    assert_eq!(text, whole);
    let elsewhere = Setup::default().bench();
    let refused = elsewhere.refused("output:read", json!({"ref": "r1"})).await;
    assert_eq!(refused, "Failed KB0619 no result of this attempt has the reference `r1`");
}

#[test]
fn finds_files_by_glob() {
    let bench = bench(&[
        (".gitignore", "dist\n"),
        ("src/a.rs", ""),
        ("src/deep/b.rs", ""),
        ("dist/out.js", ""),
        (".hidden/c.rs", ""),
        (".git/d.rs", ""),
        ("top.rs", ""),
    ]);
    let cases: [(&str, &[&str]); 8] = [
        ("src/**/*.rs", &["src/a.rs", "src/deep/b.rs"]),
        ("src/*.rs", &["src/a.rs"]),
        ("**/*.rs", &[".hidden/c.rs", "src/a.rs", "src/deep/b.rs", "top.rs"]),
        ("*.rs", &["top.rs"]),
        ("dist/*.js", &["dist/out.js"]),
        ("**/*.js", &[]),
        ("src/a.rs", &["src/a.rs"]),
        ("none/**", &[]),
    ];
    for (glob, expected) in cases {
        assert_eq!(bench.parts.workspace.glob(glob).unwrap(), expected, "{glob}");
    }
    assert!(bench.parts.workspace.glob("../*").is_err());
}
