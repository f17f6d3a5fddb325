//! A session with a model and questions, recorded on a pseudo-terminal, is a test that needs neither.

use super::pty::Pty;
use crate::scratch::Scratch;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const REPORT: &str = "schema: kb.playbook/1
id: report
params: [{name: topic, default: tea}]
steps:
  - {id: count, run: wc -l < data.txt >> data.txt}
  - {id: fetch, http: {url: \"http://ADDRESS/rates\"}, dependsOn: [count]}
  - {id: ok, approve: \"Write about {{topic}}?\", dependsOn: [fetch]}
  - {id: who, ask: {question: \"For whom?\"}, dependsOn: [ok]}
  - id: write
    specialist: scribe
    task: \"write about {{topic}} for {{who.output}}: {{fetch.output.body}}\"
    output: {schema: {created: \"string[]\"}}
outputs: {who: \"{{who.output}}\"}
";

const SCRIBE: &str = "schema: kb.specialist/1
id: scribe
role: You write files.
tools: [\"fs:write\", \"fs:read\", \"http:request\"]
";

/// A response with one tool call, as a stream.
fn response(tool: &str, args: Value) -> String {
    let call = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": tool, "arguments": args.to_string()}});
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "model": "tiny", "choices": [choice]}))
    };
    let call = chunk(json!({"tool_calls": [call]}), Value::Null);
    format!("{call}{}data: [DONE]\n\n", chunk(json!({}), json!("tool_calls")))
}

/// A server of a model and of other data.
async fn server() -> MockServer {
    let server = MockServer::start().await;
    let uri = server.uri();
    let responses = [
        response("fs_read", json!({"path": "notes.txt"})),
        response("http_request", json!({"url": format!("{uri}/more")})),
        response("fs_write", json!({"path": "a.txt", "content": "hello"})),
        response("submit_output", json!({"created": ["a.txt"], "summary": "done"})),
    ];
    for (at, body) in responses.into_iter().enumerate() {
        let answer = ResponseTemplate::new(200).set_body_raw(body, "text/event-stream");
        let mock = Mock::given(method("POST")).respond_with(answer).up_to_n_times(1);
        mock.with_priority(1 + at as u8).mount(&server).await;
    }
    for (at, body) in [("/rates", "2.5"), ("/more", "more rates")] {
        let answer = ResponseTemplate::new(200).set_body_string(body);
        Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(&server).await;
    }
    server
}

#[test]
fn a_session_with_questions_becomes_a_test_without_a_model_and_a_network() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(server());
    let address = server.address().to_string();
    let tier = format!("{{model: tiny, endpoint: 'http://{address}/v1'}}");
    let scratch = Scratch::new(&[
        (".kb/playbooks/report.yml", &REPORT.replace("ADDRESS", &address)),
        (".kb/specialists/scribe.yml", SCRIBE),
        ("notes.txt", "leaf\n"),
        ("data.txt", "one\n"),
    ]);
    let settings = format!(
        "llm: {{tiers: {{small: {tier}, medium: {tier}, large: {tier}}}}}\ntools: {{http: {{allowPrivate: ['{address}']}}}}\n"
    );
    scratch.write(".kb/kb.config.yml", &settings);
    let record = ".kb/tests/session.script.yml";
    let arguments = ["playbook", "run", "report", "--param", "topic=coffee", "--record", record];
    let mut terminal = Pty::start(&scratch, 30, 100, &arguments);
    terminal.until("the approval", |screen| {
        screen.contains("Write about coffee?") && screen.trim_end().ends_with('>')
    });
    terminal.key(b"y\r");
    terminal.until("the question", |screen| {
        screen.contains("For whom?") && screen.trim_end().ends_with('>')
    });
    terminal.key(b"Anna\r");
    let (code, printed) = terminal.end();
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("recorded .kb/tests/session.test.yml"), "{printed}");
    drop(server);

    // The test needs what the run was given, not what became of the project.
    scratch.write("notes.txt", "other\n");
    let test = scratch.read(".kb/tests/session.test.yml");
    for text in
        ["topic: coffee", "data.txt: \"one\\n\"", "- \"!a.txt\"", "Anna", "more rates", "2.5"]
    {
        assert!(test.contains(text) || test.contains(&text.replace('"', "'")), "{text}: {test}");
    }
    scratch.kb(&["playbook", "test"]).code(0).says(&["1 test: 1 passed"]);

    // Another order of calls is a regression.
    scratch.write(".kb/specialists/scribe.yml", &SCRIBE.replace(", \"http:request\"", ""));
    scratch
        .kb(&["playbook", "test"])
        .code(1)
        .says(&["claim created a.txt: passed", "the last call of `http:request` was denied"]);
    scratch.write(".kb/specialists/scribe.yml", &SCRIBE.replace("\"fs:write\", ", ""));
    scratch.kb(&["playbook", "test"]).code(1).says(&[
        "the recording no longer fits",
        "turn 1 of `write`",
        "is not offered any more",
    ]);

    // A second recording keeps the test, and a file that is no script is refused before the run starts.
    let arguments = ["playbook", "run", "report", "--record", ".kb/tests/session.test.yml"];
    scratch.kb(&arguments).code(2).says(&["--record .kb/tests/session.script.yml"]);
}
