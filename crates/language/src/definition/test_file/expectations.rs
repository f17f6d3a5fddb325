//! The expected result of a test.

use crate::definition::check::pattern::regex;
use crate::definition::keys::KeyType::{AnyMap, Boolean, List, Map, MapOf, Number, OneOf, Text};
use crate::definition::keys::keys;
use crate::definition::model::{Located, LocatedMap};
use crate::definition::syntax::{Decoder, Node};
use kb_base::diagnostic::Span;
use kb_base::value::{Json, RunStatus, StepStatus, Verdict};

keys! {
    /// The expected result of a run. What is not listed is not checked.
    pub struct Expectations(Debug, Clone, Default): EXPECT = ("expect", "`expect`") {
        /// Status of the run.
        status: Option<Located<RunStatus>> = "status", default("succeeded");
        /// Statuses of steps and items.
        steps: LocatedMap<StepStatus> = "steps", example("{build: succeeded, publish: skipped}");
        /// Numbers of attempts of steps and items.
        attempts: LocatedMap<u32> = "attempts", example("{build: 2}");
        /// Verdicts of gates of steps and items.
        verdicts: LocatedMap<Verdict> = "verdicts", example("{implement: passed}");
        /// Parts of the code or message of the failures of steps and items; `run` is the run itself.
        errors: LocatedMap<String> = "errors", example("{deploy: KB0551}");
        /// Outputs of the run. Of a map, the listed keys are compared; of a list, all items.
        outputs: LocatedMap<Json> = "outputs" as AnyMap, example("{count: 3}");
        /// Outputs of steps and items, compared as `outputs`.
        step_outputs: LocatedMap<Json> = "stepOutputs" as AnyMap, example("{notes: {commits: 3}}");
        /// Files of the project after the run, by path. A text is the whole content.
        files: LocatedMap<FileExpectation> = "files" as MapOf(const { &OneOf(const { &[Text, Map(&FILE_EXPECT)] }) }) => expected_files,
            example("{NOTES.md: {contains: \"## Fixed\"}}");
        /// Globs of the files that the run creates, changes or deletes: each such file matches one, and each glob matches one.
        changes: Option<Vec<Located<String>>> = "changes", example("[\"src/**\", NOTES.md]");
        /// Events that occur in this order, as `--json` prints them; each lists the fields to compare.
        events: Vec<Located<Json>> = "events" as List(&AnyMap) => events, example("[{type: \"attempt:end\", step: build}]");
        /// Maximum cost of the run in US dollars.
        max_cost: Option<Located<f64>> = "maxCost" as Number(0.0, f64::INFINITY);
        /// Whether statuses, verdicts, outputs and changed files equal those of a stored file; `kb playbook test --update` writes it.
        snapshot: Option<Span> = "snapshot" as Boolean => snapshot, default("false");
    }

    /// The expected state of a file after the run.
    pub struct FileExpectation(Debug, Clone, Default, PartialEq): FILE_EXPECT = ("fileExpectation", "an expected file") {
        /// Whether the file exists.
        absent: bool = "exists" => absent, default("true");
        /// The whole content.
        equals: Option<String> = "equals", example("\"done\\n\"");
        /// Texts that the content contains.
        contains: Vec<String> = "contains", example("\"## Fixed\"");
        /// Texts that the content does not contain.
        lacks: Vec<String> = "lacks", example("TODO");
        /// Regular expression that the content matches.
        matches: Option<String> = "matches" => pattern, example("\"^# v[0-9]+\"");
    }
}

/// Decodes `events` of `expect`.
fn events(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<Located<Json>> {
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

/// Decodes `snapshot` of `expect`: its position if it is `true`.
fn snapshot(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Span> {
    decoder.boolean(node, key)?.then_some(node.span)
}

/// Decodes `files` of `expect`: maps, or the whole contents.
fn expected_files(node: &Node, key: &str, decoder: &mut Decoder) -> LocatedMap<FileExpectation> {
    decoder.located(node, key, |node, _, decoder| match node.as_text() {
        Some(text) => {
            let equals = Some(text.to_owned());
            Some(FileExpectation { equals, ..FileExpectation::default() })
        }
        None => FileExpectation::from_node(node, decoder),
    })
}

/// Decodes `exists`: whether a file must not exist.
fn absent(node: &Node, key: &str, decoder: &mut Decoder) -> bool {
    decoder.boolean(node, key) == Some(false)
}

/// Decodes a regular expression.
fn pattern(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, key)?;
    regex(text, node.span, decoder);
    Some(text.to_owned())
}
