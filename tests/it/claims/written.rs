//! Files that file tools wrote, compared with the disk whether or not a claim is about them, and what entries of
//! edits say about the kind and the size of a change.

use super::bench::Act::{Behind, Delete, Edit, Shell, Write};
use super::bench::{case, verdict};
use kb::evidence::Verdict;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_file_tool_wrote_must_still_be_there() {
    let report = || json!({"summary": "Done."});
    let (gone, other) = (Behind("n/x.txt", None), Behind("n/x.txt", Some("y")));
    for (acts, expected) in [
        (vec![Write("n/x.txt", "x")], Verdict::Passed),
        (vec![Write("n/x.txt", "x"), gone], Verdict::Inconclusive),
        (vec![Write("n/x.txt", "x"), other], Verdict::Inconclusive),
        (vec![Write("n/x.txt", "x"), Edit("n/x.txt", "x", "y")], Verdict::Passed),
        (vec![Write("n/x.txt", "x"), Shell("echo y > n/x.txt")], Verdict::Passed),
        (vec![Write("n/x.txt", "x"), Write("n/y.txt", "y"), Delete("n/y.txt")], Verdict::Passed),
    ] {
        let case = case("written", acts, report());
        let found = verdict(&case).await;
        assert_eq!(found.verdict, expected, "{}: {:?}", case.told(), found.reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kind_and_size_of_an_edit_are_those_of_the_record() {
    let edit = || vec![Edit("src/a.rs", "{}", "{ 1; }")];
    let write = || vec![Write("n/x.rs", "x")];
    let entry = |path: &str, key: &str, value: serde_json::Value| json!({"fileEdits": [{"file": path, key: value}]});
    for (acts, report, expected) in [
        (edit(), entry("src/a.rs", "changeType", json!("modify")), Verdict::Passed),
        (edit(), entry("src/a.rs", "changeType", json!("delete")), Verdict::Failed),
        (edit(), entry("src/a.rs", "changeType", json!("create")), Verdict::Failed),
        (write(), entry("n/x.rs", "changeType", json!("create")), Verdict::Passed),
        (edit(), entry("src/a.rs", "linesChanged", json!(1)), Verdict::Passed),
        (edit(), entry("src/a.rs", "linesChanged", json!(7)), Verdict::Inconclusive),
    ] {
        let case = case("entries", acts, report.clone());
        let found = verdict(&case).await;
        assert_eq!(found.verdict, expected, "{report}: {:?}", found.reason);
    }
}
