//! Claims that a tool was called: `toolCalls`, and `pluginResults` with their receipts.

use super::claim_entry::is_denied;
use super::finding::Finding;
use super::keys::{entries, field, is_key, sources};
use super::normalized_path::normalized;
use super::own_record::without_own;
use super::tool_tier;
use super::unseen_work;
use crate::evidence::{EvidenceKind, Invocation, InvocationStatus, Purpose};
use kb_base::value::{Json, JsonMap};
use kb_language::toolspec::{Text, ToolCatalog};
use serde_json::json;

/// Maximum length of an argument that is compared, in bytes.
const COMPARED: usize = 200;

/// A statement of an output that a tool was called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallClaim {
    /// The name as it is written.
    pub(super) tool: String,
    /// The claimed arguments; empty if the claim has none.
    args: JsonMap,
    /// The claimed receipt.
    receipt: Option<String>,
    /// The claimed output; empty if the claim has none.
    data: JsonMap,
    /// Whether the claim says that the call failed.
    failed: bool,
    /// Whether its entry says that there was no call.
    denied: bool,
}

/// Whether the values of a key are read as tool calls.
pub(super) fn is_read(key: &str) -> bool {
    is_key(key, &["toolcalls", "pluginresults"])
}

/// The claims of an output about tool calls, in order, each once.
pub(super) fn call_claims(output: &Json) -> Vec<CallClaim> {
    let mut claims: Vec<CallClaim> = Vec::new();
    for claim in lists(output).flatten() {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    claims
}

/// The entries of each list of tool calls.
fn lists(output: &Json) -> impl Iterator<Item = Vec<CallClaim>> {
    let lists = sources(output).flatten().filter(|(key, _)| is_read(key));
    lists.map(|(_, value)| entries(value).filter_map(CallClaim::of).collect())
}

/// The doubt about a list that has more entries than calls that fit them.
pub(super) fn surplus(
    output: &Json,
    trace: &[Invocation],
    root: &str,
    tools: &ToolCatalog,
) -> Option<Finding> {
    lists(output).find_map(|claims| {
        let fitting = |claim: &CallClaim| -> Vec<usize> {
            let fits = |call: &Invocation| {
                call.purpose == Purpose::Execution
                    && claim.is_about(call, tools)
                    && claim.fits(call, root)
                    && is_successful(call) != claim.failed
            };
            (0..trace.len()).filter(|at| fits(&trace[*at])).collect()
        };
        let tool = &without_own(&claims, fitting)?.tool;
        Some(Finding::inconclusive(format!(
            "`{tool}` is listed more often than such a call was recorded"
        )))
    })
}

impl CallClaim {
    fn of(entry: &Json) -> Option<CallClaim> {
        let named = |tool: &str| CallClaim {
            tool: tool.to_owned(),
            args: JsonMap::new(),
            receipt: None,
            data: JsonMap::new(),
            failed: false,
            denied: is_denied(entry),
        };
        if let Some(tool) = entry.as_str() {
            return Some(named(tool));
        }
        let text = |names: &[&str]| field(entry, names).and_then(Json::as_str);
        let tool = text(&["tool", "name", "toolid", "toolname"])?;
        let tool = match text(&["plugin", "pluginid"]) {
            Some(plugin) if !tool.contains(':') => format!("{plugin}:{tool}"),
            _ => tool.to_owned(),
        };
        let args = field(entry, &["args", "arguments", "input", "params"]);
        let status = field(entry, &["status", "success", "ok"]);
        let failed = match status {
            Some(Json::Bool(success)) => !success,
            Some(Json::String(text)) => {
                let text = text.to_ascii_lowercase();
                ["fail", "error", "denied", "timeout"].iter().any(|word| text.contains(word))
            }
            _ => false,
        };
        let data = field(entry, &["data", "output"]).and_then(Json::as_object);
        Some(CallClaim {
            data: data.cloned().unwrap_or_default(),
            args: args.and_then(Json::as_object).cloned().unwrap_or_default(),
            receipt: text(&["receipt", "receiptid"]).map(str::to_owned),
            failed,
            ..named(&tool)
        })
    }

    /// The verdict over the claim, with the evidence.
    pub(super) fn check(
        &self,
        trace: &[Invocation],
        root: &str,
        tools: &ToolCatalog,
    ) -> (Finding, Json) {
        let (finding, evidence) = self.compared(trace, root, tools);
        let finding = if self.denied { finding.doubted_as("was not called") } else { finding };
        (finding, evidence)
    }

    fn compared(&self, trace: &[Invocation], root: &str, tools: &ToolCatalog) -> (Finding, Json) {
        let (name, calls) = (&self.tool, |calls: &[&Invocation]| -> Json {
            json!({"calls": calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>()})
        });
        let executed = trace.iter().filter(|call| call.purpose == Purpose::Execution);
        let same: Vec<&Invocation> = executed.filter(|call| self.is_about(call, tools)).collect();
        if same.is_empty() {
            let reason =
                format!("`{name}` is claimed to have been called, but no call is recorded");
            return (unseen_work::unrecorded(reason, trace), calls(&[]));
        }
        let fitting: Vec<&Invocation> =
            same.iter().copied().filter(|call| self.fits(call, root)).collect();
        let Some(last) = fitting.last() else {
            let reason = format!(
                "`{name}` is claimed to have been called, but no recorded call had these arguments"
            );
            return (unseen_work::unrecorded(reason, trace), calls(&same));
        };
        let succeeded = fitting.iter().rev().find(|call| is_successful(call));
        let finding = match (&self.receipt, self.failed, succeeded) {
            (Some(receipt), ..) if !fitting.iter().any(|call| has_receipt(call, receipt)) => {
                Finding::failed(format!(
                    "`{name}` is claimed to have returned the receipt `{receipt}`, but no recorded \
                     call did"
                ))
            }
            (_, true, _) if fitting.iter().any(|call| !is_successful(call)) => Finding::passed(),
            (_, true, _) => Finding::failed(format!(
                "the call of `{name}` is claimed to have failed, but it succeeded (call `{}`)",
                last.id
            )),
            (_, false, Some(call)) => match self.other_data(call) {
                Some(key) => Finding::failed(format!(
                    "`{name}` is claimed to have returned another `{key}` than it did (call `{}`)",
                    call.id
                )),
                None => match self.args.keys().find(|key| call.args.get(key.as_str()).is_none()) {
                    Some(key) => Finding::inconclusive(format!(
                        "`{name}` is claimed to have been called with `{key}`, which call `{}` does not have",
                        call.id
                    )),
                    None => tool_tier::finding(&tools.entry(&call.tool), call),
                },
            },
            (_, false, None) => not_successful(name, last),
        };
        (finding, calls(&fitting))
    }

    /// The first key of the claimed output with another value than in the recorded output.
    fn other_data(&self, call: &Invocation) -> Option<&str> {
        let recorded = call.output.as_deref()?;
        let differs = |(key, value): &(&String, &Json)| recorded.get(key.as_str()) != Some(value);
        self.data.iter().find(differs).map(|(key, _)| key.as_str())
    }

    /// Whether the claim names the tool of a call.
    pub(super) fn is_about(&self, call: &Invocation, tools: &ToolCatalog) -> bool {
        names_tool(&self.tool, call, tools)
    }

    /// Whether the claim is about a call whose recorded output is evidence.
    pub(super) fn is_about_output(&self, trace: &[Invocation], tools: &ToolCatalog) -> bool {
        let mut named = trace.iter().filter(|call| self.is_about(call, tools));
        named.any(|call| tools.entry(&call.tool).records_output)
    }

    /// Whether the recorded arguments are the claimed ones, as far as both have them.
    fn fits(&self, call: &Invocation, root: &str) -> bool {
        self.args.iter().all(|(key, claimed)| match (claimed, call.args.get(key)) {
            (_, None) => true,
            (Json::String(claimed), Some(Json::String(recorded))) => {
                let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                claimed.len().max(recorded.len()) > COMPARED
                    || spaced(claimed) == spaced(recorded)
                    || normalized(claimed, root) == normalized(recorded, root)
            }
            (Json::Bool(_) | Json::Number(_), Some(recorded)) => claimed == recorded,
            _ => true,
        })
    }
}

/// Whether a text names the tool of a call: in any spelling, by an alias, or without its namespace.
pub(super) fn names_tool(text: &str, call: &Invocation, tools: &ToolCatalog) -> bool {
    let letters = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        letters.to_ascii_lowercase()
    };
    let (claimed, spec) = (letters(text), tools.entry(&call.tool));
    let spelt = |names: &[Text]| names.iter().any(|name| letters(name) == claimed);
    letters(&call.tool) == claimed || spelt(&spec.aliases) || spelt(&spec.claimed_as)
}

/// Whether a call did what it was asked for. An answer with an error status is none.
fn is_successful(call: &Invocation) -> bool {
    call.status == InvocationStatus::Success && call.http_error().is_none()
}

fn has_receipt(call: &Invocation, receipt: &str) -> bool {
    call.id == receipt
        || call.evidence.iter().any(|e| e.kind == EvidenceKind::Receipt && e.reference == receipt)
}

fn not_successful(name: &str, call: &Invocation) -> Finding {
    let answered = call.http_error().map(|status| format!("was answered with status {status}"));
    let how = match call.status {
        InvocationStatus::Unknown => {
            let reason = format!("the outcome of `{name}` (call `{}`) is unknown", call.id);
            return Finding::inconclusive(reason);
        }
        InvocationStatus::Denied => "was denied",
        InvocationStatus::Timeout => "timed out",
        InvocationStatus::Failed | InvocationStatus::Success => {
            answered.as_deref().unwrap_or("failed")
        }
    };
    Finding::failed(format!(
        "`{name}` is claimed to have been called, but the call `{}` {how}",
        call.id
    ))
}
