//! Resumed attempts.

use super::bench::*;
use kb::definition::Specialist;
use kb::evidence::{InvocationStatus, Record};
use serde_json::json;

fn long_story() -> Vec<Reply> {
    vec![
        call("t:look", json!({"path": "a"})),
        Reply::Calls(vec![("t:touch", json!({"path": "a"})), ("t:big", json!({"n": 1}))]),
        Reply::Say("thinking aloud"),
        Reply::Say("Action: t:look\nAction Input: {\"path\": \"b\"}"),
        submit(json!({})),
        call("t:touch", json!({"path": "c"})),
        call("no:tool", json!({})),
        done(),
    ]
}

/// Cuts the records after each, goes on, and compares.
pub(super) async fn check_every_prefix(story: impl Fn() -> Bench) {
    let whole = story().run().await;
    assert!(whole.end().starts_with("ok "), "{}", whole.end());
    for cut in 0..=whole.records.len() {
        let history = whole.records[..cut].to_vec();
        let begun = |record: &Record| match record {
            Record::ToolCall { id, tool, .. } if tool != "t:look" => Some(id.clone()),
            _ => None,
        };
        let before: Vec<String> = history.iter().filter_map(begun).collect();
        let rest = Bench { history, ..story() }.run().await;
        assert_eq!(rest.end(), whole.end(), "after {cut} records");
        let again: Vec<_> = rest.made.iter().filter(|(id, _)| before.contains(id)).collect();
        assert!(again.is_empty(), "after {cut} records {again:?} were made again");
        assert_eq!(rest.outcome.usage, whole.outcome.usage, "after {cut} records");
    }
}

#[tokio::test]
async fn any_prefix_of_the_records_leads_to_the_same_end_and_repeats_no_write() {
    let thinking = |s: &mut Specialist| s.limits.forced_reasoning_interval = Some(3);
    check_every_prefix(|| bench(long_story()).with(thinking)).await;
}

#[tokio::test]
async fn the_same_holds_where_the_context_was_shortened() {
    let long = |n: u32| call("t:touch", json!({"path": format!("{n}"), "text": "x".repeat(3_000)}));
    check_every_prefix(|| bench((0..8).map(long).chain([done()]))).await;
}

#[tokio::test]
async fn a_write_without_a_result_is_unknown_and_a_read_is_made_again() {
    for (tool, made, status) in
        [("t:touch", 0, InvocationStatus::Unknown), ("t:look", 1, InvocationStatus::Success)]
    {
        let replies = [call(tool, json!({"path": "a"})), done()];
        let whole = bench(replies.clone()).run().await;
        let history = whole.records[..2].to_vec();
        let rest = Bench { history, ..bench(replies) }.run().await;
        assert_eq!(rest.end(), DONE);
        assert_eq!(rest.made.len(), made, "{tool}");
        let Record::ToolResult { invocation, .. } = &rest.records[0] else { panic!() };
        assert_eq!(invocation.status, status);
        assert_eq!(rest.sent(1).contains("outcome unknown"), made == 0);
    }
}

#[tokio::test]
async fn results_of_the_time_before_can_be_read_on() {
    let replies = [call("t:big", json!({})), done()];
    let whole = bench(replies.clone()).run().await;
    let rest = Bench { history: whole.records[..3].to_vec(), ..bench(replies) }.run().await;
    assert_eq!(rest.kept.len(), 1);
    assert!(rest.kept[0].starts_with("call_1_1_1: é"));
}
