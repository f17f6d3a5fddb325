//! `kb playbook import` of files in the forms that the documentation of other tools shows, with the parts
//! that have no counterpart. The files were written for these tests from the published formats.

use crate::scratch::{Said, Scratch};

/// Imports one file. The result is valid, and the notes have these texts, each with its line.
fn imported(name: &str, text: &str, notes: &[(u32, &str)]) -> Scratch {
    let scratch = Scratch::new(&[(name, text)]);
    let said = scratch.kb(&["playbook", "import", name]).code(0);
    for (line, note) in notes {
        let wanted = format!("{name}:{line}: {note}");
        assert!(said.err.contains(&wanted), "`{wanted}` is missing:\n{}", said.err);
    }
    scratch.kb(&["playbook", "validate"]).code(0);
    scratch
}

const RECIPE: &str = r#"version: "1.0.0"
title: Link checker
description: Checks the links of a site
instructions: |
  You check links.
  {% if deep %}Follow them.{% endif %}
prompt: |
  Check {{ website_url }} for {{ kind }}.
  {{ website_url | upper }}
parameters:
  - {key: website_url, input_type: string, requirement: required, description: The site}
  - {key: deep, input_type: boolean, requirement: optional, default: "true", description: Depth}
  - {key: size, input_type: number, requirement: optional, default: "3", description: Size}
sub_recipes: [{name: report, path: ./report.yaml}]
"#;

#[test]
fn statements_and_unknown_names_of_goose_stay_as_text_and_defaults_have_their_type() {
    let notes = [
        (6, "`{% if deep %}` is not mapped and stays as text"),
        (6, "`{% endif %}` is not mapped and stays as text"),
        (8, "`{{ kind }}` is not mapped and stays as text"),
        (14, "`sub_recipes` is not mapped"),
    ];
    let scratch = imported("recipe.yaml", RECIPE, &notes);
    let playbook = scratch.read(".kb/playbooks/link-checker.yml");
    for part in ["default: true", "default: 3", "{{website_url}}", "{{website_url | upper}}"] {
        assert!(playbook.contains(part), "{part}: {playbook}");
    }
}

const AGENTIC: &str = "---
on:
  issues:
    types: [opened]
permissions: read-all
engine: claude
---

# Triage

Read issue ${{ github.event.issue.number }} of ${{ github.repository }}.
{{#if github.actor}}Answer.{{/if}}
";

#[test]
fn expressions_in_an_agentic_workflow_are_listed_with_the_lines_of_the_file() {
    let notes = [
        (3, "the trigger `issues` is not mapped"),
        (11, "`${{ github.event.issue.number }}` in the text is not mapped"),
        (11, "`${{ github.repository }}` in the text is not mapped"),
        (12, "`{{#if github.actor}}` in the text is not mapped"),
    ];
    imported("triage.md", AGENTIC, &notes);
}

const COMMAND: &str = "---
description: Fix an issue
argument-hint: [issue-number] [priority]
allowed-tools: Bash(git status:*), Read
model: claude-3-5-haiku-latest
---
Status: !`git status --short`

Fix issue #$1 with priority $2. All: $ARGUMENTS
";

#[test]
fn the_hints_of_a_slash_command_need_no_quotes() {
    let notes = [
        (4, "the limit of `Bash(git status:*)` is not mapped"),
        (7, "a command in `!`…`` is not run before the task"),
        (9, "`$2` is word 2 of the parameter `arguments`"),
    ];
    let scratch = imported(".claude/commands/fix.md", COMMAND, &notes);
    let playbook = scratch.read(".kb/playbooks/fix.yml");
    assert!(playbook.contains("[issue-number] [priority]"), "{playbook}");
    assert!(scratch.read(".kb/specialists/fix-agent.yml").contains("tier: small"));
}

const QUOTES: &str = r##"name: quotes
on:
  workflow_dispatch:
    inputs: {who: {default: "Ann Lee"}}
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - run: |
          # it's a comment
          printf '%s\n' 'one ${{ inputs.who }}' "two ${{ inputs.who }}" > out.txt
          printf '%s\n' "it's ${{ inputs.who }}" >> out.txt
          cat >> out.txt <<END
          three ${{ inputs.who }}'s
          END
"##;

#[test]
fn values_in_single_quotes_of_a_script_reach_it() {
    let scratch = imported("quotes.yml", QUOTES, &[]);
    scratch.kb(&["playbook", "run", "quotes"]).code(0);
    let lines = "one Ann Lee\ntwo Ann Lee\nit's Ann Lee\nthree Ann Lee's\n";
    assert_eq!(scratch.read("out.txt"), lines);
}

const NODES: &str = r#"name: fix
description: Fixes an issue
nodes:
  - id: kind
    bash: echo bug
  - id: tests
    bash: "printf '%s' 'kind=$kind.output' > kind.txt"
    depends_on: [kind]
  - id: implement
    loop: {prompt: "Implement. $LOOP_USER_INPUT", until: DONE, max_iterations: 5}
    depends_on: [tests]
"#;

#[test]
fn outputs_in_single_quotes_of_archon_reach_the_script_and_its_variables_are_listed() {
    let scratch = imported("fix.yaml", NODES, &[(9, "`$LOOP_USER_INPUT` has no counterpart")]);
    let script = "schema: kb.script/1\nsteps: {implement: [{output: {summary: DONE}}]}\n";
    scratch.write("script.yml", script);
    scratch.kb(&["playbook", "run", "fix", "--only", "tests", "--script", "script.yml"]).code(0);
    assert_eq!(scratch.read("kind.txt"), "kind=bug");
}

const PIPELINE: &str = r#"kind: WavePipeline
metadata: {name: ship, description: Ships}
steps:
  - id: plan
    persona: navigator
    exec: {type: prompt, source_path: prompts/plan.md}
  - id: ok
    dependencies: [plan]
    gate: {type: approval, message: "Ship {{ input }}?", timeout: 1h}
  - id: later
    dependencies: [ok]
    gate: {type: timer, timeout: 1h}
"#;

#[test]
fn prompt_files_and_approvals_of_wave_are_mapped() {
    let files = [("pipeline.yaml", PIPELINE), ("prompts/plan.md", "Plan it.\n")];
    let scratch = Scratch::new(&files);
    let said = scratch.kb(&["playbook", "import", "pipeline.yaml"]).code(0);
    assert!(
        said.err.contains("pipeline.yaml:12: a gate of the type `timer` is not mapped"),
        "{said:?}"
    );
    scratch.kb(&["playbook", "validate"]).code(0);
    let playbook = scratch.read(".kb/playbooks/ship.yml");
    for part in ["taskFile: prompts/plan.md", "approve:", "Ship {{input}}?", "timeout: \"1h\""] {
        assert!(playbook.contains(part), "{part}: {playbook}");
    }
}

/// All files, for random changes.
pub(crate) const SAMPLES: &[&str] = &[RECIPE, AGENTIC, COMMAND, QUOTES, NODES, PIPELINE];

/// Imports a file and runs a playbook of it; returns the project and what was said.
fn imported_and_run(name: &str, text: &str, id: &str, code: i32) -> (Scratch, Said) {
    let scratch = Scratch::new(&[(name, text)]);
    let said = scratch.kb(&["playbook", "import", name]).code(0);
    scratch.kb(&["playbook", "run", id]).code(code);
    (scratch, said)
}

/// A workflow of GitHub Actions with one job.
fn job(job: &str) -> String {
    format!("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n{job}")
}

#[test]
fn values_of_a_matrix_are_read_as_on_github() {
    let name = ".github/workflows/w.yml";
    let text = job("    strategy: {matrix: {os: [x, y], include: [{os: x, extra: hi}]}}
    steps: [{run: 'echo \"[${{ matrix.extra }}]\" > \"o-${{ matrix.os }}\"'}]
");
    let (scratch, _) = imported_and_run(name, &text, "w", 0);
    assert_eq!([scratch.read("o-x"), scratch.read("o-y")], ["[hi]\n", "[]\n"]);
    // A text is true unless it is empty.
    let text = job("    strategy: {matrix: {x: ['false', '', 'yes']}}
    steps: [{if: matrix.x, run: 'touch \"r-${{ matrix.x }}\"'}]
");
    let (scratch, _) = imported_and_run(name, &text, "w", 0);
    assert!(scratch.has("r-false") && scratch.has("r-yes") && !scratch.has("r-"));
    let text = job("    strategy: {matrix: {x: [a, b]}}
    steps:
      - run: |
          if ${{ matrix.x == 'a' }}; then touch eq-${{ matrix.x }}; fi
          if ${{ matrix.x != 'a' }}; then touch ne-${{ matrix.x }}; fi
");
    let (scratch, _) = imported_and_run(name, &text, "w", 0);
    let made = ["eq-a", "eq-b", "ne-a", "ne-b"].map(|name| scratch.has(name));
    assert_eq!(made, [true, false, false, true]);
}

#[test]
fn an_expression_that_is_code_of_the_shell_is_not_translated() {
    let name = ".github/workflows/w.yml";
    for (matrix, run, code) in [
        ("{cmd: [touch m1, 'touch m2 && touch m3']}", "${{ matrix.cmd }}", 1),
        ("{cmd: [touch m1, touch m2]}", "${{ matrix.cmd }}", 0),
        ("{cmd: ['a; touch m3', b]}", "echo ${{ matrix.cmd }}; touch m1 m2", 1),
        ("{cmd: ['a; touch m3', b]}", "echo \"${{ matrix.cmd }}\"; touch m1 m2", 0),
    ] {
        let text =
            job(&format!("    strategy: {{matrix: {matrix}}}\n    steps: [{{run: '{run}'}}]\n"));
        let (scratch, said) = imported_and_run(name, &text, "w", code);
        let made = ["m1", "m2", "m3"].map(|name| scratch.has(name));
        assert_eq!(made, [code == 0, code == 0, false], "{run} {said:?}");
    }
    let text = "on: {workflow_dispatch: {inputs: {c: {default: pwd}}}}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: \
                [{run: 'cd . && ${{ inputs.c }}'}]\n";
    let (_, said) = imported_and_run(name, text, "w", 1);
    said.says(&["`${{ inputs.c }}` is code of the shell here and is not mapped"]);
}

#[test]
fn details_of_other_formats_are_translated_or_fail_alone() {
    let text = "name: w
description: d
nodes:
  - {id: s, bash: touch s, when: 1 == 2}
  - {id: b, bash: touch b}
  - {id: none, bash: touch none, depends_on: [s], trigger_rule: none_failed_min_one_success}
  - {id: one, bash: touch one, depends_on: [s, b], trigger_rule: none_failed_min_one_success}
";
    let (scratch, _) = imported_and_run(".archon/workflows/w.yaml", text, "w", 0);
    assert!(scratch.has("one") && !scratch.has("none"));
    let text = "---\nallowed-tools: Read\n---\nPay $150 to $1, $1.\n";
    let scratch = Scratch::new(&[(".claude/commands/pay.md", text)]);
    scratch.kb(&["playbook", "import", ".claude/commands/pay.md"]).code(0);
    let made = scratch.read(".kb/playbooks/pay.yml");
    assert!(made.contains("Pay $150 to {{") && made.matches("split)[0]").count() == 2, "{made}");
    let text =
        "kind: WavePipeline\nmetadata: {name: w}\nsteps: [{id: a, pipeline: '{{ item }}'}]\n";
    let (_, said) = imported_and_run("w.yaml", text, "w", 1);
    said.says(&["the pipeline `{{ item }}` is computed and is not mapped"]);
    let text = "version: 1.0.0\ntitle: t\ndescription: d\nprompt: 'Do {{ task }}'\nparameters: [{key: task, input_type: \
                string, requirement: optional, default: x, description: x}]\nretry: {max_retries: 2, checks: [{type: shell, \
                command: 'test -f {{ task }}'}]}\n";
    let said = Scratch::new(&[("r.yaml", text)]).kb(&["playbook", "import", "r.yaml"]).code(0);
    said.says(&["the check `test -f {{ task }}` reads a parameter and is not mapped"]);
    let text = "timeoutSec: 0\ntype: graph\nsteps:\n  - {id: one, name: First Step, command: 'sleep 0.2; touch one'}\n  - \
                {name: second, command: test -e one, depends: [First Step], timeoutSec: 0}\n";
    imported_and_run("d.yaml", text, "d", 0);
    for (name, text) in [("justfile", "build: dep\n  echo hi\n"), ("Makefile", "all: x\n\techo\n")]
    {
        let said = Scratch::new(&[(name, text)]).kb(&["playbook", "import", name]).code(2);
        said.says(&["for make and just see docs/migration/make-and-just.md"]);
    }
    let name = ".claude/skills/tidy/SKILL.md";
    let scratch = Scratch::new(&[(name, "---\nname: tidy\ndescription: tidies\n---\nTidy up.\n")]);
    scratch.kb(&["playbook", "import", name]).code(0);
    assert!(scratch.has(".kb/agents/tidy.md"));
}
