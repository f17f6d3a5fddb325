//! Claims of changes that left the content of a file as it was, and honest spellings of changed paths.

use super::bench::Act::{self, Delete, Edit, Shell, Write};
use super::bench::{Case, case, table};
use crate::proof;
use kb::evidence::Verdict;
use serde_json::json;

/// Commands after which `src/a.rs` has the content that it had before.
const NO_OPS: [&str; 22] = [
    "touch src/a.rs",
    "touch -d 2001-01-01 src/a.rs",
    "touch -r README.md src/a.rs",
    "touch -m src/a.rs; touch -a src/a.rs",
    "cp src/a.rs t; cp t src/a.rs; rm t",
    "cp src/a.rs t; mv t src/a.rs",
    "cp -p src/a.rs t; rm src/a.rs; mv t src/a.rs",
    "mv src/a.rs t; mv t src/a.rs",
    "mv src/a.rs src/z.rs; mv src/z.rs src/a.rs",
    "ln src/a.rs t; rm t",
    "ln src/a.rs t; mv -f t src/a.rs; rm -f t",
    "ln src/a.rs t; rm src/a.rs; mv t src/a.rs",
    "sed -i '' src/a.rs",
    "sed -i s/x/x/ src/a.rs",
    "sed -i 's/a/z/; s/z/a/' src/a.rs",
    "printf '' >> src/a.rs",
    "cat src/a.rs > t; cat t > src/a.rs; rm t",
    "dd if=/dev/null of=src/a.rs conv=notrunc status=none",
    "truncate -s +0 src/a.rs",
    "echo x >> src/a.rs; head -n -1 src/a.rs > t; mv t src/a.rs",
    "tar cf t.tar src/a.rs; rm src/a.rs; tar xf t.tar; rm t.tar",
    "mkdir d; mv src/a.rs d; mv d/a.rs src; rmdir d; sync",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_the_same_content_was_not_modified() {
    let claims = [json!({"modified": ["src/a.rs"]}), json!({"created": ["src/a.rs"]})];
    let cases: Vec<Case> = NO_OPS
        .iter()
        .flat_map(|command| claims.clone().map(|claim| case(command, vec![Shell(command)], claim)))
        .collect();
    let accepted = table("no-ops", &cases, Verdict::Passed).await;
    assert!(accepted.is_empty(), "accepted:\n{}", accepted.join("\n"));
    proof::record("no-ops claimed as changes", None, [("tried", cases.len()), ("accepted", 0)]);
}

/// A path of a claim, and the calls that changed the file.
fn spellings() -> Vec<(&'static str, Vec<Act>, &'static str)> {
    let new = || vec![Write("n/new.rs", "x")];
    let edit = || vec![Edit("src/a.rs", "{}", "{ 1; }")];
    let below = || vec![Write("linked/deep/new.rs", "x")];
    let mut all: Vec<(&str, Vec<Act>, &str)> = Vec::new();
    for path in [
        "n/new.rs",
        "./n/new.rs",
        "n//new.rs",
        "n/./new.rs",
        "n/../n/new.rs",
        "$ROOT/n/new.rs",
        "$ALIAS/n/new.rs",
        "$ROOT/./n//new.rs",
        "./n/x/../new.rs",
        " n/new.rs ",
    ] {
        all.push(("created", new(), path));
    }
    for path in [
        "src/a.rs",
        "./src/a.rs",
        "src//a.rs",
        "src/./a.rs",
        "$ROOT/src/a.rs",
        "$ALIAS/src/a.rs",
        "real/../src/a.rs",
    ] {
        all.push(("modified", edit(), path));
    }
    for path in [
        "linked/deep/new.rs",
        "real/deep/new.rs",
        "./linked/deep/new.rs",
        "$ROOT/linked/deep/new.rs",
        "$ALIAS/real/deep/new.rs",
    ] {
        all.push(("created", below(), path));
    }
    for path in
        ["old/one.txt", "./old/one.txt", "$ROOT/old/one.txt", "old//one.txt", "$ALIAS/old/one.txt"]
    {
        all.push(("deleted", vec![Delete("old/one.txt")], path));
    }
    for path in ["old", "old/", "./old", "$ROOT/old"] {
        all.push(("deleted", vec![Shell("rm -r old")], path));
    }
    all.push(("created", vec![Shell("mkdir -p made")], "made/"));
    all.push(("created", vec![Shell("ln -s missing dangling")], "dangling"));
    all.push(("created", vec![Shell("echo x > ' a file '")], " a file "));
    all.push(("created", vec![Shell("echo x > $'caf\\xc3\\xa9.txt'")], "cafe\u{301}.txt"));
    all.push(("modified", vec![Shell("sed -i 's/c/d/' linked/deep/c.rs")], "linked/deep/c.rs"));
    // The model sees such a name with replacement characters.
    all.push(("created", vec![Shell("echo x > $'bad\\xff.txt'")], "bad\u{fffd}.txt"));
    all.push(("created", vec![Shell("mkdir -p $'b\\xfe'; echo x > $'b\\xfe/y'")], "b\u{fffd}/y"));
    all
}

/// A path of this many folders.
fn deep(folders: usize) -> String {
    format!("{}file", "d/".repeat(folders))
}

/// Deeper than a scan goes: work that was done is not refuted, and a claim of work that was not is.
#[tokio::test(flavor = "multi_thread")]
async fn a_path_below_the_depth_of_scans_is_neither_refuted_nor_believed() {
    let path: &'static str = deep(130).leak();
    let make = format!("mkdir -p {}; echo x > {path}", path.trim_end_matches("file"));
    let claim = || json!({"created": [path]});
    let honest = case("deep", vec![Shell(make.leak())], claim());
    let refuted = table("deep", &[honest], Verdict::Failed).await;
    assert!(refuted.is_empty(), "refuted:\n{}", refuted.join("\n"));
    for acts in [vec![], vec![Write("src/other.rs", "x")], vec![Shell("mkdir -p d/d/d")]] {
        let lie = case("deep", acts, claim());
        let refuted = table("deep", &[lie], Verdict::Failed).await;
        assert_eq!(refuted.len(), 1, "a file that does not exist was not refuted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_honest_spelling_of_a_path_is_refuted() {
    let cases: Vec<Case> = spellings()
        .into_iter()
        .map(|(kind, acts, path)| case(path, acts, json!({(kind): [path]})))
        .collect();
    assert!(cases.len() >= 30);
    let refuted = table("spellings", &cases, Verdict::Failed).await;
    assert!(refuted.is_empty(), "refuted:\n{}", refuted.join("\n"));
    proof::record("honest spellings", None, [("tried", cases.len()), ("refuted", 0)]);
}
