//! The faults that a test injects.

use super::parts::{require_one, tool_name};
use crate::definition::keys::KeyType::Integer;
use crate::definition::keys::{KeyRule, Named, keys};
use crate::definition::model::Located;
use crate::definition::syntax::{Decoder, Node};
use kb_base::diagnostic::{Code, Diagnostic};
use std::time::Duration;

/// A fault that a test injects.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Step or item.
    pub step: Located<String>,
    /// How many attempts have the fault, from the first.
    pub attempts: u32,
    /// What fails.
    pub kind: FaultKind,
}

/// What fails.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// The model call of a turn.
    Model {
        /// Number of the turn, from 1.
        turn: u32,
        /// How it fails.
        fault: ModelFault,
    },
    /// One call of a tool.
    Tool {
        /// Name of the tool.
        tool: String,
        /// Number of the call of this tool in the attempt, from 1.
        call: u32,
        /// The message of the failure.
        message: String,
    },
    /// The process is killed after the end of the step was stored.
    Kill,
    /// The disk of the journal is full when the end of the step is to be stored.
    DiskFull,
}

/// How a model call fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelFault {
    /// The provider answers with an HTTP status.
    Status {
        /// HTTP status, such as 429 or 500.
        status: u16,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The response ends in the middle.
    Cut,
    /// The response takes this much longer.
    Slow(Duration),
    /// The model submits its next output without the tool calls before it.
    Lie,
}

keys! {
    /// A fault that a test injects.
    struct FaultKeys(): FAULT = ("fault", "a fault", rule KeyRule::ExactlyOne(&["status", "cut", "slow", "lie", "tool", "kill", "diskFull"])) {
        /// Step or item that has the fault.
        step: Located<String> = "step", required, example("implement");
        /// A model call answers with this HTTP status.
        status: Option<u32> = "status" as Integer(400, 599), example("429");
        /// How long the provider of the status asks to wait.
        retry_after: Option<Duration> = "retryAfter", example("30s");
        /// The response of a model call ends in the middle.
        cut: Option<bool> = "cut";
        /// A model call takes this much longer.
        slow: Option<Duration> = "slow", example("20m");
        /// The model submits its output without the tool calls before it.
        lie: Option<bool> = "lie";
        /// One call of this tool fails.
        tool: Option<Located<String>> = "tool", example("\"fs:write\""), names(Named::Tool);
        /// Message of the failed tool call.
        error: String = "error", default("injected fault"), example("disk quota exceeded");
        /// Which call of the tool in the attempt fails.
        call: u32 = "call" as Integer(1, 100_000), default("1");
        /// Which model call of the attempt fails.
        turn: u32 = "turn" as Integer(1, 100_000), default("1");
        /// How many attempts have the fault, from the first.
        attempts: u32 = "attempts" as Integer(1, 1000), default("1");
        /// `kb` is killed after it has stored the end of the step, and the run is resumed.
        kill: Option<bool> = "kill";
        /// The disk of the journal is full when the end of the step is to be stored; the run is resumed.
        disk_full: Option<bool> = "diskFull";
    }
}

/// Keys that belong to one kind of fault.
const DETAILS: &[(&str, &[&str])] = &[
    ("retryAfter", &["status"]),
    ("error", &["tool"]),
    ("call", &["tool"]),
    ("turn", &["status", "cut", "slow", "lie"]),
    ("attempts", &["status", "cut", "slow", "lie", "tool"]),
];

/// The faults of a test.
pub(crate) fn faults(node: &Node, _: &str, decoder: &mut Decoder) -> Vec<Fault> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "faults", "a list of faults");
        return Vec::new();
    };
    items.iter().filter_map(|item| fault(item, decoder)).collect()
}

fn fault(node: &Node, decoder: &mut Decoder) -> Option<Fault> {
    let fields = decoder.fields(node, &FAULT)?;
    let found = FaultKeys::of(&fields, decoder);
    let name = require_one(&fields, decoder)?;
    for (key, kinds) in DETAILS {
        if let Some(node) = fields.get(key)
            && !kinds.contains(&name)
        {
            let message = format!("`{key}` has no effect on a fault with `{name}`");
            let found = Diagnostic::error(Code::BAD_VALUE, node.span, message);
            let kinds = kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>();
            decoder.push(found.help(format!("it belongs to {}", kinds.join(", "))));
        }
    }
    let found = found?;
    let model = |fault| FaultKind::Model { turn: found.turn, fault };
    let kind = if let Some(status) = found.status {
        model(ModelFault::Status { status: status as u16, retry_after: found.retry_after })
    } else if let Some(delay) = found.slow {
        model(ModelFault::Slow(delay))
    } else if let Some(tool) = found.tool {
        let name = tool_name(&tool.value, tool.span, decoder)?;
        FaultKind::Tool { tool: name, call: found.call, message: found.error }
    } else {
        let flags = [
            (found.cut, model(ModelFault::Cut)),
            (found.lie, model(ModelFault::Lie)),
            (found.kill, FaultKind::Kill),
            (found.disk_full, FaultKind::DiskFull),
        ];
        let (is_set, kind) = flags.into_iter().find_map(|(flag, kind)| Some((flag?, kind)))?;
        if !is_set {
            let message = format!("`{name}: false` is no fault");
            let at = fields.entry(name)?.1.span;
            decoder.bad_value(at, message, "leave the fault out".to_owned());
            return None;
        }
        kind
    };
    Some(Fault { step: found.step, attempts: found.attempts, kind })
}
