//! The tools that find parts of the project by words.

use super::bench::bench;
use serde_json::{Value, json};

fn refs(answer: &Value) -> Vec<&str> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["ref"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn parts_of_files_are_found_by_words_and_shown_as_they_are_now() {
    let bench = bench(&[
        (".gitignore", "out\n"),
        (".env", "retry = secret\n"),
        (
            "src/retry.rs",
            "use x;\n\n/// Waits between attempts.\nfn backoff_delay() {\n    sleep();\n}\n\nfn other() {\n}\n",
        ),
        ("docs/guide.md", "# Guide\n\n## Retries\nThe delay doubles.\n\n## Other\nNothing.\n"),
        ("docs/ru.md", "# Повторы\nПопытка повторяется с задержкой.\n"),
        ("out/gen.rs", "fn backoff_delay() {}\n"),
    ]);
    let ask = |args: Value| bench.ok("mind:query", args);
    let found = ask(json!({"query": "how are retried attempts delayed?"})).await;
    assert_eq!(refs(&found)[0], "src/retry.rs:3-6");
    assert!(refs(&found).contains(&"docs/guide.md:3-5"), "{found}");
    assert_eq!(found["hits"][0]["symbol"], "backoff_delay");
    assert_eq!(found["hits"][0]["why"], json!(["attempts", "delayed", "retried"]));
    assert!(found["hits"][0]["excerpt"].as_str().unwrap().starts_with("/// Waits between"));
    let found = ask(json!({"query": "повторить попытки"})).await;
    assert_eq!(refs(&found), ["docs/ru.md:1-2"]);
    // A question in another language, with words of the files.
    let terms = json!({"query": "задержка между повторами", "terms": ["backoff", "delay"], "path": "src/**"});
    assert_eq!(refs(&ask(terms).await)[0], "src/retry.rs:3-6");
    let docs = json!({"query": "backoffDelay", "corpus": "docs"});
    assert_eq!(refs(&ask(docs).await), ["docs/guide.md:3-5"]);

    std::fs::write(bench.dir.path().join("src/retry.rs"), "fn backoff_delay() {}\n").unwrap();
    std::fs::remove_file(bench.dir.path().join("docs/guide.md")).unwrap();
    let found = ask(json!({"query": "backoff-delay"})).await;
    assert_eq!(refs(&found), ["src/retry.rs:1-1"]);
    let found = ask(json!({"query": "\" OR NEAR( secret* -"})).await;
    assert_eq!(refs(&found), [""; 0]);
    assert!(found["note"].as_str().unwrap().contains("`terms`"));
}

#[tokio::test]
async fn a_map_has_as_much_detail_as_fits() {
    let member = "impl Clock {\n    pub fn tick(&self) {}\n    fn wind(&self) {}\n}\n";
    let bench = bench(&[("a/clock.rs", member), ("b/many.rs", ""), ("notes.txt", "x")]);
    let many: String = (0..400).map(|at| format!("fn function_number_{at}() {{}}\n")).collect();
    std::fs::write(bench.dir.path().join("b/many.rs"), many).unwrap();
    let ask = |args: Value| bench.ok("mind:outline", args);
    let of_a = ask(json!({"path": "a"})).await;
    assert_eq!(
        of_a["outline"],
        "a/clock.rs\n  1 impl Clock {\n    2 pub fn tick(&self) {}\n    3 fn wind(&self) {}\n"
    );
    assert_eq!(of_a["detail"], "members");
    let all = ask(json!({"maxTokens": 100})).await;
    assert_eq!(all["outline"], "a/: 1 file, 3 definitions\nb/: 1 file, 400 definitions\n");
    let one = ask(json!({"symbol": "Clock"})).await;
    assert_eq!(
        (one["files"].as_u64(), one["outline"].as_str().map(|map| map.lines().count())),
        (Some(1), Some(4))
    );
    let cut = ask(json!({"path": "b/many.rs", "maxTokens": 100})).await;
    assert_eq!(cut["detail"], "directories");
    let none = ask(json!({"symbol": "nothing"})).await;
    assert!(none["note"].as_str().unwrap().contains("no definitions"), "{none}");
}
