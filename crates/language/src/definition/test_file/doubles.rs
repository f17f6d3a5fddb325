//! What takes the place of the world in a test: results of steps and of tool calls, replies of people.

use super::parts::{require_one, tool_name};
use crate::definition::keys::KeyType::{self, Boolean, Integer, OneOf, Text};
use crate::definition::keys::{KeyRule, KeyTable, keys};
use crate::definition::model::LocatedMap;
use crate::definition::syntax::{Decoder, Fields, Node};
use kb_base::diagnostic::Span;
use kb_base::value::{Json, JsonMap, OutcomeKind};
use std::time::Duration;

keys! {
    /// The result of one attempt of a step.
    pub struct Stub(Debug, Clone, PartialEq): STUB = ("stub", "a stub", rule KeyRule::ExactlyOne(&["output", "error"])) {
        /// The attempt succeeds with this output.
        output: Option<Json> = "output", example("{url: \"https://example.com\"}");
        /// The attempt fails with this message.
        error: Option<String> = "error", example("the server is down");
        /// Kind of the failure, for `retry.on` and `recovery`.
        kind: Option<OutcomeKind> = "kind", default("tool_error, or exit with `exitCode`");
        /// Exit code of the process.
        exit_code: Option<u32> = "exitCode" as Integer(0, 255);
        /// Duration of the attempt.
        delay: Option<Duration> = "delay", example("200ms");
    }

    /// The result of calls of a tool.
    pub struct ToolStub(Debug, Clone, PartialEq): TOOL_STUB = ("toolStub", "a stub of a tool", rule KeyRule::ExactlyOne(&["output", "error"])) {
        /// Arguments that a call must have, compared by the listed keys; such stubs are tried first.
        args: Option<JsonMap> = "args", default("any arguments"), example("{url: \"https://example.com/a\"}");
        /// The call succeeds with this result.
        output: Option<Json> = "output", example("{status: 200, body: ok}");
        /// The call fails with this message.
        error: Option<String> = "error", example("connection refused");
    }
}

/// The reply of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum TestReply {
    /// An answer to a question.
    Answer(Json),
    /// An approval with a comment.
    Approve(Option<String>),
    /// A rejection with a comment.
    Reject(Option<String>),
}

/// Decodes `stubs`: for each name, one result or a list of them.
pub(crate) fn stubs(node: &Node, key: &str, decoder: &mut Decoder) -> LocatedMap<Vec<Stub>> {
    results(node, key, &STUB, Stub::of, decoder)
}

/// Decodes `tools`: the stubs of tools, under the names of the catalog.
pub(crate) fn stubbed_tools(
    node: &Node,
    key: &str,
    decoder: &mut Decoder,
) -> LocatedMap<Vec<ToolStub>> {
    let found = results(node, key, &TOOL_STUB, ToolStub::of, decoder);
    let renamed = found.into_iter().filter_map(|(written, stubs)| {
        let end = stubs.span.start as usize + written.len();
        let span = Span::new(stubs.span.source, stubs.span.start as usize, end);
        Some((tool_name(&written, span, decoder)?, stubs))
    });
    renamed.collect()
}

/// Results by name, each with exactly one of the keys of its table.
fn results<T>(
    node: &Node,
    key: &str,
    table: &'static KeyTable,
    of: fn(&Fields<'_>, &mut Decoder) -> Option<T>,
    decoder: &mut Decoder,
) -> LocatedMap<Vec<T>> {
    decoder.located(node, key, |node, _, decoder| {
        let items = node.as_seq().unwrap_or(std::slice::from_ref(node)).iter();
        let results = items.filter_map(|item| {
            let fields = decoder.fields(item, table)?;
            if require_one(&fields, decoder)? == "error" {
                decoder.required(&fields, "error")?;
            }
            of(&fields, decoder)
        });
        Some(results.collect::<Vec<T>>()).filter(|results| !results.is_empty())
    })
}

keys! {
    /// The reply of a person.
    struct Reply(): REPLY = ("reply", "a reply", rule KeyRule::ExactlyOne(&["answer", "approve", "reject"])) {
        /// The answer to a question: a value that fits its form.
        answer: Option<Json> = "answer", example("Anna");
        /// Approves; a text is the comment.
        approve: Option<TestReply> = "approve" as DECISION => approval;
        /// Rejects; a text is the comment.
        reject: Option<TestReply> = "reject" as DECISION => rejection, example("the plan has no tests");
    }
}

const DECISION: KeyType = OneOf(&[Boolean, Text]);

/// Decodes `answers`.
pub(crate) fn replies(node: &Node, key: &str, decoder: &mut Decoder) -> LocatedMap<TestReply> {
    decoder.located(node, key, |node, _, decoder| reply(node, decoder))
}

fn reply(node: &Node, decoder: &mut Decoder) -> Option<TestReply> {
    if node.as_map().is_none() {
        return match node.to_json() {
            Json::String(text) if text == "approve" => Some(TestReply::Approve(None)),
            Json::String(text) if text == "reject" => Some(TestReply::Reject(None)),
            value => Some(TestReply::Answer(value)),
        };
    }
    let fields = decoder.fields(node, &REPLY)?;
    let reply = Reply::of(&fields, decoder)?;
    match require_one(&fields, decoder)? {
        "answer" => Some(TestReply::Answer(reply.answer.unwrap_or_default())),
        key => {
            decoder.required(&fields, key)?;
            reply.approve.or(reply.reject)
        }
    }
}

fn approval(node: &Node, key: &str, decoder: &mut Decoder) -> Option<TestReply> {
    comment(node, key, decoder).map(TestReply::Approve)
}

fn rejection(node: &Node, key: &str, decoder: &mut Decoder) -> Option<TestReply> {
    comment(node, key, decoder).map(TestReply::Reject)
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
