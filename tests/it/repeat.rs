//! Steps with `loop:`.

use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[(".kb/playbooks/p.yml", &text)])
}

#[test]
fn a_step_runs_again_until_its_condition_holds_and_its_last_output_counts() {
    let steps = "  - id: grow
    run: |
      echo x >> lines
      echo \"$PASS:$PREVIOUS\" >> seen
      wc -l < lines
    parse: json
    env: {PASS: \"{{loop.iteration}}\", PREVIOUS: \"{{loop.previous.output | default('none')}}\"}
    loop: {until: \"{{grow.output}} >= 3\", max: 5}
";
    let scratch = project(steps);
    let said = scratch.kb(&["playbook", "run", "p", "--json"]).code(0);
    let passes: Vec<_> = said.events().into_iter().filter(|e| e["type"] == "loop:pass").collect();
    let done: Vec<_> = passes.iter().map(|e| (e["pass"].clone(), e["done"].clone())).collect();
    assert_eq!(done, [(json!(1), json!(false)), (json!(2), json!(false)), (json!(3), json!(true))]);
    assert_eq!(scratch.kb(&["run", "output", "@last", "grow"]).out, "3\n");
    assert_eq!(scratch.read("seen"), "1:none\n2:1\n3:2\n");
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(shown["steps"][0]["attempts"], 3);
}

#[test]
fn a_loop_that_never_ends_by_itself_fails_at_its_maximum() {
    let scratch =
        project("  - {id: a, run: echo no, loop: {until: \"a.output == 'yes'\", max: 2}}\n");
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    said.says(&["KB0575", "after 2 passes", "step     .kb/playbooks/p.yml:4:10\n"]);
}

#[test]
fn a_gate_belongs_to_every_pass_and_its_verdict_can_end_the_loop() {
    let steps = "  - id: work
    run: echo line >> out.txt
    verify: {checks: [{file: {path: out.txt, count: {pattern: line, min: 3}}}], onFailed: warn}
    loop: {until: \"work.verdict == 'passed'\"}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(scratch.read("out.txt"), "line\nline\nline\n");
}

#[test]
fn checks_of_until_are_the_gate_of_each_pass_and_end_the_loop() {
    let steps = "  - id: work
    run: |
      echo \"$WHY\" >> reasons
      echo line >> out.txt
    env: {WHY: \"{{loop.previous.reason | default('first')}}\"}
    loop: {until: [{file: {path: out.txt, count: {pattern: line, min: 3}}}], max: 4}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(scratch.read("out.txt"), "line\nline\nline\n");
    let reasons = scratch.read("reasons");
    let reasons: Vec<&str> = reasons.lines().collect();
    assert!(reasons[0] == "first" && reasons[1].contains("occurs 1 times"), "{reasons:?}");
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["3 passes", "passed"]);
    scratch.kb(&["run", "logs", "@last"]).code(0).says(&["pass 1", "pass 3"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
    let scratch = project(&steps.replace("max: 4", "max: 2"));
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    said.says(&[
        "KB0575",
        "after 2 passes",
        "the checks of `until` never passed",
        "`line` occurs 2",
    ]);
}

/// The evidence of a pass does not count for the next one, neither live nor in the audit.
#[test]
fn verdicts_of_passes_with_evidence_can_be_recomputed() {
    let steps = "  - id: write
    specialist: writer
    task: Write it.
    loop: {until: \"{{loop.iteration}} == 2\"}
";
    let scratch = project(steps);
    scratch.write(
        ".kb/specialists/writer.yml",
        "schema: kb.specialist/1\nid: writer\nrole: You write.\ntools: [fs:write]\n",
    );
    let turn = |number: u32, path: &str| {
        format!(
            "  write#{number}:\n    - calls: [{{tool: fs:write, args: {{path: {path}, content: x}}}}]\n    - output: {{summary: done, created: [{path}]}}\n"
        )
    };
    let script = format!("schema: kb.script/1\nsteps:\n{}{}", turn(1, "a.txt"), turn(2, "b.txt"));
    scratch.write("script.yml", &script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn the_next_pass_of_a_specialist_is_told_which_checks_did_not_pass() {
    let steps = "  - id: write
    specialist: writer
    task: Write it.
    loop: {until: [{file: done.txt}], max: 2}
";
    let scratch = project(steps);
    scratch.write(
        ".kb/specialists/writer.yml",
        "schema: kb.specialist/1\nid: writer\nrole: You write.\ntools: [fs:write]\n",
    );
    let script = "schema: kb.script/1\nsteps:
  write#1:
    - calls: [{tool: fs:write, args: {path: other.txt, content: x}}]
    - output: {summary: wrote the other one, created: [other.txt]}
  write#2:
    - calls: [{tool: fs:write, args: {path: done.txt, content: x}}]
    - output: {summary: wrote both, created: [other.txt, done.txt]}
";
    scratch.write("script.yml", script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
    let prompts = scratch.kb(&["run", "logs", "@last", "write", "--prompts"]).code(0);
    prompts.says(&["previous attempt was rejected", "done.txt"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn retries_start_anew_in_every_pass_and_each_pass_has_its_own_idempotency_key() {
    let steps = "  - id: flaky
    run: |
      echo \"$KB_IDEMPOTENCY_KEY\" >> keys
      test $(( $(wc -l < keys) % 2 )) = 0
    retry: {max: 1, initial: 1ms, on: [exit]}
    loop: {until: \"loop.iteration == 2\", max: 3, initial: 1ms}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let keys = scratch.read("keys");
    let ends: Vec<&str> = keys.lines().map(|key| key.split('/').nth(2).unwrap()).collect();
    assert_eq!(ends, ["1", "1", "1.2", "1.2"]);
}

#[test]
fn every_item_of_a_for_each_has_its_own_loop() {
    let steps = "  - id: each
    forEach: {in: \"{{ [1, 2, 3] }}\", as: target}
    set: {pass: \"{{loop.iteration}}\"}
    loop: {until: \"loop.iteration >= target\"}
";
    let scratch = project(steps);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let output = scratch.json(&["run", "output", "@last", "each"]);
    assert_eq!(output, json!([{"pass": 1}, {"pass": 2}, {"pass": 3}]));
}

/// A server that replies with the number of the request.
fn counting_server() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for (number, stream) in (1..).zip(listener.incoming().map_while(Result::ok)) {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|_| line.len() > 2) {
                line.clear();
            }
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\
                 Connection: close\r\n\r\n{number}"
            );
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    address
}

/// Every kind of step that does work: its keys, and what its output must be to end the loop in the second pass.
const KINDS: [(&str, &str, &str); 7] = [
    ("run", "run: 'echo x >> log; wc -l < log', parse: json", "s.output == 2"),
    (
        "specialist",
        "specialist: writer, task: Write., output: {schema: {n: integer}}",
        "s.output.n == 2",
    ),
    ("tool", "tool: 'fs:write', input: {path: f, content: x}", "not s.output.created"),
    ("http", "http: {url: 'http://ADDRESS/'}", "s.output.body == 2"),
    ("set", "set: {n: '{{loop.iteration}}'}", "s.output.n == 2"),
    ("playbook", "playbook: child, with: {n: '{{loop.iteration}}'}", "s.output.n == 2"),
    // A gate has no checks in `until`.
    ("gate", "gate: [{expr: '{{loop.iteration <= 2}}'}]", "loop.iteration == 2"),
];

#[test]
fn every_kind_of_step_loops_with_checks_in_until_and_with_a_gate_in_each_pass() {
    let child = "schema: kb.playbook/1\nid: child\nparams: [{name: n, type: integer, required: true}]\nsteps:\n  - {id: a, set: {n: \"{{n}}\"}}\noutputs: {n: \"{{a.output.n}}\"}\n";
    let turn = |n: u32| format!("  s#{n}: [{{output: {{n: {n}, summary: done}}}}]\n");
    for (kind, keys, done) in KINDS {
        let gate = match kind {
            "gate" => "",
            _ => ", verify: {claims: none, checks: [{expr: '{{loop.iteration > 0}}'}]}",
        };
        let forms = [
            format!("{keys}, loop: {{until: [{{expr: \"{{{{{done}}}}}\"}}], max: 3}}"),
            format!("{keys}{gate}, loop: {{until: \"{{{{{done}}}}}\", max: 3}}"),
        ];
        for form in forms.iter().skip(usize::from(kind == "gate")) {
            // The numbers begin with 1 for each run.
            let address = counting_server();
            let form = form.replace("ADDRESS", &address);
            let scratch = project(&format!("  - {{id: s, {form}}}\n"));
            scratch.write("playbooks/child.yml", child);
            let settings = format!("tools: {{http: {{allowPrivate: [\"{address}\"]}}}}\n");
            scratch.write(".kb/kb.config.yml", &settings);
            let specialist = "schema: kb.specialist/1\nid: writer\nrole: You write.\n";
            scratch.write(".kb/specialists/writer.yml", specialist);
            scratch.write(
                "script.yml",
                &format!("schema: kb.script/1\nsteps:\n{}{}", turn(1), turn(2)),
            );
            let args = ["playbook", "run", "p", "--script", "script.yml", "--json"];
            let events = scratch.kb(&args).code(0).events();
            let of = |name: &str, key: &str| -> Vec<Value> {
                let found = events.iter().filter(|event| event["type"] == name);
                found.map(|event| event[key].clone()).collect()
            };
            assert_eq!(of("loop:pass", "done"), [json!(false), json!(true)], "{form}");
            let verdicts = of("verification:complete", "verdict");
            let first = if form.contains("until: [") { "failed" } else { "passed" };
            assert_eq!(verdicts, [json!(first), json!("passed")], "{form}");
            scratch.kb(&["run", "verify", "@last"]).code(0);
            scratch.kb(&["run", "show", "@last"]).code(0).says(&["2 passes"]);
        }
    }
}

/// The keys of loops that never end, and the computed delays after their first passes in milliseconds.
const DELAYS: [(&str, &[u64]); 8] = [
    ("max: 5", &[]),
    ("initial: 40ms", &[40, 40, 40, 40]),
    ("initial: 40ms, backoff: linear", &[40, 80, 120, 160]),
    ("initial: 40ms, backoff: exponential", &[40, 80, 160, 320]),
    ("initial: 40ms, backoff: exponential, maxDelay: 60ms", &[40, 60, 60, 60]),
    ("backoff: fixed", &[1_000]),
    // Without `maxDelay` a minute is the most.
    ("initial: 10m", &[60_000]),
    ("initial: 10m, maxDelay: 2m", &[120_000]),
];

/// A delay is between half of the computed one and all of it.
#[test]
fn the_delay_between_passes_grows_as_backoff_says_and_is_bounded() {
    let step = |(at, (keys, _)): (usize, &(&str, &[u64]))| {
        format!("  - {{id: s{at}, set: {{x: 1}}, loop: {{until: \"false\", {keys}}}}}\n")
    };
    let steps: String = DELAYS.iter().enumerate().map(step).collect();
    // The timeout of the run ends the long delays.
    let text = format!("schema: kb.playbook/1\nid: p\nlimits: {{timeout: 15s}}\nsteps:\n{steps}");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &text)]);
    let events = scratch.kb(&["playbook", "run", "p", "--json"]).code(1).events();
    let time = |event: &Value, key: &str| -> Option<i64> {
        let time: jiff::Timestamp = event[key].as_str()?.parse().ok()?;
        Some(time.as_millisecond())
    };
    for (at, (keys, computed)) in DELAYS.iter().enumerate() {
        let id = format!("s{at}");
        let passes = events.iter().filter(|e| e["type"] == "loop:pass" && e["step"] == *id);
        let found: Vec<Option<i64>> =
            passes.map(|pass| Some(time(pass, "until")? - time(pass, "time")?)).collect();
        if computed.is_empty() {
            assert_eq!(found, [None; 5], "{keys}");
        }
        assert!(found.len() >= computed.len(), "{keys}: {found:?}");
        for (found, most) in found.iter().zip(*computed) {
            let most = *most as i64;
            // Both times are rounded to a millisecond.
            let range = most / 2 - 1..=most + 1;
            assert!(found.is_some_and(|found| range.contains(&found)), "{keys}: {found:?}");
        }
    }
}

#[test]
fn mistakes_in_a_loop_name_the_fix() {
    let refused = |step: &str, text: &str| {
        project(step).kb(&["playbook", "validate"]).code(2).says(&[text]);
    };
    refused("  - {id: a, run: x, loop: 3}\n", "write `loop: {until:");
    refused("  - {id: a, run: x, loop: {max: 3}}\n", "`until`");
    refused("  - {id: a, run: x, loop: {until: \"true\", max: 0}}\n", "1 to 1000");
    let both = "  - {id: a, run: x, verify: {checks: [{file: x}]}, loop: {until: [{file: x}]}}\n";
    refused(both, "onFailed: warn");
    refused("  - {id: a, gate: [{file: x}], loop: {until: [{file: x}]}}\n", "on: [gate_failed]");
    refused("  - {id: a, run: x, loop: {until: [{fil: x}]}}\n", "did you mean `file`");
    refused("  - {id: a, run: x, loop: {until: [{judge: {}}]}}\n", "review");
    refused("  - {id: a, wait: 1s, loop: {until: \"true\"}}\n", "they only wait");
}
