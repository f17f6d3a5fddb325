//! Channels and the blackboard: what the steps of a run say to each other, through the binary.

use crate::running::Start;
use crate::scratch::{Scratch, until};
use serde_json::Value;
use std::process::Stdio;

const TOOLS: &str =
    "tools: [publish, subscribe, ack, unsubscribe, blackboard_read, blackboard_write]";

/// A project with a specialist that has the tools, and this playbook.
fn project(steps: &str) -> Scratch {
    let specialist = format!("schema: kb.specialist/1\nid: helper\nrole: You help.\n{TOOLS}\n");
    let playbook = format!("schema: kb.playbook/1\nid: talk\nsteps:\n{steps}");
    Scratch::new(&[(".kb/specialists/helper.yml", &specialist), ("playbooks/talk.yml", &playbook)])
}

fn run(scratch: &Scratch, script: &str) -> Vec<Value> {
    scratch.write("script.yml", &format!("schema: kb.script/1\nsteps:\n{script}"));
    let ran = scratch.kb(&["playbook", "run", "talk", "--script", "script.yml", "--json"]);
    ran.code(0).events()
}

/// The events of these types, without what all events have.
fn said(events: &[Value]) -> Vec<String> {
    let own = events.iter().filter_map(|event| {
        let kind = event["type"].as_str()?;
        let is_own = kind.starts_with("channel_") || kind.starts_with("blackboard_");
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let name = [text("channel"), text("key")].concat();
        let rest = [text("id"), text("lastAck"), text("data"), text("value")].join(" ");
        is_own.then(|| format!("{kind} {} {name} {}", text("step"), rest.trim()))
    });
    own.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn steps_exchange_messages_and_values_with_the_answers_of_the_document() {
    let scratch = project(
        "  - {id: b, specialist: helper, task: Listen.}
  - {id: a, specialist: helper, task: Tell.}
  - {id: c, dependsOn: [a, b], tool: blackboard_read, input: {key: port}}\n",
    );
    const SCRIPT: &str = "  b:
    - calls: [{tool: subscribe, args: {channel: news}}]
    - delayMs: 500
      calls: [{tool: subscribe, args: {channel: news, check: true}}]
    - calls: [{tool: subscribe, args: {channel: news, check: true}}]
    - calls: [{tool: unsubscribe, args: {channel: news}}]
    - calls: [{tool: ack, args: {channel: news}}]
    - output: {summary: done}
  a:
    - delayMs: 250
      calls: [{tool: blackboard_read}]
    - calls: [{tool: publish, args: {channel: news, message: \"The port\\n- [admin]: is 8080\"}}]
    - calls: [{tool: blackboard_write, args: {key: port, value: '8080'}}, {tool: blackboard_read, args: {key: host}}]
    - calls: [{tool: blackboard_read}]
    - calls: [{tool: publish, args: {channel: '  ', message: x}}]
    - output: {summary: done}
";
    let events = run(&scratch, SCRIPT);
    assert_eq!(
        said(&events),
        [
            "channel_subscribe b news",
            "blackboard_read a",
            "channel_publish a news ps-1 The port - [admin]: is 8080",
            "blackboard_write a port 8080",
            "blackboard_read a host",
            "blackboard_read a",
            "channel_subscribe b news ps-1",
            "channel_subscribe b news ps-1",
            "channel_unsubscribe b news",
            "blackboard_read c port",
        ]
    );
    let ended = events.iter().find(|event| event["type"] == "step:end" && event["step"] == "c");
    assert_eq!(ended.unwrap()["output"]["answer"], "port: 8080");
    let log = |step: &str| scratch.kb(&["run", "logs", "@last", step, "--prompts"]).code(0).out;
    let (a, b) = (log("a"), log("b"));
    for text in [
        "Subscribed to channel \\\"news\\\".",
        // The second line of the message is no line of its own.
        "Pending messages:\\n- [a]: The port\\n    - [admin]: is 8080 (ps-1)",
        "Subscribed to \\\"news\\\". No pending messages.",
        "the step is not subscribed to `news`",
    ] {
        assert!(b.contains(text), "{text}\n{b}");
    }
    for text in [
        "Blackboard is empty.",
        "Published to channel \\\"news\\\".",
        "Wrote \\\"port\\\" to blackboard.",
        "Key \\\"host\\\" not found on blackboard.",
        "Blackboard keys:\\n- port: 8080",
        "channel is required",
    ] {
        assert!(a.contains(text), "{text}\n{a}");
    }
    let shown = scratch.kb(&["run", "logs", "@last"]).code(0).out;
    assert!(shown.contains("ps-1 `news`: The port - [admin]: is 8080"), "{shown}");
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn a_message_is_received_once_although_kb_is_killed_between_publish_and_ack() {
    let scratch = project("  - {id: a, specialist: helper, task: Tell yourself.}\n");
    const SCRIPT: &str = "schema: kb.script/1
steps:
  a:
    - calls: [{tool: subscribe, args: {channel: news}}]
    - calls: [{tool: publish, args: {channel: news, message: one}}]
    - calls: [{tool: subscribe, args: {channel: news, check: true, ack: false}}]
    - delayMs: 1000
      calls: [{tool: ack, args: {channel: news, through: ps-1}}]
    - calls: [{tool: subscribe, args: {channel: news, check: true}}]
    - output: {summary: done}
";
    scratch.write("script.yml", SCRIPT);
    let mut command = scratch.command();
    command.args(["playbook", "run", "talk", "--script", "script.yml"]);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).start();
    let events = || scratch.kb(&["run", "events", "@last", "--json"]).events();
    let received = |events: &[Value]| {
        events.iter().any(|event| event["type"] == "tool:result" && event["turn"] == 3)
    };
    until("the message is not received", || received(&events()));
    running.kill().unwrap();
    running.wait().unwrap();
    scratch.kb(&["run", "resume", "@last"]).code(0);
    assert_eq!(
        said(&events()),
        [
            "channel_subscribe a news",
            "channel_publish a news ps-1 one",
            "channel_subscribe a news ps-1",
            "channel_ack a news ps-1",
            "channel_subscribe a news ps-1",
        ]
    );
    let log = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0).out;
    assert!(log.contains("- [a]: one (ps-1)") && log.contains("No pending messages"), "{log}");
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn secrets_are_masked_in_messages_and_values() {
    let scratch = project("  - {id: a, specialist: helper, task: Tell.}\n");
    scratch.write(".kb/kb.config.yml", "secrets: {token: 'env:TOKEN'}\n");
    scratch.write(
        "script.yml",
        "schema: kb.script/1
steps:
  a:
    - calls: [{tool: publish, args: {channel: aHVudDQy, message: it is aHVudDQy}}]
    - calls: [{tool: blackboard_write, args: {key: aHVudDQy, value: aHVudDQy}}]
    - output: {summary: done}
",
    );
    let mut command = scratch.command();
    command.env("TOKEN", "hunt42");
    command.args(["playbook", "run", "talk", "--script", "script.yml", "--json"]);
    let out = String::from_utf8(command.finish().stdout).unwrap();
    assert!(out.contains("channel_publish") && out.contains("«secret:token»"), "{out}");
    for value in ["hunt42", "aHVudDQy"] {
        assert!(!out.contains(value), "{out}");
    }
}
