//! Workflows of Dagu run as Dagu 1.30 runs them. What is expected here was seen there.

use crate::scratch::{Said, Scratch};

/// Imports a workflow and runs it; its folder has what the commands wrote.
fn imported(text: &str) -> (Scratch, Said) {
    let scratch = Scratch::new(&[("w.yaml", text)]);
    let said = scratch.kb(&["playbook", "import", "w.yaml", "--from", "dagu"]).code(0);
    (scratch, said)
}

#[test]
fn a_step_without_depends_waits_for_the_one_above_it() {
    let (scratch, _) = imported(
        "steps:
  - {name: a, command: 'sleep 0.2; echo a >> order'}
  - {name: b, command: 'echo b >> order', depends: [a]}
  - {name: c, command: 'echo c >> order; exit 1'}
  - {name: d, command: 'echo d >> free', depends: []}
  - {name: e, command: 'echo e >> free', depends: c}
  - {name: f, command: 'echo f >> free'}
",
    );
    scratch.kb(&["playbook", "run", "w"]).code(1);
    assert_eq!(scratch.read("order"), "a\nb\nc\n");
    assert_eq!(scratch.read("free"), "d\n", "what follows a failed step does not run");
}

#[test]
fn commands_have_the_shell_options_of_dagu() {
    let (scratch, _) = imported(
        "type: graph
steps:
  - {name: unset, command: 'echo \"x$1y\" > unset'}
  - {name: pipe, command: 'false | cat; echo on > pipe'}
  - {name: stops, command: \"false\\necho on > stops\", continueOn: failed}
  - {name: goes-on, command: bash, script: \"false\\necho on > goes-on\"}
  - {name: each, command: ['A=1', 'cd /', 'echo \"$PWD [$A]\" > each']}
",
    );
    scratch.kb(&["playbook", "run", "w"]).code(0);
    assert_eq!(scratch.read("unset"), "xy\n");
    assert_eq!(scratch.read("pipe"), "on\n");
    assert!(!scratch.root().join("stops").exists());
    assert_eq!(scratch.read("goes-on"), "on\n");
    assert!(scratch.read("each").ends_with("project []\n"), "{}", scratch.read("each"));
}

#[test]
fn a_script_is_executed_by_the_program_of_its_first_line() {
    let script = "#!/usr/bin/env python3\nopen('made', 'w').write('by python')\n";
    let text = format!("steps:\n  - script: |\n      {}\n", script.replace('\n', "\n      "));
    let (scratch, _) = imported(&text);
    scratch.kb(&["playbook", "run", "w"]).code(0);
    assert_eq!(scratch.read("made"), "by python");
    // Dagu puts the value into the text.
    let text = text.replace("by python", "$N").replace("steps:", "params: [{N: 5}]\nsteps:");
    let (scratch, said) = imported(&text);
    said.says(&["`${N}` in a script of `python3` is not mapped"]);
    scratch.kb(&["playbook", "run", "w"]).code(1);
    assert!(!scratch.root().join("made").exists());
}

#[test]
fn a_precondition_that_compares_a_variable_is_a_condition() {
    let (scratch, _) = imported(
        "params: [{WHERE: eu}]
env: [{MODE: prod}]
type: graph
steps:
  - {name: get, command: \"echo '  yes '\", output: GOT}
  - {name: a, command: 'echo a >> ran', depends: get, preconditions: [{condition: \"${GOT}\", expected: 'yes'}, {condition: $MODE, expected: prod}]}
  - {name: b, command: 'echo b >> ran', depends: a, preconditions: {condition: $WHERE, expected: us}}
  - {name: c, command: 'echo c >> ran', depends: b}
",
    );
    scratch.kb(&["playbook", "run", "w"]).code(0).says(&["2 skipped"]);
    assert_eq!(scratch.read("ran"), "a\n");
    let (scratch, said) = imported(
        "steps:\n  - {name: a, command: 'touch ran', preconditions: [{condition: $NONE, expected: x}]}\n",
    );
    said.says(&["`${NONE}` in a precondition is not mapped"]);
    scratch.kb(&["playbook", "run", "w"]).code(1);
    assert!(!scratch.root().join("ran").exists());
}

#[test]
fn variables_about_the_run_have_their_values_or_fail() {
    let (scratch, _) = imported(
        "name: nightly\nsteps:\n  - {name: say it, command: 'echo \"$DAG_NAME ${DAG_RUN_STEP_NAME}\" > said; test -n \"$DAG_RUN_ID\"'}\n",
    );
    scratch.kb(&["playbook", "run", "nightly"]).code(0);
    assert_eq!(scratch.read("said"), "nightly say it\n");
    for (name, reference) in [("log", "${DAG_RUN_LOG_FILE}"), ("file", "${first.stdout}")] {
        let (scratch, said) = imported(&format!(
            "steps:\n  - {{id: first, command: pwd}}\n  - {{name: {name}, command: 'touch ran; cat {reference}'}}\n"
        ));
        said.says(&[&format!("`{reference}` is not mapped")]);
        scratch.kb(&["playbook", "run", "w"]).code(1);
        assert!(!scratch.root().join("ran").exists());
    }
}

/// Runs a workflow; returns the end of the run and the states of its steps, as Dagu has them.
fn ran(text: &str, code: i32) -> (Scratch, String) {
    let (scratch, _) = imported(text);
    scratch.kb(&["playbook", "run", "w"]).code(code);
    let shown: serde_json::Value =
        serde_json::from_str(&scratch.kb(&["run", "show", "@last", "--json"]).out).unwrap();
    let steps = shown["steps"].as_array().unwrap().iter();
    let state = |step: &serde_json::Value| {
        format!("{}:{}", step["step"].as_str().unwrap(), step["status"].as_str().unwrap())
    };
    let states: Vec<String> = steps.map(state).collect();
    (scratch, states.join(" "))
}

#[test]
fn preconditions_with_commands_and_patterns_decide_as_in_dagu() {
    for (precondition, holds) in [
        ("\"test -d .kb\"", true),
        ("\"false; true\"", true),
        ("\"false\"", false),
        ("{condition: \"false\", negate: true}", true),
        ("{command: test -f absent}", false),
        ("{condition: \"`printf 'x\\\\n  main'`\", expected: \"x\"}", true),
        ("{condition: \"`printf 'x\\\\n  main'`\", expected: \"main\"}", false),
        ("{condition: \"`echo 12; exit 3`\", expected: \"12\"}", false),
        ("{condition: \"`echo x12`\", expected: \"re:1[0-9]$\"}", true),
        ("{condition: \"v-${P}\", expected: \"v-q r\"}", true),
        ("{condition: \"$P\", expected: \"re:^r\"}", false),
        ("{condition: \"$Q\", expected: \"5\"}", true),
    ] {
        let text = format!(
            "params: [{{P: q r}}]\nsteps:\n  - {{name: a, command: touch made, env: [{{Q: \"5\"}}], preconditions: \
             [{precondition}]}}\n  - {{name: b, command: touch later}}\n"
        );
        let (scratch, _) = ran(&text, 0);
        let found = (scratch.has("made"), scratch.has("later"));
        assert_eq!(
            found,
            (holds, holds),
            "{precondition}: {}",
            scratch.read(".kb/playbooks/w.yml")
        );
    }
    // What Dagu 2 compares as a text, and patterns that `grep` reads in another way.
    for (step, precondition) in [
        ("run", "{condition: \"`echo x`\", expected: \"x\"}"),
        ("command", "{condition: \"$P\", expected: \"re:(?i)Q\"}"),
        ("command", "{condition: \"$UNKNOWN\", expected: \"re:x\"}"),
    ] {
        let text = format!(
            "params: [{{P: q r}}]\nsteps:\n  - {{name: a, {step}: touch made, preconditions: [{precondition}]}}\n"
        );
        let (scratch, said) = imported(&text);
        said.says(&["precondition"]);
        scratch.kb(&["playbook", "run", "w"]).code(1);
        assert!(!scratch.has("made"), "{precondition}");
    }
    let whole = "preconditions: [{condition: \"false\"}]\nsteps:\n  - {name: a, command: touch made}\nhandlerOn: \
                 {exit: {command: touch exited}}\n";
    let (scratch, _) = ran(whole, 0);
    assert!(!scratch.has("made") && scratch.has("exited"));
}

#[test]
fn continue_on_tolerates_what_dagu_tolerates() {
    let run = |command: &str, on: &str, code: i32| {
        ran(
            &format!(
                "type: graph\nsteps:\n  - {{name: a, command: \"{command}\", continueOn: {on}}}\n  - {{name: b, command: \
                 touch made, depends: [a]}}\n"
            ),
            code,
        )
    };
    for (command, on, code, a, b) in [
        ("exit 3", "{exitCode: [3]}", 0, "failed", true),
        ("exit 3", "{exitCode: 4}", 1, "failed", false),
        ("exit 3", "{exitCode: [3], markSuccess: true}", 0, "succeeded", true),
        ("exit 3", "{exitCode: [4], markSuccess: true}", 1, "failed", false),
        ("false; exit 0", "{failure: true, markSuccess: true}", 0, "succeeded", true),
        ("echo has warn in; exit 3", "{output: warn}", 0, "failed", true),
        ("echo has warn in; exit 3", "{output: [zzz, 're:^has.*in$']}", 0, "failed", true),
        ("echo has warn in >&2; exit 3", "{output: warn}", 1, "failed", false),
        ("echo warn; exit 3", "{output: warn, markSuccess: true}", 0, "succeeded", true),
        ("exit 1", "{failure: true, exitCode: [3]}", 0, "failed", true),
    ] {
        let (scratch, states) = run(command, on, code);
        assert!(states.starts_with(&format!("a:{a}")), "{command} {on}: {states}");
        assert_eq!(scratch.has("made"), b, "{command} {on}: {states}");
    }
    for (on, made) in [("{skipped: true}", true), ("skipped", true), ("{failure: true}", false)] {
        let text = format!(
            "type: graph\nsteps:\n  - {{name: a, command: echo a, preconditions: [\"false\"], continueOn: {on}}}\n  - \
             {{name: b, command: touch made, depends: [a]}}\n"
        );
        let (scratch, states) = ran(&text, 0);
        assert_eq!(scratch.has("made"), made, "{on}: {states}");
    }
    let (_, said) =
        imported("steps:\n  - {name: a, command: exit 1, continueOn: {output: 're:a*?'}}\n");
    said.says(&["`continueOn: re:a*?` is not mapped"]);
    let lost = "steps:\n  - {name: a, command: 'echo v; exit 1', output: X, continueOn: {failure: true}}\n  - {name: b, \
                command: 'echo $X'}\n";
    imported(lost).1.says(&["`${X}`, the output of a step that may fail, is not mapped"]);
}

#[test]
fn files_for_the_output_folders_and_shells_are_those_of_dagu() {
    let text = "workingDir: sub
steps:
  - {name: a, command: 'echo hi; echo no >&2', stdout: out.txt, stderr: err.txt, output: X}
  - {name: b, command: 'echo $X; pwd', stdout: out.txt, dir: deep}
  - {name: c, shell: bash, command: 'false | true; false; echo on $UNSET > shell'}
  - {name: d, shell: 'bash -e -u', command: 'touch strict; false; touch stops', continueOn: failed}
  - {name: e, shell: python3, command: 'open(\"python\", \"w\").write(\"5\")'}
  - {name: f, command: 'exit 3', stdout: late.txt}
";
    let (scratch, states) = ran(text, 1);
    let out = scratch.read("sub/out.txt");
    assert!(out.starts_with("hi\nhi\n/") && out.ends_with("/sub/deep\n"), "{out}");
    assert_eq!(scratch.read("sub/err.txt"), "no\n");
    assert_eq!([scratch.read("sub/shell"), scratch.read("sub/python")], ["on\n", "5"]);
    assert!(scratch.has("sub/strict") && !scratch.has("sub/stops"), "{states}");
    assert!(states.ends_with("f:failed"), "{states}");
    for step in ["stdout: 'out-$D'", "shell: [bash, -x]", "shell: python3, env: [{A: '`x`'}]"] {
        let (scratch, said) =
            imported(&format!("steps:\n  - {{name: a, command: 'touch made $D', {step}}}\n"));
        said.says(&["is not mapped"]);
        scratch.kb(&["playbook", "run", "w"]).code(1);
        assert!(!scratch.has("made"), "{step}");
    }
}

#[test]
fn repetitions_and_retries_end_as_in_dagu() {
    for (policy, test, lines, code) in [
        ("repeat: until, exitCode: [0], limit: 10", "= 3", 3, 0),
        ("repeat: until, exitCode: [0], limit: 3", "= 30", 3, 1),
        ("repeat: while, exitCode: [1], limit: 10", "-gt 2", 3, 0),
        ("repeat: while, exitCode: [0]", "-lt 3", 3, 1),
    ] {
        let text = format!(
            "steps:\n  - {{name: a, command: 'echo x >> n; test $(wc -l < n) {test}', repeatPolicy: {{{policy}, \
             intervalSec: 0}}}}\n"
        );
        let (scratch, _) = ran(&text, code);
        assert_eq!(scratch.read("n").lines().count(), lines, "{policy}");
    }
    for (code, lines) in [(1, 1), (3, 3)] {
        let text = format!(
            "steps:\n  - {{name: a, command: 'echo x >> n; exit {code}', retryPolicy: {{limit: 2, intervalSec: 0, \
             exitCode: [3]}}}}\n"
        );
        let (scratch, _) = ran(&text, 1);
        assert_eq!(scratch.read("n").lines().count(), lines);
    }
    let policy = |text: &str| {
        let text =
            format!("steps:\n  - {{name: a, command: echo, retryPolicy: {{limit: 2, {text}}}}}\n");
        let (scratch, _) = imported(&text);
        let text = scratch.read(".kb/playbooks/w.yml").replace('"', "");
        text.split("retry:").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let wanted = "max: 2 backoff: fixed initial: 5s maxDelay: 5s";
    assert_eq!(policy("intervalSec: 5"), wanted);
    let wanted = "max: 2 backoff: exponential initial: 5s maxDelay: 9s";
    assert_eq!(policy("intervalSec: 5, backoff: true, maxIntervalSec: 9"), wanted);
}

#[test]
fn computed_values_are_computed_once_and_read_by_every_step() {
    let text = "params: [{D: '`echo 7`'}]
env: [{X: '`echo x >> n; echo 5`'}, {Y: 'a-$X-${D}'}]
steps:
  - {name: a, command: 'echo $X $Y $D > a'}
  - {name: b, command: \"bash -c 'echo $X $Y' > b\"}
";
    let (scratch, _) = ran(text, 0);
    assert_eq!([scratch.read("a"), scratch.read("b")], ["5 a-5-7 7\n", "5 a-5-7\n"]);
    assert_eq!(scratch.read("n"), "x\n");
    scratch.kb(&["playbook", "run", "w", "--param", "D=8"]).code(0);
    assert_eq!(scratch.read("a"), "5 a-5-8 8\n");
    for env in ["$HOME_OF/x", "$(echo 5)", "${A:-b}"] {
        let (_, said) =
            imported(&format!("env: [{{X: '{env}'}}]\nsteps: [{{name: a, command: 'echo $X'}}]\n"));
        said.says(&["the value of the variable `X` is computed and is not mapped"]);
    }
    let two = "consts: [{service: api}, {url: 'http://${consts.service}/'}]
params: [{name: r, eval: $(printf ready)}]
steps:
  - {id: a, run: 'echo ${consts.url} ${params.r} > a', preconditions: [{eval: $(echo yes), expected: yes}]}
";
    let (scratch, _) = ran(two, 0);
    assert_eq!(scratch.read("a"), "http://api/ ready\n");
}

#[test]
fn several_schedules_and_zones_are_triggers() {
    let (scratch, _) = imported(
        "schedule: ['0 9 * * *', 'CRON_TZ=Europe/Berlin 0 14 * * *']\nmaxActiveRuns: 1\nsteps: [{name: a, command: pwd}]\n",
    );
    scratch.kb(&["playbook", "validate"]).code(0);
    let text = scratch.read(".kb/playbooks/w.yml");
    for part in ["name: schedule-2", "zone: Europe/Berlin", "onConflict: queue"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn outputs_that_a_script_of_dagu_2_writes_are_read_by_later_steps() {
    let text = |writes: &str| {
        format!(
            "steps:\n  - id: build\n    outputs: [{{name: image}}, {{name: tag}}]\n    run: |\n      echo seen\n      {writes}\n  \
             - {{id: use, depends: build, run: \"echo '${{steps.build.outputs.image}}' ${{steps.build.outputs.tag}} > \
             used\"}}\n"
        )
    };
    let good = "printf 'image=a b\\ntag=1\\ntag=2\\n' >> \"$DAGU_OUTPUT_FILE\"";
    let (scratch, _) = ran(&text(good), 0);
    assert_eq!(scratch.read("used"), "a b 2\n");
    for bad in ["echo other=1 >> $DAGU_OUTPUT_FILE", "echo image=a >> $DAGU_OUTPUT_FILE", "exit 1"]
    {
        let (scratch, _) = ran(&text(bad), 1);
        assert!(!scratch.has("used"), "{bad}");
    }
}

#[test]
fn requests_of_dagu_become_requests() {
    let text = "env: [{TOKEN: t}]
steps:
  - name: post
    executor:
      type: http
      config: {headers: {Authorization: 'Bearer ${TOKEN}'}, query: {q: a b}, body: '{\"n\": 1}', timeout: 9, silent: true}
    command: POST https://127.0.0.1:9/x
";
    let (scratch, _) = imported(text);
    let made = scratch.read(".kb/playbooks/w.yml");
    for part in ["method: POST", "127.0.0.1:9/x", "Bearer t", "q: a b", "timeout: \"9s\""] {
        assert!(made.contains(part), "{part}: {made}");
    }
    // It is made, and refused by the rules for addresses.
    scratch.kb(&["playbook", "run", "w"]).code(1).says(&["127.0.0.1"]);
    for (old, new) in [
        ("${TOKEN}", "${OTHER}"),
        ("https://127", "https://${HOST}"),
        ("silent: true", "skipTLSVerify: true"),
        ("POST", "FETCH"),
    ] {
        let (_, said) = imported(&text.replace(old, new));
        said.says(&["mapped", "without a translation: 1"]);
    }
    let (_, said) = imported("steps:\n  - {name: a, command: 'echo $SHELL'}\n");
    said.says(&["`${SHELL}` is not mapped"]);
}
