//! What the keys of playbooks and steps load as.

use super::*;
use kb::definition::{
    Backoff, Check, ClaimPolicy, EvidenceMode, FailurePolicy, FileCheck, OnItemError, Order,
    OutputParse, RunCommand, RunIf, RunStep, Step, StepKind, StepPhase, TaskText, WorkspaceMode,
};
use kb::expression::ValueTemplate;
use kb::value::{OutcomeKind, OutcomeSelector};
use serde_json::json;
use std::time::Duration;

/// One of everything that is built.
pub(super) const EVERYTHING: &str = r#"schema: kb.playbook/1
id: everything
name: Everything
description: One of each
triggers: [all of it]
params:
  - {name: topic, required: true, prompt: "Which?"}
  - {name: count, type: integer, default: 3, min: 1, max: 9}
  - {name: mode, enum: [fast, slow], default: fast}
  - {name: token, type: secret, default: "env:TOKEN"}
env: {LEVEL: "{{mode}}"}
defaults: {timeout: 5m, retry: {max: 1}, env: {SHARED: "1"}}
limits: {maxParallel: 4, timeout: 1h, failFast: true}
outputs: {all: "{{shell.output}}"}
steps:
  - id: shell
    name: A script
    run: |
      echo "$TOPIC" | awk '{print $1}'
      docker inspect -f '{{.State}}' x
    env: {TOPIC: "{{topic}}", PORT: 8080}
    parse: lines
    evidence: full
  - id: argv
    run: [bash, -c, 'echo "$1"', _, "{{topic}}", 3]
    cwd: sub
    depends_on: [shell]
    retry_safe: false
  - id: write
    tool: fs:write
    input: {path: "out/{{topic}}.txt", content: "{{shell.output}}"}
    workspace: shared
  - id: call
    http:
      method: post
      url: "https://example.org/{{topic}}"
      headers: {Authorization: "Bearer {{token}}", X: 1}
      query: {n: "{{count}}"}
      body: {list: ["{{topic}}", 2]}
      expect: [200, 201]
    timeout: {attempt: 30s, idle: 5s}
  - id: values
    set: {a: 1, b: "{{topic}}", c: {d: [true, null]}}
    condition: "{{count}} > 2"
    runIf: allDone
  - id: work
    specialist: implementer
    task: "Do {{topic}}"
    input: {context: "{{values.output}}", raw: {text: "{{not}} a placeholder", raw: true}}
    output: {schema: {files: "string[]"}}
    onError: continue
    maxAttempts: 4
    verify:
      claims: warn
      expectChanges: false
      checks:
        - schema: {summary: string}
        - file: {path: "src/**/*.rs", minCount: 2, count: {pattern: "pub fn", min: 4}, changed: true}
        - file: out.txt
        - command: [cargo, test, "{{topic}}"]
          inputs: ["tests/**"]
          timeout: 10m
        - expr: "{{work.output.files | length}} > 0"
      onFailed: retry
      onInconclusive: fail
      maxReworks: 3
  - id: each
    forEach: {in: "{{work.output.files}}", as: path, key: "{{path}}", maxParallel: 2, onItemError: continue}
    run: [wc, -l, "{{path}}"]
    retry: {max: 3, on: [exit, transient], backoff: linear, initial: 2s, maxDelay: 10s}
  - id: gate
    gate: [{file: out.txt}]
    dependsOn: [each]
finally:
  - {id: clean, run: rm -f out.txt}
"#;

fn step<'p>(found: &'p Playbook, id: &str) -> &'p Step {
    found.steps.iter().chain(&found.finally).find(|step| step.id.as_str() == id).expect("the step")
}

#[test]
fn everything_that_is_built_loads_without_a_word() {
    let found = playbook(EVERYTHING);
    assert_eq!(found.steps.len(), 8);
    assert_eq!(found.limits.timeout, Some(Duration::from_secs(3600)));
    assert!(found.limits.fail_fast);
    assert_eq!(found.order, Order::Graph);
    assert_eq!(found.params[1].default, Some(json!(3)));

    let shell = step(&found, "shell");
    let StepKind::Run(RunStep { command: RunCommand::Shell(text), parse: OutputParse::Lines }) =
        &shell.kind
    else {
        panic!("{:?}", shell.kind)
    };
    assert!(text.contains("{{.State}}"), "other braces are the shell's own");
    let env: Vec<&str> = shell.details().env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(env, ["SHARED", "TOPIC", "PORT"]);
    assert_eq!(shell.details().evidence, Some(EvidenceMode::Full));
    assert_eq!(shell.details().timeout.attempt, Some(Duration::from_secs(300)), "from `defaults`");

    let argv = step(&found, "argv");
    let StepKind::Run(RunStep { command: RunCommand::Argv(words), .. }) = &argv.kind else {
        panic!()
    };
    assert_eq!(words.len(), 6);
    assert_eq!(words[5].as_literal(), Some("3"));
    assert!(!argv.details().retry_safe);
    assert_eq!(argv.depends_on[0].0.as_str(), "shell");

    let call = step(&found, "call");
    let StepKind::Http(http) = &call.kind else { panic!() };
    assert_eq!((http.method.as_str(), http.expect.as_slice()), ("POST", &[200, 201][..]));
    assert_eq!(call.details().timeout.idle, Some(Duration::from_secs(5)));

    let each = step(&found, "each");
    let for_each = each.for_each.as_ref().expect("a list");
    assert_eq!((for_each.name.as_str(), for_each.max_parallel), ("path", Some(2)));
    assert_eq!(for_each.on_item_error, OnItemError::Continue);
    let retry = each.details().retry.as_ref().expect("retries");
    assert_eq!((retry.max, retry.delays.backoff), (3, Backoff::Linear));
    assert_eq!(retry.on, [OutcomeSelector::AnyExit, OutcomeSelector::Kind(OutcomeKind::Transient)]);
    assert_eq!(step(&found, "clean").phase, StepPhase::Finally);
}

#[test]
fn a_specialist_step_keeps_what_its_gate_says() {
    let found = playbook(EVERYTHING);
    let work = step(&found, "work");
    let verify = work.verify().expect("a gate");
    assert_eq!((verify.claims, verify.on_failed), (ClaimPolicy::Warn, Some(FailurePolicy::Retry)));
    assert_eq!(verify.checks.len(), 5);
    assert!(
        matches!(&verify.checks[1], Check::File(FileCheck { min_count: 2, count: Some(count), .. }) if count.min == 4)
    );
    let Some(ValueTemplate::Map(input)) = &work.details().input else {
        panic!("{:?}", work.details().input)
    };
    assert!(
        matches!(&input[1].1, ValueTemplate::Literal(text) if **text == "{{not}} a placeholder")
    );
}

#[test]
fn a_specialist_step_has_a_strict_gate_where_it_says_nothing() {
    let found =
        playbook(&with_steps("  - {id: a, specialist: s, task: Go}\n  - {id: b, run: echo}"));
    let verify = found.steps[0].verify().expect("a gate");
    assert_eq!((verify.claims, verify.on_failed), (ClaimPolicy::Strict, None));
    assert!(found.steps[1].verify().is_none());
}

#[test]
fn a_process_is_retried_after_any_exit_code() {
    let found = playbook(&with_steps(
        "  - {id: a, run: make, retry: {max: 2}}\n  - {id: b, set: {}, retry: {max: 2}}",
    ));
    let on =
        |index: usize| found.steps[index].details().retry.as_ref().expect("retries").on.clone();
    assert!(on(0).contains(&OutcomeSelector::AnyExit));
    assert!(!on(1).contains(&OutcomeSelector::AnyExit));
}

#[test]
fn sequential_steps_are_chained_as_written() {
    let found = playbook(
        "schema: kb.playbook/1\nid: p\norder: sequential\nsteps:\n  - {id: a, run: x}\n  - {id: b, run: x}\n  - {id: c, run: x, dependsOn: b}\n",
    );
    let chain: Vec<Vec<&str>> = found
        .steps
        .iter()
        .map(|s| s.depends_on.iter().map(|(id, _)| id.as_str()).collect())
        .collect();
    assert_eq!(chain, [vec![], vec!["a"], vec!["b"]]);
}

#[test]
fn defaults_give_what_a_step_does_not_say_and_what_belongs_to_its_kind() {
    let found = playbook(
        "schema: kb.playbook/1\nid: p\ndefaults: {specialist: helper, task: Help, parse: json, runIf: allDone}\nsteps:\n  - {id: a}\n  - {id: b, run: x}\n  - {id: c, taskFile: tasks/c.md, runIf: noneFailed}\n",
    );
    assert!(
        matches!(&found.steps[0].kind, StepKind::Specialist(step) if step.specialist.as_str() == "helper")
    );
    assert!(matches!(
        &found.steps[1].kind,
        StepKind::Run(RunStep { parse: OutputParse::Json, .. })
    ));
    let task = found.steps[2].kind.task();
    assert!(matches!(task, Some(TaskText::File { path, .. }) if **path == *"tasks/c.md"));
    assert_eq!((found.steps[0].run_if, found.steps[2].run_if), (RunIf::AllDone, RunIf::NoneFailed));
}

#[test]
fn keys_of_users_are_left_alone() {
    let found = playbook(&with_steps(
        "  - id: a\n    set: {snake_case: 1, camelCase: 2, \"with space\": 3, \"on\": 4, yes: no}\n",
    ));
    let StepKind::Set(values) = &found.steps[0].kind else { panic!() };
    let keys: Vec<&str> = values.iter().map(|(key, _)| &**key).collect();
    assert_eq!(keys, ["snake_case", "camelCase", "with space", "on", "yes"]);
    assert!(matches!(&values[4].1, ValueTemplate::Literal(no) if **no == json!("no")));
}

#[test]
fn features_that_are_not_supported_yet_load_with_a_warning() {
    let (catalog, said) = said(
        FileRole::Playbook,
        "p.yml",
        "schema: kb.playbook/1\nid: p\nbudget: {maxCostUsd: 1}\non: {schedule: \"0 0 * * *\"}\nconcurrency: {group: g, onConflict: queue}\nsteps:\n\
         \x20 - {id: a, playbook: other, with: {x: 1}}\n\
         \x20 - {id: b, ask: {question: \"Go on?\"}}\n\
         \x20 - {id: c, approve: {message: ok, timeout: 1h}}\n\
         \x20 - {id: d, wait: 30s}\n\
         \x20 - {id: e, run: x, recovery: [{on: [transient], do: retry}], loop: {until: true, max: 3}, locks: [db], cache: true}\n\
         \x20 - {id: f, specialist: s, task: Go, verify: {onFailed: escalateModel, onInconclusive: askUser, checks: [{diff: {maxFiles: 3}}, {judge: {}}, {command: [x], mustFailBefore: true, tests: {minCount: 1}}]}}\n",
    );
    insta::assert_snapshot!(said, @"
    ");
    let found = &catalog.playbooks["p"];
    assert!(found.not_yet.is_empty(), "a schedule changes no run that a person starts");
    let of = |id: &str| -> Vec<&str> {
        step(found, id).details().not_yet.iter().map(|n| n.what.as_str()).collect()
    };
    assert_eq!(of("a"), Vec::<&str>::new());
    assert_eq!(of("e"), Vec::<&str>::new());
    assert_eq!(of("f"), Vec::<&str>::new());
    assert!(matches!(step(found, "a").kind, StepKind::Playbook(_)));
    assert!(matches!(step(found, "b").kind, StepKind::Ask(_)));
    assert!(matches!(step(found, "c").kind, StepKind::Approve(_)));
    assert!(matches!(step(found, "d").kind, StepKind::Wait(_)));
    assert!(matches!(step(found, "f").verify().expect("a gate").checks[1], Check::Judge(_)));
}

#[test]
fn workspace_and_gates_of_their_own() {
    let found = playbook(EVERYTHING);
    assert_eq!(step(&found, "write").details().workspace, Some(WorkspaceMode::Shared));
    assert!(matches!(&step(&found, "gate").kind, StepKind::Gate(checks) if checks.len() == 1));
}

/// What this thread has had of a processor: what else runs on the machine does not count.
fn processor_time() -> std::time::Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("of Linux");
    let nanoseconds = told.split(' ').next().and_then(|first| first.parse().ok());
    std::time::Duration::from_nanos(nanoseconds.expect("its first number"))
}

/// Checks that look at every pair of steps would show here long before a release build is measured.
#[test]
fn loading_takes_time_in_proportion_to_the_steps() {
    let text = |count: usize| {
        let mut text =
            String::from("schema: kb.playbook/1\nid: p\nparams: [{name: topic}]\nsteps:\n");
        for i in 0..count {
            let before = format!("step-{}", i / 2);
            let input = if i == 0 {
                "{{topic}}".to_owned()
            } else {
                format!("{{{{steps['{before}'].output}}}}")
            };
            text += &format!(
                "  - id: step-{i}\n    run: [echo, \"{input}\"]\n    timeout: 90s\n    retry: {{max: 2}}\n"
            );
        }
        text
    };
    let time = |count: usize| {
        let text = text(count);
        (0..3)
            .map(|_| {
                let before = processor_time();
                assert_eq!(playbook(&text).steps.len(), count);
                processor_time() - before
            })
            .min()
            .expect("three times")
    };
    let (few, many) = (time(400), time(3200));
    assert!(many < few * 24, "8 times the steps took {few:?} and {many:?}");
}
