//! Decodes test files (`kb.test/1`).

use super::fault::faults;
use super::script::script_steps;
use super::test_parts::{require_one, text, tool_name};
use super::{Decoder, Fields, Node};
use crate::definition::check::pattern;
use crate::definition::keys::test as keys;
use crate::definition::model::{
    Expectations, FileExpectation, Located, LocatedMap, Stub, StubFailure, TestCase, TestFile,
    TestReply, TestScript, ToolStub,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{Json, JsonMap};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Decodes a test file.
pub(crate) fn test_file(root: &Node, decoder: &mut Decoder) -> Option<TestFile> {
    let file = decoder.fields(root, &keys::TEST_FILE)?;
    decoder.schema_version(&file, "kb.test/1", "a test file");
    let node = decoder.required(&file, "tests")?;
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "tests", "a list of tests");
        return None;
    };
    if items.is_empty() {
        decoder.bad_value(node.span, "`tests` is empty".into(), "add a test".into());
    }
    let tests: Vec<TestCase> = items.iter().filter_map(|item| test(item, &file, decoder)).collect();
    let mut names = BTreeMap::new();
    for test in &tests {
        let name = &test.name;
        if let Some(first) = names.insert(name.value.as_str(), name.span) {
            let message = format!("the file has two tests with the name `{}`", name.value);
            let found = Diagnostic::error(Code::BAD_VALUE, name.span, message);
            decoder.push(found.label(first, "first used here").help("give each test its own name"));
        }
    }
    Some(TestFile { tests })
}

fn test(node: &Node, file: &Fields<'_>, decoder: &mut Decoder) -> Option<TestCase> {
    let mut fields = decoder.fields(node, &keys::TEST)?;
    fields.inherit(file, keys::is_shared);
    let name = decoder.required(&fields, "name").and_then(|node| text(node, "name", decoder));
    let playbook = match fields.get("playbook") {
        Some(node) => text(node, "playbook", decoder),
        None => {
            let message = "the test names no playbook";
            let found = Diagnostic::error(Code::MISSING_KEY, fields.span, message);
            decoder.push(found.help("add `playbook: ID` to the test or to the file"));
            None
        }
    };
    let params = fields.get("params").and_then(|node| json_map(node, "params", decoder));
    let files = named(&fields, "files", decoder, |node, key, decoder| {
        decoder.text(node, key).map(str::to_owned)
    });
    let env = named(&fields, "env", decoder, |node, key, decoder| {
        decoder.scalar(node, key).map(str::to_owned)
    });
    let script = fields.get("script").and_then(|node| script(node, decoder));
    let interrupt = fields.get("interruptAfter");
    let expect = fields.get("expect").and_then(|node| expectations(node, decoder));
    Some(TestCase {
        params: params.unwrap_or_default(),
        files,
        copy: texts(&fields, "copy", decoder).unwrap_or_default(),
        git: fields.boolean("git", decoder).unwrap_or(false),
        env: env.into_iter().map(|(name, value)| (name, value.value)).collect(),
        script,
        stubs: named(&fields, "stubs", decoder, stubs),
        tools: stubbed_tools(&fields, decoder),
        faults: faults(&fields, decoder),
        answers: named(&fields, "answers", decoder, |node, _, decoder| reply(node, decoder)),
        interrupt_after: interrupt.and_then(|node| text(node, "interruptAfter", decoder)),
        max_parallel: fields.integer("maxParallel", decoder),
        timeout: fields.duration("timeout", decoder),
        expect: expect.unwrap_or_default(),
        name: name?,
        playbook: playbook?,
    })
}

/// The texts of a list; `None` if the key is absent.
fn texts(fields: &Fields<'_>, key: &str, decoder: &mut Decoder) -> Option<Vec<Located<String>>> {
    let node = fields.get(key)?;
    let items = decoder.list(node, key);
    Some(items.iter().filter_map(|item| text(item, key, decoder)).collect())
}

fn json_map(node: &Node, key: &str, decoder: &mut Decoder) -> Option<JsonMap> {
    match node.to_json() {
        Json::Object(map) if node.as_map().is_some() => Some(map),
        _ => {
            decoder.wrong_type(node, key, "a map");
            None
        }
    }
}

/// The entries of a map whose names the user chose; empty if the key is absent.
fn named<T>(
    fields: &Fields<'_>,
    key: &str,
    decoder: &mut Decoder,
    decode: impl Fn(&Node, &str, &mut Decoder) -> Option<T>,
) -> LocatedMap<T> {
    let Some(node) = fields.get(key) else { return Vec::new() };
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, key, "a map");
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, node) in entries {
        if let Some(value) = decode(node, &name.text, decoder) {
            let (start, end) = (name.span.start as usize, node.span.end as usize);
            let span = Span::new(name.span.source, start, end);
            found.push((name.text.to_string(), Located { value, span }));
        }
    }
    found
}

fn script(node: &Node, decoder: &mut Decoder) -> Option<TestScript> {
    if node.as_text().is_some() {
        return text(node, "script", decoder).map(TestScript::File);
    }
    script_steps(node, decoder)?;
    let text = json!({"schema": "kb.script/1", "steps": node.to_json()}).to_string();
    let names = node.as_map().unwrap_or_default().iter();
    let names = names.map(|(key, _)| Located { value: key.text.to_string(), span: key.span });
    Some(TestScript::Text { text, names: names.collect() })
}

fn stubs(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<Stub>> {
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
    let stubs: Vec<Stub> = items.iter().filter_map(|item| stub(item, decoder)).collect();
    (!stubs.is_empty()).then_some(stubs)
}

fn stub(node: &Node, decoder: &mut Decoder) -> Option<Stub> {
    let fields = decoder.fields(node, &keys::STUB)?;
    require_one(&fields, keys::STUB_NAMES, decoder)?;
    let kind = fields.choice("kind", decoder);
    let result = match fields.text("error", decoder) {
        Some(message) => Err(StubFailure { message, kind }),
        None => Ok(fields.entry("output")?.1.to_json()),
    };
    let exit_code = fields.integer("exitCode", decoder).map(|code| code as i32);
    let delay = fields.duration("delay", decoder).unwrap_or(Duration::ZERO);
    Some(Stub { result, exit_code, delay })
}

/// The stubs of tools, under the names of the table of tools.
fn stubbed_tools(fields: &Fields<'_>, decoder: &mut Decoder) -> LocatedMap<Vec<ToolStub>> {
    let found = named(fields, "tools", decoder, tool_stubs);
    let renamed = found.into_iter().filter_map(|(written, stubs)| {
        let end = stubs.span.start as usize + written.len();
        let span = Span::new(stubs.span.source, stubs.span.start as usize, end);
        Some((tool_name(&written, span, decoder)?, stubs))
    });
    renamed.collect()
}

fn tool_stubs(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<ToolStub>> {
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
    let stubs: Vec<ToolStub> = items.iter().filter_map(|item| tool_stub(item, decoder)).collect();
    (!stubs.is_empty()).then_some(stubs)
}

fn tool_stub(node: &Node, decoder: &mut Decoder) -> Option<ToolStub> {
    let fields = decoder.fields(node, &keys::TOOL_STUB)?;
    require_one(&fields, keys::TOOL_STUB_NAMES, decoder)?;
    let args = fields.get("args").and_then(|node| json_map(node, "args", decoder));
    let result = match fields.text("error", decoder) {
        Some(message) => Err(message),
        None => Ok(fields.entry("output")?.1.to_json()),
    };
    Some(ToolStub { args: args.map(Json::Object), result })
}

fn reply(node: &Node, decoder: &mut Decoder) -> Option<TestReply> {
    if node.as_map().is_none() {
        return match node.to_json() {
            Json::String(text) if text == "approve" => Some(TestReply::Approve(None)),
            Json::String(text) if text == "reject" => Some(TestReply::Reject(None)),
            value => Some(TestReply::Answer(value)),
        };
    }
    let fields = decoder.fields(node, &keys::REPLY)?;
    let key = require_one(&fields, keys::REPLY_NAMES, decoder)?;
    let (_, value) = fields.entry(key)?;
    match key {
        "answer" => Some(TestReply::Answer(value.to_json())),
        "approve" => comment(value, key, decoder).map(TestReply::Approve),
        _ => comment(value, key, decoder).map(TestReply::Reject),
    }
}

/// The comment of a decision: `true` is a decision without one.
fn comment(value: &Node, key: &str, decoder: &mut Decoder) -> Option<Option<String>> {
    match value.to_json() {
        Json::String(text) => Some(Some(text)),
        Json::Bool(true) => Some(None),
        _ => {
            decoder.wrong_type(value, key, "`true` or a comment");
            None
        }
    }
}

fn expectations(node: &Node, decoder: &mut Decoder) -> Option<Expectations> {
    let fields = decoder.fields(node, &keys::EXPECT)?;
    let status = fields.get("status").and_then(|node| {
        let value = decoder.choice(node, "status")?;
        Some(Located { value, span: node.span })
    });
    let max_cost = fields.get("maxCost").and_then(|node| {
        let value = decoder.number(node, "maxCost", 0.0, f64::INFINITY)?;
        Some(Located { value, span: node.span })
    });
    let any = |node: &Node, _: &str, _: &mut Decoder| Some(node.to_json());
    Some(Expectations {
        status,
        steps: named(&fields, "steps", decoder, |node, _, decoder| decoder.choice(node, "steps")),
        attempts: named(&fields, "attempts", decoder, |node, key, decoder| {
            decoder.integer(node, key, 0, u32::MAX)
        }),
        verdicts: named(&fields, "verdicts", decoder, |node, _, decoder| {
            decoder.choice(node, "verdicts")
        }),
        errors: named(&fields, "errors", decoder, |node, key, decoder| {
            decoder.text(node, key).map(str::to_owned)
        }),
        outputs: named(&fields, "outputs", decoder, any),
        step_outputs: named(&fields, "stepOutputs", decoder, any),
        files: named(&fields, "files", decoder, |node, _, decoder| expected_file(node, decoder)),
        changes: texts(&fields, "changes", decoder),
        events: events(&fields, decoder),
        max_cost,
        snapshot: fields
            .get("snapshot")
            .filter(|_| fields.boolean("snapshot", decoder) == Some(true))
            .map(|node| node.span),
    })
}

fn events(fields: &Fields<'_>, decoder: &mut Decoder) -> Vec<Located<Json>> {
    let Some(node) = fields.get("events") else { return Vec::new() };
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "events", "a list of maps");
        return Vec::new();
    };
    let mut found = Vec::new();
    for item in items {
        match item.as_map() {
            Some(_) => found.push(Located { value: item.to_json(), span: item.span }),
            None => decoder.wrong_type(item, "events", "a map, such as `{type: \"step:retry\"}`"),
        }
    }
    found
}

fn expected_file(node: &Node, decoder: &mut Decoder) -> Option<FileExpectation> {
    if let Some(text) = node.as_text() {
        let equals = Some(text.to_owned());
        return Some(FileExpectation { equals, ..FileExpectation::default() });
    }
    let fields = decoder.fields(node, &keys::FILE_EXPECT)?;
    let matches = fields.get("matches").and_then(|node| text(node, "matches", decoder));
    if let Some(matches) = &matches {
        pattern::regex(&matches.value, matches.span, decoder);
    }
    Some(FileExpectation {
        absent: fields.boolean("exists", decoder) == Some(false),
        equals: fields.text("equals", decoder),
        contains: fields.texts("contains", decoder),
        lacks: fields.texts("lacks", decoder),
        matches: matches.map(|matches| matches.value),
    })
}
