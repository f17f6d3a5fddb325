//! The tools that read source files as code.

use super::bench::bench;
use serde_json::{Value, json};

/// The results under a key as `path:line name`, or the line where there is no name.
fn places(result: &Value, key: &str) -> Vec<String> {
    let entries = result[key].as_array().unwrap().iter();
    let shown = entries.map(|entry| {
        let name = entry["name"].as_str().or(entry["text"].as_str()).unwrap();
        format!("{}:{} {name}", entry["path"].as_str().unwrap(), entry["line"])
    });
    shown.collect()
}

#[tokio::test]
async fn code_is_found_by_its_names() {
    let bench = bench(&[
        (".gitignore", "out\n"),
        ("a.rs", "pub struct Clock;\nimpl Clock {\n    pub fn tick(&self) {}\n}\n"),
        ("b/c.py", "def tick():\n    pass\n\ntick()  # tick\n"),
        ("b/readme.md", "# Use\n\n## tick\n"),
        ("out/d.rs", "fn tick() {}\n"),
        ("notes.txt", "fn tick() {}\n"),
    ]);
    let outline = bench.ok("code:outline", json!({"path": "a.rs"})).await;
    assert_eq!(places(&outline, "symbols"), ["a.rs:1 Clock", "a.rs:2 Clock", "a.rs:3 tick"]);
    assert_eq!(outline["symbols"][2]["in"], "Clock");
    assert_eq!(outline["symbols"][2]["kind"], "method");
    let outline = bench.ok("code:outline", json!({})).await;
    let expected = ["a.rs:1 Clock", "a.rs:2 Clock", "b/c.py:1 tick", "b/readme.md:1 Use"];
    assert_eq!(places(&outline, "symbols"), expected);

    let found = bench.ok("code:find-definition", json!({"name": "tick"})).await;
    let expected = ["a.rs:3 tick", "b/c.py:1 tick", "b/readme.md:3 tick"];
    assert_eq!(places(&found, "definitions"), expected);
    let found = bench.ok("code:find-definition", json!({"name": "Clock::tick()"})).await;
    assert_eq!(places(&found, "definitions"), ["a.rs:3 tick"]);

    let found = bench.ok("code:find-usages", json!({"name": "tick", "glob": "*.py"})).await;
    assert_eq!(places(&found, "usages"), ["b/c.py:1 def tick():", "b/c.py:4 tick()  # tick"]);
    let found = bench.ok("code:find-usages", json!({"name": "tick", "maxResults": 1})).await;
    assert_eq!(places(&found, "usages").len(), 1);
    assert!(found["note"].as_str().unwrap().contains("the first 1 results"));

    let refused = bench.refused("code:outline", json!({"path": "notes.txt"})).await;
    assert!(refused.contains("no language with an outline"), "{refused}");
}
