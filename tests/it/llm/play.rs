//! A script answers from who asks, and from nothing else.

use kb::definition::{Script, ScriptCall, ScriptError, ScriptTurn, ScriptUsage};
use kb::diagnostic::{Sources, Span};
use kb::expression::{Names, Origin, Style, Template, ValueTemplate};
use kb::llm::*;
use kb::value::{AttemptPlace, Json, Money, PlacedStep, Tier};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn say(text: &str) -> ScriptTurn {
    ScriptTurn { say: Some(text.into()), ..ScriptTurn::default() }
}

fn script(steps: &[(&str, Vec<ScriptTurn>)]) -> ScriptPlayer {
    let steps = steps.iter().map(|(key, turns)| (key.to_string(), turns.clone())).collect();
    ScriptPlayer::new(Arc::new(Script { steps }), kb::clock::Clock::system().into())
}

fn place(instance: &str, attempt: u32) -> AttemptPlace {
    let (step, item) = match instance.split_once('[') {
        Some((step, item)) => (step, item.strip_suffix(']').map(str::to_owned)),
        None => (instance, None),
    };
    let own = PlacedStep { step: step.into(), item, iteration: 1, attempt };
    AttemptPlace { own, ..AttemptPlace::default() }
}

pub(super) fn asks(instance: &str, attempt: u32, turn: u32) -> ChatRequest {
    ChatRequest {
        model: ModelRef { name: "script".into(), tier: Some(Tier::Medium) },
        messages: vec![Message::User("go".into())],
        tools: Vec::new(),
        response_schema: None,
        temperature: None,
        max_tokens: None,
        reasoning: None,
        timeout: Duration::from_secs(60),
        origin: CallOrigin { place: place(instance, attempt), turn, params: Arc::new(json!({})) },
    }
}

async fn play(player: &ScriptPlayer, request: ChatRequest) -> Result<ChatReply, ModelError> {
    player.chat(request, &|_| {}, &CancellationToken::new()).await
}

#[tokio::test]
async fn the_most_specific_key_answers() {
    let player = script(&[
        ("review", vec![say("step"), say("step, second turn")]),
        ("review#2", vec![say("step, second attempt")]),
        ("review[a.rs]", vec![say("instance")]),
        ("review[a.rs]#2", vec![say("instance, second attempt")]),
    ]);
    let cases = [
        ("review[b.rs]", 1, 1, "step"),
        ("review[b.rs]", 1, 2, "step, second turn"),
        ("review[b.rs]", 2, 1, "step, second attempt"),
        ("review[b.rs]", 3, 1, "step"),
        ("review[a.rs]", 1, 1, "instance"),
        ("review[a.rs]", 2, 1, "instance, second attempt"),
        ("review[a.rs]", 3, 1, "instance"),
    ];
    for (instance, attempt, turn, expected) in cases {
        let reply = play(&player, asks(instance, attempt, turn)).await.unwrap();
        assert_eq!(reply.text, expected, "{instance}#{attempt}, turn {turn}");
    }
}

#[tokio::test]
async fn a_missing_turn_names_itself_and_the_keys_there_are() {
    let player = script(&[("a", vec![say("x")]), ("b", Vec::new())]);
    let check = async |instance: &str, turn: u32, expected: &str| {
        let error = play(&player, asks(instance, 2, turn)).await.unwrap_err();
        assert!(matches!(error, ModelError::ScriptEnded { .. }));
        assert_eq!(error.to_string(), expected);
    };
    check(
        "a",
        2,
        "the script has no turn 2 for attempt 2 of `a`: `a` has 1 turn, which attempt 2 starts again; turns \
         for attempt 2 belong under `a#2`; its keys are `a`, `b`",
    )
    .await;
    check(
        "b",
        1,
        "the script has no turn 1 for attempt 2 of `b`: `b` has 0 turns, which attempt 2 starts again; \
         turns for attempt 2 belong under `b#2`; its keys are `a`, `b`",
    )
    .await;
    check(
        "c[1]",
        1,
        "the script has no turn 1 for attempt 2 of `c[1]`: no key matches; its keys are `a`, `b`",
    )
    .await;
}

#[tokio::test]
async fn a_turn_says_calls_and_hands_in() {
    let turn = ScriptTurn {
        say: Some("on it now".into()),
        calls: vec![
            ScriptCall {
                tool: "fs:write".into(),
                args: ValueTemplate::literal(json!({"path": "a"})),
            },
            ScriptCall { tool: "no:such".into(), args: ValueTemplate::literal(Json::Null) },
        ],
        output: Some(ValueTemplate::literal(json!({"summary": "done"}))),
        usage: Some(ScriptUsage { prompt: 900, completion: 120 }),
        ..ScriptTurn::default()
    };
    let player = script(&[("s", vec![turn])]);
    let tokens = Mutex::new(Vec::new());
    let heard = |token: &str| tokens.lock().unwrap().push(token.to_owned());
    let reply = player.chat(asks("s", 1, 1), &heard, &CancellationToken::new()).await.unwrap();
    let calls: Vec<_> = reply.calls.iter().map(|c| (c.id.as_str(), c.tool.as_str())).collect();
    assert_eq!(calls, [("script-1-1", "fs:write"), ("script-1-2", "no:such")]);
    assert_eq!(reply.calls[0].args, json!({"path": "a"}));
    assert_eq!(reply.submitted, Some(json!({"summary": "done"})));
    assert_eq!((reply.usage.prompt_tokens, reply.usage.completion_tokens), (900, 120));
    assert_eq!((reply.usage.model_calls, reply.usage.cost_usd), (1, Some(Money::ZERO)));
    assert_eq!(*tokens.lock().unwrap(), ["on ", "it ", "now"]);
}

#[tokio::test]
async fn a_scripted_failure_is_the_one_a_provider_would_give() {
    let check = async |status: u16, message: Option<&str>, expected: ModelError| {
        let retry_after = (status == 429).then_some(2.0);
        let error = Some(ScriptError { status, retry_after, message: message.map(str::to_owned) });
        let player = script(&[("s", vec![ScriptTurn { error, ..ScriptTurn::default() }])]);
        assert_eq!(play(&player, asks("s", 1, 1)).await, Err(expected));
    };
    let transient = |message: &str, status, retry_after| ModelError::Transient {
        message: message.into(),
        status,
        retry_after,
    };
    let wait = Some(Duration::from_secs(2));
    check(429, None, transient("the model answered with status 429", Some(429), wait)).await;
    check(503, Some("worker died"), transient("worker died", Some(503), None)).await;
    check(0, None, transient("the response was interrupted", None, None)).await;
    let message = "the model answered with status 401".into();
    check(401, None, ModelError::Refused { message, status: Some(401) }).await;
}

#[tokio::test]
async fn a_slow_turn_meets_its_timeout_and_its_cancel() {
    let hour = Duration::from_secs(3600);
    let slow = |delay_ms| ScriptTurn { delay_ms, ..say("late") };
    let player = script(&[("s", vec![slow(1), slow(3_600_000)])]);
    assert_eq!(play(&player, asks("s", 1, 1)).await.unwrap().text, "late");

    let limit = Duration::from_millis(1);
    let hasty = ChatRequest { timeout: limit, ..asks("s", 1, 2) };
    let timeout = ModelError::Timeout { model: "script".into(), limit };
    assert_eq!(play(&player, hasty).await, Err(timeout));

    let cancel = CancellationToken::new();
    let patient = ChatRequest { timeout: 2 * hour, ..asks("s", 1, 2) };
    let cancelling = async { cancel.cancel() };
    let (answer, ()) = tokio::join!(player.chat(patient, &|_| {}, &cancel), cancelling);
    assert_eq!(answer, Err(ModelError::Cancelled));
}

#[test]
fn a_script_stands_for_every_model() {
    let player = script(&[]);
    assert_eq!(player.resolve(Tier::Small, None).unwrap().name, "script");
    assert_eq!(player.resolve(Tier::Large, Some("gpt-x")).unwrap().name, "gpt-x");
}

#[tokio::test]
async fn a_recording_says_what_was_said() {
    let call = |tool: &str, args: Json| ScriptCall {
        tool: tool.into(),
        args: ValueTemplate::literal(args),
    };
    let first = ScriptTurn {
        calls: vec![call("fs:write", json!({"path": "a", "content": "#!/bin/sh\necho {{ x }}\n"}))],
        usage: Some(ScriptUsage { prompt: 9, completion: 2 }),
        ..say("two\nlines\n")
    };
    let busy = ScriptError { status: 429, retry_after: Some(2.0), message: None };
    let second = ScriptTurn { error: Some(busy), ..ScriptTurn::default() };
    let last = call("submit_output", json!({"summary": "done"}));
    let third = ScriptTurn { calls: vec![call("x", json!([1])), last], ..ScriptTurn::default() };
    let player = script(&[
        ("s", vec![first, second, third, ScriptTurn::default()]),
        ("s#2", vec![say("unheard"), say("again")]),
    ]);
    let recording = Recording::new(Arc::new(player), Arc::default());
    for (attempt, turn) in [(1, 1), (1, 2), (1, 3), (1, 4), (2, 2), (2, 3)] {
        let _ = recording.chat(asks("s", attempt, turn), &|_| {}, &CancellationToken::new()).await;
    }
    // What was given is compared by `playbook_faults`.
    let script = recording.script();
    assert_eq!(script.matches("given:").count(), 5);
    let shown: Vec<&str> = script
        .lines()
        .filter(|line| !["given:", "- tools", "- user"].iter().any(|part| line.contains(part)))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    schema: kb.script/1
    steps:
      s:
      - say: |
          two
          lines
        calls:
        - tool: fs:write
          args:
            path: a
            content:
              text: |
                #!/bin/sh
                echo {{ x }}
              raw: true
        usage:
          prompt: 9
          completion: 2
      - error:
          status: 429
          message: the model answered with status 429
          retryAfter: 2
      - calls:
        - tool: x
          args:
          - 1
        output:
          summary: done
      - say: ""
      s#2:
      - error:
          status: 0
          message: this turn was not recorded
      - say: again
    "#);
}

#[tokio::test]
async fn placeholders_are_filled_from_the_parameters() {
    let names = Names { params: ["name".to_owned()].into(), ..Names::default() };
    let source = Sources::default().add("s.yml", "x");
    let origin = Origin { span: Span::new(source, 0, 1), verbatim: None };
    let text = |text: &str| Template::parse(text, origin, &names, Style::Playbook).unwrap();
    let map =
        |text: Template| ValueTemplate::Map([("path".into(), ValueTemplate::Text(text))].into());
    let call = |template: &str| ScriptCall { tool: "fs:write".into(), args: map(text(template)) };
    let calls = vec![call("src/{{ params.name }}.sh"), call("{{ name }}")];
    let turn =
        ScriptTurn { calls, output: Some(map(text("a {{ name }}"))), ..ScriptTurn::default() };
    let player = script(&[("s", vec![turn])]);
    let mut request = asks("s", 1, 1);
    request.origin.params = Arc::new(json!({"name": "x"}));
    let reply = play(&player, request).await.unwrap();
    let args: Vec<_> = reply.calls.iter().map(|call| call.args["path"].clone()).collect();
    assert_eq!(args, [json!("src/x.sh"), json!("x")]);
    assert_eq!(reply.submitted, Some(json!({"path": "a x"})));

    let error = play(&player, asks("s", 1, 1)).await.unwrap_err();
    assert!(error.to_string().starts_with("turn 1 of `s` in the script: "), "{error}");
}
