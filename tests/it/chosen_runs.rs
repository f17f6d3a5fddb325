//! Which run, step or item a command is about: `@last:PLAYBOOK`, items of a retry, changed files, merges, audits.

use crate::locks::project;
use crate::scratch::Scratch;

#[test]
fn the_last_run_of_a_playbook_has_a_name() {
    let text = |id: &str| {
        format!("schema: kb.playbook/1\nid: {id}\nsteps: [{{id: {id}-s, run: 'true'}}]\n")
    };
    let scratch = Scratch::new(&[("playbooks/a.yml", &text("a")), ("playbooks/b.yml", &text("b"))]);
    for id in ["a", "a", "b"] {
        scratch.kb(&["playbook", "run", id]).code(0);
    }
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["b-s"]);
    scratch.kb(&["run", "show", "@last:a"]).code(0).says(&["a-s"]);
    scratch.kb(&["run", "logs", "@last:b"]).code(0).says(&["b-s"]);
    scratch.kb(&["run", "show", "@last:c"]).code(4).says(&["no run `@last:c`"]);
}

/// Items `a` to `c`, which write their name to `log`; `b` fails until the file `fixed` is there.
const ITEMS: &str = "steps:
  - id: fetch
    forEach: {in: [a, b, c], as: n, key: '{{n}}', onItemError: continue}
    env: {N: '{{n}}'}
    run: 'echo $N >> log; test $N != b || test -e fixed'
  - {id: after, dependsOn: [fetch], run: 'echo after >> log'}
";

#[test]
fn an_item_is_executed_again_with_or_without_what_follows() {
    let scratch = project(ITEMS);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    scratch.write("fixed", "");
    scratch.write("log", "");
    scratch.kb(&["run", "retry", "@last", "--from", "fetch[b]"]).code(0);
    assert_eq!(scratch.read("log"), "b\nafter\n");
    scratch.kb(&["run", "show"]).says(&["fetch[b]  succeeded"]);
    scratch.write("log", "");
    scratch.kb(&["run", "retry", "@last", "--only", "fetch[c]"]).code(0);
    assert_eq!(scratch.read("log"), "c\n");
    scratch
        .kb(&["run", "retry", "@last", "--from", "fetch[d]"])
        .code(4)
        .says(&["fetch[d]", "fetch[a]"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn items_that_a_failed_one_cancelled_run_with_it() {
    let items = ITEMS.replace(", onItemError: continue", ", maxParallel: 1");
    let scratch = project(&items);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    assert_eq!(scratch.read("log"), "a\nb\n");
    scratch.write("fixed", "");
    scratch.kb(&["run", "retry", "@last", "--from", "fetch[b]"]).code(0);
    assert_eq!(scratch.read("log"), "a\nb\nb\nc\nafter\n");
}

#[test]
fn a_failed_run_whose_file_has_changed_is_continued_with_the_current_one() {
    let scratch = project("steps: [{id: a, run: exit 1}]\n");
    let plain = |out: &str| out.contains("kb run retry") && !out.contains("--with-current");
    assert!(plain(&scratch.kb(&["playbook", "run", "p"]).code(1).out));
    assert!(plain(&scratch.kb(&["run", "show"]).out));
    let text = scratch.read(".kb/playbooks/p.yml").replace("exit 1", "exit 0");
    scratch.write(".kb/playbooks/p.yml", &text);
    let run = scratch.last_run();
    let offered = format!("kb run retry {run} --with-current");
    scratch.kb(&["run", "show"]).says(&[&offered]);
    scratch.kb(&["run", "watch"]).says(&[&offered]);
    scratch.kb(&["run", "retry", "@last"]).code(1).says(&[&offered]);
    scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
}

#[test]
fn the_diff_of_a_run_has_what_merges_wrote() {
    let scratch = project(
        "steps: [{id: a, workspace: copy, forEach: {in: [x, y], as: n, key: '{{n}}'}, env: {N: '{{n}}'}, \
         run: 'echo $N > $N.txt'}]\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert!(scratch.has("x.txt"));
    scratch.kb(&["run", "diff"]).code(0).says(&["a[x]", "merged  x.txt", "merged  y.txt"]);
    let one = scratch.kb(&["run", "diff", "@last", "a[y]"]).code(0);
    assert!(one.out.contains("y.txt") && !one.out.contains("x.txt"), "{one:?}");
}

#[test]
fn an_audit_has_the_command_or_the_path_of_each_call() {
    let scratch = project(
        "steps:\n  - {id: w, tool: fs:write, input: {path: a/b.txt, content: x}}\n  \
         - {id: c, tool: shell:exec, input: {command: echo hello}}\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let audit = scratch.kb(&["run", "audit"]).code(0);
    audit.says(&["a/b.txt", "echo hello", "the playbook"]);
    let json = scratch.json(&["run", "audit", "--json"]);
    let calls = json.as_array().unwrap();
    assert!(calls.iter().any(|call| call["args"]["path"] == "a/b.txt"), "{json}");
}

#[test]
fn a_reply_can_be_delivered_without_driving_the_run() {
    let scratch = project(
        "steps:\n  - {id: q, ask: {question: Which?}}\n  - {id: ok, approve: Go?, dependsOn: [q]}\n  \
         - {id: s, dependsOn: [ok], run: 'echo ran > out'}\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let next = format!("next: kb run resume {}", scratch.last_run());
    scratch.kb(&["run", "answer", "@last", "q", "this", "--no-run"]).code(0).says(&[&next]);
    assert_eq!(scratch.json(&["run", "show", "--json"])["steps"][0]["status"], "waiting");
    scratch.kb(&["run", "resume", "@last"]).code(3);
    assert_eq!(scratch.json(&["run", "output", "@last", "q", "--json"]), "this");
    scratch.kb(&["run", "approve", "@last", "--no-run"]).code(0).says(&[&next]);
    assert!(!scratch.has("out"));
    scratch.kb(&["run", "resume", "@last"]).code(0);
    assert!(scratch.has("out"));
}
