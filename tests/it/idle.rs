//! `timeout: {idle: …}`: silent commands and models, and commands that write.

use crate::scratch::Scratch;

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
