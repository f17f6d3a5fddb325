//! Going on after an edit: `kb run retry --with-current` and `--only`, `kb playbook run --from`, `--only`
//! and `--skip`. The decision is tested alone at the end.

use crate::running::Start;
use crate::scratch::{Said, Scratch, until};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const STEPS: &str = "\
schema: kb.playbook/1
id: p
params: [{name: who, default: world}]
steps:
  - id: a
    run: echo a >> log; echo \"hello $WHO\"
    env: {WHO: \"{{who}}\"}
  - id: each
    forEach: {in: [1, 2, 3], as: n}
    run: echo \"each $N\" >> log; [ \"$N\" != 3 ] || test -e fixed
    env: {N: \"{{n}}\"}
  - id: b
    dependsOn: [a]
    timeout: 1m
    run: echo b >> log; exit 3
  - id: c
    run: [sh, -c, \"echo c >> log; echo \\\"$1\\\"\", c, \"{{a.output}} and {{b.output}}\"]
finally:
  - {id: last, run: echo last >> log}
outputs: {said: \"{{c.output}}\"}
";

fn project() -> Scratch {
    let scratch = Scratch::new(&[("playbooks/p.yml", STEPS)]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    scratch
}

fn edit(scratch: &Scratch, from: &str, to: &str) {
    let text = scratch.read("playbooks/p.yml");
    assert!(text.contains(from), "{from}");
    scratch.write("playbooks/p.yml", &text.replace(from, to));
}

/// The lines that the steps of the last command wrote.
fn ran(scratch: &Scratch) -> Vec<String> {
    let log = if scratch.has("log") { scratch.read("log") } else { String::new() };
    scratch.write("log", "");
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The database of the project's journal.
fn database(scratch: &Scratch) -> rusqlite::Connection {
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folder = std::fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    rusqlite::Connection::open(folder.join("journal.sqlite3")).unwrap()
}

fn step<'a>(view: &'a Value, name: &str) -> &'a Value {
    let steps = view["steps"].as_array().unwrap();
    steps.iter().find(|step| step["instance"] == name).unwrap_or_else(|| panic!("{name}: {view}"))
}

#[test]
fn an_edited_definition_keeps_what_did_not_change_and_says_what_runs_and_why() {
    let scratch = project();
    let earlier = scratch.last_run();
    assert_eq!(ran(&scratch), ["a", "b", "each 1", "each 2", "each 3", "last"]);
    scratch.write("fixed", "");
    edit(&scratch, "echo b >> log; exit 3", "echo b >> log; echo bee");
    let said = scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
    for text in [
        &format!("definitions that changed since run {earlier}"),
        "playbooks/p.yml",
        "-    run: echo b >> log; exit 3",
        "+    run: echo b >> log; echo bee",
        "kept  a\n",
        "kept  the items of each that succeeded",
        "runs  b     failed in the earlier run",
        "runs  c     blocked in the earlier run",
        "runs  last  a `finally` step",
        &format!("a  succeeded, kept from run {earlier}"),
    ] {
        assert!(said.err.contains(text), "`{text}` is missing in:\n{}", said.err);
    }
    assert_eq!(ran(&scratch), ["b", "c", "each 3", "last"]);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    assert_ne!(view["run"], earlier.as_str());
    assert_eq!(
        (&view["base"]["run"], &view["base"]["kept"]),
        (&json!(earlier), &json!(["a", "each"]))
    );
    assert_eq!(step(&view, "a")["keptFrom"], earlier.as_str());
    assert_eq!(step(&view, "each[0]")["keptFrom"], earlier.as_str());
    assert_eq!(step(&view, "each[2]").get("keptFrom"), None);
    assert_eq!(scratch.json(&["run", "output", "@last"]), json!({"said": "hello world and bee"}));
    assert_eq!(scratch.json(&["run", "output", "@last", "a", "--json"]), "hello world");
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["continues run", "kept from run"]);
    scratch.kb(&["run", "verify", "@last"]).code(0).says(&["kept      3", "verified"]);
    // The earlier run is as it was.
    assert_eq!(scratch.json(&["run", "show", &earlier, "--json"])["status"], "failed");
    // Live and recorded events are the same.
    let live =
        scratch.kb(&["run", "retry", "@last", "--with-current", "--from", "c", "--json"]).code(0);
    assert_eq!(scratch.kb(&["run", "events", "@last"]).out, live.out);
    let ends: Vec<Value> = live.events().into_iter().filter(|e| e["type"] == "step:end").collect();
    let kept = ends.iter().find(|end| end["instance"] == "a").unwrap();
    // A result that was kept twice refers to the run that executed it.
    assert_eq!(kept["keptFrom"]["run"], earlier.as_str());
    assert_eq!(ran(&scratch), ["c", "last"]);
}

#[test]
fn a_parameter_a_policy_and_a_new_step_are_weighed_for_what_they_change() {
    let scratch = project();
    ran(&scratch);
    scratch.write("fixed", "");
    edit(
        &scratch,
        "timeout: 1m\n    run: echo b >> log; exit 3",
        "timeout: 2m\n    run: 'echo b >> log'",
    );
    scratch.kb(&["-q", "run", "retry", "@last", "--with-current"]).code(0);
    assert_eq!(ran(&scratch), ["b", "c", "each 3", "last"]);
    // A timeout decides nothing about a result that is there.
    edit(&scratch, "timeout: 2m", "timeout: 3m\n    retry: {max: 1}");
    let said = scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
    said.says(&["kept  a, each, b, c"]);
    assert_eq!(ran(&scratch), ["last"]);
    let other = ["run", "retry", "@last", "--with-current", "--param", "who=you"];
    scratch
        .kb(&other)
        .code(0)
        .says(&["runs  a     the parameter `who` changed", "runs  c     after `a`"]);
    assert_eq!(ran(&scratch), ["a", "b", "c", "last"]);
    assert_eq!(scratch.json(&["run", "output", "@last"])["said"], "hello you and ");
    // The value stays, a new default counts where none was given, and a new step runs.
    edit(&scratch, "finally:", "  - {id: d, run: echo d >> log}\nfinally:");
    scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0).says(&["runs  d     new"]);
    assert_eq!(ran(&scratch), ["d", "last"]);
    edit(&scratch, "env: {WHO: \"{{who}}\"}", "env: {WHO: \"{{run.id}}\"}");
    let said = scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
    said.says(&["runs  a     `env` changed"]);
    ran(&scratch);
    scratch
        .kb(&["run", "retry", "@last", "--with-current"])
        .code(0)
        .says(&["runs  a     it reads `run`"]);
}

#[test]
fn a_removed_base_run_and_a_changed_record_are_told_apart_by_verify() {
    let scratch = project();
    let earlier = scratch.last_run();
    scratch.write("fixed", "");
    edit(&scratch, "exit 3", "true");
    scratch.kb(&["-q", "run", "retry", "@last", "--with-current"]).code(0);
    let database = database(&scratch);
    let change = |text: &str| database.execute_batch(text).unwrap();
    change(
        "UPDATE events SET body = replace(body, 'hello world', 'hello thief') WHERE body LIKE '%attemptEnded%' AND body LIKE '%hello world%'",
    );
    let said = scratch.kb(&["run", "verify", "@last"]).code(1);
    said.says(&["KB0865", "the result of `a` is not the one that event", &earlier]);
    change("UPDATE events SET body = replace(body, 'hello thief', 'hello world')");
    scratch.kb(&["run", "verify", "@last"]).code(0);
    scratch.kb(&["run", "prune", "--older-than", "0s", "--keep", "1"]).code(0);
    scratch
        .kb(&["run", "verify", "@last"])
        .code(0)
        .says(&["kept      0 (3 more of runs that have been removed)"]);
    assert_eq!(scratch.json(&["run", "output", "@last", "a", "--json"]), "hello world");
}

/// Killed before and after its first event, the new run goes on with the results that it keeps.
#[test]
fn a_killed_continuation_goes_on_with_what_it_keeps() {
    let scratch = project();
    ran(&scratch);
    scratch.write("fixed", "");
    edit(&scratch, "echo b >> log; exit 3", "echo b >> log; until test -e go; do sleep 0.02; done");
    let mut child = scratch
        .command()
        .args(["run", "retry", "@last", "--with-current"])
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .start();
    let since = std::time::Instant::now();
    while !scratch.read("log").contains('b') {
        assert!(since.elapsed() < std::time::Duration::from_secs(60), "step b does not start");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(0);
    assert!(!ran(&scratch).contains(&"a".to_owned()), "a runs again");
    scratch.kb(&["run", "verify", "@last"]).code(0).says(&["kept      3"]);
    // As if it was killed before its first event.
    let database = database(&scratch);
    let run = scratch.last_run();
    let numbers = "(SELECT number FROM runs WHERE run = ?1)";
    let last: i64 = database
        .query_row(&format!("SELECT number FROM runs WHERE number = {numbers}"), [&run], |row| {
            row.get(0)
        })
        .unwrap();
    let range = (last << 40, (last + 1) << 40);
    database.execute("DELETE FROM events WHERE position >= ?1 AND position < ?2", range).unwrap();
    database.execute(&format!("UPDATE runs SET last_seq = 0, status = 'running', ended_at = NULL, head = NULL WHERE number = {numbers}"), [&run]).unwrap();
    scratch.kb(&["run", "resume", "@last"]).code(0);
    let again = ran(&scratch);
    assert!(!again.contains(&"a".to_owned()) && again.contains(&"c".to_owned()), "{again:?}");
}

#[test]
fn a_run_from_a_step_takes_the_results_before_it_from_the_last_run() {
    let scratch = Scratch::new(&[("playbooks/p.yml", STEPS)]);
    let refused = scratch.kb(&["playbook", "run", "p", "--from", "b"]).code(2);
    refused.says(&["KB0562", "has not run yet", "--only b"]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    ran(&scratch);
    scratch.write("fixed", "");
    edit(&scratch, "exit 3", "true");
    scratch
        .kb(&["playbook", "run", "p", "--from", "b"])
        .code(0)
        .says(&["kept  a\n", "runs  b     requested"]);
    assert_eq!(ran(&scratch), ["b", "c", "each 3", "last"]);
    scratch
        .kb(&["playbook", "run", "p", "--from", "bee"])
        .code(4)
        .says(&["there is no step `bee`"]);
}

#[test]
fn steps_can_be_selected() {
    let scratch = Scratch::new(&[("playbooks/p.yml", STEPS)]);
    scratch.write("fixed", "");
    edit(&scratch, "exit 3", "true");
    scratch.kb(&["playbook", "run", "p", "--only", "b"]).code(0);
    assert_eq!(ran(&scratch), ["a", "b", "last"]);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(step(&view, "each")["reason"], "not selected");
    scratch.kb(&["playbook", "run", "p", "--skip", "b", "--skip", "last"]).code(0);
    assert_eq!(ran(&scratch), ["a", "each 1", "each 2", "each 3"]);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(step(&view, "c")["reason"], "`b` was skipped");
    scratch
        .kb(&["playbook", "run", "p", "--only", "bee"])
        .code(4)
        .says(&["there is no step `bee`"]);
    // A step that was left out has no result to keep.
    scratch
        .kb(&["playbook", "run", "p", "--from", "c"])
        .code(0)
        .says(&["runs  b     not selected in the earlier run"]);
}

#[test]
fn one_step_is_retried_alone() {
    let scratch = project();
    ran(&scratch);
    scratch.write("fixed", "");
    let said = scratch.kb(&["run", "retry", "@last", "--only", "each"]).code(1);
    said.says(&["b", "KB0558"]);
    assert_eq!(ran(&scratch), ["each 3"]);
    let fixed = "schema: kb.playbook/1\nid: q\nsteps:\n  - {id: a, run: test -e ok}\n  - {id: b, run: echo b >> log, dependsOn: [a]}\n";
    scratch.write("playbooks/q.yml", fixed);
    scratch.kb(&["playbook", "run", "q"]).code(1);
    scratch.write("ok", "");
    scratch
        .kb(&["run", "retry", "@last", "--only", "a"])
        .code(1)
        .says(&["`b` has not run", "KB0579"]);
    assert_eq!(ran(&scratch), [""; 0]);
    scratch.kb(&["run", "retry", "@last"]).code(0);
    assert_eq!(ran(&scratch), ["b"]);
    scratch.kb(&["run", "retry", "@last", "--param", "x=1"]).code(2).says(&["--with-current"]);
}

#[test]
fn starting_over_after_an_edit_names_the_other_way() {
    let scratch = project();
    let note = "keeps the steps that did not change";
    let says = |said: &Said| said.err.contains(note);
    assert!(!says(&scratch.kb(&["playbook", "run", "p"])), "nothing was edited");
    edit(&scratch, "exit 3", "true");
    let said = scratch.kb(&["playbook", "run", "p"]);
    assert!(says(&said), "{}", said.err);
    said.says(&["note: the last run", "is failed after 1 step succeeded", "--with-current"]);
    scratch.write("fixed", "");
    scratch.kb(&["playbook", "run", "p"]).code(0);
    edit(&scratch, "true", "true # a comment");
    assert!(!says(&scratch.kb(&["playbook", "run", "p"])), "the last run succeeded");
}

/// Model calls that were paid for are not made again, unless what the model saw has changed.
#[test]
fn a_specialist_step_is_kept_until_its_definition_or_a_file_that_it_read_changes() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: think, specialist: thinker, task: think}\n  - {id: check, run: test -e ok, dependsOn: [think]}\n";
    let specialist =
        "schema: kb.specialist/1\nid: thinker\nrole: You think.\ntools: [\"fs:read\"]\n";
    let script = "schema: kb.script/1\nsteps:\n  think:\n    - calls: [{tool: \"fs:read\", args: {path: notes.md}}]\n    - output: {summary: thought}\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        ("specialists/thinker/specialist.yml", specialist),
        (".kb/specialists/thinker/specialist.yml", specialist),
        ("script.yml", script),
        ("notes.md", "one\n"),
    ]);
    std::fs::remove_dir_all(scratch.root().join("specialists")).unwrap();
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(1);
    let retry = || scratch.kb(&["run", "retry", "@last", "--with-current"]).code(1);
    retry().says(&["kept  think\n"]);
    let path = ".kb/specialists/thinker/specialist.yml";
    scratch.write(path, &format!("# A comment.\n{specialist}"));
    retry().says(&["kept  think\n"]);
    scratch.write("notes.md", "two\n");
    retry().says(&["runs  think  it read `notes.md`, which has changed since"]);
    retry().says(&["kept  think\n"]);
    scratch.write(path, &specialist.replace("You think.", "You think hard."));
    retry().says(&["runs  think  the specialist `thinker` changed"]);
}

#[test]
fn an_expression_is_evaluated_with_the_values_of_a_run() {
    let text = "schema: kb.playbook/1\nid: p\nparams: [{name: key, type: secret, required: true}]\nsteps:\n  - {id: a, set: {n: [1, 2, 3], text: hi}}\n  - {id: each, forEach: {in: '{{a.output.n}}', as: n, key: 'k{{n}}'}, env: {N: 'no {{n}}'}, run: '[ \"$N\" != \"no 2\" ]'}\n  - {id: c, run: echo x, dependsOn: [each]}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let run = |command: &mut std::process::Command| {
        command.env("KEY", "hunter2hunter2");
    };
    scratch.kb_with(&["playbook", "run", "p", "--param", "key=env:KEY"], run).code(1);
    let eval = |args: &[&str]| scratch.kb(&[&["eval"], args].concat());
    for (args, value) in [
        (&["{{ a.output.n | length }}"][..], "3\n"),
        (&["a.output.n | sum"], "6\n"),
        (&["{{a.output.text}} there"], "hi there\n"),
        (&["a.output.text", "--json"], "\"hi\"\n"),
        (&["each.status"], "failed\n"),
        (&["n * 10", "--step", "each[k3]"], "30\n"),
        (&["{{env.N}}", "--step", "each[k2]"], "no 2\n"),
        (&["run.failed | length", "--run", "@last"], "2\n"),
        (&["params.key"], "«secret:env:KEY»\n"),
    ] {
        assert_eq!(eval(args).code(0).out, value, "{args:?}");
    }
    eval(&["{{ a.outptu }}"]).code(2).says(&["a.outptu", "expression:1:"]);
    eval(&["{{ b.output }}"]).code(2).says(&["KB0302", "`b` is neither a parameter nor a step"]);
    eval(&["c.output"]).code(2).says(&["KB0320", "undefined"]);
    eval(&["n", "--step", "each[k9]"]).code(4).says(&["there is no step `each[k9]`"]);
    eval(&["1", "--run", "zzz"]).code(4).says(&["there is no run `zzz`"]);
}

/// A gate that was edited judges the work that was paid for; it is done again only if the gate refutes it.
#[test]
fn an_edited_gate_judges_the_result_of_a_specialist_again() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - id: think\n    specialist: thinker\n    task: think\n    verify: {checks: [{expr: \"{{think.output.size}} > 9\"}]}\n    maxAttempts: 1\n  - {id: size, set: {of: \"{{think.output.size}}\"}}\n  - {id: use, specialist: thinker, task: \"use {{size.output.of}}\"}\n  - {id: check, run: test -e ok, dependsOn: [use]}\n";
    let specialist = "schema: kb.specialist/1\nid: thinker\nrole: You think.\ntools: [\"fs:read\", \"fs:write\"]\noutput:\n  schema: {size: integer}\n";
    let script = |think: u32| {
        format!(
            "schema: kb.script/1\nsteps:\n  think:\n    - calls: [{{tool: \"fs:write\", args: {{path: made.txt, content: \"{think}\"}}}}]\n    - output: {{summary: done, size: {think}}}\n  use:\n    - calls: [{{tool: \"fs:write\", args: {{path: used.txt, content: \"{think}\"}}}}]\n    - output: {{summary: done, size: {think}}}\n"
        )
    };
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/thinker/specialist.yml", specialist),
        ("script.yml", &script(5)),
    ]);
    // The gate of the first run is wrong: the work is done, and refuted.
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(1);
    let first = scratch.last_run();
    edit(&scratch, "size}} > 9", "size}} > 4");
    let retry = || scratch.kb(&["run", "retry", "@last", "--with-current"]);
    let said = retry().code(1);
    said.says(&[
        "kept  think if its gate accepts the result: `verify` changed",
        "runs  use    blocked in the earlier run",
    ]);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    let think = step(&view, "think");
    assert_eq!((&think["status"], &think["keptFrom"]), (&json!("succeeded"), &json!(first)));
    assert_eq!(view["base"]["verified"], json!({"think": "`verify` changed"}));
    assert_eq!(step(&view, "use").get("keptFrom"), None);
    let calls = |name: &str| {
        step(&scratch.json(&["run", "show", "@last", "--json"]), name)["usage"]["modelCalls"]
            .clone()
    };
    assert_eq!(calls("think"), json!(0), "{view}");
    scratch.kb(&["run", "verify", "@last"]).code(0);
    // What comes after a step whose result passes again is kept too.
    edit(&scratch, "size}} > 4", "size}} > 3");
    let said = retry().code(1);
    said.says(&[
        "kept  think if its gate accepts the result: `verify` changed",
        "kept  use if its gate accepts the result: after `size`",
    ]);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    assert_eq!(step(&view, "think")["keptFrom"], first.as_str());
    assert!(step(&view, "use")["keptFrom"].is_string(), "{view}");
    assert_eq!((calls("think"), calls("use")), (json!(0), json!(0)));
    scratch.kb(&["run", "verify", "@last"]).code(0);
    // A gate that refutes the result has the work done again, and then that of the steps after it.
    edit(&scratch, "size}} > 3", "size}} > 6");
    scratch.write("script.yml", &script(7));
    let said =
        scratch.kb(&["run", "retry", "@last", "--with-current", "--script", "script.yml"]).code(1);
    said.says(&["kept  think if its gate accepts the result"]);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    for name in ["think", "use"] {
        let step = step(&view, name);
        assert_eq!((&step["status"], step.get("keptFrom")), (&json!("succeeded"), None), "{view}");
    }
    assert_eq!(scratch.json(&["run", "output", "@last", "use", "--json"])["size"], 7);
    assert_eq!(scratch.read("used.txt"), "7");
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn a_killed_gate_of_a_kept_result_goes_on_without_a_model() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - id: think\n    specialist: thinker\n    task: think\n    verify: {checks: [{expr: \"{{think.output.size}} > 9\"}]}\n    maxAttempts: 1\n";
    let specialist = "schema: kb.specialist/1\nid: thinker\nrole: You think.\ntools: [\"fs:read\"]\noutput:\n  schema: {size: integer}\n";
    let script = "schema: kb.script/1\nsteps:\n  think:\n    - output: {summary: done, size: 5}\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/thinker.yml", specialist),
        ("script.yml", script),
    ]);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(1);
    let first = scratch.last_run();
    edit(
        &scratch,
        "{expr: \"{{think.output.size}} > 9\"}",
        "{command: [sh, -c, 'touch began; until test -e go; do sleep 0.02; done']}",
    );
    let mut command = scratch.command();
    command.args(["run", "retry", "@last", "--with-current"]);
    let nothing = std::process::Stdio::null;
    let mut child = command.stdout(nothing()).stderr(nothing()).start();
    until("the gate does not run", || scratch.has("began"));
    child.kill().unwrap();
    child.wait().unwrap();
    scratch.write("go", "");
    scratch.kb(&["run", "resume", "@last"]).code(0);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    let think = step(&view, "think");
    assert_eq!((&think["keptFrom"], &think["attempts"]), (&json!(first), &json!(1)), "{view}");
    assert_eq!(view["usage"]["modelCalls"], 0, "{view}");
    let audit = scratch.json(&["run", "verify", "@last", "--json"]);
    assert_eq!((&audit["holds"], &audit["kept"]), (&json!(true), &json!(1)), "{audit}");
    // The record of the earlier run says something else now.
    let change = "UPDATE events SET body = replace(body, '\"size\":5', '\"size\":6') WHERE position = \
                  (SELECT min(position) FROM events WHERE body LIKE '%attemptEnded%\"size\":5%')";
    assert_eq!(database(&scratch).execute(change, []).unwrap(), 1);
    let said = scratch.kb(&["run", "verify", "@last"]).code(1);
    said.says(&["KB0865", "the result of `think`, which a gate of this run judged again", &first]);
}

#[test]
fn a_step_whose_change_was_undone_runs_again() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n\
                \x20 - {id: w, run: 'echo x > n.txt; echo w >> ../log', verify: {checks: [{file: n.txt}]}}\n\
                \x20 - {id: kept, run: 'echo y > m.txt; echo kept >> ../log'}\n\
                \x20 - {id: e, run: 'echo new > e.txt; echo e >> ../log', verify: {checks: [{file: {path: e.txt, changed: true}}]}}\n\
                \x20 - {id: after, dependsOn: [w, kept, e], run: 'test -e ok'}\n";
    let again = |args: &[&str]| {
        let scratch = Scratch::new(&[("playbooks/p.yml", text), ("e.txt", "old\n")]);
        scratch.kb(&["playbook", "run", "p"]).code(1);
        scratch.write("e.txt", "old\n");
        std::fs::remove_file(scratch.root().join("n.txt")).unwrap();
        scratch.write("m.txt", "edited by a person");
        scratch.write("ok", "");
        scratch.kb(&[&["run", "retry", "@last"], args].concat()).code(0).says(&["n.txt"]);
        assert!(scratch.has("n.txt"));
        assert_eq!(scratch.read("e.txt"), "new\n");
        assert_eq!(scratch.read("m.txt"), "edited by a person");
    };
    again(&[]);
    again(&["--with-current"]);
}

#[test]
fn the_second_of_two_changes_of_a_file_is_missed_alone() {
    let step = |id: &str, after: &str| {
        let check = "checks: [{file: {path: a.txt, changed: true}}]";
        format!("  - {{id: {id}, {after}run: 'echo {id} >> a.txt', verify: {{{check}}}}}\n")
    };
    let text = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n{}{}  - {{id: z, dependsOn: [v], run: 'test -e ok'}}\n",
        step("w", ""),
        step("v", "dependsOn: [w], "),
    );
    for (left, after) in [("a\nw\n", "a\nw\nv\n"), ("a\n", "a\nw\nv\n"), ("other\n", "other\n")] {
        let scratch = Scratch::new(&[("playbooks/p.yml", text.as_str()), ("a.txt", "a\n")]);
        scratch.kb(&["playbook", "run", "p"]).code(1);
        scratch.write("a.txt", left);
        scratch.write("ok", "");
        scratch.kb(&["run", "retry", "@last"]).code(0);
        assert_eq!(scratch.read("a.txt"), after, "{left}");
    }
}

#[test]
fn an_undone_change_of_a_child_run_is_made_again() {
    let check = "checks: [{file: {path: a.txt, changed: true}}]";
    let child = |more: &str| {
        format!(
            "schema: kb.playbook/1\nid: c\nsteps:\n  - {{id: w, run: 'echo done >> a.txt', verify: {{{check}}}}}\n{more}"
        )
    };
    let fails = "  - {id: z, dependsOn: [w], run: 'test -e ok'}\n";
    // The child run failed, or it succeeded and a step beside it failed.
    for (child, beside) in
        [(child(fails), ""), (child(""), "  - {id: z, dependsOn: [k], run: 'test -e ok'}\n")]
    {
        let text =
            format!("schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: k, playbook: c}}\n{beside}");
        for args in [&[][..], &["--with-current"]] {
            let files =
                [("playbooks/p.yml", text.as_str()), ("playbooks/c.yml", &child), ("a.txt", "a\n")];
            let scratch = Scratch::new(&files);
            scratch.kb(&["playbook", "run", "p"]).code(1);
            assert_eq!(scratch.read("a.txt"), "a\ndone\n");
            scratch.write("a.txt", "a\n");
            scratch.write("ok", "");
            scratch.kb(&[&["run", "retry", "@last"], args].concat()).code(0);
            assert_eq!(scratch.read("a.txt"), "a\ndone\n", "{args:?} {beside}");
        }
    }
}

#[test]
fn a_step_whose_file_checks_do_not_hold_any_more_runs_again() {
    for (more, work, check) in [
        ("", "rm a.txt", "{file: {path: a.txt, absent: true}}"),
        ("", "rm a.txt", "{file: {path: 'a.*', absent: true}}"),
        ("evidence: full, ", "chmod +x a.txt", "{command: [test, -x, a.txt]}"),
        ("evidence: none, ", "echo x > a.txt", "{file: {path: a.txt, count: {pattern: x}}}"),
    ] {
        let text = format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n\
             \x20 - {{id: w, {more}run: '{work}', verify: {{checks: [{check}]}}}}\n\
             \x20 - {{id: after, dependsOn: [w], run: 'test -e ok'}}\n"
        );
        let scratch = Scratch::new(&[("playbooks/p.yml", text.as_str()), ("a.txt", "a\n")]);
        scratch.kb(&["playbook", "run", "p"]).code(1);
        scratch.write("a.txt", "a\n");
        let plain = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(scratch.root().join("a.txt"), plain).unwrap();
        scratch.write("ok", "");
        scratch.kb(&["run", "retry"]).code(0).says(&["was undone"]);
    }
}

#[test]
fn a_verdict_over_a_changed_file_is_stale_after_it_was_edited() {
    for check in ["{file: {path: a.txt, changed: true}}", "{diff: {only: [a.txt]}}"] {
        let text = format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n\
             \x20 - {{id: w, run: 'echo x >> a.txt', verify: {{checks: [{check}]}}}}\n\
             \x20 - {{id: after, dependsOn: [w], run: 'test -e ok'}}\n"
        );
        let scratch = Scratch::new(&[("playbooks/p.yml", text.as_str()), ("a.txt", "a\n")]);
        scratch.kb(&["playbook", "run", "p"]).code(1);
        scratch.write("a.txt", "other\n");
        scratch.write("ok", "");
        scratch.kb(&["run", "retry"]).code(0).says(&["the verdict on `w` is stale: `a.txt`"]);
    }
}

#[test]
fn an_item_whose_change_was_undone_runs_again() {
    let script = r#"if [ "$1" = b ] && [ ! -e ok ]; then exit 1; fi; echo done >> "$1.txt""#;
    let text = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - id: e\n    forEach: [a, b]\n    run: [sh, -c, '{script}', x, '{{{{item}}}}']\n    \
         verify: {{checks: [{{file: {{path: '{{{{item}}}}.txt', changed: true}}}}]}}\n"
    );
    let files = [("playbooks/p.yml", text.as_str()), ("a.txt", "a\n"), ("b.txt", "b\n")];
    let scratch = Scratch::new(&files);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    scratch.write("a.txt", "a\n");
    scratch.write("ok", "");
    scratch.kb(&["run", "retry"]).code(0).says(&["`e[0]` was undone"]);
    assert_eq!(
        (scratch.read("a.txt"), scratch.read("b.txt")),
        ("a\ndone\n".into(), "b\ndone\n".into())
    );
}
