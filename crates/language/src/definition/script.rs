//! Scripts (`kb.script/1`): written responses that replace those of a model.

use super::keys::KeyType::{Choice, Constant, Integer, List, Map, MapOf, Number, Text};
use super::keys::choice_tables::{REPORTED_STATUS, REPORTED_STATUS_NAMES};
use super::keys::{KeyRule, Named, keys};
use super::syntax::{Decoder, Node, Unread, Value};
use crate::expression::{EvalError, Root, Scope, ValueTemplate};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keys of an [`AgentEvent`] that say what was done.
const EVENTS: [&str; 5] = ["tool", "reports", "asks", "writes", "deletes"];

/// A script: the responses of a model, written down (`kb.script/1`).
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// Turns by [names of attempts](kb_base::value::AttemptName).
    pub steps: BTreeMap<String, Vec<ScriptTurn>>,
}

keys! {
    /// One response of the model.
    pub struct ScriptTurn(Debug, Clone, Default): TURN = ("turn", "a turn", rule KeyRule::AtLeastOne(&["say", "calls", "output", "agent", "error"])) {
        /// Text of the response.
        say: Option<String> = "say", example("\"I read the file first.\"");
        /// Tool calls.
        calls: Vec<ScriptCall> = "calls" as List(const { &Map(&CALL) }) => calls, example("[{tool: fs:read, args: {path: a.txt}}]");
        /// Final output; can contain placeholders over `params`.
        output: Option<ValueTemplate> = "output", example("{summary: done}");
        /// What a [coding agent](../../agents.md) did before `say`, its last message. `--record` writes it; it is done again in the place of the agent.
        agent: Option<Vec<AgentEvent>> = "agent" as List(const { &Map(&EVENT) }) => events, example("[{tool: fs:write, args: {path: a.txt}}]");
        /// Reported tokens.
        usage: Option<ScriptUsage> = "usage", example("{prompt: 900, completion: 120}");
        /// Delay before the response in milliseconds.
        delay_ms: u32 = "delayMs" as Integer(0, 3_600_000), default("0");
        /// Error instead of a response.
        error: Option<ScriptError> = "error", example("{status: 429, retryAfter: 2}");
        /// What the model was given since the turn before, as names with digests. `--record` writes it; `kb playbook test` compares it to explain why a recording no longer fits.
        given: Vec<String> = "given" as List(&Text), default("[]"), example("[\"src/main.rs 3f2a9c01\"]");
    }

    /// One tool call.
    pub struct ScriptCall(Debug, Clone): CALL = ("call", "a call") {
        /// Name of the tool.
        tool: String = "tool", required, example("fs:write"), names(Named::Tool);
        /// Arguments; can contain placeholders over `params`.
        args: ValueTemplate = "args", default("{}"), example("{path: a.txt}");
    }

    /// One thing that a coding agent did.
    pub struct AgentEvent(Debug, Clone): EVENT = ("event", "what an agent did", rule KeyRule::ExactlyOne(&EVENTS)) {
        /// Name of a tool of its specialist that it called.
        tool: Option<String> = "tool", example("fs:write");
        /// Kind of a call of a tool of its own that it reported.
        reports: Option<String> = "reports", example("execute");
        /// Kind of a call of a tool of its own for which it asked for a permission.
        asks: Option<String> = "asks", example("edit");
        /// Path of a file that it wrote by itself.
        writes: Option<String> = "writes", example("src/a.rs");
        /// Path of a file that it deleted by itself.
        deletes: Option<String> = "deletes", example("src/b.rs");
        /// Arguments of the call; can contain placeholders over `params`.
        args: ValueTemplate = "args", default("{}"), example("{path: a.txt}");
        /// Text of the written file.
        content: Option<String> = "content", example("hello");
        /// How a reported call ended, as the agent says.
        status: Option<&'static str> = "status" as Choice(REPORTED_STATUS_NAMES) => reported_status, default("success");
    }

    /// Tokens of one response.
    pub struct ScriptUsage(Debug, Clone, Copy, PartialEq, Eq, Default): USAGE = ("usage", "`usage`") {
        /// Prompt tokens.
        prompt: u32 = "prompt", default("0");
        /// Completion tokens.
        completion: u32 = "completion", default("0");
    }

    /// An error of the provider.
    pub struct ScriptError(Debug, Clone, PartialEq): ERROR = ("error", "`error`") {
        /// HTTP status; 0 stands for a broken stream.
        status: u16 = "status" as Integer(0, 599), default("0");
        /// Seconds that the provider asks to wait.
        retry_after: Option<f64> = "retryAfter" as Number(0.0, 86_400.0);
        /// Error message of the provider.
        message: Option<String> = "message", example("overloaded");
    }
}

impl ScriptTurn {
    /// The final output, rendered with the parameters of the run.
    pub fn output_with(&self, params: &Arc<Json>) -> Option<Result<Json, EvalError>> {
        self.output.as_ref().map(|output| fill(output, params))
    }
}

impl AgentEvent {
    /// The arguments, rendered with the parameters of the run.
    pub fn args_with(&self, params: &Arc<Json>) -> Result<Json, EvalError> {
        fill(&self.args, params)
    }
}

impl ScriptCall {
    /// The arguments, rendered with the parameters of the run.
    pub fn args_with(&self, params: &Arc<Json>) -> Result<Json, EvalError> {
        fill(&self.args, params)
    }
}

fn reported_status(node: &Node, key: &str, decoder: &mut Decoder) -> Option<&'static str> {
    decoder.one_of(node, key, REPORTED_STATUS)
}

fn fill(template: &ValueTemplate, params: &Arc<Json>) -> Result<Json, EvalError> {
    template.evaluate(&ParamScope(params))
}

/// The scope of a script: the parameters of the run and nothing else.
struct ParamScope<'a>(&'a Arc<Json>);

impl Scope for ParamScope<'_> {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let own = |value: &Json, field: Option<&str>| match field {
            Some(field) => value.get(field).cloned().map(Arc::new),
            None => Some(Arc::new(value.clone())),
        };
        match (root, field) {
            (Root::Params, None) => Some(self.0.clone()),
            (Root::Params, Some(name)) => own(self.0, Some(name)),
            (Root::Param(name), field) => own(self.0.get(&**name)?, field),
            _ => None,
        }
    }
}

keys! {
    /// A script: the responses of a model, as `--record` writes and `--script` plays them.
    struct ScriptKeys(): SCRIPT = ("script", "a script") {
        /// Kind of the file and version of the format.
        _schema: Unread = "schema" as Constant("kb.script/1"), required, example("kb.script/1");
        /// Description of the script.
        _description: Unread = "description", example("The second attempt succeeds");
        /// Parameters of the recorded run, for information.
        _params: Unread = "params", example("{topic: tea}");
        /// Turns by step (`implement`), item (`review[a.rs]`) or another [name of attempts](../../testing.md#names-of-attempts) (`implement#2`, `fix#2/review`).
        steps: Script = "steps" as MapOf(const { &List(const { &Map(&TURN) }) }) => script_steps, required,
            example("{implement: [{output: {summary: done}}]}");
    }
}

/// Decodes a script. Its placeholders refer to parameters as `params.NAME`; only the run that uses the
/// script determines which of them exist.
pub(crate) fn script(root: &Node, decoder: &mut Decoder) -> Option<Script> {
    let fields = decoder.fields(root, &SCRIPT)?;
    decoder.schema_version(&fields, "kb.script/1", "a script");
    ScriptKeys::of(&fields, decoder).map(|found| found.steps)
}

/// Decodes the turns of all steps.
pub(crate) fn script_steps(steps: &Node, key: &str, decoder: &mut Decoder) -> Option<Script> {
    declare_params(steps, decoder);
    let Some(entries) = steps.as_map() else {
        decoder.wrong_type(steps, key, "a map from steps to lists of turns");
        return None;
    };
    let mut script = Script::default();
    for (key, node) in entries {
        let Some(items) = node.as_seq() else {
            decoder.wrong_type(node, &key.text, "a list of turns");
            continue;
        };
        let turns = items.iter().filter_map(|item| turn(item, decoder)).collect();
        script.steps.insert(key.text.to_string(), turns);
    }
    Some(script)
}

/// Declares every `params.NAME` in the texts.
fn declare_params(node: &Node, decoder: &mut Decoder) {
    match &node.value {
        Value::Seq(items) => items.iter().for_each(|item| declare_params(item, decoder)),
        Value::Map(entries) => entries.iter().for_each(|(_, item)| declare_params(item, decoder)),
        Value::Scalar(scalar) => {
            for rest in scalar.text.split("params.").skip(1) {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                let name = &rest[..end.unwrap_or(rest.len())];
                if !name.is_empty() {
                    decoder.names.params.insert(name.to_owned());
                }
            }
        }
        Value::Invalid => {}
    }
}

fn turn(node: &Node, decoder: &mut Decoder) -> Option<ScriptTurn> {
    let fields = decoder.fields(node, &TURN)?;
    if let KeyRule::AtLeastOne(names) = fields.rule()
        && !names.iter().any(|name| fields.entry(name).is_some())
        && !fields.was_meant(names)
    {
        decoder.push(
            Diagnostic::error(Code::BAD_TURN, node.span, "the turn has no response")
                .help("add `say`, `calls`, `output`, `agent` or `error`"),
        );
    }
    ScriptTurn::of(&fields, decoder)
}

/// Decodes `agent` of a turn.
fn events(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<AgentEvent>> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "agent", "a list of what an agent did");
        return None;
    };
    let event = |item: &Node, decoder: &mut Decoder| {
        let fields = decoder.fields(item, &EVENT)?;
        if EVENTS.iter().filter(|name| fields.entry(name).is_some()).count() != 1 {
            let message =
                "what an agent did has one of `tool`, `reports`, `asks`, `writes` and `deletes`";
            let help = "write one entry of the list for each thing that it did";
            decoder.push(Diagnostic::error(Code::BAD_TURN, item.span, message).help(help));
        }
        AgentEvent::of(&fields, decoder)
    };
    Some(items.iter().filter_map(|item| event(item, decoder)).collect())
}

/// Decodes `calls` of a turn.
fn calls(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<ScriptCall> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "calls", "a list of `{tool, args}`");
        return Vec::new();
    };
    items.iter().filter_map(|item| ScriptCall::from_node(item, decoder)).collect()
}
