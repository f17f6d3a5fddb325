//! Context compression.

use super::bench::*;
use kb::definition::Specialist;
use kb::evidence::Record;
use kb::value::json_text;
use serde_json::json;

#[tokio::test]
async fn long_results_are_cut_in_the_context_and_whole_in_the_record() {
    let ran = check([call("t:big", json!({})), done()], DONE).await;
    let sent = ran.sent(2);
    assert_eq!(sent.matches('é').count(), 800);
    let note = "[truncated: 1200 more characters, about 300 tokens; continue with `output:read` \
                {\"ref\": \"call_1_1_1\", \"offset\": 800}]";
    assert!(sent.ends_with(note), "{sent}");
    let Record::ToolResult { result, .. } = &ran.records[2] else { panic!("{:?}", ran.records) };
    assert_eq!(json_text(result.as_inline().unwrap()).chars().count(), 2_000);
}

#[tokio::test]
async fn a_long_context_is_shortened_and_keeps_its_task_and_its_pairs() {
    let big = |n: u32| ("t:big", json!({"n": n, "text": "x".repeat(2_000)}));
    let some = |n: u32| Reply::Calls((0..=n % 3).map(|k| big(10 * n + k)).collect());
    let replies: Vec<Reply> = (0..12).map(some).chain([done()]).collect();
    let limits = |s: &mut Specialist| (s.limits.max_steps, s.limits.max_tool_calls) = (20, 40);
    let ran = bench(replies).with(limits).run().await;
    assert_eq!(ran.end(), DONE);
    assert!(ran.records.iter().any(|record| kind(record) == "compression"));
    for (turn, request) in ran.requests.iter().enumerate() {
        assert!(ran.sent(turn + 1).contains("Say what is in `a`."));
        assert_paired(&request.messages);
    }
    let last = ran.sent(13);
    assert!(last.contains("- called `t:big` n=80 text=(2000 characters) -> "), "{last}");
    assert!(last.len() < 40_000, "{}", last.len());
}
