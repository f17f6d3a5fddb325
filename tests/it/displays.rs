//! What a run shows off a terminal: output of steps, failures, times, and other views of it.

use crate::running::Start;
use crate::scratch::{Scratch, until};
use serde_json::json;
use std::io::{BufRead, BufReader};

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[("playbooks/p.yml", &text)])
}

#[test]
fn the_output_of_a_step_is_shown_with_its_name() {
    let scratch = project("  - {id: a, run: echo hello}\n  - {id: b, run: 'echo oops >&2'}\n");
    let said = scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(said.err.matches("a | hello").count(), 1, "{}", said.err);
    assert_eq!(said.err.matches("b | oops").count(), 1, "{}", said.err);
    for args in [&["--output", "none"][..], &["--output", "failed"], &["--quiet"], &["--json"]] {
        let args = [&["playbook", "run", "p"], args].concat();
        let said = scratch.kb(&args).code(0);
        assert!(!said.err.contains("| hello"), "{}", said.err);
    }
    scratch.kb(&["playbook", "run", "p", "--output", "x"]).code(2).says(&["auto", "failed"]);
}

#[test]
fn long_output_is_shortened_unless_all_is_asked_for() {
    let scratch = project("  - {id: a, run: 'seq 100; exit 3'}\n  - {id: b, run: sleep 0.2}\n");
    let auto = scratch.kb(&["playbook", "run", "p", "--output", "failed"]).code(1).err;
    assert!(auto.contains("a | 81\n") && !auto.contains("a | 80\n"), "{auto}");
    assert!(auto.contains("80 earlier lines of stdout"), "{auto}");
    let all = scratch.kb(&["playbook", "run", "p", "--output", "all"]).code(1).err;
    assert_eq!((1..=100).filter(|n| all.contains(&format!("a | {n}\n"))).count(), 100);
}

#[test]
fn live_output_arrives_before_the_step_ends_and_is_not_repeated() {
    let steps = "  - id: a\n    run: 'echo first; until test -e go; do sleep 0.05; done'\n";
    let scratch = project(steps);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).stderr(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::null()).start();
    let lines = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = std::io::BufRead::lines(lines).map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("a | first")), "the step still runs");
    scratch.write("go", "");
    let rest: Vec<String> = lines.collect();
    assert!(!rest.iter().any(|line| line.contains("first")), "{rest:?}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_output_of_steps_that_run_beside_each_other_is_grouped() {
    let script = |name: &str| {
        format!(
            "for n in 1 2 3; do echo {name}-$n; touch {name}; until test -e $OTHER; do sleep 0.05; done; done"
        )
    };
    let scratch = project(&format!(
        "  - {{id: a, env: {{OTHER: b}}, run: '{}'}}\n  - {{id: b, env: {{OTHER: a}}, run: '{}'}}\n",
        script("a"),
        script("b")
    ));
    let err = scratch.kb(&["playbook", "run", "p"]).code(0).err;
    for name in ["a", "b"] {
        let block: String = (1..=3).map(|n| format!("          {name} | {name}-{n}\n")).collect();
        assert!(err.contains(&block), "{err}");
    }
}

#[test]
fn a_model_call_of_minutes_prints_a_line_now_and_then() {
    // A server that does not answer.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", silent.local_addr().unwrap());
    let scratch = project("  - {id: think, specialist: thinker, task: think}\n");
    let specialist = "schema: kb.specialist/1\nid: thinker\nrole: You think.\n";
    scratch.write(".kb/specialists/thinker/specialist.yml", specialist);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).env("KB_LLM_ENDPOINT", address);
    command.env("KB_LLM_MODEL", "tiny").stdout(std::process::Stdio::null());
    let mut run = command.stderr(std::process::Stdio::piped()).start();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("still running:")).unwrap_or_default();
    assert!(line.contains("still running: think ("), "{line}");
}

#[test]
fn a_failure_has_its_command_output_time_and_the_next_commands() {
    let steps =
        "  - {id: a, run: 'seq 30 >&2; seq 40; exit 3'}\n  - {id: silent, run: test -f x}\n";
    let scratch = project(steps);
    let said = scratch.kb(&["playbook", "run", "p", "-q"]).code(1);
    let run = scratch.last_run();
    for text in [
        "failed a: exit code 3: 30 [KB0558]",
        "command  seq 30 >&2; seq 40; exit 3",
        "duration ",
        "stdout   last 20 of 40 lines",
        "stderr   last 20 of 30 lines",
        "failed silent: exit code 1; no output from `test -f x`",
        &format!("kb run logs {run} "),
        &format!("kb run retry {run}"),
    ] {
        assert!(said.out.contains(text), "`{text}` is missing in:\n{}", said.out);
    }
    assert!(said.out.contains("    21\n") && !said.out.contains("    10\n"), "{}", said.out);
}

#[test]
fn a_failed_command_of_a_tool_step_is_shown_with_what_it_printed() {
    let exec = |id: &str, command: &str| {
        format!("  - {{id: {id}, tool: \"shell:exec\", input: {{command: \"{command}\"}}}}\n")
    };
    let steps = exec("a", "echo fine; echo bad >&2; exit 7") + &exec("b", "exit 1");
    project(&steps).kb(&["playbook", "run", "p"]).code(1).says(&[
        "failed a: the command exited with code 7: bad [KB0614]",
        "command  echo fine; echo bad >&2; exit 7",
        "failed b: the command exited with code 1; no output from `exit 1` [KB0614]",
    ]);
}

#[test]
fn a_gate_failure_shows_its_evidence() {
    let steps = "  - id: a\n    run: echo x > there\n    verify: {checks: [{command: [test, -f, not-there]}]}\n";
    let said = project(steps).kb(&["playbook", "run", "p"]).code(1);
    said.says(&["gate failed", "evidence", "not-there"]);
}

#[test]
fn github_actions_gets_groups_and_annotations() {
    let scratch = project(
        "  - {id: a, run: 'echo \"::error::x\"; echo \"##[error]y\"'}\n  \
           - {id: b, run: 'echo \"::set-output name=a::b\"; echo \" ##[error]z\"; exit 4', dependsOn: [a]}\n",
    );
    let said = scratch.kb_with(&["playbook", "run", "p"], |command| {
        let root = scratch.root();
        let repository = root.parent().unwrap();
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_WORKSPACE", repository);
    });
    let root = scratch.root();
    let folder = root.file_name().unwrap().to_str().unwrap();
    let said = said.code(1);
    let err = said.err;
    let lines: Vec<&str> = err.lines().map(str::trim_start).collect();
    let start = lines.iter().position(|line| *line == "::group::a").expect(&err);
    let end = lines.iter().position(|line| *line == "::endgroup::").expect(&err);
    assert!(lines[start..end].iter().any(|line| line.starts_with("a | ::error::x")), "{err}");
    assert!(!err.contains("##["), "{err}");
    let is_command = |line: &&str| line.trim_start().starts_with("::");
    let own = ["::group::", "::endgroup::", "::error file="];
    let mut commands = err.lines().filter(is_command);
    assert!(commands.all(|line| own.iter().any(|own| line.starts_with(own))), "{err}");
    assert!(!said.out.lines().any(|line| is_command(&line)), "{}", said.out);
    let shown = scratch.kb_with(&["playbook", "run", "p", "--quiet"], |command| {
        command.env("GITHUB_ACTIONS", "true");
    });
    let shown = shown.code(1).out;
    assert!(shown.contains(": :set-output name=a::b"), "{shown}");
    assert!(!shown.lines().any(|line| is_command(&line)), "{shown}");
    let logs = scratch.kb_with(&["run", "logs", "@last"], |command| {
        command.env("GITHUB_ACTIONS", "true");
    });
    assert!(!logs.code(0).out.lines().any(|line| is_command(&line) || line.contains("##[")));
    let error = "title=b failed::";
    let at = format!("::error file={folder}/playbooks/p.yml,line=5,col=10,{error}");
    assert!(lines.iter().any(|line| line.starts_with(&at)), "{at} is not in {err}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("::error")).count(), 1, "{err}");
}

#[test]
fn finally_steps_read_the_list_of_failed_steps() {
    let scratch = Scratch::new(&[(
        "playbooks/p.yml",
        "schema: kb.playbook/1
id: p
steps:
  - {id: a, run: 'exit 7'}
  - {id: b, run: 'exit 8', onError: continue}
  - {id: c, run: echo fine}
finally:
  - {id: z, run: [echo, '{{run.failed}}']}
",
    )]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let shown = scratch.json(&["run", "output", "@last", "z"]);
    let failed = shown.as_array().unwrap();
    assert_eq!(failed.len(), 1, "{shown}");
    assert_eq!((&failed[0]["step"], &failed[0]["error"]["code"]), (&json!("a"), &json!("KB0558")));
}

#[test]
fn waits_and_retries_show_true_times() {
    let scratch =
        project("  - {id: w, wait: 300ms}\n  - {id: a, run: 'test -e fixed', dependsOn: [w]}\n");
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    // The step may start some time after the time of the event.
    let shown = format!("{}{}", said.out, said.err);
    let waits = |ms: u32| shown.contains(&format!("waiting for {ms}ms: "));
    assert!((300..=60_300).any(waits), "{shown}");
    let said = scratch.kb(&["run", "retry", "@last"]).code(1);
    let head = said.out.lines().next().unwrap();
    assert!(head.contains("p failed in ") && head.contains(" since it continued)"), "{head}");
    // The last lines of the display and of the log have the same time.
    let (times, _) = head.split_once(')').unwrap();
    let line = said.err.lines().last().unwrap();
    assert!(line.contains(&times.replace("p failed", "run failed")), "{head}\n{line}");
    let log = scratch.kb(&["run", "logs", "@last"]).code(0).out;
    let line = log.lines().last().unwrap();
    assert!(line.contains(&times.replace("p failed", "run failed")), "{head}\n{line}");
    let show = scratch.json(&["run", "show", "@last", "--json"]);
    let ms = |key: &str| show[key].as_u64().unwrap();
    // The last attempt did not wait, the work of both is more than the wait of the first.
    assert!(ms("attemptMs") + 300 <= ms("workMs") && ms("workMs") <= ms("durationMs"), "{show}");
}

#[test]
fn a_live_run_shows_how_long_its_steps_run() {
    let scratch = project("  - {id: a, run: 'until test -e go; do sleep 0.05; done'}\n");
    let silent = || std::process::Stdio::null();
    let mut run =
        scratch.command().args(["playbook", "run", "p"]).stdout(silent()).stderr(silent()).start();
    let row = || {
        let shown = scratch.kb(&["run", "show", "@last"]).out;
        shown.lines().find(|line| line.starts_with("a  ")).unwrap_or_default().to_owned()
    };
    let is_time =
        |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with('s');
    until("the time of the step", || {
        let row = row();
        row.contains("running") && row.split_whitespace().any(is_time)
    });
    scratch.write("go", "");
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

#[test]
fn show_says_why_a_step_was_skipped_blocked_or_cancelled() {
    let scratch = project(
        "  - {id: a, run: 'exit 1'}
  - {id: b, run: echo b, dependsOn: [a]}
  - {id: c, run: echo c, condition: '1 == 2'}
  - {id: each, forEach: {in: [1, 2, 3, 4], maxParallel: 1}, run: [bash, -c, 'exit 1']}
",
    );
    let live = scratch.kb(&["playbook", "run", "p"]).code(1);
    live.says(&["b  blocked: `a` failed", "c  skipped: `condition` is false: 1 == 2"]);
    scratch.kb(&["run", "show", "@last"]).code(0).says(&[
        "`a` failed",
        "`condition` is false: 1 == 2",
        "1 item failed, 3 cancelled",
    ]);
}

#[test]
fn logs_are_filtered_and_have_a_json_form() {
    let scratch = project("  - {id: a, run: 'echo out-a; exit 1'}\n  - {id: b, run: echo out-b}\n");
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let failed = scratch.kb(&["run", "logs", "@last", "--failed"]).code(0).out;
    assert!(failed.contains("out-a") && !failed.contains("out-b"), "{failed}");
    assert_eq!(
        scratch.kb(&["run", "logs", "@last", "--since", "2099-01-01T00:00:00Z"]).code(0).out,
        ""
    );
    scratch.kb(&["run", "logs", "@last", "--since", "1h"]).code(0).says(&["out-a", "out-b"]);
    scratch.kb(&["run", "logs", "@last", "--since", "yesterday"]).code(2).says(&["10m"]);
    for command in ["logs", "show"] {
        let last = scratch.kb(&["run", command, "@last"]).code(0).out;
        assert_eq!(scratch.kb(&["run", command]).code(0).out, last, "the last run is the default");
    }
    scratch.kb(&["run", "logs", "@last", "b[6]"]).code(2).says(&["nothing is recorded", "b[6]"]);
    let lines = scratch.kb(&["run", "logs", "@last", "b", "--json"]).code(0).events();
    let text = lines.iter().find(|line| line["type"] == "log:text").unwrap();
    assert_eq!((&text["channel"], &text["text"]), (&json!("stdout"), &json!("out-b\n")));
    assert!(lines.iter().any(|line| line["type"] == "step:end"));
}

#[test]
fn the_list_of_runs_is_filtered() {
    let scratch = project("  - {id: a, run: 'test -e fixed'}\n");
    scratch
        .write("playbooks/q.yml", "schema: kb.playbook/1\nid: q\nsteps: [{id: a, run: echo x}]\n");
    scratch.kb(&["playbook", "run", "p"]).code(1);
    scratch.kb(&["playbook", "run", "q"]).code(0);
    let names = |args: &[&str]| {
        let list = scratch.json(&[&["run", "list", "--json"], args].concat());
        let runs = list.as_array().unwrap().iter();
        runs.map(|run| run["definition"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["q", "p"]);
    assert_eq!(names(&["-n", "1"]), ["q"]);
    assert_eq!(names(&["--status", "failed"]), ["p"]);
    assert_eq!(names(&["--status", "failed", "--status", "succeeded"]), ["q", "p"]);
    assert_eq!(names(&["--playbook", "q"]), ["q"]);
    assert!(names(&["--since", "2099-01-01T00:00:00Z"]).is_empty());
    scratch.kb(&["run", "list", "--status", "done"]).code(2).says(&["succeeded"]);
    scratch.kb(&["run", "list", "--playbook", "x"]).code(0).says(&["no run matches"]);
    assert_eq!(scratch.kb(&["run", "list", "--playbook", "x", "-q"]).code(0).err, "");
}

#[test]
fn another_process_watches_a_run_to_its_end() {
    let scratch = project(
        "  - id: a\n    run: 'echo one; until test -e go; do sleep 0.05; done'\n  - {id: b, run: 'echo two; exit 5', dependsOn: [a]}\n",
    );
    let mut command = scratch.command();
    let silent = || std::process::Stdio::null();
    let mut run = command.args(["playbook", "run", "p"]).stdout(silent()).stderr(silent()).start();
    until("the run", || !scratch.kb(&["run", "list", "-q"]).out.is_empty());
    let mut watcher = scratch
        .command()
        .args(["run", "watch"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .start();
    let mut lines = BufReader::new(watcher.stderr.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.find(|line| line.contains("a  started"));
    scratch.write("go", "");
    let err = first.into_iter().chain(lines).collect::<Vec<_>>().join("\n");
    let watched = watcher.finish();
    assert_eq!(run.wait().unwrap().code(), Some(1));
    let out = String::from_utf8(watched.stdout).unwrap();
    assert_eq!(watched.status.code(), Some(1), "{err}");
    assert!(err.contains("a | one") && err.contains("b | two"), "{err}");
    assert!(out.contains("failed b: exit code 5: two"), "{out}");
}

#[test]
fn a_watcher_shows_output_while_the_step_still_runs() {
    let scratch = project("  - {id: a, run: 'until test -e go; do echo line; sleep 0.05; done'}\n");
    let silent = || std::process::Stdio::null();
    let mut run =
        scratch.command().args(["playbook", "run", "p"]).stdout(silent()).stderr(silent()).start();
    until("the run", || !scratch.kb(&["run", "list", "-q"]).out.is_empty());
    let mut watcher = scratch
        .command()
        .args(["run", "watch"])
        .stdout(silent())
        .stderr(std::process::Stdio::piped())
        .start();
    // The step ends after the watcher has shown a line of it, so the line was not read from the journal.
    let mut lines = BufReader::new(watcher.stderr.take().unwrap()).lines().map_while(Result::ok);
    let live = lines.find(|line| line.contains("a | line"));
    scratch.write("go", "");
    let rest: Vec<String> = lines.collect();
    assert!(live.is_some(), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("succeeded")), "{rest:?}");
    assert_eq!(watcher.wait().unwrap().code(), Some(0));
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

#[test]
fn names_of_other_tools_point_to_the_command() {
    let scratch = project("  - {id: a, run: echo x}\n");
    for (args, text) in [
        (&["list"][..], "`kb playbook list` lists playbooks, `kb run list` lists runs"),
        (&["ps"], "`kb run list` lists runs"),
        (&["logs", "@last"], "use `kb run logs`"),
        (&["validate"], "use `kb playbook validate`"),
        (&["retry"], "use `kb run retry`"),
        (&["playbook", "run", "p", "--dry-run"], "`kb playbook plan p` shows what a run would do"),
    ] {
        scratch.kb(args).code(2).says(&[text]);
    }
    scratch.kb(&["playbook", "run", "p", "-q"]).code(0);
    for (show, info) in [
        (["playbook", "show", "p"], ["playbook", "info", "p"]),
        (["run", "show", "@last"], ["run", "info", "@last"]),
    ] {
        assert_eq!(scratch.kb(&show).code(0).out, scratch.kb(&info).code(0).out);
    }
    for command in
        [&["playbook", "list"][..], &["playbook", "validate"], &["doctor"], &["specialist", "list"]]
    {
        scratch.kb(&[command, &["-q"]].concat()).code(0);
    }
}

#[test]
fn old_runs_are_pruned_and_others_stay() {
    let text = "x".repeat(200_000);
    let scratch = project(&format!(
        "  - {{id: a, run: 'head -c 200000 /dev/zero | tr \"\\0\" {}; echo $RANDOM$RANDOM'}}\n",
        &text[..1]
    ));
    for _ in 0..3 {
        scratch.kb(&["playbook", "run", "p"]).code(0);
    }
    scratch.write("playbooks/w.yml", "schema: kb.playbook/1\nid: w\nsteps: [{id: a, ask: Go?}]\n");
    scratch.kb(&["playbook", "run", "w"]).code(3);
    let runs =
        |args: &[&str]| scratch.kb(&[&["run", "prune"], args].concat()).code(0).out.lines().count();
    assert_eq!(runs(&[]), 0, "they are new");
    assert_eq!(runs(&["--older-than", "0s"]), 0, "the newest 20 stay");
    let all = ["--older-than", "0s", "--keep", "2"];
    assert_eq!(runs(&[&all[..], &["--dry-run"]].concat()), 2);
    let pruned = scratch.json(&[&["run", "prune", "--json"], &all[..]].concat());
    assert_eq!(pruned["runs"].as_array().unwrap().len(), 2, "{pruned}");
    assert!(pruned["blobBytes"].as_u64().unwrap() > 400_000, "{pruned}");
    let left = scratch.json(&["run", "list", "--json"]);
    assert_eq!(left.as_array().unwrap().len(), 2, "{left}");
    for run in left.as_array().unwrap() {
        scratch.kb(&["run", "verify", run["run"].as_str().unwrap()]).code(0);
    }
    assert_eq!(runs(&["--older-than", "0s", "--keep", "0"]), 1, "a waiting run stays");
    scratch.write(".kb/kb.config.yml", "schema: kb.config/1\njournal: {retention: soon}\n");
    scratch.kb(&["playbook", "validate"]).code(2).says(&["retention"]);
}

#[test]
fn child_runs_are_pruned_with_their_parent() {
    let child = "schema: kb.playbook/1\nid: child\nsteps: [{id: a, run: echo x}]\n";
    let parent = |more: &str| {
        format!(
            "schema: kb.playbook/1\nid: parent\nsteps:\n  - {{id: each, forEach: [1, 2], playbook: child}}\n  - {{id: then, dependsOn: [each]{more}}}\n"
        )
    };
    let scratch = Scratch::new(&[
        ("playbooks/parent.yml", &parent(", ask: Go?")),
        ("playbooks/child.yml", child),
    ]);
    let prune = |args: &[&str]| {
        let all = [&["run", "prune", "--older-than", "0s", "--json"], args].concat();
        scratch.json(&all)["runs"].as_array().unwrap().len()
    };
    scratch.kb(&["playbook", "run", "parent"]).code(3);
    let asking = scratch.last_run();
    assert_eq!(prune(&["--keep", "0"]), 0, "the parent waits");
    // Killed while a step after the child runs executes.
    scratch.write("playbooks/parent.yml", &parent(", run: 'touch started; sleep 100'"));
    let mut command = scratch.command();
    let silent = || std::process::Stdio::null();
    let mut run =
        command.args(["playbook", "run", "parent"]).stdout(silent()).stderr(silent()).start();
    until("the step after the child runs", || scratch.has("started"));
    assert_eq!(prune(&["--keep", "0"]), 0, "the parent runs");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(prune(&["--keep", "0"]), 0, "the parent is interrupted");
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    scratch.kb(&["run", "answer", &asking, "then", "yes"]).code(0);
    // Two runs with two child runs each.
    assert_eq!(prune(&["--keep", "2"]), 0, "child runs do not count");
    assert_eq!(prune(&["--keep", "1", "--dry-run"]), 3);
    assert_eq!(prune(&["--keep", "1"]), 3);
    assert_eq!(scratch.json(&["run", "list", "--json"]).as_array().unwrap().len(), 3);
    assert_eq!(prune(&["--keep", "0"]), 3);
}
