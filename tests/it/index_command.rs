//! `kb index`: the index of the project files from the command line.

use crate::scratch::Scratch;
use serde_json::json;

/// A project with the state folder that it gets from its tests.
fn project() -> Scratch {
    Scratch::new(&[
        (".env", "TOKEN=lighthouse\n"),
        ("src/lamp.rs", "/// Turns the lighthouse on.\nfn light_lamp() {\n    burn();\n}\n"),
        ("docs/lamp.md", "# Lamp\nThe lighthouse has one.\n"),
    ])
}

#[test]
fn the_index_is_asked_and_shows_what_changed() {
    let scratch = project();
    let status = scratch.json(&["index", "status", "--json"]);
    assert_eq!((&status["code"], &status["changed"]), (&json!(0), &json!(2)));
    let found = scratch.json(&["index", "query", "lighthouse", "--json"]);
    let paths: Vec<&str> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 2, "{found}");
    assert!(!paths.contains(&".env"));
    let said =
        scratch.kb(&["index", "query", "what burns?", "--terms", "lamp,light", "--path", "*.rs"]);
    assert!(
        said.out.starts_with("src/lamp.rs:1-4 light_lamp (burns, lamp, light)\n"),
        "{}",
        said.out
    );
    let said = scratch.kb(&["index", "query", "submarine"]);
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.contains("no file has a word"), "{}", said.err);
    let status = scratch.json(&["index", "status", "--json"]);
    assert_eq!(
        (&status["code"], &status["docs"], &status["gone"]),
        (&json!(1), &json!(1), &json!(0))
    );
}

#[test]
fn a_damaged_index_is_made_again() {
    let scratch = project();
    let status = scratch.json(&["index", "rebuild", "--json"]);
    assert_eq!(status["code"], 1);
    let database = status["database"].as_str().unwrap();
    std::fs::write(database, "no database ".repeat(1000)).unwrap();
    let said = scratch.kb(&["index", "query", "lighthouse"]);
    assert!(
        said.code == 0 && said.out.contains("docs/lamp.md:1-2 Lamp"),
        "{} {}",
        said.out,
        said.err
    );
}
