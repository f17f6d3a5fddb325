//! Every answer of the API that a test receives fits the OpenAPI document.

use super::site::Answer;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::OnceLock;

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(kb::web::document)
}

/// Panics if an answer has a status or a value that the document does not name for its address.
#[track_caller]
pub(super) fn check(method: &str, target: &str, answer: &Answer) {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let paths = document()["paths"].as_object().unwrap();
    let Some((template, operations)) = paths.iter().find(|(template, _)| fits(template, path))
    else {
        return;
    };
    let operation = &operations[method.to_ascii_lowercase()];
    // What is refused before a route is found has statuses of its own.
    if operation.is_null() || answer.status >= 400 {
        return;
    }
    let responses = operation["responses"].as_object().unwrap();
    // A form that is sent by a page is answered with another page.
    let Some(response) = responses.get(&answer.status.to_string()) else {
        assert_eq!((answer.status, template.as_str()), (303, "/login"), "{method} {target}");
        return;
    };
    let kind = answer.header("content-type").split(';').next().unwrap_or_default();
    let Some(schema) = response["content"][kind].get("schema") else {
        assert!(
            answer.body.is_empty(),
            "{method} {target}: {} {kind} has no schema",
            answer.status
        );
        return;
    };
    if kind != "application/json" || !answer.header("content-encoding").is_empty() {
        return;
    }
    let mut schema = schema.clone();
    schema["components"] = document()["components"].clone();
    let validator =
        jsonschema::validator_for(&schema).unwrap_or_else(|e| panic!("{template}: {e}"));
    let value = answer.json();
    let problems: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{method} {target}: {problems:#?}\n{value:#}");
}

fn fits(template: &str, path: &str) -> bool {
    let (wanted, given) = (template.split('/'), path.split('/'));
    wanted.clone().count() == given.clone().count()
        && wanted.zip(given).all(|(wanted, given)| wanted.starts_with('{') || wanted == given)
}

#[test]
fn every_operation_has_a_name_and_every_reference_a_target() {
    let mut names = BTreeSet::new();
    for operations in document()["paths"].as_object().unwrap().values() {
        for operation in operations.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name), "{name} is the name of two operations");
            let responses = operation["responses"].as_object().unwrap();
            for (status, response) in responses.iter().filter(|(status, _)| status.as_str() < "300")
            {
                let has_body = response["content"].as_object().is_some_and(|all| !all.is_empty());
                assert_eq!(has_body, status != "204", "{name} {status}");
            }
        }
    }
    for name in [
        "getRuns",
        "postRuns",
        "getRun",
        "cancelRun",
        "getRunStepLog",
        "postAsk",
        "revokeToken",
        "postHook",
        "getOpenapi",
    ] {
        assert!(names.contains(name), "{name} is not in {names:?}");
    }
    references(document());
    assert_eq!(document()["servers"], json!([{"url": "/"}]));
}

fn references(value: &Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref") {
                let found =
                    target.strip_prefix('#').and_then(|pointer| document().pointer(pointer));
                assert!(found.is_some(), "{target} is not in the document");
            }
            map.values().for_each(references);
        }
        Value::Array(items) => items.iter().for_each(references),
        _ => {}
    }
}
