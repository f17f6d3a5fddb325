//! `kb playbook import` of files of other tools, black-box. The files here were written for these tests from
//! the published formats.

use crate::import_documents::ETL;
use crate::scratch::{Said, Scratch};
use serde_json::Value;

const ACTIONS: &str = r#"name: CI
on:
  push: {branches: [main]}
  schedule: [{cron: "0 6 * * *"}]
  workflow_dispatch:
    inputs:
      profile: {type: choice, options: [debug, release], default: debug, description: Which one}
env: {LEVEL: high}
concurrency: {group: ci, cancel-in-progress: true}
jobs:
  build:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v4
      - name: Compile
        run: echo "build ${{ inputs.profile }} $LEVEL" > built
      - run: cat built
  test:
    needs: build
    runs-on: ubuntu-latest
    strategy:
      matrix: {os: [linux, mac], version: [1, 2]}
    steps:
      - run: echo "${{ matrix.os }}-${{ matrix.version }}"
  deploy:
    needs: [build, test]
    if: inputs.profile == 'release'
    environment: production
    steps:
      - run: echo deployed
        env: {WHO: "${{ github.actor }}"}
"#;

const DAGU: &str = r#"name: nightly sync
description: copies
schedule: "30 2 * * *"
params: HOST=alpha DAYS=7
env:
  - MODE: fast
maxActiveSteps: 2
steps:
  - name: fetch
    command: echo "data of $HOST for ${DAYS}"
    output: DATA
  - name: report
    command: echo "got $DATA in $MODE"
    depends: fetch
    retryPolicy: {limit: 2, intervalSec: 1}
    continueOn: {failure: true}
    mailOnError: true
handlerOn:
  exit: {command: echo done}
"#;

const GOOSE: &str = r#"version: "1.0.0"
title: Review code
description: Reviews one file
instructions: You are a careful reviewer.
prompt: "Review {{ path }} and say what is wrong."
parameters:
  - {key: path, input_type: string, requirement: required, description: The file}
extensions:
  - {type: builtin, name: developer, timeout: 300, available_tools: [shell]}
  - {type: stdio, name: tickets, cmd: uvx, args: [tickets]}
settings: {goose_provider: anthropic, temperature: 0.2}
response:
  json_schema: {type: object, properties: {summary: {type: string}}, required: [summary]}
activities: [Review the last commit]
"#;

const ARCHON: &str = r#"name: fix-issue
description: Fixes an issue
provider: claude
model: sonnet
nodes:
  - id: fetch-issue
    bash: echo "issue $ARGUMENTS"
  - id: classify
    prompt: "Classify $fetch-issue.output"
    depends_on: [fetch-issue]
    output_format: {type: object, properties: {kind: {type: string}}, required: [kind]}
  - id: fix
    prompt: "Fix it: $classify.output.kind"
    depends_on: [classify]
    when: "$classify.output.kind == 'bug'"
    hooks: {PreToolUse: []}
    context: shared
  - id: ask
    approval: {message: "Merge?"}
    depends_on: [fix]
    trigger_rule: all_done
"#;

const WAVE: &str = r#"kind: WavePipeline
metadata: {name: review, description: Reviews}
input: {source: cli}
steps:
  - id: analyze
    persona: navigator
    memory: {strategy: continue}
    workspace: {type: worktree, branch: "{{ pipeline_id }}"}
    exec: {type: prompt, source: "Analyze {{ input }} and {{ other }}"}
    output_artifacts: [{name: a, path: out/a.md, type: markdown}]
  - id: check
    persona: craftsman
    dependencies: [analyze]
    exec: {type: command, source: "echo {{ input }}"}
    handover: {contract: {type: test_suite, command: "true", on_failure: retry, max_retries: 2}}
"#;

const GH_AW: &str = "---\non:\n  schedule: [{cron: \"0 9 * * 1\"}]\n  issues: {types: [opened]}\npermissions: read-all\n\
timeout-minutes: 15\nengine: claude\ntools: {edit: , github: {toolsets: [issues]}}\nsafe-outputs: {create-issue: }\n---\n\n\
# Weekly report\n\nSummarise ${{ github.repository }} for the team.\n";

const COMMAND: &str = "---\ndescription: Commit the work\nallowed-tools: Read, Bash(git add:*), Task\nargument-hint: \"[message]\"\n\
model: haiku\n---\nCommit with $ARGUMENTS as the message. First word: $1.\n";

fn import(scratch: &Scratch, arguments: &[&str]) -> Said {
    scratch.kb(&[&["playbook", "import"], arguments].concat())
}

/// Imports one file, and requires that the result is valid and that the notes name these texts with a line.
fn imports(name: &str, text: &str, notes: &[&str]) -> Scratch {
    let scratch = Scratch::new(&[(name, text)]);
    let said = import(&scratch, &[name]);
    assert_eq!(said.code, 0, "{name}: {said:?}");
    for note in notes {
        let line = said.err.lines().find(|line| line.contains(note));
        let line = line.unwrap_or_else(|| panic!("{name}: no note has `{note}`: {}", said.err));
        let numbered =
            line.split(':').nth(2).is_some_and(|part| part.trim().parse::<u32>().is_ok());
        assert!(numbered, "{line}");
    }
    let valid = scratch.kb(&["playbook", "validate"]);
    assert_eq!(valid.code, 0, "{name}: {valid:?}");
    scratch
}

fn shown(scratch: &Scratch) -> Value {
    serde_json::from_str(&scratch.kb(&["run", "show", "@last", "--json"]).out).unwrap()
}

#[test]
fn github_actions_become_steps_that_run() {
    let notes = [
        "the trigger `push`",
        "`actions/checkout`",
        "the rules of the environment `production`",
        "github.actor",
        "bash -euo pipefail",
    ];
    let scratch = imports("ci.yml", ACTIONS, &notes);
    let said = scratch.kb(&["playbook", "run", "ci", "--param", "profile=release"]);
    assert_eq!(said.code, 3, "the environment waits for an approval: {said:?}");
    assert_eq!(scratch.read("built"), "build release high\n");
    let view = shown(&scratch);
    let names: Vec<&str> =
        view["steps"].as_array().unwrap().iter().filter_map(|s| s["instance"].as_str()).collect();
    for name in ["build-Compile", "build-3", "test[linux,1]", "test[mac,2]", "deploy-approval"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(scratch.kb(&["run", "output", "@last", "test[mac,2]"]).out.contains("mac-2"));
    // The condition of the last job is false by default.
    assert_eq!(scratch.kb(&["playbook", "run", "ci"]).code, 0);
    let view = shown(&scratch);
    let deploy =
        view["steps"].as_array().unwrap().iter().find(|s| s["instance"] == "deploy").unwrap();
    assert_eq!(deploy["status"], "skipped");
}

const CHAINS: &str = r#"name: chains
on:
  schedule: [{cron: '0 3 * * *'}, {cron: '0 5 * * 1'}]
  workflow_dispatch:
    inputs:
      level: {type: choice, options: [a, b], default: a}
      count: {type: number, default: '3'}
jobs:
  build:
    timeout-minutes: 0.5
    steps:
      - {if: "inputs.level == 'b'", run: touch skipped}
      - run: touch two
      - {if: failure(), run: touch failed}
      - {if: "${{ always() }}", run: touch always}
      - {run: touch three, if: "cancelled()"}
      - {run: touch four}
      - {if: "inputs.level == 'b'", run: touch skipped}
  broken:
    needs: build
    steps:
      - run: exit 1
      - run: touch never
      - {if: failure(), run: touch cleaned}
      - {if: "always() && inputs.level == 'a'", run: touch last}
      - run: touch never
  notify: {needs: broken, if: failure(), steps: [{run: touch notified}, {run: touch notified-twice}]}
  quiet: {needs: build, if: failure(), steps: [{run: touch never}, {run: touch never}]}
  after: {needs: [build, broken], steps: [{run: touch never}]}
"#;

#[test]
fn conditions_of_github_actions_follow_failures_and_skipped_steps() {
    let notes = ["the step of `build` with this `if` is left out"];
    let scratch = imports("chains.yml", CHAINS, &notes);
    assert_eq!(scratch.kb(&["playbook", "run", "chains"]).code, 1);
    let exists = |name: &str| scratch.root().join(name).exists();
    for name in ["two", "always", "four", "cleaned", "last", "notified", "notified-twice"] {
        assert!(exists(name), "{name}");
    }
    for name in ["skipped", "failed", "three", "never"] {
        assert!(!exists(name), "{name}");
    }
}

const COMPUTED: &str = r#"name: computed
on: workflow_dispatch
env: ${{ fromJSON('{}') }}
concurrency: {group: x, cancel-in-progress: "${{ github.ref }}"}
jobs:
  build:
    continue-on-error: ${{ matrix.experimental }}
    timeout-minutes: ${{ fromJSON('1') }}
    strategy:
      fail-fast: ${{ true }}
      max-parallel: ${{ 2 }}
      matrix:
        node-version: [18, 20]
        config: [{os: linux, arch-name: x64}]
        later: ["${{ github.sha }}"]
        include:
          - {node-version: 18, extra-flag: yes}
          - ${{ fromJSON('{}') }}
    steps:
      - run: echo "${{ matrix.node-version }} ${{ matrix.config.os }} ${{ matrix.config.arch-name }}"
        working-directory: ${{ github.workspace }}
"#;

#[test]
fn computed_values_of_github_actions_are_listed_and_names_of_axes_fit() {
    let notes = [
        "an `env` that is an expression",
        "cancel-in-progress",
        "continue-on-error",
        "timeout-minutes",
        "fail-fast",
        "max-parallel",
        "the axis `later`",
        "an entry of `include`",
        "working-directory",
    ];
    let scratch = imports("computed.yml", COMPUTED, &notes);
    assert_eq!(scratch.kb(&["playbook", "run", "computed"]).code, 1);
    let known = |line: &&str| !line.contains("${{") || line.contains("echo");
    let plain: Vec<&str> = COMPUTED.lines().filter(known).collect();
    let scratch = imports("computed.yml", &plain.join("\n"), &[]);
    assert_eq!(scratch.kb(&["playbook", "run", "computed"]).code, 0);
    let view = shown(&scratch);
    let items = view["steps"].as_array().unwrap().iter().filter(|step| step["kind"] == "run");
    assert_eq!(items.count(), 3, "{view}");
    let first = view["steps"][1]["instance"].as_str().unwrap().to_owned();
    assert!(scratch.kb(&["run", "output", "@last", &first]).out.contains("18 linux x64"));
}

#[test]
fn dagu_workflows_become_playbooks_that_run() {
    let scratch = imports("sync.yaml", DAGU, &["mailOnError"]);
    let said = scratch.kb(&["playbook", "run", "nightly-sync", "--param", "HOST=beta"]);
    assert_eq!(said.code, 0, "{said:?}");
    let out = scratch.kb(&["run", "output", "@last", "report"]).out;
    assert!(out.contains("got data of beta for 7"), "{out}");
}

#[test]
fn goose_recipes_become_a_specialist_and_its_step() {
    let scratch = imports(
        "recipe.yaml",
        GOOSE,
        &[
            "the extension `tickets`",
            "activities",
            "`settings.goose_provider: anthropic`",
            "extensions.timeout",
        ],
    );
    scratch.write("s.yml", "schema: kb.script/1\nsteps: {task: [{output: {summary: fine}}]}\n");
    let run = ["playbook", "run", "review-code", "--param", "path=a.rs", "--script", "s.yml"];
    let said = scratch.kb(&run);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn archon_workflows_become_playbooks_that_run() {
    let scratch =
        imports("fix.yaml", ARCHON, &["hooks", "`provider: claude`", "`nodes.context: shared`"]);
    scratch.write("s.yml", "schema: kb.script/1\nsteps:\n  classify: [{output: {kind: chore}}]\n");
    let run = ["playbook", "run", "fix-issue", "--param", "arguments=7", "--script", "s.yml"];
    let said = scratch.kb(&run);
    assert_eq!(said.code, 3, "the approval waits: {said:?}");
    assert!(scratch.kb(&["run", "output", "@last", "fetch-issue"]).out.contains("issue 7"));
}

#[test]
fn loops_of_archon_become_passes_that_end_with_their_signal() {
    let text = "name: polish
description: d
model: some-model
nodes:
  - id: polish-it
    loop: {prompt: \"Improve $ARGUMENTS\", until: ALL_DONE, max_iterations: 4, fresh_context: true}
  - id: again
    depends_on: [polish-it]
    loop: {prompt: Look again, until_bash: \"true\", fresh_context: false}
";
    let notes = ["`model: some-model`", "contains `ALL_DONE`", "the loop of `again`", "until_bash"];
    let scratch = imports("polish.yaml", text, &notes);
    let script = "schema: kb.script/1
steps:
  polish-it#1: [{output: {summary: more to do}}]
  polish-it#2: [{output: {summary: ALL_DONE}}]
  again: [{output: {summary: fine}}]
";
    scratch.write("s.yml", script);
    let said = scratch.kb(&["playbook", "run", "polish", "--script", "s.yml"]);
    // A loop without an end that is known has no translation.
    assert_eq!(said.code, 1, "{said:?}");
    let view = shown(&scratch);
    let polish =
        view["steps"].as_array().unwrap().iter().find(|s| s["instance"] == "polish-it").unwrap();
    assert_eq!(polish["attempts"], 2, "{polish}");
}

#[test]
fn wave_pipelines_agentic_workflows_and_commands_become_playbooks() {
    let scratch = imports(
        "review.yaml",
        WAVE,
        &[
            "{{ other }}",
            "persona `navigator`",
            "`steps.memory.strategy: continue`",
            "`steps.persona: craftsman`",
            "output_artifacts.name",
        ],
    );
    assert!(scratch.read(".kb/playbooks/review.yml").contains("workspace: worktree"));
    let notes = [
        "the trigger `issues`",
        "permissions",
        "the tool `github`",
        "safe-outputs",
        "github.repository",
        "engine: claude",
    ];
    let scratch = imports("weekly.md", GH_AW, &notes);
    assert!(scratch.read(".kb/playbooks/weekly.yml").contains("0 9 * * 1"));
    let scratch =
        imports("commit.md", COMMAND, &["the limit of `Bash(git add:*)`", "the tool `Task`"]);
    scratch.write("s.yml", "schema: kb.script/1\nsteps: {task: [{output: {summary: done}}]}\n");
    let run = ["playbook", "run", "commit", "--param", "arguments=fix it", "--script", "s.yml"];
    assert_eq!(scratch.kb(&run).code, 0);
    let subagent = "---\nname: helper\ndescription: Helps\ntools: Read, Grep\n---\nYou help.\n";
    let scratch = imports("helper.md", subagent, &[]);
    assert!(scratch.has(".kb/agents/helper.md"));
}

#[test]
fn nothing_is_overwritten_and_a_dry_run_writes_nothing() {
    let scratch = Scratch::new(&[("ci.yml", ACTIONS)]);
    let said = import(&scratch, &["ci.yml", "--dry-run"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("schema: kb.playbook/1") && !scratch.has(".kb/playbooks/ci.yml"));
    assert_eq!(import(&scratch, &["ci.yml"]).code, 0);
    let again = import(&scratch, &["ci.yml"]);
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.err.contains("exists already"), "{again:?}");
    let other = import(&scratch, &["ci.yml", "--out", "elsewhere"]);
    assert_eq!(other.code, 2, "the id exists in the project: {other:?}");
}

#[test]
fn unusable_files_are_refused_with_a_reason() {
    let scratch = Scratch::new(&[("notes.txt", "some words"), ("list.yml", "- a\n- b\n")]);
    scratch.write("unknown.yml", "command: x\n");
    scratch.write("open.yml", "a: 1\nsteps: [x\n");
    std::fs::write(scratch.root().join("picture.yml"), [0u8, 159, 146, 150]).unwrap();
    std::fs::write(scratch.root().join("latin.yml"), b"name: caf\xe9\n").unwrap();
    std::fs::write(scratch.root().join("huge.yml"), "a: b\n".repeat(400_000)).unwrap();
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..12 {
        let before = format!("*a{}", n - 1);
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", [before.as_str(); 9].join(",")));
    }
    scratch.write("bomb.yml", &format!("{bomb}steps: *a11\n"));
    for (name, why) in [
        ("picture.yml", "KB0102]: the file is binary, not text\n --> picture.yml:1:1"),
        ("latin.yml", "KB0102]: the file is not UTF-8: byte 10 is 0xe9\n --> latin.yml:1:10"),
        ("huge.yml", "1 MiB"),
        ("bomb.yml", ""),
        ("missing.yml", "missing.yml"),
        ("notes.txt", ""),
        ("open.yml", " --> open.yml:2:8"),
        ("list.yml", ""),
    ] {
        for format in [None, Some("dagu")] {
            let arguments = [&[name][..], &format.map_or(vec![], |f| vec!["--from", f])].concat();
            let said = import(&scratch, &arguments);
            assert_eq!(said.code, 2, "{name}: {said:?}");
            assert!(
                said.err.contains(why) && said.err.contains("not imported"),
                "{name}: {said:?}"
            );
        }
    }
    let said = import(&scratch, &["unknown.yml"]).code(2);
    said.says(&[
        "not imported: unknown.yml: its keys are those of no known format",
        "github-actions",
    ]);
    scratch.write("Makefile", "all: build\n\techo done\n");
    let said = import(&scratch, &["Makefile"]).code(2);
    let said = said.says(&["Makefile: its format is not known", "docs/migration/make-and-just.md"]);
    assert!(!said.err.contains("KB0101"), "{said:?}");
    assert!(!scratch.has(".kb/playbooks"));
    let said = import(&scratch, &["bomb.yml", "--from", "airflow"]);
    assert!(said.code == 2 && said.err.contains("github-actions"), "{said:?}");
}

/// Scripts run with `bash -u` and without the environment of the terminal, which surprises.
#[test]
fn variables_that_nothing_sets_are_named_with_ways_to_set_them() {
    let text = "name: deploy\nsteps:\n  - name: push\n    command: echo \"$TARGET ${REGION} ${LEVEL:-low} $HOME\"\n  - name: tag\n    command: x=1; echo $x $TARGET $TAG_NAME\n";
    let scratch = Scratch::new(&[("deploy.yml", text)]);
    import(&scratch, &["deploy.yml"]).code(0).says(&[
        "note: .kb/playbooks/deploy.yml:6: nothing sets `$TARGET`, `$REGION` for the step `push`",
        "`env: {pass: [TARGET, REGION]}` in the settings",
        "nothing sets `$TAG_NAME` for the step `tag`",
    ]);
    let text = "schema: kb.playbook/1\nid: own\nenv: {MINE: x}\nsteps:\n  - {id: a, run: 'echo $MINE $PASSED $MYVAR'}\n";
    let scratch = Scratch::new(&[("files/own.yml", text)]);
    scratch.write(".kb/kb.config.yml", "schema: kb.config/1\nenv: {pass: [PASSED]}\n");
    let said = import(&scratch, &["files/own.yml"]).code(0);
    said.says(&["note: files/own.yml:5: nothing sets `$MYVAR` for the step `a`"]);
    scratch.kb(&["playbook", "run", "own"]).code(1).says(&["pass: [", "]}` in the settings"]);
}
/// The files of this page, for random changes.
pub(crate) const SAMPLES: &[&str] = &[ACTIONS, DAGU, GOOSE, ARCHON, WAVE, GH_AW, COMMAND, ETL];
