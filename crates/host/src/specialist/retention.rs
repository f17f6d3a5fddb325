//! Which exchanges survive a compression: the last failures, and files that were read and not changed
//! since, because an edit needs their exact text.

use super::compression::estimated_tokens;
use crate::llm::Message;
use kb_base::value::Json;
use kb_core::evidence::CallRequest;
use kb_language::toolspec::ToolCatalog;
use std::collections::BTreeSet;
use std::ops::Range;

/// Number of failed calls that stay.
const FAILURES: usize = 3;

/// The positions of the messages among the first `covered` that stay, in order. `failed` are the ids of
/// the calls that failed. Whole exchanges stay, newest first, up to `tokens` of them.
pub(super) fn kept(
    body: &[Message],
    covered: usize,
    failed: &BTreeSet<String>,
    tokens: u32,
    tools: &ToolCatalog,
) -> Vec<u32> {
    let reads_a_file = |call: &CallRequest| tools.entry(&call.tool).reads_a_file();
    let mut left = tokens;
    let mut failures = 0;
    let mut changed: BTreeSet<&str> = paths_changed(&body[covered..], tools).collect();
    let mut read: BTreeSet<String> = BTreeSet::new();
    let mut stay: Vec<Range<usize>> = Vec::new();
    for exchange in exchanges(body, covered).into_iter().rev() {
        let messages = &body[exchange.clone()];
        let fails = calls(messages).any(|call| failed.contains(&call.id));
        let unchanged_read = calls(messages).any(|call| {
            let path = path(call);
            reads_a_file(call)
                && path.is_some_and(|path| !changed.contains(path))
                && !read.contains(&call.args.to_string())
        });
        changed.extend(paths_changed(messages, tools));
        read.extend(calls(messages).filter(|call| reads_a_file(call)).map(|c| c.args.to_string()));
        let wanted = (fails && failures < FAILURES) || unchanged_read;
        let size = estimated_tokens(messages);
        if !wanted || size > left {
            continue;
        }
        failures += usize::from(fails);
        left -= size;
        stay.push(exchange);
    }
    stay.into_iter().rev().flatten().map(|at| at as u32).collect()
}

/// The exchanges among the first messages: a response of the model with the messages that answer it.
fn exchanges(body: &[Message], covered: usize) -> Vec<Range<usize>> {
    let is_start = |at: &usize| matches!(body[*at], Message::Assistant { .. });
    let starts: Vec<usize> = (0..covered).filter(is_start).collect();
    let ends = starts.iter().skip(1).copied().chain([covered]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

fn calls(messages: &[Message]) -> impl Iterator<Item = &CallRequest> {
    messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    })
}

/// The paths that calls of file tools changed.
fn paths_changed<'m>(
    messages: &'m [Message],
    tools: &ToolCatalog,
) -> impl Iterator<Item = &'m str> {
    let writes = |call: &&CallRequest| tools.entry(&call.tool).writes;
    calls(messages).filter(writes).filter_map(path)
}

fn path(call: &CallRequest) -> Option<&str> {
    call.args.get("path").and_then(Json::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_language::toolspec::built_in;
    use serde_json::json;

    fn exchange(id: &str, tool: &str, path: &str) -> [Message; 2] {
        let args = json!({"path": path});
        let call = CallRequest { id: id.into(), tool: tool.into(), args };
        let content = "x".repeat(400);
        [
            Message::Assistant { text: String::new(), calls: vec![call], reasoning: None },
            Message::Tool { call_id: id.into(), tool: tool.into(), content },
        ]
    }

    #[test]
    fn unchanged_reads_and_the_last_failures_stay() {
        let body: Vec<Message> = [
            exchange("1", "fs:read", "a"),
            exchange("2", "fs:read", "b"),
            exchange("3", "fs:list", "."),
            exchange("4", "fs:edit", "b"),
            exchange("5", "shell:exec", ""),
            exchange("6", "fs:read", "a"),
            exchange("7", "fs:edit", "c"),
        ]
        .concat();
        let failed = BTreeSet::from(["5".to_owned()]);
        // `b` was edited after it was read, and `a` was read again.
        assert_eq!(kept(&body, 14, &failed, 10_000, built_in()), [8, 9, 10, 11]);
        // The newest stay if there is not enough room.
        assert_eq!(kept(&body, 14, &failed, 120, built_in()), [10, 11]);
        assert_eq!(kept(&body, 14, &failed, 0, built_in()), [] as [u32; 0]);
        // An edit in the messages that are not covered counts too.
        let body: Vec<Message> =
            [exchange("1", "fs:read", "a"), exchange("2", "fs:write", "a")].concat();
        assert_eq!(kept(&body, 2, &BTreeSet::new(), 10_000, built_in()), [] as [u32; 0]);
    }
}
