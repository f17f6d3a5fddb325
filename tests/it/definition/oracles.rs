//! Two other YAML parsers must agree with ours on every valid file of the repository.

use kb::definition::load_value;
use kb::value::Json;
use std::path::{Path, PathBuf};

fn tree(text: &str) -> Result<Json, String> {
    let (value, _, found) = load_value("x.yml", text.as_bytes());
    let value = value.map(|found| found.value);
    value.ok_or_else(|| found.iter().map(|d| d.message.clone()).collect())
}

/// What stands between the fences of a regular markdown file.
fn front_matter(text: &str) -> Option<&str> {
    text.strip_prefix("---\n")?.split_once("\n---\n").map(|(matter, _)| matter)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let regular =
            path.extension().is_some_and(|kind| kind == "yml" || kind == "md" || kind == "json");
        if path.is_dir() {
            files(&path, found);
        } else if regular {
            found.push(path);
        }
    }
}

/// The YAML of every definition that lies in the repository and that YAML readers can read.
fn regular_texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in
        ["tests/definitions", "playbooks", "workflows", "agents", "templates", "assets", ".kb"]
    {
        files(&root.join(folder), &mut found);
    }
    found.sort();
    let texts = found.into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(&path).ok()?;
        let text = if path.extension().is_some_and(|kind| kind == "md") {
            front_matter(&text)?.to_owned()
        } else {
            text
        };
        Some((path, text))
    });
    texts.collect()
}

#[test]
fn agrees_with_serde_yaml_and_serde_saphyr_on_every_regular_file() {
    let mut compared = 0;
    for (path, text) in regular_texts() {
        let Ok(own) = tree(&text) else { continue };
        let theirs: Json = serde_yaml::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(own, theirs, "{} against serde_yaml", path.display());
        let options = serde_saphyr::options! { strict_booleans: true };
        let theirs: Json = serde_saphyr::from_str_with_options(&text, options)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(own, theirs, "{} against serde-saphyr", path.display());
        compared += 1;
    }
    assert!(compared >= 12, "only {compared} files were compared");
}

#[test]
fn agrees_with_serde_yaml_on_the_corners_of_yaml() {
    for text in [
        "a: 1\nb: -2\nc: 1.5\nd: 1e3\ne: 0x1F\nf: 0o17\ng: 18446744073709551615",
        "a: ~\nb: null\nc:\nd: ''\ne: \"\"\nf: '~'",
        "a: true\nb: 'true'\nc: yes\nd: on\ne: no",
        "a: 'it''s'\nb: \"tab\\there \\u00e9\"\nc: plain # comment\nd: a#b",
        "a: |\n  one\n   two\n\n  three\nb: >\n  one\n  two\n\n  three\nc: |-\n  x\nd: |+\n  x\n\n",
        "a: [1, two, [three, {four: 5}]]\nb: {c: d, e: [f]}\ng: []\nh: {}",
        "a: &x {k: [1, 2]}\nb: *x\nc: [*x, *x]",
        "a: one\n  two\nb: 'one\n  two'",
        "\"quoted key\": 1\n'other': 2\né: ü",
        "a: 1.0.0\nb: 007\nc: 1_000\nd: 12:30\nf: .",
        "- a\n- - b\n  - c\n- d: e\n  f: g",
    ] {
        let theirs: Json = serde_yaml::from_str(text).expect("regular");
        assert_eq!(tree(text), Ok(theirs), "{text}");
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "[ -~éß\n\t]{0,12}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                proptest::collection::btree_map("[a-zA-Z_ :é-]{1,8}", inner, 0..4)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    /// An empty file is no value, so every value stands in a list.
    fn document() -> impl Strategy<Value = Json> {
        value().prop_map(|value| Json::Array(vec![value]))
    }

    proptest! {
        #[test]
        fn reads_back_what_serde_yaml_writes(value in document()) {
            let text = serde_yaml::to_string(&value).expect("a JSON value");
            prop_assert_eq!(tree(&text), Ok(value), "{}", text);
        }

        #[test]
        fn reads_json(value in document()) {
            prop_assert_eq!(tree(&serde_json::to_string_pretty(&value).expect("a value")), Ok(value));
        }
    }
}
