//! `kb playbook import` of GitHub Actions workflows that pass values between steps, jobs and workflows. The files
//! were written for these tests from the published format.

use crate::scratch::Scratch;
use serde_json::Value;

const RELEASE: &str = r#"name: release
on:
  workflow_dispatch:
    inputs:
      dry: {type: boolean, default: true}
      tag: {description: A tag}
  workflow_call:
    inputs: {dry: {type: boolean}}
    outputs:
      version: {description: The version, value: "${{ jobs.plan.outputs.version }}"}
jobs:
  publish:
    needs: [plan, lint]
    if: ${{ !inputs.dry == false && needs.plan.outputs.count == 2 && needs.lint.result == 'success' }}
    steps:
      - run: echo "${{ needs.plan.outputs.label }} it''s ${{ format('{0}/{1} {{x}}', inputs.dry && 'dry' || 'real', 'it''s') }}" > published
      - run: echo "${{ inputs.tag || 'no tag' }} ${{ join(fromJSON('["a", "b"]'), '+') }} ${{ toJSON(needs.plan.outputs.count) }}" >> published
  plan:
    outputs:
      version: ${{ steps.version.outputs.version }}
      count: ${{ steps.version.outputs.count }}
      label: v${{ steps.version.outputs.version }}-${{ runner.os }}
      lost: ${{ steps.elsewhere.outputs.x }}
    steps:
      - id: version
        run: |
          echo "version=1.2.2" >> "$GITHUB_OUTPUT"
          echo "version=1.2.3" >> $GITHUB_OUTPUT
          echo "count=2" >> $GITHUB_OUTPUT
          echo printed
      - if: contains(steps.version.outputs.version, '2.3') && startsWith(steps.version.outputs.version, '1.') && !endsWith(steps.version.outputs.version, '4')
        run: touch checked
      - if: contains(fromJSON('["1", "3"]'), steps.version.outputs.count)
        run: touch never
      - if: steps.version.outcome != 'success' || steps.version.outputs.missing
        run: touch never
      - id: elsewhere
        if: steps.version.outcome == 'success'
        run: ./writes-outputs-itself.sh || touch outcome
  lint:
    steps: [{run: touch linted}]
  undo:
    needs: publish
    if: always() && needs.publish.result == 'failure'
    steps: [{run: touch never}]
"#;

/// Imports files, and requires that the results are valid.
fn imported(files: &[(&str, &str)]) -> (Scratch, String) {
    let scratch = Scratch::new(files);
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let said = scratch.kb(&[&["playbook", "import"], &names[..]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    scratch.kb(&["playbook", "validate"]).code(0);
    (scratch, said.err)
}

#[test]
fn outputs_and_functions_of_github_actions_have_the_values_that_they_have_there() {
    let (scratch, notes) = imported(&[("release.yml", RELEASE)]);
    let lost = "the output `lost` of the job `plan` is not mapped (`steps.elsewhere.outputs.x`)";
    assert!(notes.contains(lost), "{notes}");
    assert!(notes.contains("left out: release.yml:23: "), "{notes}");
    scratch.kb(&["playbook", "run", "release"]).code(0);
    let published = "v1.2.3-Linux it''s dry/it's {x}\nno tag a+b \"2\"\n";
    assert_eq!(scratch.read("published"), published);
    for name in ["checked", "linted", "outcome"] {
        assert!(scratch.has(name), "{name}");
    }
    assert!(!scratch.has("never"));
    let outputs = scratch.json(&["run", "output", "@last", "--json"]);
    assert_eq!(outputs["version"], "1.2.3");
    std::fs::remove_file(scratch.root().join("published")).unwrap();
    let real = ["playbook", "run", "release", "--param", "dry=false", "--param", "tag=t1"];
    scratch.kb(&real).code(0);
    assert!(!scratch.has("published"), "`!` binds stronger than `==`");
}

const CALLER: &str = r#"name: caller
on: workflow_dispatch
jobs:
  build:
    uses: ./.github/workflows/build-it.yml
    with: {count: 3, name: "a-${{ runner.os }}"}
    secrets: inherit
  after:
    needs: build
    steps:
      - run: echo "${{ needs.build.outputs.text }}" > after
  remote:
    uses: octo/repo/.github/workflows/x.yml@v1
"#;

const CALLED: &str = r#"name: Build it
on:
  workflow_call:
    inputs: {count: {type: number, required: true}, name: {type: string}, none: {type: string}}
    outputs: {text: {value: "${{ jobs.make.outputs.text }}"}}
jobs:
  make:
    outputs: {text: "${{ steps.make.outputs.text }}"}
    steps:
      - {id: make, run: 'echo "text=${{ inputs.name }} ${{ inputs.count }}${{ inputs.none }}" >> $GITHUB_OUTPUT'}
"#;

#[test]
fn a_job_that_calls_a_workflow_becomes_a_child_run() {
    let files =
        [(".github/workflows/build-it.yml", CALLED), (".github/workflows/caller.yml", CALLER)];
    let (scratch, notes) = imported(&files);
    for note in ["`jobs.build.secrets: inherit`", "octo/repo", "a child run"] {
        assert!(notes.contains(note), "{note}: {notes}");
    }
    // The workflow of another repository fails; it has no translation.
    scratch.kb(&["playbook", "run", "caller"]).code(1).says(&["octo/repo"]);
    assert_eq!(scratch.read("after"), "a-Linux 3\n");
}

/// GitHub does not distinguish small and capital letters.
#[test]
fn texts_are_compared_without_their_case() {
    let text = r#"name: folds
on: {workflow_dispatch: {inputs: {msg: {type: string, default: "Skip CI"}, env: {type: string, default: Prod}}}}
jobs:
  z:
    runs-on: ubuntu-latest
    steps:
      - {if: "!contains(inputs.msg, 'skip ci')", run: touch wrong-contains}
      - {if: "inputs.env != 'prod'", run: touch wrong-differs}
      - {if: "!startsWith(inputs.msg, 'skip')", run: touch wrong-starts}
      - {if: "!endsWith(inputs.msg, 'ci')", run: touch wrong-ends}
      - {if: "!contains(fromJSON('[\"PROD\"]'), inputs.env)", run: touch wrong-list}
      - {if: "inputs.env == 'prod' && contains(inputs.msg, 'SKIP') && inputs.msg != ''", run: touch right}
"#;
    let (scratch, _) = imported(&[("folds.yml", text)]);
    scratch.kb(&["playbook", "run", "folds"]).code(0);
    assert!(scratch.has("right"));
    for name in ["contains", "differs", "starts", "ends", "list"] {
        assert!(!scratch.has(&format!("wrong-{name}")), "{name}");
    }
}

#[test]
fn a_called_workflow_that_was_not_imported_fails_its_step() {
    let files =
        [(".github/workflows/caller.yml", CALLER), (".github/workflows/build-it.yml", CALLED)];
    let (scratch, notes) = imported(&files[..1]);
    assert!(notes.contains("the project has no playbook `build-it`"), "{notes}");
    assert!(scratch.read(".kb/playbooks/caller.yml").contains("# TODO"));
    scratch.kb(&["playbook", "run", "caller"]).code(1).says(&["build-it"]);
    assert!(!scratch.has("after"));
    // A file waits for those behind it.
    let (scratch, _) = imported(&files);
    scratch.kb(&["playbook", "run", "caller"]).code(1).says(&["octo/repo"]);
    assert!(scratch.has("after"));
    let dagu = Scratch::new(&[("main.yaml", "steps:\n  - {name: a, call: other}\n")]);
    let said = dagu.kb(&["playbook", "import", "main.yaml"]).code(0);
    said.says(&["the project has no playbook `other`"]);
    dagu.kb(&["playbook", "validate"]).code(0);
    dagu.kb(&["playbook", "run", "main"]).code(1);
}

#[test]
fn values_of_github_actions_without_a_counterpart_are_listed() {
    let text = r#"name: odd
on: workflow_dispatch
jobs:
  a:
    needs: b
    outputs: {x: "${{ steps.m.outputs.x }}"}
    steps:
      - {id: m, run: "printf 'x<<EOF\\na\\nb\\nEOF\\n' >> $GITHUB_OUTPUT"}
      - run: echo "${{ hashFiles('**') }} ${{ github.event.commits.*.id }} ${{ steps.m.outputs.x }} ${{ (1 }}" || true
  b: {needs: a, steps: [{run: touch b}]}
  c:
    strategy: {matrix: {v: [1, 2]}}
    steps:
      - {id: n, run: "echo v=1 >> $GITHUB_OUTPUT"}
      - {if: "steps.n.outputs.v == 1 || failure()", run: touch c}
"#;
    let (scratch, notes) = imported(&[("odd.yml", text)]);
    for note in [
        "`a` and `b` need each other",
        "the output `x` of the job `a` is not mapped (`steps.m.outputs.x`)",
        "`hashfiles()`",
        "`.*`",
        "(`a missing `)``)",
        "`if: steps.n.outputs.v == 1 || failure()` is not mapped (`steps.n.outputs.v`)",
    ] {
        assert!(notes.contains(note), "{note}: {notes}");
    }
    let view: Value = scratch.json(&["playbook", "show", "odd", "--json"]);
    assert!(view["steps"].as_array().unwrap().len() >= 5, "{view}");
}

#[test]
fn combinations_alone_secrets_reserved_names_and_conditions_on_a_matrix_are_mapped() {
    let text = r#"name: grid
on: {workflow_dispatch: {inputs: {env: {default: x}}}}
jobs:
  run:
    strategy:
      fail-fast: false
      matrix:
        include: [{os: linux, file: a}, {os: mac, file: b}]
    steps:
      - if: matrix.os == 'linux' && inputs.env == 'x'
        run: touch "made-${{ matrix.file }}"
      - run: test "$TOKEN" = s3cret-s3cret
        env: {TOKEN: "${{ secrets.DEPLOY_TOKEN }}"}
      - if: secrets.DEPLOY_TOKEN != ''
        run: touch "always-${{ matrix.file }}"
"#;
    let (scratch, notes) = imported(&[("grid.yml", text)]);
    assert!(notes.contains("`env:DEPLOY_TOKEN`"), "{notes}");
    assert!(notes.contains("is not mapped (`secrets.DEPLOY_TOKEN`)"), "{notes}");
    let run = |token: &str| {
        scratch.kb_with(&["playbook", "run", "grid"], |command| {
            command.env("DEPLOY_TOKEN", token);
        })
    };
    run("s3cret-s3cret").code(1);
    for (name, exists) in
        [("made-a", true), ("made-b", false), ("always-a", false), ("always-b", false)]
    {
        assert_eq!(scratch.has(name), exists, "{name}");
    }
    let without = scratch.kb(&["playbook", "run", "grid"]);
    assert!(without.code != 0 && without.err.contains("DEPLOY_TOKEN is not set"), "{without:?}");
}

#[test]
fn nodes_of_archon_keep_their_tools_tier_and_idle_time() {
    let text = "name: nodes
description: d
model: medium
nodes:
  - id: look
    prompt: Look
    model: small
    allowed_tools: [Read, Grep, Teleport]
    idle_timeout: 600000
  - id: judge
    prompt: Judge
    denied_tools: [Write, Edit, Bash]
    depends_on: [look]
    timeout: 60000
";
    let (scratch, notes) = imported(&[("nodes.yaml", text)]);
    assert!(notes.contains("nodes.yaml:8: the tool `Teleport` is not mapped"), "{notes}");
    let look = scratch.read(".kb/specialists/archon-agent-look.yml");
    assert!(look.contains("tier: small") && !look.contains("fs:write"), "{look}");
    let judge = scratch.read(".kb/specialists/archon-agent-judge.yml");
    assert!(judge.contains("tier: medium") && judge.contains("fs:read"), "{judge}");
    assert!(!judge.contains("fs:write") && !judge.contains("shell:exec"), "{judge}");
    let playbook = scratch.read(".kb/playbooks/nodes.yml");
    assert!(playbook.contains("idle: \"600000ms\"") || playbook.contains("idle: 600000ms"));
}

#[test]
fn words_for_schedules_and_placeholders_of_contracts_are_mapped_or_listed() {
    let daily =
        "---\non:\n  schedule: daily\n  workflow_dispatch:\npermissions: read-all\n---\nReport.\n";
    let (scratch, notes) = imported(&[("report.md", daily)]);
    assert!(notes.contains("became `@daily`"), "{notes}");
    assert!(scratch.read(".kb/playbooks/report.yml").contains("@daily"));
    let words = daily.replace("schedule: daily", "schedule: weekly on monday around 9:00");
    let (_, notes) = imported(&[("report.md", &words)]);
    assert!(notes.contains("`weekly on monday around 9:00` is not a cron"), "{notes}");
    let wave = "kind: WavePipeline
metadata: {name: review}
steps:
  - id: a
    persona: p
    exec: {type: prompt, source: Do}
    handover: {contract: {type: test_suite, command: \"{{ project.test }}\", on_failure: continue}}
";
    let (_, notes) = imported(&[("wave.yaml", wave)]);
    assert!(notes.contains("the command `{{ project.test }}` has a placeholder"), "{notes}");
}
