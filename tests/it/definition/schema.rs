//! The short form of schemas, and what values are told.

use super::*;
use kb::definition::Schema;
use serde_json::{Value as Json, json};

/// The JSON Schema of a step's `output.schema`, or what is said against it.
fn read(schema: &str) -> Result<Json, String> {
    let text =
        with_steps(&format!("  - {{id: a, run: echo, parse: json, output: {{schema: {schema}}}}}"));
    let (catalog, said) = said(FileRole::Playbook, "p.yml", text);
    match catalog.playbooks.values().next() {
        Some(found) if said.is_empty() => {
            Ok(found.steps[0].details().output_schema.as_ref().expect("a schema").json().clone())
        }
        _ => Err(said.trim_end().to_owned()),
    }
}

fn check(short: &str, expected: Json) {
    assert_eq!(read(short), Ok(expected), "{short}");
}

fn object(properties: Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn the_short_form_of_the_documents() {
    let text = || json!({"type": "string"});
    let list = |items: Json| json!({"type": "array", "items": items});
    check(r#"{files: "string[]"}"#, object(json!({"files": list(text())}), &["files"]));
    check(
        r#"{summary: string, "note?": string}"#,
        object(json!({"summary": text(), "note": text()}), &["summary"]),
    );
    check(
        r#"{"code?": "Record<string, string>"}"#,
        object(json!({"code": {"type": "object", "additionalProperties": text()}}), &[]),
    );
    check(
        r#"{result: "passed | failed | skipped"}"#,
        object(json!({"result": {"enum": ["passed", "failed", "skipped"]}}), &["result"]),
    );
    check(
        r#"{result: "'passed' | \"failed\" | 3"}"#,
        object(json!({"result": {"enum": ["passed", "failed", 3]}}), &["result"]),
    );
    let item = || object(json!({"name": text(), "size": {"type": "integer"}}), &["name"]);
    check(
        r#"{items: "{name: string, size?: integer}[]"}"#,
        object(json!({"items": list(item())}), &["items"]),
    );
    check(
        r#"{items: [{name: string, "size?": integer}]}"#,
        object(json!({"items": list(item())}), &["items"]),
    );
    check(r#""string | null""#, json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
    check(r#""(a | b)[][]""#, list(list(json!({"enum": ["a", "b"]}))));
    check("[number]", list(json!({"type": "number"})));
    check(
        r#"{x: any, y: "Array<boolean>"}"#,
        object(json!({"x": {}, "y": list(json!({"type": "boolean"}))}), &["x", "y"]),
    );
}

#[test]
fn json_schema_is_taken_as_it_is() {
    for schema in [
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"type": ["string", "null"]}),
        json!({"anyOf": [{"type": "string"}, {"const": 3}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}),
        json!({}),
    ] {
        check(&schema.to_string(), schema);
    }
}

#[test]
fn keys_of_a_short_form_may_be_called_like_keywords() {
    check(
        "{type: string, name: string}",
        object(json!({"type": {"type": "string"}, "name": {"type": "string"}}), &["type", "name"]),
    );
    check(
        "{properties: \"string[]\"}",
        object(
            json!({"properties": {"type": "array", "items": {"type": "string"}}}),
            &["properties"],
        ),
    );
}

#[test]
fn faults_of_schemas_are_reported() {
    let fault = |schema: &str| read(schema).expect_err("a fault");
    insta::assert_snapshot!(fault(r#"{files: "string["}"#), @r#"error KB0215 5:62 `string[` is not a type: expected `]`, found the end | write a type such as `string`, `string[]`, `"{name: string}[]"`, `"Record<string, string>"` or `a | b`"#);
    insta::assert_snapshot!(fault(r#"{files: "Record<int, string>"}"#), @r#"error KB0215 5:62 `Record<int, string>` is not a type: the keys of a `Record` are `string`, not `int` | write a type such as `string`, `string[]`, `"{name: string}[]"`, `"Record<string, string>"` or `a | b`"#);
    insta::assert_snapshot!(fault(r#"{files: [string, number]}"#), @"error KB0215 5:62 a list in a schema has exactly one entry, the type of its items | write `[string]`, or `a | b | c` for one of several");
    insta::assert_snapshot!(fault(r#"{n: strng}"#), @"warning KB0215 5:58 `strng` is not a type, so it means the literal text `strng` | did you mean `string`?");
    insta::assert_snapshot!(fault(r#"{type: object, required: yes}"#), @r#"error KB0215 5:54 the schema is not valid at `/required`: "yes" is not of type "array" | write JSON Schema (draft 2020-12), or the short form `files: "string[]"`"#);
    assert!(fault(r#"{$ref: "http://example.org/schema.json"}"#).contains("KB0215"));
    assert!(fault(r#"{$ref: "file:///etc/passwd"}"#).contains("KB0215"));
    assert!(
        fault(r#"{$schema: "http://example.org/own", type: string}"#)
            .contains("not a supported draft of JSON Schema")
    );
    assert!(fault(r#"{type: string, pattern: "("}"#).contains("KB0215"));
    let deep = format!("\"{}string{}\"", "(".repeat(500), ")".repeat(500));
    assert!(fault(&deep).contains("nested too deeply"));
}

#[test]
fn every_violation_has_a_place_and_plain_words() {
    let schema = Schema::new(json!({
        "type": "object",
        "properties": {
            "files": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "result": {"enum": ["passed", "failed"]},
            "n": {"type": "integer", "minimum": 1},
        },
        "required": ["files", "summary"],
        "additionalProperties": false,
    }))
    .expect("a schema");
    let value = json!({"files": ["a", 3], "result": "maybe", "n": 0, "extra": true});
    let mut said: Vec<String> = schema
        .violations(&value)
        .into_iter()
        .map(|v| format!("{} {}", v.pointer, v.message))
        .collect();
    said.sort();
    insta::assert_snapshot!(said.join("\n"), @"
     `summary` is missing
     unexpected key `extra`
    /files/1 expected string, found number
    /n must be at least 1
    /result `maybe` is not one of `passed`, `failed`
    ");
    assert!(
        schema
            .violations(&json!({"files": ["a"], "n": 1}))
            .iter()
            .all(|v| v.message.contains("summary"))
    );
}

#[test]
fn a_key_may_have_json_schema_of_its_own() {
    check("{name: {type: string}}", object(json!({"name": {"type": "string"}}), &["name"]));
    check(
        r#"{"size?": {type: integer, minimum: 1}, kind: {enum: [a, b]}}"#,
        object(
            json!({"size": {"type": "integer", "minimum": 1}, "kind": {"enum": ["a", "b"]}}),
            &["kind"],
        ),
    );
    check(
        "{issues: [{type: string, description: string}]}",
        object(
            json!({"issues": {"type": "array", "items": object(
                json!({"type": {"type": "string"}, "description": {"type": "string"}}),
                &["type", "description"],
            )}}),
            &["issues"],
        ),
    );
    let wrong = read("{name: {type: string, required: true}}").expect_err("`required` is a list");
    assert!(wrong.starts_with("error KB0215"), "{wrong}");
}
