//! `kb playbook import` of files with several documents, black-box.

use crate::scratch::{Said, Scratch};

pub(crate) const ETL: &str = r#"# Loads all tables.
schedule: "0 2 * * *"
params:
  - DAY: monday
env:
  - BASE: /data
steps:
  - name: prepare
    command: echo ready
    output: STATE
  - name: load
    call: load-table
    params: "TABLE=users DAY=${DAY} DIR='${BASE}/in' STATE=${STATE}"
    output: LOADED
  - name: tables
    run: load-table
    parallel: {items: [orders, 17], maxConcurrent: 1}
    params: "TABLE=${ITEM} DAY=$DAY"
  - name: regions
    type: dag
    command: deploy
    parallel:
      items:
        - {REGION: eu, ZONES: 1}
        - {REGION: us, ZONES: 2}
  - name: first
    action: dag.run
    with: {dag: load-table, params: stock}
  - name: report
    command: echo "loaded ${LOADED.outputs.COUNT}, ${LOADED.outputs.NAME}; ${LOADED.name}"
---
name: load-table
params:
  - TABLE: none
  - DAY: sunday
steps:
  - name: count
    command: printf %s "${#TABLE}"
    output: COUNT
  - name: name
    command: echo "$TABLE on $DAY in ${DIR:-nowhere} ${STATE}"
    output: NAME
---
name: deploy
schedule: "1 1 * * *"
steps:
  - name: deploy
    command: echo "to $REGION, $ZONES"
    output: PLACE
"#;

fn import(file: (&str, &str), arguments: &[&str]) -> (Scratch, Said) {
    let scratch = Scratch::new(&[file]);
    let said = scratch.kb(&[&["playbook", "import", file.0], arguments].concat());
    (scratch, said)
}

/// What makes a file unusable is reported at its line, and nothing is written.
fn refused(text: &str, problems: &[&str]) {
    let (scratch, said) = import(("etl.yaml", text), &[]);
    said.code(2).says(&["not imported: etl.yaml"]).says(problems);
    assert!(!scratch.has(".kb/playbooks"), "nothing is written");
}

#[test]
fn each_document_of_a_dagu_file_becomes_a_playbook_and_each_call_a_child_run() {
    // The note about a path of a result that has no counterpart would be a wrong shell text.
    let text = ETL.replace("; ${LOADED.name}", "");
    let (scratch, said) = import(("etl.yaml", &text), &[]);
    said.code(0).says(&[
        "imported etl.yaml → .kb/playbooks/etl.yml",
        "imported etl.yaml → .kb/playbooks/load-table.yml",
        "imported etl.yaml → .kb/playbooks/deploy.yml",
        "etl.yaml:8: without `type` and `depends`",
        "etl.yaml:12: `load-table` does not declare `DIR`",
        "etl.yaml:45: `schedule` of a document after the first is not mapped",
    ]);
    scratch.kb(&["playbook", "validate"]).code(0);
    scratch.kb(&["playbook", "run", "etl", "--param", "DAY=friday"]).code(0);
    let output = |step: &str| scratch.kb(&["run", "output", "@last", step]).out;
    assert_eq!(output("report").trim(), "loaded 5, users on friday in /data/in ready");
    let tables = output("tables");
    assert!(tables.contains("orders on friday") && tables.contains("17 on friday"), "{tables}");
    let regions = output("regions");
    assert!(regions.contains("to eu, 1") && regions.contains("to us, 2"), "{regions}");
    assert!(output("first").contains("stock on sunday"));
}

#[test]
fn a_dry_run_prints_every_document_and_writes_nothing() {
    let (scratch, said) = import(("etl.yaml", ETL), &["--dry-run"]);
    said.code(0).says(&[
        "# .kb/playbooks/etl.yml",
        "# .kb/playbooks/load-table.yml",
        "# .kb/playbooks/deploy.yml",
        "etl.yaml:30: `${LOADED.name}` is not mapped",
    ]);
    assert!(!scratch.has(".kb/playbooks"));
    let made = scratch.json(&["playbook", "import", "etl.yaml", "--dry-run", "--json"]);
    assert_eq!(made["texts"].as_array().unwrap().len(), 3, "{made}");
    // One target that exists keeps the others from being written.
    scratch.write(
        ".kb/playbooks/deploy.yml",
        "schema: kb.playbook/1\nid: deploy\nsteps: [{id: a, run: pwd}]\n",
    );
    let said = scratch.kb(&["playbook", "import", "etl.yaml"]).code(2);
    said.says(&["`.kb/playbooks/deploy.yml` exists already"]);
    assert!(!scratch.has(".kb/playbooks/etl.yml") && !scratch.has(".kb/playbooks/load-table.yml"));
}

#[test]
fn documents_that_cannot_be_used_together_are_refused_at_their_lines() {
    let main = "steps:\n  - call: worker\n";
    let worker = "---\nname: worker\nsteps:\n  - command: echo x\n";
    refused(
        &format!("{}{worker}", main.replace("worker", "wrker")),
        &["KB0411", "etl.yaml:2:11", "`wrker` is neither a document", "did you mean `worker`?"],
    );
    refused(
        &format!("{main}{worker}{}", worker.replace("worker", "Worker")),
        &["KB0204", "etl.yaml:8:7", "4 | name: worker", "the name of two documents"],
    );
    let own = worker.replace("worker", "etl");
    refused(&format!("{main}{worker}{own}"), &["KB0204", "etl.yaml:8:7"]);
    refused(
        &format!("{main}{worker}---\nsteps:\n  - command: echo y\n"),
        &["KB0108", "etl.yaml:8:1", "document 3 of the file has no `name`"],
    );
    for (empty, line) in [
        (format!("{main}{worker}---\n# nothing\n"), "etl.yaml:7"),
        (format!("---\n---\n{main}{worker}"), "etl.yaml:1"),
    ] {
        refused(&empty, &["KB0104", line, "is empty"]);
    }
    refused(&format!("{main}{worker}---\n- a\n"), &["KB0105", "document 3 of the file"]);
}

#[test]
fn a_call_may_name_a_playbook_of_the_project_or_a_file_that_was_imported_before() {
    let child = "steps:\n  - command: echo child\n";
    let main = "steps:\n  - call: sub/other.yaml\n---\nname: unused\nsteps:\n  - command: echo x\n";
    let scratch = Scratch::new(&[("main.yaml", main), ("sub/other.yaml", child)]);
    scratch.kb(&["playbook", "import", "main.yaml"]).code(2).says(&["KB0411", "main.yaml:2:11"]);
    scratch.kb(&["playbook", "import", "sub/other.yaml", "main.yaml"]).code(0);
    scratch.kb(&["playbook", "validate"]).code(0);
    scratch.kb(&["playbook", "run", "main"]).code(0);
}

#[test]
fn other_formats_have_one_document() {
    for (name, text) in [
        ("own.yml", "schema: kb.playbook/1\nid: own\nsteps: [{id: a, run: pwd}]\n---\nid: b\n"),
        ("ci.yml", "on: push\njobs: {a: {steps: [{run: pwd}]}}\n---\nname: b\n"),
        ("wave.yml", "kind: WavePipeline\nsteps: []\n---\nname: b\n"),
    ] {
        let (scratch, said) = import((name, text), &[]);
        said.code(2).says(&["KB0111", "a second document in one file", "not imported"]);
        assert!(!scratch.has(".kb/playbooks"), "{name}");
    }
    let many = format!("steps: [{{command: pwd}}]\n{}", "---\n".repeat(100));
    let (_, said) = import(("many.yaml", &many), &["--from", "dagu"]);
    said.code(2).says(&["KB0103", "more than 100 documents"]);
}
