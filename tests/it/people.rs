//! Steps that wait for people and times: `ask`, `approve` and `wait`.

use crate::running::Start;
use crate::scratch::{Said, Scratch, until};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[(".kb/playbooks/p.yml", &text)])
}

fn event<'a>(events: &'a [serde_json::Value], kind: &str) -> Option<&'a serde_json::Value> {
    events.iter().find(|event| event["type"] == kind)
}

const ASK: &str = "  - id: where
    ask: {question: \"Deploy to?\", options: [staging, production]}
  - id: count
    ask: {question: \"How many?\", schema: {type: integer, minimum: 1}}
  - id: deploy
    run: echo \"$N to $WHERE\"
    env: {WHERE: \"{{where.output}}\", N: \"{{count.output}}\"}
";

#[test]
fn questions_are_answered_one_by_one_from_other_processes() {
    let scratch = project(ASK);
    let said = scratch.kb(&["playbook", "run", "p", "--json"]).code(3);
    let opened = event(&said.events(), "ask:opened").cloned().expect("a question");
    assert_eq!(opened["question"], "Deploy to?");
    assert_eq!(opened["options"], json!(["staging", "production"]));
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["steps"][1]["question"]["text"], "How many?");
    // Answering one leaves the other open.
    scratch.kb(&["run", "answer", "@last", "where", "production"]).code(3).says(&["How many?"]);
    let said = scratch.kb(&["run", "answer", "@last", "count", "3"]).code(0);
    said.says(&["answered"]);
    assert_eq!(scratch.kb(&["run", "output", "@last", "deploy"]).code(0).out, "3 to production\n");
}

#[test]
fn the_next_command_shows_what_is_accepted() {
    let options = "{question: Where?, options: [staging, two words]}";
    let schema = "{question: How many?, schema: {type: integer, minimum: 1}}";
    for (ask, answer) in [
        (options, "OPTION  # one of: staging, 'two words'"),
        (schema, "JSON  # of the schema {\"type\":\"integer\",\"minimum\":1}"),
        ("Go?", "TEXT\n"),
    ] {
        let scratch =
            project(&format!("  - {{id: each, forEach: {{in: [a b], key: x}}, ask: {ask}}}\n"));
        let said = scratch.kb(&["playbook", "run", "p"]).code(3);
        let next = format!("kb run answer {} 'each[x]' {answer}", scratch.last_run());
        assert!(said.out.contains(&next), "{next}\n{}", said.out);
        scratch.kb(&["run", "show", "@last"]).code(0).says(&[&next]);
        let said = scratch.kb(&["run", "resume", "@last", "--json"]).code(3);
        assert!(said.err.contains(&next), "{next}\n{}", said.err);
    }
}

#[test]
fn the_accepted_answers_are_shown_and_absent_fields_get_their_defaults() {
    let fields =
        "zone: {enum: [eu, us]}, replicas: {type: integer, default: 2}, note: {type: string}";
    let scratch = project(&format!(
        "  - {{id: where, ask: {{question: Where?, options: [staging, live], default: live}}}}
  - {{id: form, ask: {{question: How?, schema: {{type: object, required: [zone, replicas], properties: {{{fields}}}}}}}}}\n",
    ));
    scratch.kb(&["playbook", "run", "p"]).code(3);
    scratch.kb(&["run", "show", "@last"]).code(0).says(&[
        "waits where: Where?\n      answers: staging, live; default live\n",
        "answer: JSON with zone (one of: eu, us), replicas (a whole number; default 2), note (a text; optional)\n",
    ]);
    scratch.kb(&["run", "answer", "@last", "form", "{\"zone\": \"eu\"}"]).code(3);
    let output = scratch.json(&["run", "output", "@last", "form", "--json"]);
    assert_eq!(output, serde_json::json!({"zone": "eu", "replicas": 2}));
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_the_question_stays_open() {
    let scratch = project(ASK);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let refused = |args: &[&str], texts: &[&str]| {
        scratch.kb(&[&["run"], args].concat()).code(2).says(texts);
    };
    refused(&["answer", "@last", "where", "mars"], &["KB0574", "staging, production"]);
    refused(&["answer", "@last", "count", "0"], &["KB0574", "minimum"]);
    refused(
        &["answer", "@last", "deploy", "x"],
        &["KB0573", "it has not started", "`where`, `count`"],
    );
    refused(&["approve", "@last", "where"], &["KB0573", "kb run answer"]);
    refused(
        &["approve", "@last"],
        &["nothing of run", "waits for an approval", "`where` asks a question", "where staging`"],
    );
    let unknown = scratch.kb(&["run", "answer", "@last", "wher", "x"]).code(4);
    unknown.says(&["did you mean `where`"]);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["status"], "waiting");
    scratch.kb(&["run", "answer", "@last", "where", "staging"]).code(3);
    refused(&["answer", "@last", "where", "production"], &["it has been answered already"]);
    scratch.kb(&["run", "answer", "@last", "count", "3"]).code(0);
    refused(&["answer", "@last", "where", "staging"], &["KB0562", "kb run logs"]);
    let elsewhere = Scratch::new(&[]);
    let run = shown["run"].as_str().unwrap();
    let root = elsewhere.root().display().to_string();
    elsewhere.kb(&["run", "answer", run, "where", "staging"]).code(4).says(&[
        "KB0806",
        &root,
        "add `-C FOLDER`",
    ]);
    scratch.kb(&["run", "show", "@lst"]).code(4).says(&["did you mean `@last`?"]);
}

#[test]
fn an_approval_names_who_decided_and_a_rejection_fails_the_step_with_the_reason() {
    let steps = "  - {id: ok, approve: \"Deploy?\"}
  - {id: deploy, dependsOn: [ok], run: \"echo $BY\", env: {BY: \"{{ok.output.by}}\"}}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(3).says(&["Deploy?", "kb run approve"]);
    let user = |command: &mut std::process::Command| {
        command.env("USER", "ada");
    };
    scratch.kb_with(&["run", "approve", "@last", "--comment", "fine"], user).code(0);
    assert_eq!(scratch.kb(&["run", "output", "@last", "deploy"]).code(0).out, "ada\n");
    let events = scratch.kb(&["run", "events", "@last"]).events();
    let answered = event(&events, "ask:answered").expect("an answer");
    assert_eq!((&answered["by"], &answered["comment"]), (&json!("ada"), &json!("fine")));

    scratch.kb(&["playbook", "run", "p"]).code(3);
    let said = scratch.kb(&["run", "reject", "@last", "ok", "--comment", "too early"]).code(1);
    said.says(&["KB0554", "too early"]);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let statuses: Vec<_> =
        shown["steps"].as_array().unwrap().iter().map(|s| &s["status"]).collect();
    assert_eq!(statuses, ["failed", "blocked"]);
}

#[test]
fn a_timeout_decides_as_the_step_says() {
    let run = |on: &str| {
        let steps = format!(
            "  - {{id: ok, approve: {{message: \"Go?\", timeout: 50ms, onTimeout: {on}}}}}\n"
        );
        let scratch = project(&steps);
        let said = scratch.kb(&["playbook", "run", "p", "--json"]);
        (said.code, event(&said.events(), "step:end").cloned().unwrap())
    };
    let (code, end) = run("approve");
    assert_eq!((code, &end["output"]["by"]), (0, &json!("timeout")));
    let (code, end) = run("reject");
    assert_eq!((code, &end["error"]["code"]), (1, &json!("KB0554")));
    let (code, end) = run("fail");
    assert_eq!((code, &end["error"]["code"]), (1, &json!("KB0556")));
    let steps = "  - id: size\n    ask: {question: \"How many?\", default: \"7\", timeout: 50ms}\n";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(scratch.kb(&["run", "output", "@last", "size"]).out, "7\n");
}

#[test]
fn without_a_terminal_a_run_that_waits_only_for_a_person_says_so_at_once() {
    let scratch = project(
        "  - {id: first, ask: \"Which?\"}\n  - {id: ok, dependsOn: [first], approve: {message: \"Go?\", timeout: 2s, onTimeout: approve}}\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(3);
    scratch.kb(&["run", "answer", "@last", "first", "x", "--no-run"]).code(0);
    let said = scratch.kb(&["run", "resume", "@last"]).code(0);
    let run = scratch.last_run();
    said.says(&[
        "the run waits only for a person: ok: Go?",
        &format!("Ctrl-C leaves it, `kb run resume {run}` continues it"),
        "a reply from another terminal reaches it here",
    ]);
}

#[test]
fn a_reply_returns_when_the_run_only_waits_for_a_person_again() {
    let scratch = project(
        "  - {id: first, ask: {question: \"Which?\", timeout: 1h, default: a}}\n  - {id: pause, dependsOn: [first], wait: 500ms}\n  - {id: ok, dependsOn: [pause], approve: {message: \"Go?\", timeout: 24h, onTimeout: reject}}\n  - {id: then, dependsOn: [ok], run: touch done}\n",
    );
    let mut child = scratch.command();
    let mut child = child.args(["playbook", "run", "p", "--json"]).stdout(Stdio::piped()).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"ask:opened\"")), "the question waits");
    child.kill().unwrap();
    child.wait().unwrap();
    // The timer of `pause` is no person: the command waits for it, and then it does not wait for a day.
    let said = scratch.kb(&["run", "answer", "@last", "first", "b"]).code(3);
    let run = scratch.last_run();
    said.says(&["Go?", &format!("kb run resume {run}")]);
    let open = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(
        (&open["steps"][1]["status"], &open["steps"][2]["status"]),
        (&json!("succeeded"), &json!("waiting"))
    );
    scratch.kb(&["run", "approve", "@last", "ok"]).code(0);
    assert!(scratch.root().join("done").exists());
}

#[test]
fn no_reply_counts_after_the_timeout_of_a_step_that_nothing_drives() {
    let steps = "  - {id: ok, approve: {message: \"Go?\", timeout: 10s, onTimeout: reject}}\n  - {id: then, run: touch done, dependsOn: [ok]}\n";
    let scratch = project(steps);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.start();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.contains("Go?")).expect("the question");
    run.kill().unwrap();
    run.wait().unwrap();
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    let due = view["steps"][0]["question"]["due"].clone();
    let due = kb::value::Timestamp::parse(due.as_str().unwrap_or_default())
        .or_else(|| due.as_i64().map(kb::value::Timestamp))
        .unwrap_or_else(|| panic!("{view}"));
    until("the end of the timeout", || kb::clock::Clock::system().wall() >= due);
    for reply in
        [&["approve", "@last"][..], &["approve", "@last", "ok"], &["reject", "@last", "ok"]]
    {
        scratch.kb(&[&["run"], reply].concat()).code(2).says(&[
            "KB0573",
            "the time for a reply to `ok` of run",
            "kb run resume",
        ]);
    }
    scratch.kb(&["run", "resume", "@last"]).code(1).says(&["rejected by timeout", "KB0554"]);
    assert!(!scratch.has("done"));
}

#[test]
fn a_waiting_step_holds_no_slot_and_every_item_can_ask() {
    let text = "schema: kb.playbook/1\nid: p\nlimits: {maxParallel: 1}\nsteps:
  - id: each
    forEach: {in: \"{{ ['a', 'b', 'c'] }}\", key: \"{{item}}\"}
    approve: \"Publish {{item}}?\"
  - {id: work, run: echo done}
";
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", text)]);
    let said = scratch.kb(&["playbook", "run", "p", "--json"]).code(3);
    let events = said.events();
    let opened = events.iter().filter(|event| event["type"] == "ask:opened").count();
    assert_eq!(opened, 3);
    let ended = event(&events, "step:end").expect("`work` ends beside the questions");
    assert_eq!((&ended["step"], &ended["status"]), (&json!("work"), &json!("succeeded")));
    scratch.kb(&["run", "approve", "@last", "each[b]"]).code(3);
    scratch.kb(&["run", "approve", "@last"]).code(0);
}

#[test]
fn a_wait_goes_on_counting_while_kb_is_killed() {
    let scratch =
        project("  - {id: pause, wait: 3s}\n  - {id: after, dependsOn: [pause], run: echo x}\n");
    let began = Instant::now();
    let mut child = scratch
        .command()
        .args(["playbook", "run", "p", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"step:waiting\"")), "the step never waits");
    child.kill().unwrap();
    child.wait().unwrap();
    let said = scratch.kb(&["run", "resume", "@last", "--json"]).code(0);
    let end = event(&said.events(), "step:end").cloned().expect("the end of the wait");
    // From the first start, not from the resume.
    let took = end["durationMs"].as_u64().unwrap();
    let most = began.elapsed().as_millis() as u64;
    assert!((3000..=most).contains(&took), "{took} ms of {most}");
    let events = scratch.kb(&["run", "events", "@last"]).events();
    let timers = events.iter().filter(|event| event["type"] == "step:waiting").count();
    assert_eq!(timers, 1, "the timer is set once");
}

/// An interrupt leaves a run whose timers are open; a resume continues it with the original times.
#[test]
fn a_run_with_an_open_timer_stays_and_an_interrupt_leaves_it() {
    let scratch = project(
        "  - {id: pause, wait: 6s}\n  - {id: ok, approve: {message: \"Go?\", timeout: 7s, onTimeout: approve}}\n",
    );
    let mut command = scratch.command();
    command.args(["playbook", "run", "p", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"ask:opened\"")), "the approval waits");
    let interrupt = rustix::process::Signal::INT;
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), interrupt).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let open = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(open["status"], "interrupted");
    let events = scratch.kb(&["run", "resume", "@last", "--json"]).code(0).events();
    let all = scratch.kb(&["run", "events", "@last"]).events();
    let times = |kind: &str| {
        let times = all.iter().filter(|event| event["type"] == kind);
        times.map(|event| event["until"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((times("step:waiting").len(), times("ask:opened").len()), (2, 1), "{all:?}");
    let end = event(&events, "run:end").unwrap();
    assert!(end["time"].as_str() >= times("ask:opened")[0].as_str(), "{end}");
}

#[test]
fn a_wait_until_takes_a_time_and_refuses_what_is_none() {
    let scratch = project("  - {id: a, wait: {until: \"2026-01-01T00:00:00Z\"}}\n");
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let scratch = project("  - {id: a, wait: {until: tomorrow}}\n");
    scratch.kb(&["playbook", "run", "p"]).code(2).says(&["`tomorrow` is not a time"]);
    let text = "  - {id: at, run: echo soon}\n  - {id: a, wait: {until: \"{{at.output}}\"}}\n";
    project(text).kb(&["playbook", "run", "p"]).code(1).says(&["KB0572", "`soon` is not a time"]);
}

#[test]
fn the_second_reply_to_one_question_changes_nothing() {
    let scratch = project("  - {id: ok, approve: \"Go?\"}\n");
    scratch.kb(&["playbook", "run", "p"]).code(3);
    scratch.kb(&["run", "approve", "@last", "ok"]).code(0);
    scratch.kb(&["run", "reject", "@last", "ok"]).code(2).says(&["nothing of it waits"]);
}

#[test]
fn keys_of_attempts_are_refused_on_waiting_kinds_with_the_place_where_they_belong() {
    let said = |step: &str| -> Said { project(step).kb(&["playbook", "validate"]).code(2) };
    said("  - {id: a, approve: \"Go?\", timeout: 5m}\n").says(&["approve: {message"]);
    said("  - {id: a, wait: 5m, retry: {max: 2}}\n").says(&["they only wait"]);
    said("  - {id: a, ask: \"x\", output: {schema: {a: string}}}\n").says(&["schema: ..."]);
    said("  - {id: a, ask: {question: x, timeout: 5m}}\n").says(&["needs a `default`"]);
    said("  - {id: a, ask: {question: x, options: [a], default: b}}\n").says(&["one of a"]);
    said("  - {id: a, approve: {message: x, onTimeout: approve}}\n").says(&["needs a `timeout`"]);
}

const REVIEW: &str = "  - id: draft
    run: 'echo \"draft: $WHY\" >> log; wc -l < log'
    env: {WHY: \"{{run.rejection.comment | default('first')}}\"}
  - {id: check, dependsOn: [draft], run: echo check >> log}
  - id: ok
    dependsOn: [check]
    approve: {message: \"Publish {{draft.output}}?\", onReject: {retry: draft, max: 2}}
  - {id: publish, dependsOn: [ok], run: echo publish >> log}
";

#[test]
fn a_rejection_sends_the_work_back_to_the_named_step_with_the_comment() {
    let scratch = project(REVIEW);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let said = scratch.kb(&["run", "reject", "@last", "ok", "--comment", "too long"]);
    said.code(3).says(&["too long", "1 of 2", "draft"]);
    assert_eq!(scratch.read("log"), "draft: first\ncheck\ndraft: too long\ncheck\n");
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["steps"][2]["question"]["text"], "Publish 3?");
    assert_eq!(shown["steps"][0]["iteration"], 2);
    scratch.kb(&["run", "approve", "@last", "ok"]).code(0);
    assert!(scratch.read("log").ends_with("check\npublish\n"));
    scratch.kb(&["run", "verify", "@last"]).code(0);
    // After `max` returns a rejection fails the step; a retry of the run counts from the start.
    let scratch = project(REVIEW);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    scratch.kb(&["run", "reject", "@last", "ok"]).code(3);
    scratch.kb(&["run", "reject", "@last", "ok"]).code(3);
    scratch.kb(&["run", "reject", "@last", "ok"]).code(1).says(&["KB0554"]);
    scratch.kb(&["run", "retry", "@last"]).code(3);
    scratch.kb(&["run", "reject", "@last", "ok"]).code(3);
}

#[test]
fn the_specialist_that_starts_again_reads_the_comment() {
    let steps = "  - {id: draft, specialist: writer, task: Write it.}
  - {id: ok, dependsOn: [draft], approve: {message: Good?, onReject: {retry: draft}}}
";
    let scratch = project(steps);
    scratch.write(
        ".kb/specialists/writer.yml",
        "schema: kb.specialist/1\nid: writer\nrole: You write.\ntools: [fs:read]\n",
    );
    let script = "schema: kb.script/1\nsteps:\n  draft: [{output: {summary: done}}]\n";
    scratch.write("script.yml", script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(3);
    scratch.kb(&["run", "reject", "@last", "ok", "--comment", "shorter sentences"]).code(3);
    let prompts = scratch.kb(&["run", "logs", "@last", "draft", "--prompts"]).code(0);
    prompts.says(&["rejected by", "shorter sentences"]);
}

#[test]
fn a_rejection_can_go_back_only_to_a_step_above_without_others_beside_it() {
    let refused = |steps: &str, texts: &[&str]| {
        let said = project(steps).kb(&["playbook", "validate", "p"]);
        said.code(2).says(&[&["KB0418"], texts].concat());
    };
    let ok = |back: &str| {
        format!(
            "  - {{id: a, run: 'true'}}\n  - {{id: ok, dependsOn: [a], approve: {{message: x, onReject: {{retry: {back}}}}}}}\n"
        )
    };
    refused(&ok("aa"), &["no step `aa`", "did you mean `a`?"]);
    refused(&ok("ok"), &["`ok` does not depend on `ok`"]);
    refused(&format!("{}  - {{id: b, run: 'true'}}\n", ok("b")), &["does not depend on `b`"]);
    let beside = format!("{}  - {{id: b, dependsOn: [a], run: 'true'}}\n", ok("a"));
    refused(&beside, &["`b` depends on `a`, but not on the approval `ok`", "dependsOn: [ok]"]);
    project(&format!("{}  - {{id: b, dependsOn: [ok], run: 'true'}}\n", ok("a")))
        .kb(&["playbook", "validate", "p"])
        .code(0);
}

#[test]
fn an_approval_says_what_it_starts_and_holds_for_the_definition_of_the_run() {
    let steps = "  - {id: ok, approve: \"Publish?\"}
  - {id: publish, dependsOn: [ok], run: [echo, old]}
  - {id: tell, dependsOn: [publish], run: [echo, told]}
  - {id: beside, run: [echo, beside]}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let shown = scratch.kb(&["run", "show", "@last"]).code(0);
    shown.says(&["approval starts publish (run echo …), tell (run echo …)\n"]);
    let then = &scratch.json(&["run", "show", "@last", "--json"])["steps"][0]["then"];
    assert_eq!(then[0], json!({"step": "publish", "does": "run echo …"}), "{then}");
    assert_eq!(then.as_array().map(Vec::len), Some(2), "{then}");
    // What was approved is what runs, also when the file has changed since.
    scratch.write(
        ".kb/playbooks/p.yml",
        &format!("schema: kb.playbook/1\nid: p\nsteps:\n{}", steps.replace("old", "new")),
    );
    let said = scratch.kb(&["run", "approve", "@last", "ok"]).code(0);
    said.says(&["`.kb/playbooks/p.yml` has changed since run", "the run uses the old text"]);
    assert_eq!(scratch.kb(&["run", "output", "@last", "publish"]).out, "old\n");
}

/// Two processes decide at the same time: one decision counts, and the other one is told.
#[test]
fn of_two_decisions_at_the_same_time_one_counts() {
    let scratch = project(
        "  - {id: ok, approve: \"Go?\"}\n  - {id: after, dependsOn: [ok], run: echo x >> log}\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let decide = |verb: &str| {
        let mut command = scratch.command();
        command.args(["run", verb, "@last", "ok"]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).start()
    };
    let ended =
        [decide("approve"), decide("approve"), decide("reject")].map(|child| child.finish());
    let events = scratch.kb(&["run", "events", "@last"]).events();
    let answered = events.iter().filter(|event| event["type"] == "ask:answered").count();
    assert_eq!(answered, 1, "{ended:?}");
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let approved = event(&events, "ask:answered").unwrap()["approved"] == true;
    assert_eq!(shown["status"], if approved { "succeeded" } else { "failed" }, "{ended:?}");
    assert_eq!(scratch.has("log"), approved);
    if approved {
        assert_eq!(scratch.read("log"), "x\n");
    }
    scratch.kb(&["run", "verify", "@last"]).code(0);
}
