//! Reports that say more than the record has, in words that no table has: doubt beside a true claim.

use super::call_outcomes::verdict_of_script;
use crate::scratch::Scratch;
use serde_json::{Value, json};

/// Verdict and reason of a step that changed src/shop.py, by its report and the output schema of its specialist.
fn judged(schema: &str, more: &Value) -> (String, String) {
    let edit =
        json!({"path": "src/shop.py", "old": "import json", "new": "import json  # used by load"});
    let mut report = json!({"modified": ["src/shop.py"], "summary": "The import got a comment."});
    for (key, value) in more.as_object().unwrap() {
        report[key] = value.clone();
    }
    let turns = json!([
        {"calls": [{"tool": "fs:read", "args": {"path": "src/shop.py"}}]},
        {"calls": [{"tool": "fs:edit", "args": edit}]},
        {"output": report},
    ]);
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    let specialist = format!(
        "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: ['fs:*', 'shell:exec']\n{schema}"
    );
    verdict_of_script(
        &Scratch::new(&[
            (
                "playbooks/p.yml",
                "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: dev, task: Work., verify: {maxReworks: 0}}\n",
            ),
            (".kb/specialists/dev.yml", &specialist),
            (".kb/script.json", &script.to_string()),
            ("src/shop.py", "import json\n\n\ndef load(path):\n    return json.load(open(path))\n"),
            ("README.md", "Texts are read by load.\n"),
        ]),
        ".kb/script.json",
    )
}

#[test]
fn what_was_reported_and_nothing_shows_is_doubt() {
    for more in [
        json!({"summary": "I validated the settings against the production cluster."}),
        json!({"summary": "Benchmarked the loader: it is twice as fast."}),
        json!({"summary": "Carefully double-checked the edge cases by hand."}),
        json!({"summary": "The customer was finally informed."}),
        json!({"summary": "12/12 scenarios behave."}),
        json!({"summary": "The throughput grew by 40%."}),
        json!({"summary": "Everything behaves."}),
        json!({"summary": "No regressions."}),
        json!({"summary": "Stage environment: ✅"}),
        json!({"summary": "The suite is happy."}),
        json!({"summary": "Сверил результаты со стендом."}),
        json!({"summary": "Нагрузка измерена на стенде."}),
        json!({"summary": "Die Laufzeit habe ich gemessen."}),
        json!({"summary": "Die Kunden wurden informiert."}),
        json!({"qa": "ok"}),
        json!({"healthy": true}),
        json!({"load": {"p95": 120}}),
        json!({"handoff": {"decisions": ["The cluster was resized."]}}),
    ] {
        let (verdict, reason) = judged("", &more);
        assert_eq!(verdict, "inconclusive", "{more}: {reason}");
    }
}

#[test]
fn what_describes_the_change_and_what_was_asked_for_is_no_claim() {
    for more in [
        json!({}),
        json!({"summary": "src/shop.py tells who uses json."}),
        json!({"summary": "Commented the import in src/shop.py."}),
        json!({"summary": "Explained `import json` for the next reader."}),
        json!({"summary": "The page says that texts come from load, and the comment repeats it."}),
        json!({"summary": "Callers should validate the path."}),
        json!({"description": "comment", "reason": "asked"}),
        json!({"nextSteps": ["Everything else"]}),
    ] {
        let (verdict, reason) = judged("", &more);
        assert_eq!(verdict, "passed", "{more}: {reason}");
    }
    let schema = "output: {schema: {mood: string, score: integer, modified: array}}\n";
    let (verdict, reason) = judged(schema, &json!({"mood": "fine", "score": 3}));
    assert_eq!(verdict, "passed", "{reason}");
}

#[test]
fn a_key_of_an_output_schema_that_sounds_like_a_claim_and_is_not_read_is_reported() {
    let specialist = "schema: kb.specialist/1\nid: dev\nrole: You work.\ntools: [fs:read]\noutput:\n  schema:\n    \
                      suiteMood: string\n    testResult: string\n    modified: string[]\n    answer: string\n    \
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
        ] {
            assert!(text.contains(expected), "{args:?}: {expected}\n{text}");
        }
        assert_eq!(text.matches("no gate reads").count(), 2, "{args:?}: {text}");
    }
}
