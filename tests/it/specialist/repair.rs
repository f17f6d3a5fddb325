//! Repairs of invalid and missing outputs.

use super::bench::*;
use kb::llm::Message;
use serde_json::json;

#[tokio::test]
async fn an_invalid_output_is_repaired_with_all_violations_listed() {
    let ran = check([submit(json!({"sumary": 1})), done()], DONE).await;
    assert!(ran.sent(2).contains("- /summary: `summary` is required"), "{}", ran.sent(2));
    assert_eq!(
        ran.notes(),
        [
            "repair 1 of 2: the output does not match its schema: `/summary`: `summary` is required: \
          state in a few sentences what you did and found"
        ]
    );
    assert!(ran.tools_of(2).contains(&"submit_output"));
}

#[tokio::test]
async fn the_last_repair_is_in_structured_mode_and_rescues_a_model_without_tools() {
    let replies = [Reply::Say("hm"), Reply::Say("hmm"), Reply::Say("{\"summary\": \"done\"}")];
    let ran = check(replies, DONE).await;
    let last = &ran.requests[2];
    assert!(last.tools.is_empty());
    assert_eq!(last.response_schema.as_ref().unwrap()["required"], json!(["summary"]));
    assert!(ran.requests[1].response_schema.is_none());
}

#[tokio::test]
async fn a_question_without_tools_mentions_no_native_call() {
    let replies = [
        call("t:look", json!({"path": "a"})),
        submit(json!({})),
        submit(json!({})),
        Reply::Say("{\"summary\": \"done\"}"),
    ];
    let ran = check(replies, DONE).await;
    let native = |message: &Message| match message {
        Message::Assistant { calls, .. } => !calls.is_empty(),
        Message::Tool { .. } => true,
        _ => false,
    };
    assert!(!ran.requests[3].messages.iter().any(native));
    assert!(ran.sent(4).contains("Action: t:look\nAction Input: {\"path\":\"a\"}"));
}

#[tokio::test]
async fn garbage_ends_after_two_repairs_and_is_kept() {
    let ran = check(vec![Reply::Say("blah"); 5], "validation_failed KB0503").await;
    assert_eq!(ran.requests.len(), 3);
    assert_eq!(ran.details()["partial"], json!({"text": "blah"}));
    let ran = check(vec![submit(json!({"files": 1})); 5], "validation_failed KB0502").await;
    assert_eq!(ran.requests.len(), 3);
    assert_eq!(ran.details()["partial"]["output"], json!({"files": 1}));
    check(vec![Reply::Say(""); 3], "validation_failed KB0503").await;
    check(vec![submit(json!("not json")); 3], "validation_failed KB0502").await;
}

#[tokio::test]
async fn a_call_outside_the_whitelist_is_seen_and_three_end_it() {
    let wrong = |n: u32| call("rm:all", json!({"n": n}));
    let ran = check([wrong(1), wrong(2), done()], DONE).await;
    assert!(ran.sent(2).contains("not among the tools"));
    let ran = check([wrong(1), wrong(2), wrong(3), done()], "policy_denied KB0508").await;
    assert_eq!(ran.details()["lastToolCalls"].as_array().unwrap().len(), 3);
    assert_eq!(ran.details()["suggestedNext"][0]["action"], "ask_user");
}

#[tokio::test]
async fn an_output_in_the_reply_of_a_failed_call_is_not_taken() {
    let both = Reply::Calls(vec![
        ("t:look", json!({"fail": true})),
        ("submit_output", json!({"summary": "it worked"})),
    ]);
    let ran = check([both, done()], DONE).await;
    assert!(ran.sent(2).contains("rejected: an earlier tool call"), "{}", ran.sent(2));
}

#[tokio::test]
async fn a_server_without_structured_output_is_asked_in_words() {
    let replies = [Reply::Say("hm"), Reply::Say("hm"), Reply::NoSchema("{\"summary\": \"done\"}")];
    let ran = check(replies, DONE).await;
    assert!(ran.sent(4).contains("Respond with one JSON object and nothing else"));
    assert_eq!(
        ran.notes()[2],
        "repeating the call without the structured-output mode: no such format"
    );
}
