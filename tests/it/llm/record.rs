//! What is recorded plays back as it was heard.

use super::play::asks;
use futures::future::BoxFuture;
use kb::definition::load_script;
use kb::evidence::CallRequest;
use kb::llm::*;
use kb::redaction::Redactor;
use kb::value::{Json, Money, Tier, Usage};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Answers turn after turn from a list.
struct Canned(Vec<Result<ChatReply, ModelError>>);

impl ModelProvider for Canned {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        _: &'a (dyn Fn(&str) + Send + Sync),
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move { self.0[request.origin.turn as usize - 1].clone() })
    }

    fn resolve(&self, tier: Tier, _: Option<&str>) -> Result<ModelRef, ModelError> {
        Ok(ModelRef { name: "canned".into(), tier: Some(tier) })
    }
}

fn reply(turn: u32, text: &str, args: &[Json]) -> ChatReply {
    let call = |(i, args): (usize, &Json)| CallRequest {
        id: format!("script-{turn}-{}", i + 1),
        tool: "fs:write".into(),
        args: args.clone(),
    };
    ChatReply {
        reasoning: None,
        text: text.into(),
        calls: args.iter().enumerate().map(call).collect(),
        usage: Usage {
            prompt_tokens: 900,
            completion_tokens: 120,
            cost_usd: Some(Money::ZERO),
            model_calls: 1,
            ..Usage::default()
        },
        model: "script".into(),
        cut_short: false,
        submitted: None,
    }
}

fn recording(heard: Vec<Result<ChatReply, ModelError>>) -> Recording {
    Recording::new(Arc::new(Canned(heard)), Arc::default())
}

/// Records these turns, loads what was written, and plays it.
async fn check(heard: Vec<Result<ChatReply, ModelError>>) {
    for instance in ["s", "s[src/a b.rs]", "s[\"{{x}}\"]"] {
        for attempt in [1, 2] {
            let recording = recording(heard.clone());
            for turn in 1..=heard.len() as u32 {
                let request = asks(instance, attempt, turn);
                let _ = recording.chat(request, &|_| {}, &CancellationToken::new()).await;
            }
            let text = recording.script();
            let (script, _, problems) = load_script("r.yml", text.as_bytes());
            assert!(problems.is_empty(), "{problems:?}\n{text}");
            let player =
                ScriptPlayer::new(Arc::new(script.unwrap()), kb::clock::Clock::system().into());
            for (i, expected) in heard.iter().enumerate() {
                let request = asks(instance, attempt, i as u32 + 1);
                let played = player.chat(request, &|_| {}, &CancellationToken::new()).await;
                assert_eq!(played, *expected, "{text}");
            }
        }
    }
}

#[tokio::test]
async fn replies_come_back_as_they_were() {
    let nasty = json!({
        "path": "src/{{ params.name }}.sh",
        "content": "cat <<EOF\n{{ x }} \\{{ y }} \\{z}\nEOF\n",
        "text": {"text": "{{ x }}", "raw": true},
        "more": {"text": "plain", "raw": false},
        "list": [1, -2.5, null, true, [], {}, "", "yes", " a\n\tb ", "\u{1b}[0m", "\r\n", "e\u{301}"],
        "on": {"a b": "{% raw %}"},
    });
    check(vec![
        Ok(reply(1, "I shall write\n  two files:\n\n", &[nasty, json!({})])),
        Ok(reply(2, "", &[json!("no {{ object }}"), json!([[]])])),
        Ok(reply(3, "Done {{ now }} << x >>.", &[])),
    ])
    .await;
}

#[tokio::test]
async fn failures_come_back_as_they_were() {
    let transient = |message: &str, status, retry_after| {
        Err(ModelError::Transient { message: message.into(), status, retry_after })
    };
    check(vec![
        transient(
            "`m` answered with status 429: slow\ndown",
            Some(429),
            Some(Duration::from_secs(7)),
        ),
        transient("the response of `m` was interrupted", None, None),
        Err(ModelError::Refused { message: "check the API key in `K`".into(), status: Some(401) }),
    ])
    .await;
}

#[tokio::test]
async fn what_is_handed_in_through_the_tool_stands_as_the_output() {
    let mut last = reply(1, "", &[json!({"summary": "{{ done }}"})]);
    last.calls[0].tool = "submit_output".into();
    let recording = recording(vec![Ok(last)]);
    let heard = recording.chat(asks("s", 1, 1), &|_| {}, &CancellationToken::new()).await;
    let (script, _, _) = load_script("r.yml", recording.script().as_bytes());
    let player = ScriptPlayer::new(Arc::new(script.unwrap()), kb::clock::Clock::system().into());
    let played = player.chat(asks("s", 1, 1), &|_| {}, &CancellationToken::new()).await.unwrap();
    assert_eq!(played.submitted, Some(heard.unwrap().calls[0].args.clone()));
    assert!(played.calls.is_empty());
}

#[test]
fn the_file_is_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.yml");
    let recording = recording(Vec::new());
    recording.write_to(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "schema: kb.script/1\nsteps: {}\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // A missing folder is created; a file is no folder.
    recording.write_to(&folder.path().join("new/folder/r.yml")).unwrap();
    assert!(folder.path().join("new/folder/r.yml").is_file());
    assert!(recording.write_to(&path.join("r.yml")).is_err());
}

#[tokio::test]
async fn what_a_model_repeats_of_a_secret_is_masked() {
    let redactor = Arc::new(Redactor::default());
    let mut submitted = reply(2, "", &[]);
    submitted.submitted = Some(json!({"summary": "used hunter2-token"}));
    let refused = ModelError::Refused { message: "no: hunter2-token".into(), status: Some(401) };
    let args = json!({"path": "a", "content": "key=hunter2-token {{ x }}", "hunter2-token": 120});
    submitted.usage.prompt_tokens = 123_456;
    let heard = vec![Ok(reply(1, "I saw hunter2-token", &[args])), Ok(submitted), Err(refused)];
    let recording = Recording::new(Arc::new(Canned(heard)), redactor.clone());
    for turn in 1..=3 {
        let request = asks("s[hunter2-token]", 1, turn);
        let _ = recording.chat(request, &|_| {}, &CancellationToken::new()).await;
    }
    // Learnt late, and a number that usage also has: neither may leave or spoil the script.
    redactor.add("T", "hunter2-token");
    redactor.add("N", "123456");
    let text = recording.script();
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(text.matches("«secret:T»").count(), 6, "{text}");
    let (script, _, problems) = load_script("r.yml", text.as_bytes());
    assert!(problems.is_empty() && script.is_some(), "{problems:?}\n{text}");
}
