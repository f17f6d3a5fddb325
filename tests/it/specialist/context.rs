use super::bench::*;
use kb::llm::Message;
use kb::run::Record;
use kb::value::json_text;
use serde_json::json;

#[tokio::test]
async fn long_results_are_cut_in_the_context_and_whole_in_the_record() {
    let ran = check([call("t:big", json!({})), done()], DONE).await;
    let sent = ran.sent(2);
    assert_eq!(sent.matches('é').count(), 800);
    let note = "[cut: 1200 more characters, about 300 tokens; read on with `output:read` \
                {\"ref\": \"call_1_1_1\", \"offset\": 800}]";
    assert!(sent.ends_with(note), "{sent}");
    let Record::ToolResult { result, .. } = &ran.records[2] else { panic!("{:?}", ran.records) };
    assert_eq!(json_text(result.as_inline().unwrap()).chars().count(), 2_000);
}

#[tokio::test]
async fn a_long_context_is_shortened_and_keeps_its_task_and_its_pairs() {
    let mut replies: Vec<Reply> =
        (0..12).map(|n| call("t:big", json!({"n": n, "text": "x".repeat(2_000)}))).collect();
    replies.push(done());
    let ran = bench(replies).with(|s| s.limits.max_steps = 20).run().await;
    assert_eq!(ran.end(), DONE);
    assert!(ran.records.iter().any(|record| kind(record) == "compression"));
    for (turn, request) in ran.requests.iter().enumerate() {
        assert!(ran.sent(turn + 1).contains("Say what is in `a`."));
        assert_paired(&request.messages);
    }
    let last = ran.sent(13);
    assert!(last.contains("- called `t:big` n=0 text=(2000 characters) -> "), "{last}");
    assert!(last.len() < 40_000, "{}", last.len());
}

/// Every result follows the reply that asked for it, and every call has one.
fn assert_paired(messages: &[Message]) {
    let mut open: Vec<&str> = vec![];
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty());
                open.extend(calls.iter().map(|call| call.id.as_str()));
            }
            Message::Tool { call_id, .. } => {
                let at = open.iter().position(|id| id == call_id);
                open.remove(at.expect("a result of a call just before it"));
            }
            _ => assert!(open.is_empty()),
        }
    }
}
