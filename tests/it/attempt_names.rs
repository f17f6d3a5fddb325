//! Tests name single rounds of a review: passes of a loop over a child run, and iterations after a rejection.

use crate::playbook_faults::{answering, response};
use crate::scratch::Scratch;
use serde_json::json;

const ROUNDS: &str = "schema: kb.playbook/1
id: rounds
steps:
  - {id: fix, playbook: once, loop: {until: \"fix.output.open == 0\", max: 3}}
  - {id: ok, dependsOn: [fix], approve: {message: merge?, onReject: {retry: fix}}}
";

const ONCE: &str = "schema: kb.playbook/1
id: once
steps:
  - {id: change, run: \"echo change >> log.txt\"}
  - {id: review, dependsOn: [change], specialist: reviewer, task: review it, output: {schema: {open: integer}}}
outputs: {open: \"{{review.output.open}}\"}
";

const REVIEWER: &str = "schema: kb.specialist/1
id: reviewer
role: You review.
tools: [\"fs:read\"]
";

fn project(test: &str) -> Scratch {
    Scratch::new(&[
        (".kb/playbooks/rounds.yml", ROUNDS),
        (".kb/playbooks/once.yml", ONCE),
        (".kb/specialists/reviewer.yml", REVIEWER),
        (".kb/tests/rounds.test.yml", test),
    ])
}

const TEST: &str = "schema: kb.test/1
playbook: rounds
tests:
  - name: by stubs
    stubs:
      fix/review: {output: {open: 2}}
      fix#2/review: {output: {open: 0}}
      fix@2/review: {output: {open: 0}}
    answers: {ok: {reject: one more}, ok@2: approve}
    expect: {files: {log.txt: \"change\\nchange\\nchange\\n\"}}
  - name: by a script
    script:
      review: [{output: {open: 2, summary: two gaps}}]
      fix#3/review: [{output: {open: 0, summary: no gaps}}]
    answers: {ok: approve}
    expect: {attempts: {fix: 3}, files: {log.txt: \"change\\nchange\\nchange\\n\"}}
";

#[test]
fn a_test_gives_each_round_of_a_review_its_own_result() {
    let scratch = project(TEST);
    scratch.kb(&["playbook", "test"]).code(0).says(&["2 passed"]);
    // Names of steps that do not exist, in scripts as in stubs.
    let wrong = TEST.replace("fix#3/review", "fix#3/reviw").replace("fix@2/", "fx@2/");
    scratch.write(".kb/tests/rounds.test.yml", &wrong);
    let said = scratch.kb(&["playbook", "test"]).code(2);
    said.says(&["there is no step `reviw`", "did you mean `review`?", "there is no step `fx`"]);
    // A round without a turn is named.
    let missing = TEST.replace("      review: [{output: {open: 2, summary: two gaps}}]\n", "");
    scratch.write(".kb/tests/rounds.test.yml", &missing);
    let said = scratch.kb(&["playbook", "test"]).code(1);
    said.says(&[
        "no turn 1 for attempt 1 of `review` (`fix/review`)",
        "its keys are `fix#3/review`",
    ]);
}

#[test]
fn a_recording_has_the_turns_of_every_round() {
    let scratch = project(
        "schema: kb.test/1\nplaybook: rounds\ntests: [{name: x, expect: {status: waiting}, stubs: {review: {output: {open: 0}}}}]\n",
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let round = |open: u32| response("submit_output", json!({"open": open, "summary": "reviewed"}));
    let server = runtime.block_on(answering([2, 0].map(round)));
    let uri = server.uri();
    let run = ["playbook", "run", "rounds", "--record", ".kb/tests/session.script.yml"];
    let said = scratch.kb_with(&run, |command| {
        command.env("KB_LLM_ENDPOINT", uri).env("KB_LLM_MODEL", "tiny");
    });
    said.code(3);
    let recorded = scratch.read(".kb/tests/session.script.yml");
    for key in ["fix/review:", "fix#2/review:"] {
        assert!(recorded.contains(key), "{recorded}");
    }
    std::fs::remove_file(scratch.root().join("log.txt")).unwrap();
    let replayed = "schema: kb.test/1
playbook: rounds
script: session.script.yml
answers: {ok: approve}
tests: [{name: as recorded, expect: {attempts: {fix: 2}, files: {log.txt: \"change\\nchange\\n\"}}}]
";
    scratch.write(".kb/tests/rounds.test.yml", replayed);
    scratch.kb(&["playbook", "test", ".kb/tests/rounds.test.yml"]).code(0).says(&["1 passed"]);
}

/// What a policy denied was not read: a recording has no text of it, which the next specialist could read there.
#[test]
fn a_recording_has_no_file_that_a_policy_denied() {
    let scratch = Scratch::new(&[
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: w, specialist: s, task: T., verify: {claims: none}}\n",
        ),
        (".kb/specialists/s.yml", "schema: kb.specialist/1\nid: s\nrole: R.\ntools: [fs:read]\n"),
        (
            ".kb/kb.config.yml",
            "schema: kb.config/1\ntools: {security: {'fs:read': {denied_paths: ['private/**']}}}\n",
        ),
        ("private/k.txt", "PRIVATE-123\n"),
        ("open.txt", "OPEN-456\n"),
    ]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let turns = [
        ("fs_read", json!({"path": "private/k.txt"})),
        ("fs_read", json!({"path": "open.txt"})),
        ("submit_output", json!({"summary": "read"})),
    ];
    let server = runtime.block_on(answering(turns.map(|(tool, args)| response(tool, args))));
    let uri = server.uri();
    let run = ["playbook", "run", "p", "--record", ".kb/tests/s.script.yml"];
    let said = scratch.kb_with(&run, |command| {
        command.env("KB_LLM_ENDPOINT", uri).env("KB_LLM_MODEL", "tiny");
    });
    said.code(0);
    let test = scratch.read(".kb/tests/s.test.yml");
    assert!(test.contains("OPEN-456") && !test.contains("PRIVATE-123"), "{test}");
}

/// The name of a file is no pattern in a recorded test, whatever is in it.
#[test]
fn a_recording_names_files_with_any_characters() {
    let scratch = Scratch::new(&[
        (
            ".kb/playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nparams: [{name: q, default: qq}]\nsteps:\n  - {id: w, specialist: s, task: T., verify: {claims: none}}\n",
        ),
        (".kb/specialists/s.yml", "schema: kb.specialist/1\nid: s\nrole: R.\ntools: [fs:write]\n"),
        ("old}{.txt", "old\n"),
    ]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let names =
        ["{{params.q}}.txt", "}a{b,c}*?[d]!.txt", "back\\slash.txt", "!no.txt", "old}{.txt"];
    let write = |name: &&str| response("fs_write", json!({"path": name, "content": "new"}));
    let last = response("submit_output", json!({"summary": "written"}));
    let server = runtime.block_on(answering(names.iter().map(write).chain([last])));
    let uri = server.uri();
    let run = ["playbook", "run", "p", "--record", ".kb/tests/s.script.yml"];
    let said = scratch.kb_with(&run, |command| {
        command.env("KB_LLM_ENDPOINT", uri).env("KB_LLM_MODEL", "tiny");
    });
    let said = said.code(0);
    assert!(names.iter().all(|name| scratch.has(name)), "{}", said.err);
    scratch.kb(&["playbook", "test"]).code(0).says(&["1 test: 1 passed"]);
}
