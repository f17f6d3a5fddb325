//! Every playbook and workflow of the design documents runs, with a script in place of the model.

use crate::scratch::Scratch;
use serde_json::Value;

fn document(name: &str) -> String {
    let path = format!("{}/tests/definitions/documents/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// A step of a workflow with its agent, the keys of its outputs, and what its prompt must contain.
type Expected<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

/// Runs a workflow whose every step answers `KEY of STEP`, and checks states, outputs and prompts.
fn runs(file: &str, text: &str, param: &str, steps: &[Expected<'_>]) {
    let id = file.trim_end_matches(".md");
    let scratch = Scratch::new(&[(&format!("workflows/{file}"), text)]);
    let mut script = "schema: kb.script/1\nsteps:\n".to_owned();
    for (step, agent, key, _) in steps {
        let profile = format!("---\nname: {agent}\n---\nYou are {agent}.\n");
        scratch.write(&format!("agents/{agent}.md"), &profile);
        let own = if key.is_empty() { String::new() } else { format!("{key}: {key} of {step}, ") };
        script.push_str(&format!("  {step}: [{{output: {{{own}summary: done}}}}]\n"));
    }
    scratch.write("script.yml", &script);
    let valid = scratch.kb(&["playbook", "validate", id]);
    assert_eq!(valid.code, 0, "{file}: {valid:?}");
    let mut run = vec!["playbook", "run", id, "--script", "script.yml"];
    if !param.is_empty() {
        run.extend(["--param", param]);
    }
    scratch.kb(&run).code(0);
    let view = scratch.json(&["run", "show", "@last", "--json"]);
    for (step, _, key, given) in steps {
        let found = view["steps"].as_array().unwrap().iter().find(|s| s["instance"] == *step);
        let found = found.unwrap_or_else(|| panic!("{file}: no `{step}` in {view}"));
        assert_eq!(found["status"], "succeeded", "{file}: {found}");
        let output = scratch.json(&["run", "output", "@last", step, "--json"]);
        if !key.is_empty() {
            assert_eq!(output[key], format!("{key} of {step}"), "{file}: {output}");
        }
        let prompt = scratch.kb(&["run", "logs", "@last", step, "--prompts"]);
        let prompt =
            if prompt.code == 0 { prompt } else { scratch.kb(&["run", "events", "@last"]) };
        prompt.code(0).says(given);
    }
}

#[test]
fn the_workflows_of_004_run_unchanged() {
    runs(
        "research-pipeline.md",
        &document("research-pipeline.md"),
        "topic=tea",
        &[
            ("research", "researcher", "findings", &["Research tea thoroughly"]),
            ("review", "reviewer", "review_report", &["Review findings: findings of research"]),
            (
                "write",
                "writer",
                "",
                &["Write report from findings of research and review_report of review"],
            ),
        ],
    );
    runs(
        "chain.md",
        &document("chain.md"),
        "input=tea",
        &[
            ("step1", "processor-1", "result", &["Process this input: tea"]),
            ("step2", "processor-2", "result", &["Refine this: result of step1"]),
            ("step3", "processor-3", "result", &["Finalize this: result of step2"]),
        ],
    );
    runs(
        "fan-out.md",
        &document("fan-out.md"),
        "input=tea",
        &[
            ("distribute", "distributor", "parts", &["Break this task into parts: tea"]),
            ("worker1", "worker", "result", &["Process part 1: parts of distribute"]),
            ("worker2", "worker", "result", &["Process part 2: parts of distribute"]),
            (
                "collect",
                "collector",
                "final",
                &["Combine results: result of worker1 and result of worker2"],
            ),
        ],
    );
    runs(
        "debate.md",
        &document("debate.md"),
        "topic=tea",
        &[
            ("position_a", "debater-a", "argument", &["Argue FOR this position: tea"]),
            ("position_b", "debater-b", "argument", &["Argue AGAINST this position: tea"]),
            ("judge", "judge", "verdict", &["FOR: argument of position_a"]),
        ],
    );
    runs(
        "review-loop.md",
        &document("review-loop.md"),
        "topic=tea",
        &[
            ("draft", "author", "content", &["Write a draft about: tea"]),
            ("review", "reviewer", "feedback", &["Review this draft critically: content of draft"]),
            ("revise", "author", "final", &["Original: content of draft"]),
        ],
    );
    // The workflow of the engine's tests, and the one that must be refused.
    let two = "---\nname: Test Workflow\ndescription: test\ntrigger: manual\nsteps:\n  - {id: a, agent: agents/a.md, prompt: Do A, outputs: [result_a]}\n  - {id: b, agent: agents/b.md, prompt: \"Do B with {a.result_a}\", depends_on: [a], outputs: [result_b]}\n---\n";
    runs(
        "test.md",
        two,
        "",
        &[("a", "a", "result_a", &["Do A"]), ("b", "b", "result_b", &["Do B with result_a of a"])],
    );
    let circular = two.replace("prompt: Do A", "depends_on: [b], prompt: Do A");
    let scratch = Scratch::new(&[("workflows/test.md", &circular)]);
    for agent in ["a", "b"] {
        scratch.write(&format!("agents/{agent}.md"), "---\nname: x\n---\nYou work.\n");
    }
    scratch.kb(&["playbook", "run", "test"]).code(2).says(&["KB0401", "→"]);
}

/// The sample of 000 with the specialists of 000, once with tests that pass and once with tests that fail.
#[test]
fn the_playbook_of_000_runs_unchanged_with_its_specialists() {
    for (exit, result, expected) in
        [(0, "passed", ["skipped", "skipped"]), (1, "failed", ["succeeded", "succeeded"])]
    {
        let scratch = Scratch::new(&[
            (".kb/playbooks/add-feature.yml", &document("add-feature.yml")),
            (".kb/specialists/researcher.yml", &document("researcher-11-1.yml")),
            // The one line that is no YAML, which the loader says how to write.
            (
                ".kb/specialists/implementer.yml",
                &document("implementer-11-2.yml").replace(
                    "testResult?: 'passed' | 'failed' | 'skipped'",
                    "testResult?: passed | failed | skipped",
                ),
            ),
            (
                ".kb/kb.config.yml",
                "testCommands: [\"sh check.sh\"]\nsandbox: {criticalUnapprovedAt: none}\n",
            ),
            ("src/old.sh", "echo old\n"),
        ]);
        let found = "{files: [src/old.sh], facts: [one file], summary: looked}";
        let script = format!(
            "schema: kb.script/1
steps:
  research:
    - calls: [{{tool: \"fs:list\", args: {{path: src}}}}]
    - output: {found}
  plan: [{{output: {found}}}]
  implement:
    - calls: [{{tool: \"fs:write\", args: {{path: src/new.sh, content: \"echo new\\n\"}}}}]
    - output: {{created: [src/new.sh], modified: [], commands: [], summary: wrote}}
  test:
    - calls: [{{tool: \"fs:write\", args: {{path: check.sh, content: \"exit {exit}\\n\"}}}}]
    - calls: [{{tool: \"shell:exec\", args: {{command: sh check.sh}}}}]
    - output: {{created: [check.sh], modified: [], commands: [], testResult: {result}, summary: ran}}
  debug: [{{output: {found}}}]
  fix:
    - calls: [{{tool: \"fs:edit\", args: {{path: check.sh, old: exit 1, new: exit 0}}}}]
    - output: {{created: [], modified: [check.sh], commands: [], summary: fixed}}
"
        );
        scratch.write("script.yml", &script);
        let run = ["playbook", "run", "add-feature", "--param", "featureName=login"];
        let said = scratch.kb(&[&run[..], &["--script", "script.yml"]].concat());
        assert_eq!(said.code, 0, "{result}: {said:?}");
        let view = scratch.json(&["run", "show", "@last", "--json"]);
        let status = |step: &str| -> Value {
            let steps = view["steps"].as_array().unwrap();
            steps.iter().find(|s| s["instance"] == step).unwrap()["status"].clone()
        };
        for step in ["research", "plan", "implement", "test"] {
            assert_eq!(status(step), "succeeded", "{result}: {step}");
        }
        assert_eq!([status("debug"), status("fix")], expected, "{result}");
    }
}
