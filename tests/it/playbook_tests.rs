//! `kb playbook test`: tests of playbooks.

use crate::scratch::Scratch;

const NOTES: &str = "schema: kb.playbook/1
id: notes
params:
  - {name: since, default: v1}
steps:
  - id: collect
    run: |
      echo \"since $SINCE\" > NOTES.md
      cat src/*.txt | wc -l
    env: {SINCE: \"{{since}}\"}
  - {id: deploy, run: exit 9, dependsOn: [collect], retry: {max: 2, initial: 10ms}}
  - {id: ok, approve: \"ship it?\", dependsOn: [deploy]}
  - {id: last, run: echo done, dependsOn: [ok]}
outputs: {lines: \"{{collect.output}}\"}
";

const HEAD: &str = "schema: kb.test/1
playbook: notes
files: {src/a.txt: \"one\\ntwo\\n\"}
stubs: {deploy: [{error: down, exitCode: 7}, {output: ok}]}
tests:
";

const SHIPS: &str = "  - name: ships
    params: {since: v2}
    answers: {ok: approve}
    git: true
    expect:
      steps: {collect: succeeded, deploy: succeeded, last: succeeded}
      attempts: {deploy: 2}
      outputs: {lines: \"2\"}
      stepOutputs: {deploy: ok}
      files: {NOTES.md: \"since v2\\n\", src/a.txt: {contains: one, lacks: three, matches: \"^one\"}}
      changes: [NOTES.md]
      events: [{type: \"attempt:end\", step: deploy}, {type: \"run:end\", status: succeeded}]
      maxCost: 0
      snapshot: true
  - name: waits for the approval
    expect: {status: waiting, steps: {last: pending}}
  - name: is rejected
    answers: {ok: {reject: not today}}
    expect: {status: failed, steps: {ok: failed, last: blocked}, errors: {ok: not today}}
  - name: survives an interruption
    interruptAfter: collect
    answers: {ok: approve}
    expect: {outputs: {lines: \"2\"}, attempts: {collect: 1}, events: [{type: \"run:resume\"}]}
";

fn project(tests: &str) -> Scratch {
    let file = format!("{HEAD}{tests}");
    Scratch::new(&[(".kb/playbooks/notes.yml", NOTES), (".kb/tests/notes.test.yml", &file)])
}

#[test]
fn a_test_runs_in_a_project_of_its_own_and_passes_if_the_result_is_as_expected() {
    let scratch = project(SHIPS);
    scratch.kb(&["playbook", "test"]).code(1).says(&["ships.json` does not exist", "--update"]);
    scratch.kb(&["playbook", "test", "--update"]).code(0).says(&["snapshots/notes/ships.json"]);
    let said = scratch.kb(&["playbook", "test"]).code(0);
    said.says(&["PASS", "notes: ships", "4 tests: 4 passed"]);
    assert!(!scratch.has("NOTES.md"), "a test changed the project");
    assert_eq!(scratch.json(&["run", "list", "--json"]), serde_json::json!([]));
    let listed = scratch.kb(&["playbook", "test", "--list", "--filter", "reject"]).code(0);
    listed.says(&["notes: is rejected"]);
}

#[test]
fn what_differs_is_reported_with_the_position_of_its_expectation() {
    let scratch = project(
        "  - name: differs
    answers: {ok: approve}
    expect:
      steps: {last: failed}
      attempts: {deploy: 1}
      outputs: {lines: 3, other: 1}
      stepOutputs: {deploy: {url: x}}
      files: {NOTES.md: \"other\\n\", none.txt: {contains: x}, src/a.txt: {exists: false}}
      changes: [\"src/**\"]
      events: [{type: \"run:end\", status: failed}]
  - name: waits
    answers: {last: approve}
",
    );
    let said = scratch.kb(&["playbook", "test", "--junit", "report.xml"]).code(1);
    said.says(&[
        "expected `last` to be failed, found succeeded",
        "notes.test.yml:9:15",
        "expected 1 attempts of `deploy`, found 2",
        "the output `lines` differs: expected `3`, found `\"2\"`",
        "the run has no output `other`",
        "the output of `deploy` differs",
        "the content of `NOTES.md` differs",
        "+since v1",
        "the file `none.txt` does not exist",
        "the file `src/a.txt` exists",
        "the run changed no file that matches `src/**`",
        "unexpected change: `NOTES.md` was created",
        "no event in the run has",
        "expected the run to be succeeded, found waiting",
        "waiting for a reply: ok",
        "2 tests: 0 passed, 2 failed",
    ]);
    let junit = scratch.read("report.xml");
    for name in ["report.xml", "new.xml"] {
        std::os::unix::fs::symlink(name, scratch.root().join("link.xml")).unwrap();
        scratch
            .kb(&["playbook", "test", "--junit", "link.xml"])
            .says(&["it is a link, which is not followed"]);
        std::fs::remove_file(scratch.root().join("link.xml")).unwrap();
    }
    assert!(scratch.read("report.xml") == junit && !scratch.has("new.xml"));
    assert!(junit.contains("<testsuites name=\"kb\" tests=\"2\" failures=\"2\""), "{junit}");
    assert!(junit.contains("found `&quot;") || junit.contains("found `\""), "{junit}");
    let results = scratch.kb(&["playbook", "test", "--json"]).code(1).out;
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results[0]["passed"], false);
    assert_eq!(results[0]["problems"][0]["code"], "KB0870");
    assert_eq!(results[0]["problems"][0]["line"], 9);
}

#[test]
fn a_script_plays_the_model_and_its_claims_are_checked() {
    let playbook = "schema: kb.playbook/1
id: write
steps:
  - id: writer
    specialist: scribe
    task: write a file
    output: {schema: {created: \"string[]\"}}
";
    let specialist = "schema: kb.specialist/1
id: scribe
role: You write files.
tools: [\"fs:write\"]
";
    let tests = "schema: kb.test/1
playbook: write
tests:
  - name: honest
    script:
      writer:
        - calls: [{tool: \"fs:write\", args: {path: a.txt, content: hello}}]
        - output: {created: [a.txt], summary: done}
    expect: {verdicts: {writer: passed}, files: {a.txt: hello}, changes: [a.txt]}
  - name: lie
    script: {writer: [{output: {created: [a.txt], summary: done}}]}
    expect: {status: failed, verdicts: {writer: failed}, files: {a.txt: {exists: false}}}
  - name: script in a file
    script: lie.yml
    expect: {status: failed}
  - name: no script
    expect: {status: failed, errors: {writer: KB0705}}
";
    let lie =
        "schema: kb.script/1\nsteps: {writer: [{output: {created: [b.txt], summary: done}}]}\n";
    let scratch = Scratch::new(&[
        (".kb/playbooks/write.yml", playbook),
        (".kb/specialists/scribe.yml", specialist),
        (".kb/tests/write.test.yml", tests),
        (".kb/tests/lie.yml", lie),
    ]);
    scratch.kb(&["playbook", "test"]).code(0).says(&["4 tests: 4 passed"]);
}

#[test]
fn problems_of_test_files_are_reported_at_once_before_any_test_runs() {
    let scratch = project(
        "  - name: first
    playbook: note
  - name: first
    expects: {status: succeeded}
  - name: second
    stubs: {deplo: {output: 1}, collect: {output: 1, error: x}}
    answers: {ok: {approved: true}}
    expect: {status: done, files: {a: {matches: \"(\"}}}
  - name: third
    interruptAfter: nothing
",
    );
    scratch.kb(&["playbook", "test"]).code(2).says(&[
        "two tests with the name `first`",
        "unknown key `expects` in a test",
        "did you mean `expect`?",
        "a stub has 2 of `output`, `error`",
        "unknown key `approved` in a reply",
        "`done` is not a value of `status`",
    ]);
    let scratch = project("  - {name: a, playbook: note}\n  - {name: b, interruptAfter: lats}\n");
    scratch.kb(&["playbook", "test"]).code(2).says(&[
        "there is no playbook `note`",
        "did you mean `notes`?",
        "there is no step `lats`",
        "did you mean `last`?",
    ]);
    scratch.kb(&["playbook", "test", "nots"]).code(4).says(&["no playbook `nots`"]);
    let none = Scratch::new(&[(".kb/playbooks/notes.yml", NOTES)]);
    none.kb(&["playbook", "test"]).code(2).says(&["has no tests", ".kb/tests/NAME.test.yml"]);
}

#[test]
fn a_test_that_cannot_start_or_end_fails_with_the_reason() {
    let scratch = project(
        "  - {name: parameter, params: {sinc: v1}}
  - {name: copy, copy: \"none/**\"}
  - {name: outside, files: {../x: \"\"}}
  - {name: slow, playbook: sleeps, stubs: {}, timeout: 200ms}
",
    );
    let sleeps = "schema: kb.playbook/1\nid: sleeps\nsteps: [{id: a, run: sleep 60}]\n";
    scratch.write(".kb/playbooks/sleeps.yml", sleeps);
    scratch.kb(&["playbook", "test"]).code(1).says(&[
        "there is no parameter `sinc`",
        "did you mean `since`?",
        "`copy: none/**` matches no file",
        "`../x` is outside of the project",
        "the test did not end within 200ms",
    ]);
}

const RELEASE: &str = "schema: kb.playbook/1
id: release
params: [{name: region, default: eu}]
steps:
  - {id: ok, approve: \"Publish to {{region}}?\"}
  - {id: size, ask: {question: \"How many?\", schema: {type: integer}}, dependsOn: [ok]}
outputs: {size: \"{{size.output}}\"}
";

const RELEASES: &str = "schema: kb.playbook/1
id: releases
steps:
  - {id: one, playbook: release}
  - {id: each, forEach: {in: [us, de/by], as: region, key: \"{{region}}\"}, playbook: release, with: {region: \"{{region}}\"}, dependsOn: [one]}
outputs: {one: \"{{one.output.size}}\", all: \"{{each.output}}\"}
";

#[test]
fn questions_of_child_runs_get_the_replies_of_the_test() {
    let test = "schema: kb.test/1
playbook: releases
tests:
  - name: all are approved
    answers: {one/ok: approve, one/size: 3, each/ok: approve, each/size: 4, \"each[de/by]/size\": 5}
    expect: {outputs: {one: 3, all: [{size: 4}, {size: 5}]}}
  - name: a rejection fails the step
    answers: {one/ok: {reject: not today}}
    expect: {status: failed, errors: {one: not today}}
  - name: nobody replies
    answers: {one/ok: approve}
    expect: {status: waiting}
";
    let scratch = Scratch::new(&[
        ("playbooks/release.yml", RELEASE),
        ("playbooks/releases.yml", RELEASES),
        (".kb/tests/releases.test.yml", test),
    ]);
    scratch.kb(&["playbook", "test"]).code(0).says(&["3 passed"]);
    let open = test.replace("expect: {status: waiting}", "expect: {status: succeeded}");
    scratch.write(".kb/tests/releases.test.yml", &open);
    let said = scratch.kb(&["playbook", "test"]).code(1);
    said.says(&["waiting for a reply: one/size", "add `answers: {one/size: approve}`"]);
    let wrong = test.replace("one/size: 3", "one/sise: 3, two/ok: approve");
    scratch.write(".kb/tests/releases.test.yml", &wrong);
    let said = scratch.kb(&["playbook", "test"]).code(2);
    said.says(&["there is no step `sise`", "did you mean `size`?", "there is no step `two`"]);
}
