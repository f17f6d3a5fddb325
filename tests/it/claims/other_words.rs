//! Reports that say more than a check reads: their gate does not pass, whatever the words, and quotes what it left.

use super::call_outcomes::verdict_of_script;
use crate::scratch::Scratch;
use serde_json::{Value, json};

/// Verdict and reason of a step that changed src/shop.py, by its report and a line of its gate.
fn judged(gate: &str, more: &Value) -> (String, String) {
    let edit = json!({"path": "src/shop.py", "old": "import json", "new": "import json, sys  # used by load"});
    let mut report = json!({"modified": ["src/shop.py"], "summary": "Changed src/shop.py."});
    for (key, value) in more.as_object().unwrap() {
        report[key] = value.clone();
    }
    let turns = json!([
        {"calls": [{"tool": "fs:read", "args": {"path": "src/shop.py"}}]},
        {"calls": [{"tool": "fs:edit", "args": edit}]},
        {"calls": [{"tool": "shell:exec", "args": {"command": "TARGET=staging sh deploy.sh"}}]},
        {"calls": [{"tool": "shell:exec", "args": {"command": "grep -q sync src/shop.py || true"}}]},
        {"output": report},
    ]);
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    let specialist =
        "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: ['fs:*', 'shell:exec']\n";
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: a, specialist: dev, task: Work., verify: {{maxReworks: 0{gate}}}}}\n"
    );
    verdict_of_script(
        &Scratch::new(&[
            ("playbooks/p.yml", &playbook),
            (".kb/specialists/dev.yml", specialist),
            (".kb/script.json", &script.to_string()),
            ("src/shop.py", "import json\n\n\ndef load(path):\n    return json.load(open(path))\n"),
            ("README.md", "Texts are read by load.\n"),
            ("deploy.sh", "true\n"),
        ]),
        ".kb/script.json",
    )
}

#[test]
fn what_no_check_reads_keeps_a_gate_from_passing() {
    for (more, shown) in [
        (json!({"summary": "I validated the settings against the cluster."}), "I validated"),
        (json!({"summary": "Changed src/shop.py for Windows."}), "for Windows"),
        (json!({"summary": "Modifié src/shop.py."}), "Modifié"),
        (json!({"summary": "Changed src/shop.py, twice as fast"}), "twice as fast"),
        (json!({"summary": "割引を修正しました。"}), "割引"),
        (json!({"summary": "Changed src/shop.py. \u{2705}"}), "\u{2705}"),
        (json!({"qa": "ok"}), "qa: \"ok\""),
        (json!({"regressions": 0}), "regressions: \"0\""),
        (json!({"openIssues": []}), "openIssues: \"[]\""),
        (json!({"load": {"p95": 120}}), "load.p95: \"120\""),
        (json!({"nextSteps": ["Everything else"]}), "nextSteps: "),
        (json!({"modified": ["src/shop.py (faster by half)"]}), "faster by half"),
        (json!({"windows": {"modified": ["src/shop.py"]}}), "windows.modified: "),
        // What is done is said by the key.
        (json!({"securityAudit": "Done."}), "securityAudit: \"Done"),
        // Numbers in other forms.
        (json!({"filesChanged": "at least 1"}), "at least 1"),
        (json!({"filesChanged": "over 1"}), "over 1"),
        // A fix is more than a change.
        (json!({"fixed": ["src/shop.py"]}), "fixed: "),
        (json!({"summary": "Refactored src/shop.py."}), "Refactored"),
        // One entry, two answers.
        (
            json!({"commands": [{"command": "TARGET=staging sh deploy.sh", "argv": ["rm", "x"]}]}),
            "argv",
        ),
    ] {
        let (verdict, reason) = judged("", &more);
        assert_eq!(verdict, "unchecked", "{more}: {reason}");
        assert!(reason.contains("not checked: ") && reason.contains(shown), "{more}: {reason}");
    }
}

#[test]
fn a_gate_passes_if_every_statement_was_read_or_is_no_claim() {
    for (gate, more) in [
        ("", json!({})),
        ("", json!({"summary": "I have changed `src/shop.py`, and also modified the file."})),
        ("", json!({"summary": "No other files were changed.", "filesChanged": 1})),
        ("", json!({"summary": "Изменен файл src/shop.py."})),
        ("", json!({"summary": "Added `sys` to src/shop.py.", "linesChanged": 1})),
        (", commentary: [summary]", json!({"summary": "Callers know better than this."})),
        (", checks: [{expr: \"a.output.mood == 'fine'\"}]", json!({"mood": "fine"})),
    ] {
        let (verdict, reason) = judged(gate, &more);
        assert_eq!(verdict, "passed", "{gate} {more}: {reason}");
    }
}

/// What a claim says besides what was recorded raises doubt, and what may name something else refutes nothing.
#[test]
fn what_differs_from_the_record_in_part_is_doubted() {
    for (more, reason) in [
        (json!({"commands": ["sh deploy.sh"]}), "ran it with `TARGET=staging`"),
        (json!({"commands": ["TARGET=production sh deploy.sh"]}), "ran it with `TARGET=staging`"),
        (json!({"commands": ["TARGET=staging sh deploy.sh > log"]}), "without the rest"),
        (json!({"commands": ["cd /srv && sh deploy.sh"]}), "it ran in the folder of the step"),
        (
            json!({"commands": ["TARGET=staging sh deploy.sh", "TARGET=staging sh deploy.sh"]}),
            "more often",
        ),
        (json!({"commands": ["ran sh deploy.sh"]}), "it may mean call"),
        (json!({"commands": ["none"]}), "may be no command"),
        (json!({"deleted": ["n/a"]}), "may be no path"),
        (json!({"modified": ["shop.py"]}), "it may mean `src/shop.py`"),
        (json!({"dryRun": {"deleted": ["README.md"]}}), "below `dryRun`"),
        // Builds and linters are known by no name.
        (json!({"build": "passed"}), "`build passed`"),
        (json!({"summary": "The build passes."}), "`The build passes`"),
        (json!({"modified": ["src/*.py"]}), "which files a pattern means"),
        (
            json!({"claims": [{"kind": "code-inserted", "path": "src/shop.py", "afterSnippet": "def load(path):"}]}),
            "no recorded difference",
        ),
    ] {
        let (verdict, found) = judged("", &more);
        assert_eq!(verdict, "inconclusive", "{more}: {found}");
        assert!(found.contains(reason), "{more}: {found}");
    }
}

#[test]
fn commentary_that_the_record_contradicts_is_refuted() {
    let more = json!({"summary": "All 12 tests pass."});
    let (verdict, reason) = judged(", commentary: [summary]", &more);
    assert_eq!(verdict, "failed", "{reason}");
}

#[test]
fn a_key_of_an_output_schema_that_no_check_reads_is_reported() {
    let specialist = "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: [fs:write]\noutput:\n  schema:\n    \
                      suiteMood: string\n    testResult: string\n    modified: string[]\n    answer: string\n    securityAudit: string\n    \
                      verified: boolean\n    nextSteps: string[]\n    summary: string\n    \
                      verification: {type: object, properties: {fileState: {type: string}}}\n";
    let playbook =
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: dev, task: Work.}\n";
    let scratch =
        Scratch::new(&[(".kb/specialists/dev.yml", specialist), ("playbooks/p.yml", playbook)]);
    for args in [
        &["specialist", "validate"][..],
        &["specialist", "validate", "dev"],
        &["playbook", "validate"],
        &["playbook", "validate", "p"],
    ] {
        let said = scratch.kb(args).code(0);
        let text = format!("{}{}", said.out, said.err);
        for expected in [
            "KB0422",
            "no gate reads the key `suiteMood`",
            "dev.yml:7:5",
            "`testResult`, or `tests: {passed, failed}`",
            "no gate reads the key `fileState`",
            "no gate reads the keys `securityAudit`, `verified`: a report",
            "`commentary` of its gate",
        ] {
            assert!(text.contains(expected), "{args:?}: {expected}\n{text}");
        }
        assert_eq!(text.matches("no gate reads").count(), 3, "{args:?}: {text}");
    }
    // Who cannot change files names them, and claims nothing.
    scratch.write(".kb/specialists/dev.yml", &specialist.replace("fs:write", "fs:read"));
    let said = scratch.kb(&["specialist", "validate"]).code(0);
    let text = format!("{}{}", said.out, said.err);
    assert!(text.contains("suiteMood") && !text.contains("`fileState`"), "{text}");
    assert!(!text.contains("securityAudit"), "{text}");
}
