//! `kb learn`: what recorded runs say about specialists, through the binary.

use crate::paid_calls::Provider;
use crate::scratch::Scratch;
use serde_json::{Value, json};

/// A project in which the work of `good` is accepted and that of `bad` is refuted, ten times each by `many`.
fn project(provider: &Provider) -> Scratch {
    let uri = provider.server.uri();
    let settings = format!(
        "llm: {{tiers: {{medium: {{endpoint: \"{uri}/v1\", model: m, stream: false, contextWindow: 32000, price: {{input: 1, output: 1}}}}}}}}\n"
    );
    let specialist = |id: &str| {
        format!(
            "schema: kb.specialist/1\nid: {id}\nrole: You write tests.\nllm: {{tier: medium}}\n"
        )
    };
    let step = |of: &str, file: &str| {
        format!(
            "specialist: {of}, task: Add tests., verify: {{checks: [{{file: {{path: {file}}}}}], onFailed: fail}}"
        )
    };
    let items = "forEach: {in: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], as: n, onItemError: continue}";
    let (right, wrong) = (step("good", "here.txt"), step("bad", "missing.txt"));
    let many = format!(
        "schema: kb.playbook/1\nid: many\nsteps:\n  - {{id: right, {items}, {right}}}\n  - {{id: wrong, {items}, {wrong}}}\n"
    );
    let one = format!(
        "schema: kb.playbook/1\nid: one\nsteps:\n  - {{id: wrong, {}, onError: continue}}\n",
        step("bad", "missing.txt")
    );
    Scratch::new(&[
        ("here.txt", ""),
        (".kb/specialists/good.yml", &specialist("good")),
        (".kb/specialists/bad.yml", &specialist("bad")),
        (".kb/playbooks/many.yml", &many),
        (".kb/playbooks/one.yml", &one),
        (".kb/kb.config.yml", &settings),
    ])
}

/// Specialist, accepted, decided and rework of each row.
fn rows(learned: &Value) -> Vec<String> {
    let row = |row: &Value| {
        let (accepted, rework) = (&row["accepted"], &row["rework"]);
        format!(
            "{} {} {} {} of {}, rework {} of {}",
            row["specialist"].as_str().unwrap(),
            row["kind"].as_str().unwrap(),
            row["tier"].as_str().unwrap(),
            accepted["of"],
            accepted["all"],
            rework["of"],
            rework["all"]
        )
    };
    learned["rows"].as_array().unwrap().iter().map(row).collect()
}

fn database(scratch: &Scratch) -> rusqlite::Connection {
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folders = std::fs::read_dir(state).unwrap().flatten();
    let folder = folders.map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
    rusqlite::Connection::open(folder.join("journal.sqlite3")).unwrap()
}

#[test]
fn what_runs_say_is_counted_suggested_and_changed_by_a_person_only() {
    let provider = Provider::start();
    let scratch = project(&provider);
    let empty = scratch.kb(&["learn", "show"]).code(0);
    empty.says(&["0 runs counted"]);
    scratch.kb(&["playbook", "run", "many", "--quiet"]);
    let learned = scratch.json(&["learn", "show", "--json"]);
    assert_eq!(
        rows(&learned),
        ["bad test medium 0 of 10, rework 0 of 10", "good test medium 10 of 10, rework 0 of 10"]
    );
    assert_eq!((&learned["runs"], &learned["unverified"]), (&json!(1), &json!(0)));
    let lower = learned["rows"][1]["accepted"]["lower"].as_f64().unwrap();
    assert!((0.72..0.73).contains(&lower), "{lower}");
    let shown = scratch.kb(&["learn", "show"]).code(0).out;
    assert!(shown.contains("10 of 10") && shown.contains("72–100 %"), "{shown}");

    let suggested = scratch.json(&["learn", "suggest", "--json"]);
    assert_eq!(suggested[0]["id"], "route-test-good-bad", "{suggested}");
    let file = scratch.read(".kb/learning/route-test-good-bad.md");
    assert!(file.contains("| `good` | test | medium | 10 of 10 | 0.72–1.00 |"), "{file}");
    assert!(!scratch.has(".kb/learning/routes.md"), "only a person applies");
    let other = scratch.kb(&["learn", "apply", "route-test-bad-good"]);
    assert!(other.err.contains("there is no suggestion"), "{}", other.err);
    other.code(4);
    scratch.kb(&["learn", "apply", "route-test-good-bad"]).code(0);
    let routes = scratch.read(".kb/learning/routes.md");
    assert!(routes.contains("- give test tasks to `good` rather than to `bad`"), "{routes}");
}

#[test]
fn forged_runs_and_runs_with_a_script_do_not_count() {
    let provider = Provider::start();
    let scratch = project(&provider);
    scratch.kb(&["playbook", "run", "one", "--quiet"]);
    let script = "schema: kb.script/1\nsteps:\n  wrong:\n    - output: {summary: done}\n";
    scratch.write("script.yml", script);
    scratch.kb(&["playbook", "run", "one", "--quiet", "--script", "script.yml"]);
    // Copies of the first run under other names, in which the gate passed.
    const FORGE: &str = "
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
          INSERT INTO runs SELECT 100 + i, 'rforged' || i, definition, status, started_at, ended_at, epoch, last_seq, kb_version, head
          FROM runs, n WHERE number = 1;
        INSERT INTO frozen SELECT runs.number, frozen.body FROM frozen, runs WHERE frozen.number = 1 AND runs.number > 100;
        INSERT INTO events SELECT (position & 0xffffffff) | (runs.number << 32), at, events.epoch, type,
            replace(body, '\"failed\"', '\"passed\"'), digest
          FROM events, runs WHERE position >> 32 = 1 AND runs.number > 100;";
    database(&scratch).execute_batch(FORGE).unwrap();
    let learned = scratch.json(&["learn", "show", "--runs", "2000", "--json"]);
    assert_eq!(rows(&learned), ["bad test medium 0 of 1, rework 0 of 1"]);
    let counts = ["runs", "unverified", "scripted"].map(|key| learned[key].as_u64().unwrap());
    assert_eq!(counts, [1, 1000, 1]);
}

#[test]
fn a_tier_is_changed_in_the_file_of_its_specialist() {
    let provider = Provider::start();
    let scratch = project(&provider);
    let settings = scratch.read(".kb/kb.config.yml");
    let (_, medium) = settings.split_once("medium: ").unwrap();
    let model = medium.trim_end().strip_suffix("}}").unwrap();
    let both = format!("llm: {{tiers: {{medium: {model}, large: {model}}}}}\n");
    scratch.write(".kb/kb.config.yml", &both);
    scratch.kb(&["playbook", "run", "many", "--quiet"]);
    // With the large tier, the same work is accepted.
    let path = ".kb/specialists/bad.yml";
    let file = scratch.read(path);
    scratch.write(path, &file.replace("tier: medium", "tier: large"));
    scratch.write("missing.txt", "");
    scratch.kb(&["playbook", "run", "many", "--quiet"]).code(0);
    scratch.write(path, &file);
    let suggested = scratch.json(&["learn", "suggest", "--json"]);
    let ids = suggested.as_array().unwrap().iter().map(|own| own["id"].as_str().unwrap());
    assert!(ids.into_iter().any(|id| id == "tier-bad-test-large"), "{suggested}");
    scratch.kb(&["learn", "apply", "tier-bad-test-large"]).code(0);
    assert_eq!(scratch.read(path), file.replace("tier: medium", "tier: large"));
    // A file that does not say the old tier is not changed.
    scratch.kb(&["learn", "apply", "tier-bad-test-large"]).code(2).says(&["exactly once"]);
}

#[test]
fn a_blocker_of_three_runs_is_proposed_to_the_memory() {
    let submit = (
        "submit_output",
        json!({"summary": "done", "handoff": {"blockers": ["the port 8080 is taken"]}}),
    );
    let provider = Provider::calling(&[submit.clone(), submit.clone(), submit]);
    let scratch = project(&provider);
    let one = "schema: kb.playbook/1\nid: three\nsteps:\n  - {id: a, specialist: good, task: Look at the port.}\n";
    scratch.write(".kb/playbooks/three.yml", one);
    for _ in 0..3 {
        scratch.kb(&["playbook", "run", "three", "--quiet"]).code(0);
    }
    let suggested = scratch.json(&["learn", "suggest", "--json"]);
    let id = suggested[0]["id"].as_str().unwrap();
    assert!(id.starts_with("memory-blocker-"), "{suggested}");
    scratch.kb(&["learn", "apply", id]).code(0);
    let listed = scratch.json(&["memory", "list", "--json"]);
    let entry = &listed["entries"][0];
    assert!(entry["text"].as_str().unwrap().contains("the port 8080 is taken"), "{listed}");
    assert_eq!(entry["state"], "candidate", "only a person approves: {listed}");
}

#[test]
fn the_playbook_of_a_plan_has_the_text_that_reached_the_goal() {
    let plan = "schema: kb.playbook/1\nid: made\nsteps:\n  - {id: a, run: \"true\"}\noutputs: {goal: complete}\n";
    let scratch = Scratch::new(&[(".kb/plans/made.yml", plan)]);
    scratch.kb(&["playbook", "run", ".kb/plans/made.yml", "--quiet"]).code(0);
    scratch.write(".kb/plans/made.yml", &plan.replace("true", "echo edited"));
    scratch.kb(&["learn", "apply", "playbook-made", "--as", "got"]).code(0);
    assert_eq!(scratch.read(".kb/playbooks/got.yml"), plan.replace("id: made", "id: got"));
}
