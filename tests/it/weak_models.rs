//! Models that fail, through the binary: answers that are cut off, and models that never submit.

use crate::scratch::{Said, Scratch};
use serde_json::{Value, json};
use wiremock::matchers::{body_string_contains, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: write, specialist: writer, task: write a poem}\n";

fn project(specialist: &str) -> Scratch {
    let specialist = format!("schema: kb.specialist/1\nid: writer\nrole: You write.\n{specialist}");
    let path = ".kb/specialists/writer/specialist.yml";
    Scratch::new(&[("playbooks/p.yml", PLAYBOOK), (path, &specialist)])
}

/// The stream of one response with this text.
pub(crate) fn response(text: &str, finish: &str) -> String {
    stream(&json!({"content": text}), finish)
}

/// The stream of one response that calls a tool, with these arguments as far as they go.
fn called(tool: &str, arguments: &str, finish: &str) -> String {
    let function = json!({"name": tool.replace(':', "_"), "arguments": arguments});
    let call = json!({"index": 0, "id": "c1", "type": "function", "function": function});
    stream(&json!({"tool_calls": [call]}), finish)
}

fn stream(delta: &Value, finish: &str) -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "model": "tiny", "choices": [choice]}))
    };
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 64, "total_tokens": 84});
    let usage = format!("data: {}\n\n", json!({"choices": [], "usage": usage}));
    let text = chunk(delta.clone(), Value::Null);
    format!("{text}{}{usage}data: [DONE]\n\n", chunk(json!({}), json!(finish)))
}

/// A server with its thread.
pub(crate) struct Server {
    server: MockServer,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn uri(&self) -> String {
        self.server.uri()
    }

    /// Answers requests with this text in their body before all others.
    fn answers(&self, text: &str, response: String) {
        let answer = ResponseTemplate::new(200).set_body_raw(response, "text/event-stream");
        let mock = Mock::given(body_string_contains(text)).respond_with(answer).with_priority(1);
        self.runtime.block_on(mock.mount(&self.server));
    }
}

/// A server with these responses in their order; the last one is repeated.
pub(crate) fn server(responses: &[String]) -> Server {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        for (at, body) in responses.iter().enumerate() {
            let answer = ResponseTemplate::new(200).set_body_raw(body.clone(), "text/event-stream");
            let mock = Mock::given(method("POST")).respond_with(answer);
            let last = at + 1 == responses.len();
            let mock = if last { mock } else { mock.up_to_n_times(1) };
            mock.with_priority(2 + at as u8).mount(&server).await;
        }
        server
    });
    Server { server, runtime }
}

/// Runs the playbook against a server with these responses; the last one is repeated.
fn run(scratch: &Scratch, responses: &[String]) -> Said {
    run_with(scratch, &server(responses))
}

fn run_with(scratch: &Scratch, server: &Server) -> Said {
    scratch.kb_with(&["playbook", "run", "p"], |command| {
        command.env("KB_LLM_ENDPOINT", server.uri()).env("KB_LLM_MODEL", "tiny");
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
fn what_was_cut_off_is_neither_executed_nor_an_output() {
    let text_call =
        "Thought: go\nAction: fs:write\nAction Input: {\"path\": \"poem.md\", \"content\": \"a";
    for (what, cut) in [
        ("a call", called("fs:write", "{\"path\": \"poem.md\", \"content\": \"a very", "length")),
        ("a call without arguments", called("fs:write", "", "length")),
        ("the output", called("submit_output", "{\"summary\": \"a very", "length")),
        ("a call as text", response(text_call, "length")),
        (
            "a text with an object",
            response("{\"poems\": [{\"summary\": \"one\"}, {\"sum", "length"),
        ),
        ("nothing", response("", "length")),
    ] {
        let scratch = project("tools: [\"fs:write\"]\nllm: {maxTokens: 64}\n");
        let said = run(&scratch, std::slice::from_ref(&cut)).code(1);
        said.says(&[
            "KB0706",
            "of the model `tiny` was cut off after 64 tokens",
            "`maxTokens: 64`",
        ]);
        let events = scratch.kb(&["run", "events", "@last"]).code(0).out;
        assert!(!scratch.has("poem.md") && !events.contains("tool:call"), "{what}: {events}");
        // The model is told so, and goes on.
        let done = response("{\"summary\": \"short\"}", "stop");
        let said = run(&scratch, &[cut, done]).code(0);
        let log = scratch.kb(&["run", "logs", "@last", "--prompts"]).code(0).out;
        assert!(
            log.contains("Your response was truncated at its length limit"),
            "{what}: {said:?}"
        );
    }
}

#[test]
fn a_cut_answer_to_the_question_of_a_phase_is_a_warning() {
    let scratch = project("llm: {maxTokens: 64}\nagentLoop: {enableSelfCritique: false}\n");
    let cut = response("{\"understanding\": \"a poem\", \"comp", "length");
    let done = response("{\"summary\": \"done\", \"plan\": []}", "stop");
    run(&scratch, &[cut, done]).code(0).says(&[
        "the response of the model `tiny` was cut off after 64 tokens; its limit is `maxTokens: 64` [KB0706]",
        "the rest of the answer to `understand` is missing",
    ]);
}

#[test]
fn a_cut_assessment_names_the_limit_of_the_judge() {
    let answer = "The poem has four lines, each of which rhymes with the line before it.";
    let answer = response(&json!({"summary": answer}).to_string(), "stop");
    let text = response("{\"mentions\": [{\"confidence\": 1}], \"confi", "length");
    let call = called("submit_verification", "{\"mentions\": [], \"conf", "length");
    for (judge, limit, cut) in [("{}", 2048, text), ("{maxTokens: 64}", 64, call)] {
        let scratch = project("");
        let checks = format!("task: write, verify: {{checks: [{{judge: {judge}}}]}}");
        scratch.write("playbooks/p.yml", &PLAYBOOK.replace("task: write a poem", &checks));
        run(&scratch, &[answer.clone(), cut]).code(0).says(&[
            "the answer was not judged",
            "was cut off after 64 tokens",
            &format!("`maxTokens: {limit}` of the `judge` check [KB0706]"),
        ]);
    }
}

#[test]
fn a_cut_summary_of_the_history_is_not_used() {
    let scratch = project("");
    scratch.write("playbooks/p.yml", "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: each, forEach: '{{ range(40) | list }}', specialist: writer, task: 'Item {{item}}'}\n  - {id: then, specialist: writer, task: go on, dependsOn: [each]}\n");
    let long = "this item was looked at in detail and has nothing special ".repeat(5);
    let item = response(&json!({"summary": long}).to_string(), "stop");
    let cut = response("HALF A SUMMARY", "length");
    let server = server(&[item]);
    server.answers("You summarise the history", cut);
    run_with(&scratch, &server).code(0).says(&[
        "the history of the run is cut to its newest steps",
        "was cut off after 64 tokens; its limit is 700 tokens [KB0706]",
    ]);
    let log = scratch.kb(&["run", "logs", "@last", "then", "--prompts"]).code(0).out;
    let system = log.lines().filter(|line| line.contains("history:"));
    assert!(system.count() > 0 && log.contains("earlier steps left out"), "{log}");
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

/// A model that answers in words works in no specialist.
#[test]
fn doctor_tells_a_model_that_calls_no_tools() {
    let doctor = |response: String| {
        let server = server(&[response]);
        let scratch = Scratch::new(&[]);
        let call = scratch.kb_with(&["doctor", "--call"], |command| {
            command.env("KB_LLM_ENDPOINT", server.uri()).env("KB_LLM_MODEL", "tiny");
        });
        call.out
    };
    let said = doctor(called("ready", "{\"word\": \"yes\"}", "tool_calls"));
    assert!(said.contains("with a call of a tool"), "{said}");
    let said = doctor(response("I am ready", "stop"));
    assert!(said.contains("did not call the tool that it was asked to call"), "{said}");
    assert!(said.contains("use a model that can call them"), "{said}");
}
