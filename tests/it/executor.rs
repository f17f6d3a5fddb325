//! Real steps on real files: shells, tools, gates and scripted specialists, from YAML to journal.

use kb::definition::RecoveryKind;
use kb::engine::Folded;
use kb::project::ProjectFolder;
use kb::run::{Event, Rules, RunStatus};
use kb::service::runs::{Overrides, ProjectContext};
use kb::service::{Environment, Project, StartRequest, start};
use kb::value::Json;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use tokio::sync::mpsc::unbounded_channel;

/// A project in a temporary folder, with one playbook called `it`.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

/// How its run went.
pub(crate) struct Ran {
    pub(crate) status: RunStatus,
    pub(crate) steps: BTreeMap<String, String>,
    pub(crate) outputs: Json,
    pub(crate) events: Vec<Event>,
    pub(crate) failures: BTreeMap<String, String>,
}

impl Bench {
    pub(crate) fn new(steps: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench { folder };
        bench.write(".kb/playbooks/it.yml", &format!("schema: kb.playbook/1\nid: it\n{steps}"));
        bench.write(
            ".kb/specialists/writer.yml",
            "schema: kb.specialist/1\nid: writer\nrole: You write files.\ntools: [fs:read, fs:write, fs:edit]\n\
             output:\n  schema:\n    created: string[]\n    summary: string\n",
        );
        bench
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(path)).ok()
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn context(&self) -> ProjectContext {
        let mut variables: BTreeMap<String, String> = std::env::vars().collect();
        let state = format!("{}-state", self.root().display());
        variables.insert("XDG_STATE_HOME".to_owned(), state);
        let environment = Environment::new(self.root(), variables, kb::clock::Clock::system());
        ProjectContext::of(&ProjectFolder::at(self.root()), &environment)
    }

    pub(crate) async fn run(&self, params: Json, script: Option<&str>) -> Ran {
        let context = self.context();
        let project = Project::load(ProjectFolder::at(self.root()), &context.environment);
        // Outside of the workspace, so that no step sees these files.
        std::fs::create_dir_all(context.environment.state_base()).unwrap();
        let beside = |name: &str, text: &str| {
            let path = context.environment.state_base().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let request = StartRequest {
            definition: "it".to_owned(),
            params_file: Some(beside("params.json", &params.to_string())),
            script: script.map(|text| beside("script.yml", text)),
            overrides: Overrides { max_parallel: Some(4), ..Overrides::default() },
            ..StartRequest::default()
        };
        let prepared = start(project, request, None)
            .await
            .unwrap_or_else(|error| panic!("{error}: {error:?}"));
        let (plan, run) = (prepared.plan().clone(), prepared.run().clone());
        let (_keep, commands) = unbounded_channel();
        let summary = prepared.drive(None, commands).await.unwrap();
        let journal = self.context().journal(Default::default()).unwrap();
        let stored = journal.events(&run, 0).unwrap();
        let folded = Folded::of(&plan, Rules::default(), &stored);
        let name = |ix| folded.state.key(&plan, ix).to_string();
        let steps =
            folded.state.instances().map(|(ix, i)| (name(ix), i.status.to_string())).collect();
        let failures = folded
            .state
            .instances()
            .filter_map(|(ix, i)| Some((name(ix), i.failure()?.to_string())))
            .collect();
        let outputs =
            summary.outputs.and_then(|o| o.as_inline().map(|v| (**v).clone())).unwrap_or_default();
        let events = stored.into_iter().map(|s| s.event.into_inner()).collect();
        let _ = std::fs::remove_dir_all(context.environment.state_base());
        Ran { status: summary.status, steps, outputs, events, failures }
    }
}

async fn outputs(steps: &str) -> Json {
    let ran = Bench::new(steps).run(json!({}), None).await;
    assert_eq!(ran.status, RunStatus::Succeeded, "{:?}", ran.failures);
    ran.outputs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_hands_out_what_it_prints() {
    let found = outputs(
        "steps:\n  - {id: text, run: 'printf \"a\\nb\\n\"'}\n  - {id: lines, run: 'printf \"a\\nb\\n\"', parse: lines}\n  \
         - {id: data, run: [echo, '{\"n\": 3}'], parse: json}\n  - {id: empty, run: 'true'}\n\
         outputs: {text: '{{text.output}}', lines: '{{lines.output}}', n: '{{data.output.n}}', none: '{{empty.output}}'}\n",
    )
    .await;
    assert_eq!(found, json!({"text": "a\nb", "lines": ["a", "b"], "n": 3, "none": ""}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_reach_a_shell_as_data_and_never_as_code() {
    let bench = Bench::new(
        "params: [{name: title}]\nsteps:\n  - id: say\n    env: {TITLE: '{{title}}'}\n    run: 'printf %s \"$TITLE\"'\n  \
         - {id: argv, run: [printf, '%s', '{{title}}']}\noutputs: {a: '{{say.output}}', b: '{{argv.output}}'}\n",
    );
    let hostile = "$(touch pwned); `id` \"' && rm -rf /";
    let ran = bench.run(json!({"title": hostile}), None).await;
    assert_eq!(ran.outputs, json!({"a": hostile, "b": hostile}), "{:?}", ran.failures);
    assert_eq!(bench.read("pwned"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_command_blocks_what_needs_it_and_says_its_last_words() {
    let ran = Bench::new(
        "steps:\n  - {id: bad, run: 'echo oops >&2; exit 7'}\n  - {id: after, dependsOn: [bad], run: 'true'}\n  \
         - {id: beside, run: 'true'}\n  - {id: always, dependsOn: [bad], runIf: allDone, run: 'true'}\n",
    )
    .run(json!({}), None)
    .await;
    assert_eq!(ran.status, RunStatus::Failed);
    let expected =
        [("after", "blocked"), ("always", "succeeded"), ("bad", "failed"), ("beside", "succeeded")];
    assert_eq!(ran.steps, expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into());
    assert_eq!(ran.failures["bad"], "exit code 7: oops [KB0558]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flaky_command_is_retried_with_the_same_idempotency_key() {
    let bench = Bench::new(
        "steps:\n  - id: flaky\n    run: 'echo \"$KB_ATTEMPT $KB_IDEMPOTENCY_KEY\" >> tries; test $(wc -l < tries) -ge 3'\n    \
         retry: {max: 3, on: [exit], initial: 1ms}\n",
    );
    let ran = bench.run(json!({}), None).await;
    assert_eq!(ran.status, RunStatus::Succeeded, "{:?}", ran.failures);
    let tries = bench.read("tries").unwrap();
    let tries: Vec<Vec<&str>> = tries.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(tries.iter().map(|t| t[0]).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(tries.iter().all(|t| t[1] == tries[0][1] && t[1].ends_with("/flaky/1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_run_side_by_side_and_keep_their_order() {
    let found = outputs(
        "steps:\n  - {id: list, run: 'printf \"c\\na\\nb\\n\"', parse: lines}\n  \
         - {id: each, forEach: '{{list.output}}', env: {IT: '{{item}}', N: '{{index}}'}, run: 'echo \"$N$IT\"'}\n  \
         - {id: keyed, forEach: {in: '{{list.output}}', as: letter, key: '{{letter}}'}, run: [echo, '{{letter}}!']}\n  \
         - {id: empty, forEach: [], run: 'false'}\n\
         outputs: {each: '{{each.output}}', keyed: '{{keyed.output}}', c: '{{keyed.byKey.c}}', none: '{{empty.output}}'}\n",
    )
    .await;
    assert_eq!(
        found,
        json!({"each": ["0c", "1a", "2b"], "keyed": ["c!", "a!", "b!"], "c": "c!", "none": []})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_condition_skips_and_finally_sees_how_it_ended() {
    let bench = Bench::new(
        "params: [{name: deep, type: boolean}]\nsteps:\n  - {id: base, set: {n: 2}}\n  \
         - {id: more, condition: '{{deep}}', run: 'true'}\n  \
         - {id: sum, set: {n: '{{base.output.n + 1}}', more: \"{{more.output | default('nothing')}}\"}}\n  \
         - {id: bad, dependsOn: [sum], run: 'false'}\n\
         finally:\n  - {id: report, env: {STATUS: '{{run.status}}'}, run: 'echo $STATUS > report'}\n\
         outputs: {n: '{{sum.output.n}}', more: '{{sum.output.more}}'}\n",
    );
    let ran = bench.run(json!({"deep": false}), None).await;
    assert_eq!(ran.status, RunStatus::Failed);
    assert_eq!(ran.steps["more"], "skipped");
    assert_eq!(bench.read("report").as_deref(), Some("failed\n"));
    assert_eq!(ran.outputs, json!({"n": 3, "more": "nothing"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_holds_a_step_to_what_is_on_disk() {
    let ran = Bench::new(
        "steps:\n  - id: good\n    run: 'mkdir -p out && echo hello > out/a.txt'\n    \
         verify: {checks: [{file: {path: 'out/*.txt', changed: true}}, {command: [grep, -q, hello, out/a.txt]}]}\n  \
         - id: bad\n    run: 'true'\n    verify: {checks: [{file: {path: nothing.txt}}]}\n  \
         - id: gate\n    dependsOn: [good]\n    gate: [{expr: \"{{good.output}} == ''\"}]\n",
    )
    .run(json!({}), None)
    .await;
    assert_eq!(ran.steps["good"], "succeeded", "{:?}", ran.failures);
    assert_eq!(ran.steps["gate"], "succeeded", "{:?}", ran.failures);
    assert_eq!(ran.steps["bad"], "failed");
    assert!(ran.failures["bad"].contains("nothing.txt"), "{}", ran.failures["bad"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_specialist_that_claims_what_it_did_not_do_is_sent_back() {
    let bench = Bench::new(
        "steps:\n  - {id: write, specialist: writer, task: 'write a.txt'}\noutputs: {made: '{{write.output.created}}'}\n",
    );
    let script = "schema: kb.script/1\nsteps:\n  write#1:\n    - output: {created: [a.txt], summary: done}\n  \
         write#2:\n    - calls: [{tool: fs:write, args: {path: a.txt, content: hello}}]\n    \
         - output: {created: [a.txt], summary: done now}\n";
    let ran = bench.run(json!({}), Some(script)).await;
    assert_eq!(ran.status, RunStatus::Succeeded, "{:?}", ran.failures);
    assert_eq!(bench.read("a.txt").as_deref(), Some("hello"));
    assert_eq!(ran.outputs, json!({"made": ["a.txt"]}));
    let reworks = ran.events.iter().filter(
        |e| matches!(e, Event::Recovered { action, .. } if *action == RecoveryKind::Rework),
    );
    assert_eq!(reworks.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_step_writes_and_a_guard_holds_it_inside() {
    let bench = Bench::new(
        "steps:\n  - {id: put, tool: 'fs:write', input: {path: notes/a.md, content: hi}}\n  \
         - {id: out, tool: 'fs:write', input: {path: ../escaped.md, content: hi}}\n",
    );
    let ran = bench.run(json!({}), None).await;
    assert_eq!(bench.read("notes/a.md").as_deref(), Some("hi"), "{:?}", ran.failures);
    assert_eq!(ran.steps["out"], "failed");
    assert!(!bench.root().join("../escaped.md").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_reaches_its_process_and_no_event() {
    let bench = Bench::new(
        "steps:\n  - id: use\n    env: {TOKEN: '{{secrets.TOKEN}}'}\n    run: 'echo \"got $TOKEN\"; echo -n $TOKEN > used'\n",
    );
    bench.write(".kb/kb.config.yml", "secrets: {TOKEN: 'file:.kb/token'}\n");
    bench.write(".kb/token", "s3cr3t-value-42\n");
    let ran = bench.run(json!({}), None).await;
    assert_eq!(ran.status, RunStatus::Succeeded, "{:?}", ran.failures);
    assert_eq!(bench.read("used").as_deref(), Some("s3cr3t-value-42"));
    let text = format!("{:?}", ran.events);
    assert!(!text.contains("s3cr3t"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_only_warned_of_passes_with_a_word_and_low_confidence() {
    let bench = Bench::new(
        "steps:\n  - id: write\n    specialist: writer\n    task: 'write a.txt'\n    verify: {claims: warn}\n",
    );
    let script =
        "schema: kb.script/1\nsteps:\n  write:\n    - output: {created: [a.txt], summary: done}\n";
    let ran = bench.run(json!({}), Some(script)).await;
    assert_eq!(ran.status, RunStatus::Succeeded, "{:?}", ran.failures);
    let verification = ran.events.iter().find_map(|event| match event {
        Event::Judged { verification, .. } => Some(verification),
        _ => None,
    });
    let verification = verification.unwrap();
    assert_eq!(verification.confidence, kb::evidence::Confidence::Low);
    assert!(verification.checks[0].warning);
    assert!(verification.reason.as_ref().unwrap().starts_with("`a.txt` is claimed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_was_to_change_something_and_did_not_is_not_done() {
    let bench = Bench::new(
        "steps:\n  - id: write\n    specialist: writer\n    task: 'write a.txt'\n    \
         verify: {claims: none, expectChanges: true, onInconclusive: fail}\n",
    );
    let script =
        "schema: kb.script/1\nsteps:\n  write:\n    - output: {created: [], summary: done}\n";
    let ran = bench.run(json!({}), Some(script)).await;
    assert_eq!(ran.status, RunStatus::Failed);
    assert!(ran.failures["write"].contains("KB0552"), "{}", ran.failures["write"]);
}

#[test]
fn policies_only_narrow() {
    use kb::definition::{ApprovalLevel, AuthorSandbox, Settings, ToolSecurity};
    let tool = kb::value::ToolName::new("fs:write").unwrap();
    let mut open = Settings::default();
    open.tools.http.allow_private = vec!["a".into(), "b".into()];
    open.sandbox.critical_unapproved_at = ApprovalLevel::None;
    open.sandbox.steps = AuthorSandbox::Never.into();
    let mut strict = Settings::default();
    strict.tools.http.allow_private = vec!["b".into(), "c".into()];
    let security = ToolSecurity {
        enabled: Some(false),
        denied_paths: vec!["secret/**".into()],
        ..ToolSecurity::default()
    };
    strict.tools.security.tools.insert(tool.clone(), security);
    for narrowed in [open.narrowed_by(&strict), strict.narrowed_by(&open)] {
        assert_eq!(narrowed.tools.http.allow_private, ["b"]);
        assert_eq!(narrowed.sandbox.critical_unapproved_at, ApprovalLevel::Kernel);
        assert_eq!(narrowed.sandbox.steps, AuthorSandbox::Auto.into());
        assert_eq!(narrowed.tools.security.tools[&tool].enabled, Some(false));
        assert_eq!(narrowed.tools.security.tools[&tool].denied_paths, ["secret/**"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_is_never_the_code_of_an_interpreter() {
    let bench = Bench::new(
        "params: [{name: option}, {name: code}]\n\
         steps:\n  - {id: say, run: [touch, '{{option}}', '{{code}}']}\n",
    );
    for option in ["-c", "-ec", "-n", "--"] {
        let ran = bench.run(json!({"option": option, "code": "pwned"}), None).await;
        assert_eq!(ran.status, RunStatus::Failed, "{option}: {:?}", ran.failures);
        assert_eq!(bench.read("pwned"), None, "{option}");
        let expected = "argument 1 of `touch` is a value that starts with `-`, so it would be read as an option [KB0216]";
        assert_eq!(ran.failures["say"], expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_may_lack_something_proves_nothing() {
    let ran = Bench::new(
        "steps:\n  - id: deep\n    run: 'mkdir -p $(yes d/ | head -n 200 | tr -d \"\\n\")'\n    \
         verify: {checks: [{command: ['true'], inputs: [tests]}], onInconclusive: fail}\n",
    )
    .run(json!({}), None)
    .await;
    assert_eq!(ran.status, RunStatus::Failed);
    let why = &ran.failures["deep"];
    assert!(why.contains("more files than could be watched around `run`"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_checks_a_specialists_work_writes_in_the_workspace_only() {
    if kb::tool::sandbox_level(Default::default()) != kb::definition::ApprovalLevel::Kernel {
        return eprintln!("skipped: this kernel has no Landlock of Linux 6.2 or later");
    }
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("made");
    let check = format!(
        "verify: {{claims: none, checks: [{{command: [touch, {}]}}], onFailed: fail}}",
        target.display()
    );
    let script = "schema: kb.script/1\nsteps:\n  work: [{output: {created: [], summary: x}}]\n";
    for (step, held) in [("specialist: writer, task: go", true), ("run: 'true'", false)] {
        let bench = Bench::new(&format!("steps:\n  - {{id: work, {step}, {check}}}\n"));
        let ran = bench.run(json!({}), held.then_some(script)).await;
        let expected = if held { RunStatus::Failed } else { RunStatus::Succeeded };
        assert_eq!(ran.status, expected, "{step}: {:?}", ran.failures);
        assert_eq!(target.exists(), !held, "{step}: {:?}", ran.failures);
    }
}
