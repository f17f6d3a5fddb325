//! Decodes the injected faults of a test.

use super::test_parts::{require_one, text, tool_name};
use super::{Decoder, Fields, Node};
use crate::definition::keys::test as keys;
use crate::definition::model::{Fault, FaultKind, ModelFault};
use kb_base::diagnostic::{Code, Diagnostic};

/// Keys that belong to one kind of fault.
const DETAILS: &[(&str, &[&str])] = &[
    ("retryAfter", &["status"]),
    ("error", &["tool"]),
    ("call", &["tool"]),
    ("turn", &["status", "cut", "slow", "lie"]),
    ("attempts", &["status", "cut", "slow", "lie", "tool"]),
];

/// The faults of a test.
pub(super) fn faults(fields: &Fields<'_>, decoder: &mut Decoder) -> Vec<Fault> {
    let Some(node) = fields.get("faults") else { return Vec::new() };
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, "faults", "a list of faults");
        return Vec::new();
    };
    items.iter().filter_map(|item| fault(item, decoder)).collect()
}

fn fault(node: &Node, decoder: &mut Decoder) -> Option<Fault> {
    let fields = decoder.fields(node, &keys::FAULT)?;
    let step = decoder.required(&fields, "step").and_then(|node| text(node, "step", decoder));
    let name = require_one(&fields, keys::FAULT_NAMES, decoder)?;
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
    let turn = fields.integer("turn", decoder).unwrap_or(1);
    let model = |fault| Some(FaultKind::Model { turn, fault });
    let kind = match name {
        "status" => fields.integer("status", decoder).and_then(|status| {
            let retry_after = fields.duration("retryAfter", decoder);
            model(ModelFault::Status { status: status as u16, retry_after })
        }),
        "slow" => fields.duration("slow", decoder).and_then(|slow| model(ModelFault::Slow(slow))),
        "tool" => fields.text("tool", decoder).and_then(|written| {
            let span = fields.get("tool").map_or(fields.span, |node| node.span);
            let tool = tool_name(&written, span, decoder)?;
            let message = fields.text("error", decoder);
            let message = message.unwrap_or_else(|| "injected fault".to_owned());
            let call = fields.integer("call", decoder).unwrap_or(1);
            Some(FaultKind::Tool { tool, call, message })
        }),
        flag => {
            if fields.boolean(flag, decoder)? {
                match flag {
                    "cut" => model(ModelFault::Cut),
                    "lie" => model(ModelFault::Lie),
                    "kill" => Some(FaultKind::Kill),
                    _ => Some(FaultKind::DiskFull),
                }
            } else {
                let (_, node) = fields.entry(flag)?;
                let message = format!("`{flag}: false` is no fault");
                decoder.bad_value(node.span, message, "leave the fault out".to_owned());
                None
            }
        }
    };
    let attempts = fields.integer("attempts", decoder).unwrap_or(1);
    Some(Fault { step: step?, attempts, kind: kind? })
}
