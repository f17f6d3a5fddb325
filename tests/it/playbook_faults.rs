//! Injected faults, stubs of tools, virtual time and recordings in `kb playbook test`.

use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

const WRITE: &str = "schema: kb.playbook/1
id: write
params: [{name: topic, default: tea}]
steps:
  - {id: first, run: echo one > first.txt}
  - id: writer
    specialist: scribe
    task: \"write a file about {{topic}}\"
    dependsOn: [first]
    output: {schema: {created: \"string[]\"}}
    verify: {onFailed: rework, maxReworks: 1}
  - {id: last, run: echo two >> first.txt, dependsOn: [writer]}
";

const SCRIBE: &str = "schema: kb.specialist/1
id: scribe
role: You write files.
tools: [\"fs:write\", \"fs:read\", \"http:request\"]
";

/// A test file whose model reads, writes and submits.
fn project(tests: &str) -> Scratch {
    let file = format!(
        "schema: kb.test/1
playbook: write
files: {{notes.txt: \"leaf\\n\"}}
script:
  writer:
    - calls: [{{tool: \"fs:read\", args: {{path: notes.txt}}}}]
    - calls: [{{tool: \"fs:write\", args: {{path: a.txt, content: hello}}}}]
    - output: {{created: [a.txt], summary: done}}
tests:
{tests}"
    );
    Scratch::new(&[
        (".kb/playbooks/write.yml", WRITE),
        (".kb/specialists/scribe.yml", SCRIBE),
        (".kb/tests/write.test.yml", &file),
    ])
}

#[test]
fn each_fault_has_its_effect_and_the_run_recovers_as_its_policies_say() {
    let began = Instant::now();
    let scratch = project(
        "  - name: too many requests
    faults: [{step: writer, status: 429, retryAfter: 10m, attempts: 2}]
    expect: {attempts: {writer: 3}, verdicts: {writer: passed}}
  - name: the provider fails
    faults: [{step: writer, status: 500, turn: 2, attempts: 9}]
    expect: {status: failed, attempts: {writer: 3}, errors: {writer: status 500}, steps: {last: blocked}}
  - name: the response is cut
    faults: [{step: writer, cut: true, turn: 3}]
    expect: {attempts: {writer: 2}, events: [{type: \"attempt:end\", outcome: transient}]}
  - name: a tool fails
    faults: [{step: writer, tool: Write, error: no space left on device}]
    expect:
      verdicts: {writer: passed}
      attempts: {writer: 2}
      events: [{type: \"verification:complete\", verdict: failed}]
  - name: the model lies
    faults: [{step: writer, lie: true}]
    expect:
      attempts: {writer: 2}
      verdicts: {writer: passed}
      events: [{type: \"verification:complete\", verdict: failed}, {type: \"recovery:applied\"}]
  - name: the model is slow
    faults: [{step: writer, slow: 3h, attempts: 9}]
    expect: {status: failed, errors: {writer: KB0}}
  - name: killed after the first step
    faults: [{step: first, kill: true}]
    expect:
      attempts: {first: 1}
      files: {first.txt: \"one\\ntwo\\n\"}
      events: [{type: \"step:end\", step: first}, {type: \"run:resume\"}, {type: \"attempt:end\", step: writer}]
  - name: killed after the specialist
    faults: [{step: writer, kill: true}]
    expect: {attempts: {writer: 1}, events: [{type: \"run:resume\"}]}
  - name: the disk is full
    faults: [{step: writer, diskFull: true}]
    expect: {files: {first.txt: \"one\\ntwo\\n\"}, events: [{type: \"run:resume\"}, {type: \"step:end\", step: writer}]}
",
    );
    let said = scratch.kb(&["playbook", "test"]);
    assert_eq!(said.code, 0, "{said:?}");
    said.says(&["9 tests: 9 passed"]);
    assert!(began.elapsed() < Duration::from_secs(300), "the waits took their real time");
}

#[test]
fn waits_delays_and_times_to_reply_take_no_real_time() {
    let playbook = "schema: kb.playbook/1
id: patient
limits: {timeout: 10d}
steps:
  - {id: fails, run: exit 3, retry: {max: 3, on: [exit], initial: 1h, maxDelay: 4h}, onError: continue}
  - {id: pause, wait: 2d}
  - {id: later, playbook: child, dependsOn: [pause]}
  - {id: ok, approve: {message: Ship?, timeout: 3d, onTimeout: approve}, dependsOn: [later]}
  - {id: slow, run: echo x, timeout: 1h, dependsOn: [ok], retry: {max: 1, on: [timeout], initial: 1m}}
";
    let child = "schema: kb.playbook/1
id: child
steps:
  - {id: inner, wait: 6h}
  - {id: done, run: echo done, dependsOn: [inner]}
";
    let tests = "schema: kb.test/1
playbook: patient
tests:
  - name: waits
    stubs: {slow: [{output: 1, delay: 2h}, {output: 2, delay: 59m}]}
    expect:
      attempts: {fails: 4, slow: 2}
      stepOutputs: {slow: 2}
      events: [{type: \"attempt:end\", step: slow, outcome: timeout}]
  - name: still waits
    stubs: {slow: {output: 1}}
    expect: {status: waiting, steps: {ok: waiting, slow: pending}}
  - name: runs out of time
    stubs: {slow: {output: 1, delay: 30d}}
    playbook: patient
    expect: {status: failed}
";
    let scratch = Scratch::new(&[
        (".kb/playbooks/patient.yml", playbook),
        (".kb/playbooks/child.yml", child),
        (".kb/tests/patient.test.yml", tests),
    ]);
    let said = scratch.kb(&["playbook", "test"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn stubs_of_tools_replace_calls_and_the_policy_stays() {
    let scratch = project(
        "  - name: stubbed
    tools:
      fs:read: [{args: {path: notes.txt}, output: {content: other}}, {error: no such file}]
    expect: {verdicts: {writer: passed}}
  - name: not permitted
    tools: {\"shell:exec\": {output: {exitCode: 0}}}
    script:
      writer:
        - calls: [{tool: \"shell:exec\", args: {command: \"true\"}}]
        - output: {created: [], summary: done}
    expect: {events: [{type: \"tool:result\", status: denied}]}
  - name: without a network
    tools: {\"http:request\": {output: {status: 200, body: cups}}}
    script:
      writer:
        - calls: [{tool: \"http:request\", args: {url: \"https://example.com/\"}}]
        - output: {created: [], summary: done}
    expect: {events: [{type: \"tool:result\", status: success}]}
",
    );
    let said = scratch.kb(&["playbook", "test"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn mistakes_in_faults_and_stubs_are_reported_with_positions() {
    let scratch = project(
        "  - name: wrong
    faults:
      - {step: writr, status: 429}
      - {step: writer, status: 429, cut: true}
      - {step: writer, kill: true, turn: 2}
      - {step: writer, tool: fs:wirte}
      - {step: writer, status: 200}
      - {status: 429}
      - {step: first, kill: false}
    tools: {fs:raed: {output: 1}, \"fs:*\": {output: 1}, fs:read: {result: 1}}
",
    );
    scratch.kb(&["playbook", "test"]).code(2).says(&[
        "a fault has 2 of",
        "`turn` has no effect on a fault with `kill`",
        "fs:wirte",
        "did you mean `fs:write`?",
        "`kill: false` is no fault",
        "fs:raed",
        "`fs:*` stands for several tools",
        "write.test.yml:",
    ]);
    let scratch = project("  - {name: a, faults: [{step: writr, status: 429}]}\n");
    scratch.kb(&["playbook", "test"]).code(2).says(&["no step `writr`", "did you mean `writer`?"]);
    let scratch = project("  - {name: a, faults: [{step: \"last[x]\", kill: true}]}\n");
    scratch.kb(&["playbook", "test"]).code(1).says(&["the fault after `last[x]` did not occur"]);
}

/// A response with one tool call, as a stream.
pub(crate) fn response(tool: &str, args: serde_json::Value) -> String {
    let call = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": tool, "arguments": args.to_string()}});
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "model": "tiny", "choices": [choice]}))
    };
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29});
    let usage = format!("data: {}\n\n", json!({"choices": [], "usage": usage}));
    let call = chunk(json!({"tool_calls": [call]}), Value::Null);
    format!("{call}{}{usage}data: [DONE]\n\n", chunk(json!({}), json!("tool_calls")))
}

/// A model server that gives these responses one after another.
pub(crate) async fn answering(responses: impl IntoIterator<Item = String>) -> MockServer {
    let server = MockServer::start().await;
    for (priority, body) in (1..).zip(responses) {
        let answer = ResponseTemplate::new(200).set_body_raw(body, "text/event-stream");
        let mock = Mock::given(method("POST")).respond_with(answer).up_to_n_times(1);
        mock.with_priority(priority).mount(&server).await;
    }
    server
}

/// Records a run with a model server that reads, writes and submits.
fn record(scratch: &Scratch) {
    let responses = [
        response("fs_read", json!({"path": "notes.txt"})),
        response("fs_write", json!({"path": "a.txt", "content": "hello"})),
        response("submit_output", json!({"created": ["a.txt"], "summary": "done"})),
    ];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(answering(responses));
    let uri = server.uri();
    let run = ["playbook", "run", "write", "--record", ".kb/tests/recorded.yml"];
    let said = scratch.kb_with(&run, |command| {
        command.env("KB_LLM_ENDPOINT", uri).env("KB_LLM_MODEL", "tiny");
    });
    said.code(0);
    // The test that is written beside the script.
    std::fs::remove_file(scratch.root().join(".kb/tests/recorded.test.yml")).unwrap();
    std::fs::remove_file(scratch.root().join("a.txt")).unwrap();
    std::fs::remove_file(scratch.root().join("first.txt")).unwrap();
}

#[test]
fn a_recording_is_a_test_and_says_at_which_turn_it_no_longer_fits_and_why() {
    let tests = "schema: kb.test/1
playbook: write
files: {notes.txt: \"leaf\\n\"}
script: recorded.yml
tests:
  - name: as recorded
    expect: {verdicts: {writer: passed}, files: {a.txt: hello}}
";
    let scratch = Scratch::new(&[
        (".kb/playbooks/write.yml", WRITE),
        (".kb/specialists/scribe.yml", SCRIBE),
        (".kb/tests/write.test.yml", tests),
        ("notes.txt", "leaf\n"),
    ]);
    record(&scratch);
    assert!(scratch.read(".kb/tests/recorded.yml").contains("given:"));
    scratch.kb(&["playbook", "test"]).code(0).says(&["1 test: 1 passed"]);

    // Another content of a file, and an expectation that fails: the differing turn is named.
    let changed = tests.replace("leaf", "other leaf").replace("hello", "bye");
    scratch.write(".kb/tests/write.test.yml", &changed);
    scratch.kb(&["playbook", "test"]).code(1).says(&[
        "the recording no longer fits",
        "turn 2 of `writer`: the result of `fs:read` changed",
    ]);

    // A step that needs more turns than were recorded.
    let recorded = scratch.read(".kb/tests/recorded.yml");
    let third = recorded.find("- output:").or_else(|| recorded.rfind("- ")).unwrap();
    scratch.write(".kb/tests/recorded.yml", &recorded[..third]);
    scratch.write(".kb/tests/write.test.yml", tests);
    scratch.kb(&["playbook", "test"]).code(1).says(&["KB0705", "no turn 3"]);

    // Another task and other tools.
    scratch.write(".kb/tests/recorded.yml", &recorded);
    scratch.write(".kb/specialists/scribe.yml", &SCRIBE.replace("\"fs:write\", ", ""));
    scratch
        .kb(&["playbook", "test"])
        .code(1)
        .says(&["turn 1 of `writer`: `fs:write` is not offered any more"]);
    scratch.write(".kb/specialists/scribe.yml", SCRIBE);
    scratch.write(".kb/playbooks/write.yml", &WRITE.replace("write a file", "write two files"));
    scratch.write(".kb/tests/write.test.yml", &tests.replace("hello", "bye"));
    scratch
        .kb(&["playbook", "test"])
        .code(1)
        .says(&["turn 1 of `writer`: the task or its values changed"]);
}

/// A test file with all kinds of keys, for random changes.
pub(crate) const SAMPLE: &str = "schema: kb.test/1
playbook: write
files: {notes.txt: \"leaf\\n\"}
stubs: {first: [{error: down, exitCode: 7}, {output: ok, delay: 2s}]}
tools: {\"fs:read\": [{args: {path: a}, output: 1}, {error: no}]}
answers: {ok: {approve: fine}, name: {answer: Anna}}
script: {writer: [{calls: [{tool: \"fs:read\", args: {path: notes.txt}}]}, {output: {summary: done}}]}
tests:
  - name: a
    faults: [{step: writer, status: 429, retryAfter: 1m}, {step: writer, lie: true}, {step: last, kill: true}]
    expect: {status: failed, steps: {last: blocked}, files: {a.txt: {matches: \"^a\"}}, maxCost: 1.5, snapshot: true}
";

#[test]
fn a_fault_that_does_not_occur_fails_the_test_with_the_reason() {
    let scratch = project(
        "  - name: late
    faults:
      - {step: writer, status: 500, turn: 7}
      - {step: writer, tool: http:request, error: refused}
      - {step: writer, tool: fs:write, call: 2, error: refused, attempts: 9}
      - {step: writer, tool: fs:read, error: refused}
    expect: {status: succeeded}
",
    );
    scratch.kb(&["playbook", "test"]).code(1).says(&[
        "the fault in `writer` did not occur: the model was not called 7 times in its first attempt",
        "did not occur: `http:request` was not called in its first attempt",
        "did not occur: `fs:write` was not called 2 times in any of these attempts",
    ]);
    let said = scratch.kb(&["playbook", "test", "--json"]).code(1);
    assert!(
        !format!("{}{}", said.out, said.err).contains("`fs:read` was not called"),
        "{}",
        said.out
    );
}
