//! The tests of a file.

use super::doubles::{REPLY, Stub, TestReply, ToolStub, replies, stubbed_tools, stubs};
use super::expectations::Expectations;
use super::fault::{FAULT, Fault, faults};
use crate::definition::keys::KeyType::{Constant, Integer, List, Map, MapOf, OneOf, Scalar, Text};
use crate::definition::keys::{KeySpec, Named, keys};
use crate::definition::model::{Located, LocatedMap};
use crate::definition::script::{TURN, script_steps};
use crate::definition::syntax::{Decoder, Fields, Node, Unread};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::JsonMap;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// A file with tests of playbooks.
#[derive(Debug, Clone, Default)]
pub struct TestFile {
    /// The tests, in order.
    pub tests: Vec<TestCase>,
}

keys! {
    /// A test file: tests of playbooks. Its keys other than `schema`, `description` and `tests` are defaults of its tests.
    struct FileKeys(): TEST_FILE = ("testFile", "a test file", also TestCase::SHARED) {
        /// Kind of the file and version of the format.
        _schema: Unread = "schema" as Constant("kb.test/1"), required, example("kb.test/1");
        /// Description of the tests.
        _description: Unread = "description", example("Release notes for a range of commits");
        /// The tests. They run in parallel.
        _tests: Unread = "tests" as List(const { &TestCase::MAP }), required,
            example("[{name: writes the file, playbook: notes, expect: {files: {out.md: {exists: true}}}}]");
    }

    /// One test: a run of a playbook in a new project folder, and its expected result.
    pub struct TestCase(Debug, Clone): TEST = ("test", "a test") {
        /// Name of the test; unique in the file.
        name: Located<String> = "name", required, example("writes the file");
        /// The expected result.
        expect: Expectations = "expect", default("{status: succeeded}");
        /// Id of the playbook or workflow.
        playbook: Located<String> = "playbook", example("release-notes"), names(Named::Playbook);
        /// Parameters of the run.
        params: JsonMap = "params", default("{}"), example("{since: v1.0}");
        /// Files of the new project, by path.
        files: LocatedMap<String> = "files", default("{}"), example("{src/a.txt: \"one\\n\"}");
        /// Globs of files of this project to copy; `!` excludes files. `.kb/` and all definitions are always copied.
        copy: Vec<Located<String>> = "copy", default("[]"), example("[\"src/**\"]");
        /// Whether the new project is a git repository with one commit of its files.
        git: bool = "git", default("false");
        /// Environment variables. Of the environment of `kb`, a test only has `PATH`, `HOME`, `USER`, `LANG` and `TMPDIR`.
        env: Vec<(String, String)> = "env" as MapOf(&Scalar) => env, default("{}"), example("{CI: \"1\"}");
        /// Responses in place of the model: the path of a script, relative to the test file, or the `steps` of one.
        script: Option<TestScript> = "script" as OneOf(const { &[Text, MapOf(const { &List(const { &Map(&TURN) }) })] }) => script,
            example("{implement: [{output: {summary: done}}]}"), names(Named::File);
        /// Results in place of the execution of steps, by step, item or [name of attempts](../../testing.md#names-of-attempts). A list has one result for each attempt; the last one repeats.
        stubs: LocatedMap<Vec<Stub>> = "stubs" => stubs, default("{}"),
            example("{deploy: {output: {url: \"https://example.com\"}}}");
        /// Results in place of the execution of tool calls, by tool. The policy is applied as in a run. A list has one result for each call of an attempt; the last one repeats.
        tools: LocatedMap<Vec<ToolStub>> = "tools" => stubbed_tools, default("{}"),
            example("{\"http:request\": {output: {status: 200, body: ok}}}");
        /// Injected faults.
        faults: Vec<Fault> = "faults" as List(const { &Map(&FAULT) }) => faults, default("[]"),
            example("[{step: implement, status: 429, attempts: 2}]");
        /// Replies to steps that wait for a person, by step, item or [name of attempts](../../testing.md#names-of-attempts): `approve`, `reject`, or an answer.
        answers: LocatedMap<TestReply> = "answers" as MapOf(const { &OneOf(const { &[Scalar, Map(&REPLY)] }) }) => replies,
            default("{}"), example("{ship: approve, name: {answer: Anna}}");
        /// Step after whose end the run is stopped and resumed; the same as a fault with `kill`.
        interrupt_after: Option<Located<String>> = "interruptAfter", example("build"), names(Named::Step);
        /// Maximum number of steps that run in parallel.
        max_parallel: Option<u32> = "maxParallel" as Integer(1, 1024);
        /// Time limit of the test.
        timeout: Option<Duration> = "timeout", default("60s");
    }
}

impl TestCase {
    /// The keys that the file can provide for all its tests: those after `name` and `expect`.
    pub(crate) const SHARED: &[KeySpec] = TestCase::KEYS.split_at(2).1;
}

/// The responses of a test in place of the model.
#[derive(Debug, Clone)]
pub enum TestScript {
    /// The path of a script, relative to the test file.
    File(Located<String>),
    /// A script that is part of the test file.
    Text {
        /// The script as `kb.script/1`.
        text: String,
        /// The names of the attempts that it has turns for.
        names: Vec<Located<String>>,
    },
}

/// Decodes a test file.
pub(crate) fn test_file(root: &Node, decoder: &mut Decoder) -> Option<TestFile> {
    let file = decoder.fields(root, &TEST_FILE)?;
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
    let mut fields = decoder.fields(node, &TEST)?;
    fields.inherit(file, |name| TEST.key(name).is_some());
    if fields.get("playbook").is_none() {
        let message = "the test names no playbook";
        let found = Diagnostic::error(Code::MISSING_KEY, fields.span, message);
        decoder.push(found.help("add `playbook: ID` to the test or to the file"));
    }
    TestCase::of(&fields, decoder)
}

/// Decodes `env`: variables with texts, numbers or booleans.
fn env(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<(String, String)> {
    let text = |node: &Node, name: &str, decoder: &mut Decoder| {
        decoder.scalar(node, name).map(str::to_owned)
    };
    let found = decoder.located(node, key, text);
    found.into_iter().map(|(name, value)| (name, value.value)).collect()
}

/// Decodes `script`: a path, or the steps of a script.
fn script(node: &Node, _: &str, decoder: &mut Decoder) -> Option<TestScript> {
    if let Some(path) = node.as_text() {
        return Some(TestScript::File(Located { value: path.to_owned(), span: node.span }));
    }
    script_steps(node, "steps", decoder)?;
    let text = json!({"schema": "kb.script/1", "steps": node.to_json()}).to_string();
    let names = node.as_map().unwrap_or_default().iter();
    let names = names.map(|(key, _)| Located { value: key.text.to_string(), span: key.span });
    Some(TestScript::Text { text, names: names.collect() })
}
