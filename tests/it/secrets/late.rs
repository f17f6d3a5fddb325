//! A value that becomes a secret while the run is under way: what was written before stays as it is,
//! what is written afterwards is masked, whoever repeats it.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::Value;

const VALUE: &str = "swordfish-tulip-0815";

#[test]
fn what_is_written_after_a_secret_is_known_is_masked() {
    // Item one ends before the value is known, item two afterwards.
    let items = "forEach: {in: [one, two], maxParallel: 1}, env: {I: '{{item}}'}";
    let wait = "until test -e known; do sleep 0.02; done";
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nlimits: {{maxParallel: 6}}\nsteps:
  - {{id: early, run: cat told.txt}}
  - {{id: lines, parse: lines, run: cat told.txt}}
  - {{id: small, {items}, run: 'if test $I = two; then touch small; {wait}; fi; cat told.txt'}}
  - {{id: large, {items}, run: 'if test $I = two; then touch large; {wait}; fi; cat told.txt; seq 9999'}}
  - {{id: open, dependsOn: [early, lines], run: 'cat told.txt; touch open; {wait}; cat told.txt >&2'}}
  - {{id: uses, env: {{T: '{{{{secrets.T}}}}'}}, run: touch known}}
  - {{id: again, dependsOn: [early, uses], set: {{x: '{{{{early.output}}}}'}}}}
  - {{id: keyed, dependsOn: [uses], forEach: {{in: '{{{{lines.output}}}}', key: 'k {{{{item}}}}'}}, set: {{z: 1}}}}
  - {{id: fails, dependsOn: [again], onError: continue, run: [cat, 'no-{{{{early.output}}}}']}}
  - {{id: asks, dependsOn: [again], onError: continue, tool: fs:read, input: {{path: 'no-{{{{early.output}}}}'}}}}
  - {{id: looks, dependsOn: [again], onError: continue, gate: [{{file: {{path: 'no-{{{{early.output}}}}'}}}}]}}
outputs: {{all: '{{{{early.output}}}}'}}\n"
    );
    let ready = "until test -e small && test -e large && test -e open; do sleep 0.02; done";
    let settings = format!(
        "secrets: {{S: 'env:KB_S', T: {{command: [bash, -c, '{ready}; cat told.txt']}}}}\n"
    );
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", &playbook),
        (".kb/kb.config.yml", &settings),
        ("told.txt", VALUE),
    ]);
    let said = scratch.kb_with(&["playbook", "run", "p", "--json"], |command| {
        command.env("KB_S", "known-from-the-start");
    });
    let told = said.out.lines().filter(|line| line.contains(VALUE));
    let told = told.map(|line| serde_json::from_str(line).unwrap());
    let mut who: Vec<String> = told
        .map(|event: Value| format!("{} {}", event["type"], event["instance"]).replace('"', ""))
        .collect();
    who.sort();
    assert_eq!(who, ["step:end early", "step:end lines", "step:end small[0]"], "{said:?}");
    let mut state = std::fs::read_dir(scratch.root().parent().unwrap().join("state/kb")).unwrap();
    let journal = state.next().unwrap().unwrap().path().join("journal.sqlite3");
    let stored = rusqlite::Connection::open(journal).unwrap();
    let telling = "SELECT count(*) FROM events WHERE instr(body, ?)";
    let telling: u32 = stored.query_row(telling, [VALUE], |row| row.get(0)).unwrap();
    assert_eq!(telling, 3, "nor in what no display shows");
    assert!(!said.err.contains(VALUE), "{}", said.err);
    let output = |of: &str| scratch.kb(&["run", "output", "@last", of]).code(0).out;
    assert!(output("large[0]").contains(VALUE), "it ended before");
    let keyed = scratch.kb(&["run", "show", "@last"]).code(0).out;
    let outputs = ["small", "large", "open", "again"].map(|of| (of, output(of)));
    for (of, shown) in outputs.into_iter().chain([("keyed", keyed)]) {
        assert!(shown.contains("«secret:T»") && !shown.contains(VALUE), "{of}: {shown:.200}");
    }
}

/// Its command is run again, once, before a step that does not need it can repeat it.
#[test]
fn what_a_killed_kb_knew_for_a_secret_is_one_to_the_next() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:
  - {id: a, env: {T: '{{secrets.T}}'}, run: 'echo \"$T\" > told.txt'}
  - {id: b, dependsOn: [a], run: 'touch began; until test -e go; do sleep 0.02; done'}
  - {id: c, dependsOn: [b], run: cat told.txt}
  - {id: d, dependsOn: [b], run: cat told.txt}\n";
    for (command, shown, asked) in [
        ("echo x >> asked; cat given", "«secret:T»", "x\nx\n"),
        // Who cannot give it again holds nobody up, and the value is in no place any more.
        ("echo x >> asked; cat given && mv given gone", VALUE, "x\nx\n"),
    ] {
        let settings = format!("secrets: {{T: {{command: [bash, -c, '{command}']}}}}\n");
        let files =
            [("playbooks/p.yml", playbook), (".kb/kb.config.yml", &settings), ("given", VALUE)];
        let scratch = Scratch::new(&files);
        let mut command = scratch.command();
        let quiet = std::process::Stdio::null;
        command.args(["playbook", "run", "p"]).stdout(quiet()).stderr(quiet());
        let mut first = command.start();
        while !scratch.has("began") {
            assert_eq!(first.try_wait().unwrap(), None, "it waits in `b`");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        first.kill().unwrap();
        first.wait().unwrap();
        scratch.write("go", "");
        scratch.kb(&["run", "resume", "@last"]).code(0);
        for step in ["c", "d"] {
            let said = scratch.kb(&["run", "output", "@last", step]).code(0);
            assert_eq!(said.out.trim(), shown, "{step}");
        }
        assert_eq!(scratch.read("asked"), asked);
    }
}
