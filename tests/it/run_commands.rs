//! Looking back at runs, and going on with them, through the real binary.

use crate::running::{Running, Start};
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[("playbooks/p.yml", &text)])
}

#[test]
fn a_run_is_listed_shown_and_its_outputs_are_printed() {
    let scratch = project(
        "  - {id: a, run: 'echo one; echo two >&2'}\n  - {id: b, set: {n: 1, from: '{{a.output}}'}}\noutputs: {n: '{{b.output.n}}'}\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(0).says(&["p succeeded", "n: 1"]);
    let run = scratch.last_run();
    let list = scratch.json(&["run", "list", "--json"]);
    for key in ["run", "status", "definition", "startedAt", "endedAt", "steps"] {
        assert!(list[0].get(key).is_some(), "{key} in {}", list[0]);
    }
    scratch.kb(&["run", "list"]).code(0).says(&[&run, "succeeded", "2/2"]);
    scratch.kb(&["run", "show", &run[..5]]).code(0).says(&[&run, "a", "succeeded"]);
    assert_eq!(scratch.json(&["run", "output", "@last"]), json!({"n": 1}));
    assert_eq!(scratch.kb(&["run", "output", "@last", "a"]).code(0).out, "one\n");
    assert_eq!(scratch.kb(&["run", "output", "@last", "a", "--json"]).out, "\"one\"\n");
    assert_eq!(scratch.json(&["run", "output", "@last", "b"])["from"], "one");
    scratch.kb(&["run", "output", "@last", "c"]).code(4).says(&["there is no step `c`", "a, b"]);
    let logs = scratch.kb(&["run", "logs", "@last", "a"]).code(0).out;
    for text in ["stdout  a  one", "stderr  a  two", "a  succeeded"] {
        assert!(logs.contains(text), "`{text}` is missing in:\n{logs}");
    }
    assert!(!logs.contains("  b  "), "{logs}");
    scratch.kb(&["run", "logs", "@last", "zzz"]).code(4).says(&["there is no step `zzz`"]);
    scratch.kb(&["run", "show", "zzz"]).code(4).says(&["there is no run `zzz`", &run]);
}

#[test]
fn events_live_and_later_are_the_same_lines() {
    let scratch = project("  - {id: a, run: echo x}\n  - {id: b, run: 'exit 3', dependsOn: [a]}\n");
    let live = scratch.kb(&["playbook", "run", "p", "--json"]).code(1);
    let events = live.events();
    let kinds: Vec<&str> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("run:start", "run:end"));
    assert!(events.iter().all(|e| e["v"] == 1 && e["run"].is_string() && e["time"].is_string()));
    assert_eq!(events.last().unwrap()["status"], "failed");
    let ended = events.iter().find(|e| e["type"] == "step:end" && e["step"] == "b").unwrap();
    assert_eq!((&ended["status"], ended["error"]["code"].is_string()), (&json!("failed"), true));
    assert_eq!(scratch.kb(&["run", "events", "@last"]).code(0).out, live.out);
    assert!(live.err.contains("kb run retry"), "{}", live.err);
}

/// More events than are read at once.
#[test]
fn a_long_run_is_read_back_whole() {
    let scratch = project(
        "  - {id: list, set: {n: '{{range(0, 700) | list}}'}}\n  - {id: each, forEach: '{{list.output.n}}', set: {n: '{{item}}'}}\n",
    );
    let live = scratch.kb(&["playbook", "run", "p", "--json"]).code(0);
    assert!(live.events().len() > 1500, "{}", live.events().len());
    assert_eq!(scratch.kb(&["run", "events", "@last"]).code(0).out, live.out);
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let steps = shown["steps"].as_array().unwrap();
    let done = |step: &&Value| step["step"] == "each" && step["status"] == "succeeded";
    assert_eq!(steps.iter().filter(done).count(), 701);
    assert_eq!(scratch.json(&["run", "output", "@last", "each[699]"]), json!({"n": 699}));
    scratch.kb(&["run", "logs", "@last", "each[699]"]).code(0).says(&["each[699]", "succeeded"]);
}

#[test]
fn a_failed_run_says_why_and_the_one_command_that_goes_on() {
    let scratch =
        project("  - {id: a, run: 'test -e fixed'}\n  - {id: b, run: echo done, dependsOn: [a]}\n");
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    let run = scratch.last_run();
    for text in ["p failed", "failed a: ", "1 failed, 1 blocked", &format!("kb run retry {run}")] {
        assert!(said.out.contains(text), "`{text}` is missing in:\n{}", said.out);
    }
    scratch.kb(&["run", "resume", &run]).code(2).says(&["kb run retry"]);
    scratch.kb(&["run", "output", &run, "b"]).code(2).says(&[&format!("kb run logs {run} b")]);
    scratch.kb(&["run", "retry", &run]).code(1).says(&["reset with 2 instances: "]);
    scratch.write("fixed", "");
    scratch.kb(&["run", "retry", &run]).code(0).says(&["p succeeded"]);
    let show = scratch.json(&["run", "show", &run, "--json"]);
    assert_eq!((&show["status"], &show["steps"][0]["iteration"]), (&json!("succeeded"), &json!(3)));
    scratch.kb(&["run", "retry", &run]).code(2).says(&["--from STEP"]);
    let again = scratch.kb(&["run", "retry", &run, "--from", "b"]).code(0);
    again.says(&["reset with 1 instance: "]);
    scratch.kb(&["run", "retry", &run, "--from", "bb"]).code(4).says(&["there is no step `bb`"]);
}

#[test]
fn a_tolerated_failure_is_listed_and_does_not_fail_the_run() {
    let scratch =
        project("  - {id: a, run: 'exit 1', onError: continue}\n  - {id: b, run: echo x}\n");
    scratch.kb(&["playbook", "run", "p"]).code(0).says(&["tolerated a"]);
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["failed*", "* failure tolerated"]);
}

/// Starts a run and waits until a step of it has begun.
fn begun(scratch: &Scratch, step: &str) -> (Running, String) {
    let mut child = scratch
        .command()
        .args(["playbook", "run", "p", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let wanted = |line: &String| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["type"] == "step:start" && event["step"] == step
    };
    let line = lines.find(wanted).expect("the step begins");
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    // Somebody has to go on reading, or the run would meet a closed stream.
    std::thread::spawn(move || lines.for_each(drop));
    (child, event["run"].as_str().unwrap().to_owned())
}

fn signal(child: &Running, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn the_first_interrupt_lets_what_runs_end_and_leaves_a_resumable_run() {
    let scratch = project(
        "  - id: a\n    run: 'touch began; until test -e go; do sleep 0.05; done'\n  - {id: b, run: echo b, dependsOn: [a]}\n",
    );
    let (mut child, run) = begun(&scratch, "a");
    signal(&child, rustix::process::Signal::INT);
    // The word on stderr says that the signal was taken in; only then may the step end.
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut word = String::new();
    stderr.read_line(&mut word).unwrap();
    assert!(word.contains("press again to kill"), "{word}");
    scratch.write("go", "");
    let code = child.wait().unwrap().code();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(code, Some(130), "{rest}");
    assert!(rest.contains(&format!("kb run resume {run}")), "{rest}");
    let show = scratch.json(&["run", "show", &run, "--json"]);
    assert_eq!(show["status"], "interrupted");
    let (a, b) = (&show["steps"][0], &show["steps"][1]);
    assert_eq!((&a["status"], &b["attempts"]), (&json!("succeeded"), &json!(0)));
    scratch.kb(&["run", "resume", &run]).code(0);
    let show = scratch.json(&["run", "show", &run, "--json"]);
    assert_eq!(show["steps"][0]["attempts"], 1, "what had ended did not run again");
}

#[test]
fn the_second_interrupt_kills_and_sigterm_has_its_own_code() {
    let scratch = project("  - {id: a, run: 'trap \"\" TERM; sleep 300'}\n");
    let (mut child, run) = begun(&scratch, "a");
    signal(&child, rustix::process::Signal::TERM);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut String::new()).unwrap();
    signal(&child, rustix::process::Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(scratch.json(&["run", "show", &run, "--json"])["status"], "interrupted");
}

#[test]
fn another_process_sees_a_run_and_can_cancel_it() {
    let scratch =
        project("  - {id: a, run: 'sleep 300'}\n  - {id: b, run: echo b, dependsOn: [a]}\n");
    let (mut child, run) = begun(&scratch, "a");
    let show = scratch.json(&["run", "show", &run, "--json"]);
    assert_eq!(
        (&show["status"], &show["steps"][0]["status"]),
        (&json!("running"), &json!("running"))
    );
    scratch.kb(&["run", "resume", &run]).says(&["leased by another process", "kb run cancel"]);
    scratch.kb(&["run", "cancel", &run]).code(0).says(&["the request was sent to run"]);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let show = scratch.json(&["run", "show", &run, "--json"]);
    assert_eq!(show["status"], "cancelled");
    scratch.kb(&["run", "cancel", &run]).code(0).says(&["already"]);
}

#[test]
fn a_run_without_a_lease_owner_can_be_cancelled_too() {
    let scratch = project("  - {id: a, run: 'sleep 300'}\n");
    let (mut child, run) = begun(&scratch, "a");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scratch.json(&["run", "show", &run, "--json"])["status"], "interrupted");
    scratch.kb(&["run", "cancel", &run]).code(0);
    assert_eq!(scratch.json(&["run", "show", &run, "--json"])["status"], "cancelled");
}

#[test]
fn logs_follow_a_run_to_its_end() {
    let scratch = project(
        "  - id: a\n    run: 'until test -e go; do sleep 0.05; done'\n  - {id: b, run: echo bee, dependsOn: [a]}\n",
    );
    let (mut child, run) = begun(&scratch, "a");
    let mut follower =
        scratch.command().args(["run", "logs", &run, "--follow"]).stdout(Stdio::piped()).start();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("a  started")));
    scratch.write("go", "");
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.contains("b  bee")), "{rest:?}");
    assert!(rest.last().unwrap().contains("run succeeded"), "{rest:?}");
    assert!(follower.wait().unwrap().success());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_run() {
    let scratch = project(
        "  - {id: a, run: 'sleep 0.3'}\n  - {id: b, run: 'touch reached', dependsOn: [a]}\n",
    );
    let mut child = scratch
        .command()
        .args(["playbook", "run", "p", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .start();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(scratch.has("reached"));
}

#[test]
fn a_call_that_needs_an_approval_says_why_and_a_rejected_one_is_shown() {
    let scratch = project("  - {id: a, specialist: editor, task: Write.}\n");
    scratch.write(
        ".kb/specialists/editor.yml",
        "schema: kb.specialist/1\nid: editor\nrole: You edit.\ntools: [fs:write]\noutput: {schema: {summary: string}}\n",
    );
    scratch
        .write(".kb/kb.config.yml", "tools: {security: {'fs:write': {requiresApproval: true}}}\n");
    scratch.write(
        "script.yml",
        "schema: kb.script/1\nsteps:\n  a:\n    - calls: [{tool: fs:write, args: {path: x, content: y}}]\n    - error: {status: 400}\n",
    );
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(3);
    let run = scratch.last_run();
    let why = "the settings require approval for `fs:write`";
    let approves = format!("kb run approve {run}");
    assert!(said.out.contains(why) && said.out.contains(&approves), "{}", said.out);
    let said = scratch.kb(&["run", "reject", "@last", "a", "--comment", "not now"]).code(1);
    assert!(said.err.contains("not executed: rejected by "), "{}", said.err);
    scratch.kb(&["run", "logs", "@last"]).code(0).says(&["not now"]);
}

#[test]
fn what_went_through_but_not_as_it_should_is_listed_as_warnings() {
    let text = "schema: kb.playbook/1
id: p
steps:
  - {id: weak, set: {n: 1}, verify: {checks: [{expr: 'false'}, {expr: '1 == 2'}], onFailed: warn}}
  - {id: vague, set: {n: 1}, verify: {checks: [{command: ['true'], tests: {minCount: 1}}]}}
  - {id: each, forEach: '{{[1]}}', onError: continue, run: 'exit 4'}
finally:
  - {id: tidy, run: 'exit 7'}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let said = scratch.kb(&["playbook", "run", "p"]).code(0);
    for text in [
        "warning weak: its gate failed; `onFailed: warn` accepts the result: ",
        "warning vague: its gate is inconclusive: ",
        "warning tidy: a step of `finally` failed: ",
        "; 2 checks did not pass",
        "tolerated each[",
    ] {
        assert!(said.out.contains(text), "`{text}` is missing in:\n{}", said.out);
    }
    assert!(!said.out.contains("failed tidy"), "{}", said.out);
    assert!(!said.out.contains("failed each"), "{}", said.out);
    for text in ["failed expr false: ", "failed expr 1 == 2: "] {
        scratch.kb(&["run", "logs", "@last"]).code(0).says(&[text]);
        scratch.kb(&["run", "show", "@last"]).code(0).says(&["gate of weak", text]);
    }
}

#[test]
fn a_stdout_that_was_cut_is_a_warning() {
    let scratch = project(
        "  - {id: a, run: 'head -c 9000000 /dev/zero | tr \"\\0\" y'}\n  - {id: b, run: echo x}\n",
    );
    let said = scratch.kb(&["playbook", "run", "p"]).code(0);
    assert!(said.out.contains("warning a: "), "{}", said.out);
    assert!(said.err.contains("bytes of stdout were cut"), "{}", said.err);
    let events = scratch.kb(&["run", "events", "@last"]).events();
    let cut = |step: &str| {
        let end = events.iter().find(|e| e["type"] == "step:end" && e["step"] == step);
        end.unwrap()["stdoutCut"].as_u64()
    };
    assert!(cut("a").is_some_and(|bytes| bytes > 0) && cut("b").is_none());
}

#[test]
fn a_run_that_goes_on_says_which_definition_has_changed_since() {
    let scratch = project("  - {id: a, run: 'test -e fixed'}\n");
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let same = scratch.kb(&["run", "retry", "@last"]).code(1);
    assert!(!same.err.contains("has changed since"), "{}", same.err);
    scratch.write(
        "playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: echo new}\n",
    );
    let said = scratch.kb(&["run", "retry", "@last"]).code(1);
    let note = format!(
        "note: `playbooks/p.yml` has changed since run {0} started; the run uses the old text; \
         `kb run retry {0} --with-current` starts a run with the new one",
        scratch.last_run()
    );
    assert!(said.err.contains(&note), "{}", said.err);
}

#[test]
fn outputs_of_a_failed_run_are_none_and_names_are_listed_once() {
    let scratch = project("  - {id: a, run: 'exit 1'}\n  - {id: b, run: echo x}\n");
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let said = scratch.kb(&["run", "output", "@last"]).code(1);
    assert_eq!(said.out, "");
    assert!(said.err.contains("note: the run has failed"), "{}", said.err);
    assert_eq!(scratch.kb(&["run", "output", "@last", "b"]).code(0).out, "x\n");
    scratch.kb(&["run", "output", "@last", "nostep"]).code(4).says(&["available: a, b\n"]);
    let missing = scratch.kb(&["playbook", "run", "p", "--params", "no.yml"]).code(4);
    assert!(!missing.err.contains("there is no file yet"), "{}", missing.err);
    assert!(missing.err.contains("relative to the working directory"), "{}", missing.err);
}

#[test]
fn a_diff_says_what_each_step_changed_on_disk() {
    let scratch = project(
        "  - {id: make, tool: 'fs:write', input: {path: new.txt, content: four}}
  - {id: grow, dependsOn: [make], tool: 'fs:write', input: {path: new.txt, content: fourteen}}
  - {id: drop, dependsOn: [grow], tool: 'fs:delete', input: {path: new.txt}}
  - {id: look, tool: 'fs:list', input: {path: .}}
",
    );
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let all = scratch.json(&["run", "diff", "@last", "--json"]);
    let steps = all["steps"].as_array().unwrap().iter();
    let files = steps.flat_map(|step| {
        step["files"].as_array().unwrap().iter().map(move |file| (&step["step"], file))
    });
    let all: Vec<(&str, &str, Option<u64>, Option<u64>)> = files
        .map(|(step, file)| {
            let size = |side: &str| file[side]["bytes"].as_u64();
            let change = file["change"].as_str().unwrap();
            (step.as_str().unwrap(), change, size("before"), size("after"))
        })
        .collect();
    let wanted = [
        ("make", "created", None, Some(4)),
        ("grow", "modified", Some(4), Some(8)),
        ("drop", "deleted", Some(8), None),
    ];
    assert_eq!(all, wanted);
    let digest = |text: &str| kb::value::Digest::of(text).short(8);
    let said = scratch.kb(&["run", "diff", "@last", "grow"]).code(0);
    let hashes = format!("{} → {}", digest("four"), digest("fourteen"));
    assert!(!said.out.contains("make"), "{}", said.out);
    said.says(&["grow\n  modified  new.txt  4 bytes → 8 bytes", &hashes, "-four\n", "+fourteen\n"]);
    scratch.kb(&["run", "diff", "@last", "look"]).code(0).says(&["no file changes were recorded"]);
    scratch.kb(&["run", "diff", "@last", "zzz"]).code(4).says(&["there is no step `zzz`"]);
}

/// A run that is removed while it is listed is left out.
#[test]
fn lists_of_runs_beside_their_removal() {
    let scratch = project("  - {id: a, set: {n: 1}}\n");
    for _ in 0..3 {
        for _ in 0..12 {
            scratch.kb(&["playbook", "run", "p"]).code(0);
        }
        let mut command = scratch.command();
        command.args(["run", "prune", "--older-than", "0s", "--keep", "0"]).stdout(Stdio::null());
        let mut removal = command.stderr(Stdio::null()).start();
        while removal.try_wait().expect("a process").is_none() {
            scratch.kb(&["run", "list", "--json"]).code(0);
        }
    }
    assert_eq!(scratch.json(&["run", "list", "--json"]), json!([]), "all are removed");
}

#[test]
fn only_what_failed_is_shown_with_its_help() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: each, forEach: [a, b], tool: fs:read, input: {path: '{{item}}.txt'}}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text), ("a.txt", "a")]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let whole = scratch.kb(&["run", "show", "@last"]).code(0).out;
    let failed = scratch.kb(&["run", "show", "@last", "--failed"]).code(0).out;
    assert!(!failed.contains("each[0]") && failed.contains("each[1]"), "{failed}");
    assert!(failed.contains("suggested for each[1]"), "{failed}\n{whole}");
}

#[test]
fn a_playbook_is_shown_with_what_its_parameters_take() {
    let text = "schema: kb.playbook/1
id: p
params:
  - {name: stage, enum: [dev, prod], default: dev, description: Where to}
  - {name: count, type: integer, min: 1, max: 9}
  - {name: tag, pattern: 'v[0-9]+'}
steps: [{id: a, run: 'true'}]
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.kb(&["playbook", "show", "p"]).code(0).says(&[
        "one of dev, prod; Where to",
        "from 1 to 9",
        "of the pattern v[0-9]+",
    ]);
    scratch
        .kb(&["playbook", "run", "p", "--stage", "prod"])
        .code(2)
        .says(&["\n  help: parameters have an option: `--param stage=prod`\n"]);
    // A playbook with that id is nearer than the command `plan`.
    let hint = "\n  help: `kb playbook run p` runs a playbook, `kb playbook show p` shows it\n";
    let said = scratch.kb(&["playbook", "p"]).code(2);
    assert!(!said.err.contains("some similar"), "{}", said.err);
    said.says(&[hint]);
    scratch
        .kb(&["run", "playbook", "p"])
        .code(2)
        .says(&["  help: did you mean `kb playbook run p`?"]);
}
