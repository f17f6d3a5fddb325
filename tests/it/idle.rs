//! `timeout: {idle: …}`: silent commands and models, and commands that write.

use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[
        ("playbooks/p.yml", &text),
        (
            ".kb/specialists/worker.yml",
            "schema: kb.specialist/1\nid: worker\nrole: You work.\ntools: [shell:exec]\n",
        ),
        (".kb/kb.config.yml", "sandbox: {criticalUnapprovedAt: none}\n"),
    ])
}

#[test]
fn a_silent_command_of_a_tool_step_ends_and_one_that_writes_does_not() {
    let call = |script: &str| {
        let input = format!("{{command: '{script}'}}");
        let steps = format!(
            "  - {{id: a, tool: shell:exec, input: {input}, timeout: {{attempt: 90s, idle: 3s}}}}\n"
        );
        project(&steps).kb(&["playbook", "run", "p", "--yes"])
    };
    call("echo x; sleep 80").code(1).says(&["idle timeout"]);
    // It takes longer than the idle timeout, and is never silent for so long.
    call("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.5; done").code(0);
}

#[test]
fn a_model_that_sends_nothing_ends_the_attempt_and_can_be_retried() {
    let steps = "  - id: a
    specialist: worker
    task: Think.
    timeout: {idle: 2s}
    retry: {max: 1, on: [timeout], initial: 1ms}
";
    let scratch = project(steps);
    let script = "schema: kb.script/1\nsteps:\n  a#1: [{output: {summary: late}, delayMs: 80000}]\n  a#2: [{output: {summary: in time}}]\n";
    scratch.write("script.yml", script);
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
    said.says(&["the attempt was silent for more than 2.0s"]);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["steps"][0]["attempts"], 2, "{shown}");
}

/// A specialist is told that its command was silent, and continues.
#[test]
fn a_silent_command_of_a_specialist_is_a_result_that_it_reads() {
    let steps = "  - {id: a, specialist: worker, task: Work., timeout: {attempt: 90s, idle: 2s}, verify: {claims: none}}\n";
    let scratch = project(steps);
    let script = "schema: kb.script/1\nsteps:
  a:
    - calls: [{tool: shell:exec, args: {command: 'sleep 80'}}]
    - output: {summary: gave up}
";
    scratch.write("script.yml", script);
    scratch.kb(&["playbook", "run", "p", "--yes", "--script", "script.yml"]).code(0);
    scratch.kb(&["run", "logs", "@last"]).code(0).says(&["idle timeout"]);
}

/// Each command of the child run is silent for less than the idle timeout of the step, all together for longer.
#[test]
fn a_child_run_is_idle_if_nothing_happens_in_it() {
    let parent = |idle: &str| {
        let step = format!("  - {{id: a, playbook: child, timeout: {{idle: {idle}}}}}\n");
        let scratch = project(&step);
        scratch.write(
            "playbooks/child.yml",
            "schema: kb.playbook/1\nid: child\nsteps:
  - {id: one, run: sleep 2}
  - {id: two, dependsOn: [one], run: sleep 2}
  - {id: three, dependsOn: [two], run: sleep 2}
  - {id: four, dependsOn: [three], run: sleep 2}
",
        );
        scratch.kb(&["playbook", "run", "p"])
    };
    parent("6s").code(0);
    parent("500ms").code(1).says(&["the attempt was silent for more than 500ms"]);
}

/// A server that answers a request with a submission: in pieces over nine seconds, or whole after a minute.
fn slow_model() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || reply(stream));
        }
    });
    address
}

fn reply(mut stream: std::net::TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).is_ok_and(|size| size > 2) {
        if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let pause = || std::thread::sleep(std::time::Duration::from_millis(300));
    let text = json!({"summary": "x".repeat(30)}).to_string();
    if !String::from_utf8_lossy(&body).contains("\"stream\":true") {
        (0..200).for_each(|_| pause());
        let choice = json!({"index": 0, "message": {"content": text}, "finish_reason": "stop"});
        let whole = json!({"id": "c", "model": "tiny", "choices": [choice]}).to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
        let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{whole}", whole.len());
        return;
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "c", "model": "tiny", "choices": [choice]}))
    };
    let _ = write!(stream, "{head}");
    for letter in text.chars() {
        let _ = write!(stream, "{}", chunk(json!({"content": letter.to_string()}), Value::Null));
        let _ = stream.flush();
        pause();
    }
    let _ = write!(stream, "{}data: [DONE]\n\n", chunk(json!({}), json!("stop")));
}

/// The tokens of a model keep an attempt alive. A model that does not stream is silent until it answers.
#[test]
fn a_model_that_streams_is_not_idle_and_one_that_answers_at_once_is() {
    let run = |stream: bool| {
        let steps = "  - {id: a, specialist: talker, task: Talk., timeout: {idle: 6s}, verify: {claims: none}}\n";
        let scratch = project(steps);
        scratch.write(
            ".kb/specialists/talker.yml",
            "schema: kb.specialist/1\nid: talker\nrole: You talk.\noutput: {schema: {summary: string}}\n",
        );
        let endpoint = format!("http://{}/v1", slow_model());
        let tier = format!("{{model: tiny, endpoint: '{endpoint}', stream: {stream}}}");
        let settings =
            format!("llm: {{tiers: {{small: {tier}, medium: {tier}, large: {tier}}}}}\n");
        scratch.write(".kb/kb.config.yml", &settings);
        scratch.kb(&["playbook", "run", "p"])
    };
    run(true).code(0);
    run(false).code(1).says(&["the attempt was silent for more than 6.0s"]);
}
