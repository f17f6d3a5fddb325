//! Files, packages and symbols that the answer of a specialist names which only reads.

use super::call_outcomes::verdict_of_script;
use crate::scratch::Scratch;
use serde_json::{Value, json};

const SHOP: &str = "import json\n\n\nclass Shop:\n    def price(self, name):\n        return 3\n";

/// Verdict and reason of the gate over this report, after these calls, in a step with this task and gate.
fn judged(task: &str, verify: &str, calls: &[Value], report: &Value) -> (String, String) {
    let calls = calls.iter().map(|call| json!({"calls": [call]}));
    let mut report = report.clone();
    report.as_object_mut().unwrap().entry("summary").or_insert_with(|| json!("Looked."));
    let turns: Vec<Value> = calls.chain([json!({"output": report})]).collect();
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nparams: [{{name: part, default: src/parts/new.py}}]\nsteps:\n  \
         - {{id: a, specialist: reader, task: '{task}', verify: {{maxReworks: 0{verify}}}}}\n"
    );
    verdict_of_script(
        &Scratch::new(&[
            ("playbooks/p.yml", &playbook),
            (
                ".kb/specialists/reader.yml",
                "schema: kb.specialist/1\nid: reader\nrole: You look.\ntools: [fs:read, fs:list, fs:search]\n",
            ),
            (".kb/script.json", &script.to_string()),
            ("src/shop.py", SHOP),
            ("lib/deep/cart.py", "from shop import Shop\n"),
            ("notes.md", "The old code was in src/legacy/till.py, see `OldTill`.\n"),
            (".gitignore", "src/generated/\n"),
        ]),
        ".kb/script.json",
    )
}

fn read(path: &str) -> Value {
    json!({"tool": "fs:read", "args": {"path": path}})
}

const ASK: &str = "Where are prices computed?";

#[test]
fn a_named_file_that_is_nowhere_refutes_an_answer() {
    for report in [
        json!({"files": ["src/checkout.py"]}),
        json!({"summary": "src/pricing/engine.py contains the prices."}),
        json!({"findings": [{"file": "src/engine.py", "line": 240, "text": "unused import"}]}),
        json!({"summary": "See src/pricing/engine.py:12 for the sum."}),
        json!({"summary": "src/pricing/engine.py:12 does not check the price."}),
        json!({"usages": ["src/pricing/engine.py"]}),
        json!({"findings": [{"file": "src/engine.py", "line": 240, "text": "no validation"}]}),
    ] {
        let (verdict, reason) = judged(ASK, "", &[read("src/shop.py")], &report);
        assert_eq!(verdict, "failed", "{report}: {reason}");
        assert!(reason.contains("does not exist"), "{report}: {reason}");
    }
}

#[test]
fn what_exists_or_was_received_is_no_invention() {
    for (task, report) in [
        (ASK, json!({"summary": "Prices are computed by `Shop.price` in src/shop.py:5."})),
        // A part of a path, a file of a result, of the task and of a parameter.
        (ASK, json!({"summary": "The cart is in deep/cart.py and imports `Shop`."})),
        (ASK, json!({"summary": "The old code was in src/legacy/till.py, in `OldTill`."})),
        ("Is src/gone.py used?", json!({"summary": "Nothing imports src/gone.py."})),
        (ASK, json!({"summary": "The part is in src/parts/new.py."})),
        // Names of packages and branches are no files.
        (ASK, json!({"summary": "It is like gopkg.in/yaml.v3, lodash/fp.js and release/v1.x."})),
        (ASK, json!({"summary": "See https://example.com/src/pricing/engine.py."})),
        // What is said not to be there.
        (ASK, json!({"summary": "There is no src/checkout.py and no class `Basket`."})),
        (ASK, json!({"missing": ["src/none.py"]})),
        (ASK, json!({"summary": "src/none.py gibt es nicht."})),
        (ASK, json!({"summary": "I looked for src/none.py in vain."})),
        (ASK, json!({"lookedFor": {"src/none.py": "✗", "src/shop.py": "✓"}})),
        (ASK, json!({"summary": "src/none.py ✗"})),
        (ASK, json!({"recommendations": ["move `total` to src/pricing.py"]})),
    ] {
        let calls = [read("src/shop.py"), read("notes.md")];
        let (verdict, reason) = judged(task, "", &calls, &report);
        assert_eq!(verdict, "unchecked", "{report}: {reason}");
    }
}

#[test]
fn files_to_come_are_not_refuted() {
    for (task, report) in [
        (ASK, json!({"summary": "I propose to compute them in src/pricing/engine.py."})),
        (ASK, json!({"summary": "They should be computed in src/pricing/engine.py."})),
        ("Plan the cache.", json!({"summary": "The cache is in src/cache/lru.py, with tests."})),
        ("Спланируй кэш.", json!({"summary": "Кэш лежит в src/cache/lru.py."})),
    ] {
        let (verdict, reason) = judged(task, "", &[read("src/shop.py")], &report);
        assert_eq!(verdict, "unchecked", "{report}: {reason}");
        assert!(reason.contains("src/"), "{report}: {reason}");
    }
}

#[test]
fn what_can_be_elsewhere_is_doubt() {
    for report in [
        json!({"symbols": ["Shop.discount", "CheckoutFlow"]}),
        json!({"dependencies": ["sqlalchemy"]}),
        json!({"summary": "The class `CheckoutFlow` in src/shop.py calls `Shop`."}),
        json!({"summary": "The project uses `sqlalchemy` 2.0."}),
        // A file that is only named can be a proposal.
        json!({"summary": "Prices are computed in src/pricing/engine.py."}),
        json!({"summary": "Цены считаются в src/pricing/engine.py."}),
        json!({"summary": "Die Preise berechnet src/pricing/engine.py."}),
        json!({"summary": "It is worth extracting the prices into src/pricing/engine.py."}),
        // What was looked for, or would be there.
        json!({"searched": ["src/pricing/engine.py"]}),
        json!({"expected": "src/pricing/engine.py"}),
        json!({"expectedFile": "src/pricing/engine.py"}),
        json!({"hypothetical": "src/pricing/engine.py:3"}),
        json!({"summary": "I tried to read src/none.py and failed."}),
        json!({"candidates": ["src/pricing/engine.py"]}),
        json!({"proposal": {"path": "src/pricing/engine.py", "line": 1}}),
        json!({"wouldBe": "src/pricing/engine.py:1"}),
        json!({"summary": "Prices have no tests; src/pricing/engine.py:1 would be the place."}),
        json!({"summary": "I searched for src/none.py and read what I found: nothing."}),
        // Denials of other languages are not known.
        json!({"summary": "src/none.py がありません。"}),
        json!({"summary": "Le fichier src/none.py n'existe pas."}),
        json!({"summary": "Il n'y a pas de fichier src/none.py."}),
        json!({"summary": "Il file src/none.py manca."}),
        // What ignore rules hide can be made by a tool of the project.
        json!({"summary": "The client of the service is in src/generated/api.py."}),
    ] {
        let (verdict, reason) = judged(ASK, "", &[read("src/shop.py")], &report);
        assert_eq!(verdict, "inconclusive", "{report}: {reason}");
    }
    let known = json!({"symbols": ["Shop", "Shop.price"], "dependencies": ["json"]});
    let (verdict, reason) = judged(ASK, "", &[read("src/shop.py")], &known);
    assert_eq!(verdict, "unchecked", "{reason}");
}

#[test]
fn a_file_that_only_a_failed_call_names_is_doubt() {
    let report = json!({"summary": "Prices are computed in src/none.py."});
    let (verdict, reason) = judged(ASK, "", &[read("src/none.py")], &report);
    assert_eq!(verdict, "inconclusive", "{reason}");
}

#[test]
fn names_are_not_looked_up_without_claims() {
    let report = json!({"summary": "src/pricing/engine.py contains the prices."});
    let check = ", checks: [{file: src/shop.py}]";
    let (verdict, reason) = judged(ASK, check, &[], &report);
    assert_eq!(verdict, "failed", "{reason}");
    let (verdict, reason) = judged(ASK, &format!(", claims: none{check}"), &[], &report);
    assert_eq!(verdict, "passed", "{reason}");
}
