//! Models that fail, through the binary: answers that are cut off, and models that never submit.

use crate::scratch::{Said, Scratch};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: write, specialist: writer, task: write a poem}\n";

fn project(specialist: &str) -> Scratch {
    let specialist = format!("schema: kb.specialist/1\nid: writer\nrole: You write.\n{specialist}");
    let path = ".kb/specialists/writer/specialist.yml";
    Scratch::new(&[("playbooks/p.yml", PLAYBOOK), (path, &specialist)])
}

/// The stream of one response with this text.
fn response(text: &str, finish: &str) -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "model": "tiny", "choices": [choice]}))
    };
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 64, "total_tokens": 84});
    let usage = format!("data: {}\n\n", json!({"choices": [], "usage": usage}));
    let text = chunk(json!({"content": text}), Value::Null);
    format!("{text}{}{usage}data: [DONE]\n\n", chunk(json!({}), json!(finish)))
}

/// Runs the playbook against a server with these responses; the last one is repeated.
fn run(scratch: &Scratch, responses: &[String]) -> Said {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        for (at, body) in responses.iter().enumerate() {
            let answer = ResponseTemplate::new(200).set_body_raw(body.clone(), "text/event-stream");
            let mock = Mock::given(method("POST")).respond_with(answer);
            let last = at + 1 == responses.len();
            let mock = if last { mock } else { mock.up_to_n_times(1) };
            mock.with_priority(1 + at as u8).mount(&server).await;
        }
        server
    });
    let uri = server.uri();
    scratch.kb_with(&["playbook", "run", "p"], |command| {
        command.env("KB_LLM_ENDPOINT", uri).env("KB_LLM_MODEL", "tiny");
    })
}

#[test]
fn a_response_that_was_cut_off_is_named_whatever_came_before() {
    let invalid = response("{\"poem\": 5}", "stop");
    let cut = response("{\"poem\": \"a very long", "length");
    let limited = project("llm: {maxTokens: 64}\n");
    for responses in [vec![cut.clone()], vec![invalid.clone(), cut.clone()]] {
        let said = run(&limited, &responses).code(1);
        assert!(
            !said.out.contains("never submitted") && !said.out.contains("schema"),
            "{}",
            said.out
        );
        said.says(&[
            "the response of the model `tiny` was cut off after 64 tokens; its limit is `maxTokens: 64`",
            "KB0706",
            "raise `maxTokens` of the specialist `writer` (.kb/specialists/writer/specialist.yml)",
        ]);
    }
    let unlimited = run(&project(""), &[cut]).code(1);
    unlimited.says(&[
        "KB0706",
        "because no `maxTokens` is set",
        "set `maxTokens` of the specialist `writer`",
    ]);
}

#[test]
fn a_model_that_never_submits_is_quoted_with_what_was_missing_and_what_to_try() {
    let scratch = project(
        "output: {schema: {type: object, properties: {poem: {type: string}}, required: [poem]}}\n",
    );
    let said = run(&scratch, &[response("I would rather talk about the weather.", "stop")]).code(1);
    said.says(&[
        "never submitted an output with `poem`, `summary`",
        "it said last: \"I would rather talk about the weather.\"",
        "choose a larger tier than `medium` or a larger model than `tiny`",
        "`maxTokens`",
        "one JSON object",
    ]);
}

#[test]
fn a_script_without_turns_for_a_second_attempt_names_its_key() {
    let scratch = project("");
    let playbook = PLAYBOOK.replace(
        "task: write a poem",
        "task: write, verify: {checks: [{file: {path: poem.md}}], onFailed: rework}",
    );
    scratch.write("playbooks/p.yml", &playbook);
    scratch.write(
        "script.yml",
        "schema: kb.script/1\nsteps:\n  write:\n    - output: {summary: done}\n  write#2: []\n",
    );
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(1);
    said.says(&["KB0705", "no turn 1 for attempt 2 of `write`", "`write#2` has 0 turns"]);
    let restarted = "schema: kb.script/1\nsteps:\n  write#1:\n    - output: {summary: done}\n  write:\n    - say: thinking\n";
    scratch.write("script.yml", restarted);
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(1);
    said.says(&[
        "no turn 2 for attempt 2 of `write`",
        "`write` has 1 turn, which attempt 2 starts again; turns for attempt 2 belong under `write#2`",
    ]);
}
