//! Whatever a model answers, an attempt ends inside its limits.

use super::bench::*;
use kb::llm::Message;
use serde_json::json;

fn answers() -> Vec<Reply> {
    vec![
        Reply::Say(""),
        Reply::Say("Action: \u{1F600}\n**Action Input:** {\"path\": {{{"),
        Reply::Say("```json\n{\"summary\": 7}\n```"),
        submit(json!({"summary": "   "})),
        submit(json!([1, 2])),
        call("t:look", json!({"path": "a"})),
        call("t:touch", json!({"path": "a"})),
        call("", json!("{broken")),
        Reply::Calls(vec![
            ("t:look", json!({})),
            ("submit_output", json!({})),
            ("t:touch", json!({})),
        ]),
    ]
}

#[tokio::test]
async fn every_mix_of_bad_answers_ends_inside_the_limits() {
    let answers = answers();
    let count = answers.len();
    for mix in 0..count.pow(3) {
        let pick = |turn: usize| answers[mix / count.pow(turn as u32 % 3) % count].clone();
        let limited = bench((0..20).map(pick)).with(|s| {
            s.limits.max_steps = 7;
            s.limits.max_tool_calls = 5;
            s.limits.forced_reasoning_interval = Some(2);
        });
        let ran = limited.run().await;
        let failure = ran.outcome.failure.as_ref().expect("none of these answers is an output");
        assert!(failure.code.as_str().starts_with("KB050"), "mix {mix}: {}", ran.end());
        assert!(ran.requests.len() <= 7 && ran.made.len() <= 5, "mix {mix}");
        for request in &ran.requests {
            assert_paired(&request.messages);
            let users = |pair: &[Message]| pair.iter().all(|m| matches!(m, Message::User(_)));
            assert!(!request.messages.windows(2).any(users), "mix {mix}");
        }
    }
}
