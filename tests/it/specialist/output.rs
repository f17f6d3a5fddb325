//! Validation of submitted outputs against the schema of the author.

use super::bench::*;
use kb::definition::Schema;
use kb::specialist::Submission;
use kb::value::Json;
use serde_json::json;

fn schema(json: Json) -> Schema {
    Schema::new(json).unwrap()
}

fn closed() -> Schema {
    schema(json!({
        "type": "object",
        "properties": {
            "files": {"type": "array", "items": {"type": "string"}},
            "result": {"enum": ["passed", "failed"]},
        },
        "required": ["files"],
        "additionalProperties": false,
    }))
}

/// What `handed` becomes: the output, or where it does not fit.
fn judged(schema: &Schema, handed: Json) -> String {
    match Submission::new(Some(schema), None).validate(&handed) {
        Ok(output) => output.to_string(),
        Err(found) => {
            let lines = found.iter().map(|v| format!("{}: {}", v.pointer, v.message));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

#[test]
fn a_summary_is_required_although_the_author_said_nothing_of_it() {
    let fits = json!({"files": ["a"], "summary": "s"});
    assert_eq!(judged(&closed(), fits.clone()), fits.to_string());
    let twice = json!(fits.to_string());
    assert_eq!(judged(&closed(), twice), fits.to_string());
    let told = judged(&closed(), json!({"files": ["a"]}));
    assert!(told.starts_with("/summary: `summary` is required"), "{told}");
}

#[test]
fn all_violations_are_told_at_once() {
    let told = judged(&closed(), json!({"files": [1, {}], "result": "fine", "more": 1}));
    assert_eq!(told.lines().count(), 5, "{told}");
    for place in ["/files/0: ", "/files/1: ", "/result: ", "/summary: ", "unexpected key `more`"] {
        assert!(told.contains(place), "{place} is missing in\n{told}");
    }
}

#[test]
fn an_output_that_is_no_object_is_put_into_one() {
    let list = schema(
        json!({"type": "array", "items": {"$ref": "#/$defs/item"}, "$defs": {"item": {"type": "integer"}}}),
    );
    let submission = Submission::new(Some(&list), None);
    assert_eq!(submission.schema()["properties"]["output"]["items"]["$ref"], "#/$defs/item");
    assert_eq!(submission.schema()["$defs"]["item"]["type"], "integer");
    assert_eq!(judged(&list, json!({"output": [1, 2], "summary": "s"})), "[1,2]");
    assert!(judged(&list, json!({"output": ["x"], "summary": "s"})).starts_with("/output/0: "));
}

#[test]
fn the_schema_is_listed_for_the_model() {
    let words = Submission::new(Some(&closed()), None).to_text();
    insta::assert_snapshot!(words, @r#"
    - `files` (array of string, required)
    - `result` ("passed" or "failed", optional)
    - `summary` (string, required): what you did and found, in a few sentences
    "#);
}

#[tokio::test]
async fn the_steps_schema_holds_over_the_specialists() {
    let own = |s: &mut kb::definition::Specialist| {
        s.output_schema = Some(schema(json!({"type": "object", "required": ["never"]})));
    };
    let output = json!({"files": ["a"], "summary": "s"});
    let replies = [submit(json!({"files": "a", "summary": "s"})), submit(output.clone())];
    let ran = Bench { output_schema: Some(closed()), ..bench(replies).with(own) }.run().await;
    assert_eq!(ran.end(), format!("ok {output}"));
    assert!(ran.sent(2).contains("- /files: expected list, found string"), "{}", ran.sent(2));
}
