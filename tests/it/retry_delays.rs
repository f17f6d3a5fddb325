//! Delays of retries: how they grow, between which limits they lie, and what a server asks for.

use crate::scratch::{Said, Scratch};
use kb::value::Timestamp;
use serde_json::Value;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

fn project(steps: &str) -> Scratch {
    Scratch::new(&[(
        ".kb/playbooks/p.yml",
        &format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}"),
    )])
}

fn millis(time: &Value) -> i64 {
    Timestamp::parse(time.as_str().unwrap()).unwrap().0
}

/// The delays before the attempts of a step, in milliseconds.
fn delays(said: &Said, step: &str) -> Vec<i64> {
    let events = said.events();
    let waits = events.iter().filter(|e| e["type"] == "step:waiting" && e["step"] == step);
    waits.map(|event| millis(&event["until"]) - millis(&event["time"])).collect()
}

/// Whether each delay is between half of the computed one and all of it.
fn are_within(delays: &[i64], computed: &[i64]) -> bool {
    delays.len() == computed.len()
        && delays.iter().zip(computed).all(|(delay, most)| (most / 2..=*most).contains(delay))
}

#[test]
fn delays_grow_by_the_policy_up_to_the_maximum_and_lie_in_their_upper_half() {
    let scratch = project(
        "  - {id: fixed, run: exit 1, retry: {max: 4, on: [exit], backoff: fixed, initial: 60ms}}
  - {id: linear, run: exit 1, retry: {max: 4, on: [exit], backoff: linear, initial: 60ms}}
  - {id: exponential, run: exit 1, retry: {max: 4, on: [exit], backoff: exponential, initial: 60ms}}
  - {id: usual, run: exit 1, retry: {max: 4, on: [exit], initial: 60ms}}
  - {id: bounded, run: exit 1, retry: {max: 4, on: [exit], initial: 60ms, maxDelay: 100ms}}
  - {id: second, run: exit 1, retry: {max: 1, on: [exit]}}
  - {id: row, run: exit 1, recovery: [{on: [exit], do: retry, max: 2, backoff: linear, initial: 60ms, maxDelay: 90ms}]}
",
    );
    let said = scratch.kb(&["playbook", "run", "p", "--json"]).code(1);
    for (step, computed) in [
        ("fixed", &[60, 60, 60, 60][..]),
        ("linear", &[60, 120, 180, 240]),
        ("exponential", &[60, 120, 240, 480]),
        ("usual", &[60, 120, 240, 480]),
        ("bounded", &[60, 100, 100, 100]),
        ("second", &[1000]),
        ("row", &[60, 90]),
    ] {
        let found = delays(&said, step);
        assert!(are_within(&found, computed), "{step}: {found:?} instead of {computed:?}");
    }
}

#[test]
fn steps_that_fail_together_are_not_retried_together() {
    let steps: String = (0..8)
        .map(|n| {
            format!(
                "  - {{id: s{n}, run: exit 1, retry: {{max: 1, on: [exit], initial: 400ms}}}}\n"
            )
        })
        .collect();
    let said = project(&steps).kb(&["playbook", "run", "p", "--json"]).code(1);
    let found: std::collections::BTreeSet<i64> =
        (0..8).flat_map(|n| delays(&said, &format!("s{n}"))).collect();
    assert!(found.len() > 1, "{found:?}");
}

/// Six delays of at most a minute fit into ten minutes; delays that grow further do not.
#[test]
fn without_a_maximum_no_delay_is_longer_than_a_minute() {
    let playbook = |more: &str| {
        format!(
            "schema: kb.playbook/1\nid: p\nlimits: {{timeout: 10m}}\nsteps:\n  - {{id: a, run: exit 1, retry: {{max: 6, on: [exit], initial: 1m{more}}}}}\n"
        )
    };
    let test = "schema: kb.test/1\nplaybook: p\ntests:\n  - name: waits\n    stubs: {a: {error: down, exitCode: 1}}\n    expect: {status: failed, attempts: {a: 7}}\n";
    for (more, code) in [("", 0), (", maxDelay: 1h", 1)] {
        let scratch = Scratch::new(&[
            (".kb/playbooks/p.yml", &playbook(more)),
            (".kb/tests/p.test.yml", test),
        ]);
        scratch.kb(&["playbook", "test"]).code(code);
    }
}

#[test]
fn the_status_of_a_response_decides_the_outcome_and_its_retry_after_the_delay() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let busy = ResponseTemplate::new(429).insert_header("retry-after", "2");
        Mock::given(path("/busy")).respond_with(busy).mount(&server).await;
        for status in [404, 429, 503] {
            let answer = Mock::given(path(format!("/{status}")));
            answer.respond_with(ResponseTemplate::new(status)).mount(&server).await;
        }
        server
    });
    let address = server.address();
    let step = |id: &str, at: &str| {
        format!(
            "  - {{id: {id}, http: {{url: \"http://{address}/{at}\"}}, retry: {{max: 1, on: [transient], initial: 20ms}}}}\n"
        )
    };
    let steps =
        [step("missing", "404"), step("many", "429"), step("down", "503"), step("busy", "busy")];
    let scratch = project(&steps.concat());
    let settings = format!("tools: {{http: {{allowPrivate: [\"{address}\"]}}}}\n");
    scratch.write(".kb/kb.config.yml", &settings);
    let said = scratch.kb(&["playbook", "run", "p", "--json"]).code(1);
    let events = said.events();
    let outcomes = |step: &str| -> Vec<String> {
        let ends = events.iter().filter(|e| e["type"] == "attempt:end" && e["step"] == step);
        ends.map(|end| end["outcome"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(outcomes("missing"), ["tool_error"]);
    for step in ["many", "down", "busy"] {
        assert_eq!(outcomes(step), ["transient", "transient"], "{step}");
    }
    assert!(are_within(&delays(&said, "many"), &[20]), "{:?}", delays(&said, "many"));
    assert_eq!(delays(&said, "busy"), [2000]);
}
