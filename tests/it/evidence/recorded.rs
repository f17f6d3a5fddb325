//! What stands in a run's record afterwards, word by word of DESIGN §5.

use crate::scratch::Scratch;
use serde_json::{Value, json};

fn project(steps: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    Scratch::new(&[("playbooks/p.yml", &text)])
}

/// The events of a run that succeeds.
fn events(scratch: &Scratch, more: &[&str]) -> Vec<Value> {
    let args = [&["playbook", "run", "p", "--json"], more].concat();
    let said = scratch.kb(&args).code(0);
    // Live and later are the same.
    assert_eq!(scratch.kb(&["run", "events", "@last"]).code(0).out, said.out);
    said.events()
}

fn of<'e>(events: &'e [Value], kind: &str, step: &str) -> &'e Value {
    let found = events.iter().find(|event| event["type"] == kind && event["step"] == step);
    found.unwrap_or_else(|| panic!("no {kind} of {step}"))
}

#[test]
fn every_process_of_a_step_leaves_argv_cwd_environment_end_and_what_was_cut() {
    let scratch = project(
        r#"  - {id: plain, run: [sh, -c, 'exit 0', "{{params.word}}"]}
  - {id: same, run: [sh, -c, 'exit 0', other]}
  - {id: other, run: 'true', env: {WORD: x}, cwd: sub}
  - {id: killed, run: 'kill -9 $$', onError: continue}
  - {id: absent, run: [no-such-program], onError: continue}
  - {id: slow, run: 'sleep 60', timeout: 100ms, onError: continue}
  - {id: loud, run: 'head -c 1100000 /dev/zero | tr "\0" x; echo e >&2'}
params: [{name: word, default: w}]
"#,
    );
    scratch.write("sub/file", "");
    let events = events(&scratch, &[]);
    let process = |step: &str| of(&events, "attempt:end", step)["process"].clone();
    let plain = process("plain");
    assert_eq!(plain["argv"], json!(["sh", "-c", "exit 0", "w"]));
    assert_eq!(
        (&plain["cwd"], &plain["end"], &plain["exitCode"]),
        (&json!("."), &json!("exit"), &json!(0))
    );
    assert_eq!(plain["envHash"].as_str().unwrap().len(), 64);
    assert_eq!(
        plain["envHash"],
        process("same")["envHash"],
        "what tells attempts apart is left out"
    );
    let other = process("other");
    assert_ne!(plain["envHash"], other["envHash"]);
    let named = other["env"].as_array().unwrap().contains(&json!("WORD"));
    assert!(named && other["cwd"] == "sub", "{other}");
    let killed = process("killed");
    assert_eq!((&killed["end"], &killed["signal"]), (&json!("signal"), &json!(9)));
    assert_eq!(process("absent")["end"], "notStarted");
    // Whoever sees first that the time is up: where its pipes are read, or the attempt's own bound.
    let stopped = [json!("timeout"), json!("cancelled")].contains(&process("slow")["end"]);
    assert!(stopped && of(&events, "attempt:end", "slow")["outcome"] == "timeout");
    let loud = process("loud");
    assert_eq!(
        (&loud["stdoutCut"], &loud["stderrCut"]),
        (&json!(1_100_000 - (1 << 20)), &json!(0))
    );
}

/// One command does everything to files that an auditor may ask about.
const DEEDS: &str = r#"
  - id: all
    evidence: full
    run: |
      printf 'two\n' > modified
      rm deleted
      mv renamed renamed-to
      chmod 755 mode
      rm replaced && ln -s modified replaced
      ln -sfn other link
      printf 'x' > back && printf 'same\n' > back
      cp -p forged old && printf 'BBBB\n' > forged && touch -r old forged && rm old
      printf 'in\n' > ignored
      truncate -s 2G large
      mkdir folder && printf 'new\n' > 'folder/файл'
      printf '\000\001' > binary
      touch -d 2001-01-01 touched
"#;

#[test]
fn everything_that_a_command_does_to_files_is_recorded() {
    let scratch = project(DEEDS);
    for (path, text) in [
        ("modified", "one\n"),
        ("deleted", "gone\n"),
        ("renamed", "r\n"),
        ("mode", "m\n"),
        ("replaced", "p\n"),
        ("back", "same\n"),
        ("forged", "AAAA\n"),
        ("touched", "t\n"),
        ("untouched", "u\n"),
        (".gitignore", "ignored\n"),
        ("ignored", "i\n"),
    ] {
        scratch.write(path, text);
    }
    std::os::unix::fs::symlink("modified", scratch.root().join("link")).unwrap();
    let events = events(&scratch, &[]);
    let diff = scratch.json(&["run", "diff", "@last", "--json"]);
    assert_eq!(
        (&diff["steps"][0]["recorded"], &diff["steps"][0]["complete"]),
        (&json!(true), &json!(true))
    );
    let files = diff["steps"][0]["files"].as_array().unwrap();
    let told: Vec<String> = files
        .iter()
        .map(|file| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!("{} {}", text(&file["change"]), text(&file["path"]))
        })
        .collect();
    let expected = [
        "rewritten back",
        "created binary",
        "deleted deleted",
        "created folder/файл",
        "modified forged",
        "created large",
        "modified link",
        "mode mode",
        "modified modified",
        "renamed renamed-to",
        "replaced replaced",
        "rewritten touched",
    ];
    assert_eq!(told, expected, "{diff:#}");
    let file = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    let sha = |text: &str| json!(kb::value::Digest::of(text).to_string());
    let modified = file("modified");
    assert_eq!(
        (&modified["before"]["sha256"], &modified["after"]["sha256"]),
        (&sha("one\n"), &sha("two\n"))
    );
    assert_eq!(modified["patches"][0]["text"], "@@ -1 +1 @@\n-one\n+two\n");
    assert_eq!(file("forged")["patches"][0]["text"], "@@ -1 +1 @@\n-AAAA\n+BBBB\n");
    assert_eq!(
        (&file("mode")["before"]["mode"], &file("mode")["after"]["mode"]),
        (&json!("644"), &json!("755"))
    );
    assert_eq!(file("renamed-to")["from"], "renamed");
    let (replaced, link) = (file("replaced"), file("link"));
    assert_eq!(
        (&replaced["before"]["kind"], &replaced["after"]["kind"]),
        (&json!("file"), &json!("symlink"))
    );
    assert_eq!(
        (&link["before"]["sha256"], &link["after"]["sha256"]),
        (&sha("modified"), &sha("other"))
    );
    let large = file("large");
    assert_eq!(
        (&large["after"]["bytes"], &large["after"]["sha256"]),
        (&json!(2u64 << 30), &Value::Null)
    );
    assert_eq!(file("binary")["patches"], json!([]));
    assert_eq!(file("deleted")["patches"][0]["text"], "@@ -1 +0,0 @@\n-gone\n");
    // The same, as it goes by.
    let result = of(&events, "tool:result", "all");
    assert_eq!(
        (&result["process"]["watched"], &result["process"]["exitCode"]),
        (&json!(true), &json!(0))
    );
    let change = &result["changes"].as_array().unwrap()[8];
    assert_eq!((&change["path"], &change["beforeSha256"]), (&json!("modified"), &sha("one\n")));
    let shown = scratch.kb(&["run", "diff", "@last"]).code(0);
    for text in [
        "all\n",
        "  created   binary",
        "    -one\n",
        "    +two\n",
        "renamed → renamed-to",
        "644 → 755",
    ] {
        assert!(shown.out.contains(text), "`{text}` is missing in:\n{}", shown.out);
    }
    assert!(shown.err.contains("2 files were written again"), "{}", shown.err);
    let stat = scratch.kb(&["run", "diff", "@last", "--stat"]).code(0).out;
    assert!(stat.contains("modified") && !stat.contains("+two"), "{stat}");
}

/// A change within one tick of the file system's clock, with the same size, leaves no mark in any
/// stat data.
#[test]
fn a_change_that_stat_data_cannot_show_is_seen_by_content() {
    let scratch = project(
        "  - {id: first, run: 'for i in $(seq 50); do echo 1111 > f$i; done'}
  - {id: second, evidence: full, run: 'for i in $(seq 50); do echo 2222 > f$i; done', dependsOn: [first]}\n",
    );
    events(&scratch, &[]);
    let diff = scratch.json(&["run", "diff", "@last", "second", "--json"]);
    let files = diff["steps"][0]["files"].as_array().unwrap();
    assert_eq!(files.len(), 50, "{diff:#}");
    assert!(files.iter().all(|file| file["patches"][0]["text"] == "@@ -1 +1 @@\n-1111\n+2222\n"));
}

const AGENT: &str = "schema: kb.specialist/1
id: agent
role: You work.
tools: [fs:read, fs:write, fs:edit, fs:delete, fs:list, fs:exists, fs:search, shell:exec]
output: {schema: {summary: string, created: 'string[]'}}
";

fn agent(step: &str, script: &str) -> Scratch {
    let scratch = project(step);
    scratch.write(".kb/specialists/agent.yml", AGENT);
    scratch.write("script.yml", &format!("schema: kb.script/1\nsteps:\n  a:\n{script}"));
    scratch.write("old.txt", "one\ntwo\n");
    scratch
}

const SCRIPTED: [&str; 3] = ["--script", "script.yml", "--yes"];

#[test]
fn every_tool_of_a_specialist_leaves_the_resolved_path_and_hashes() {
    let scratch = agent(
        "  - {id: a, specialist: agent, task: Work.}\n",
        "    - calls:
        - {tool: fs:read, args: {path: sub/../old.txt}}
        - {tool: fs:list, args: {path: ./sub}}
        - {tool: fs:exists, args: {path: old.txt}}
        - {tool: fs:edit, args: {path: sub/../old.txt, old: two, new: three}}
        - {tool: fs:write, args: {path: new.txt, content: hello}}
        - {tool: shell:exec, args: {command: 'printf x >> new.txt'}}
        - {tool: fs:delete, args: {path: old.txt}}
    - output: {summary: done, created: [new.txt], deleted: [old.txt]}
",
    );
    scratch.write("sub/x", "");
    let events = events(&scratch, &SCRIPTED);
    let results: Vec<&Value> = events.iter().filter(|e| e["type"] == "tool:result").collect();
    let sha = |text: &str| json!(kb::value::Digest::of(text).to_string());
    let evidence = |at: usize| results[at]["evidence"][0].clone();
    let read = json!({"kind": "file", "ref": "old.txt", "sha256": sha("one\ntwo\n")});
    assert_eq!(evidence(0), read);
    assert_eq!((&evidence(1)["ref"], &evidence(2)["ref"]), (&json!("sub"), &json!("old.txt")));
    let change = |at: usize| results[at]["changes"][0].clone();
    let changed = |at: usize, path: &str, before: Value, after: Value| {
        let change = change(at);
        assert_eq!(
            (&change["path"], &change["beforeSha256"], &change["sha256"]),
            (&json!(path), &before, &after),
            "{at}"
        );
    };
    changed(3, "old.txt", sha("one\ntwo\n"), sha("one\nthree\n"));
    changed(4, "new.txt", Value::Null, sha("hello"));
    changed(5, "new.txt", sha("hello"), sha("hellox"));
    changed(6, "old.txt", sha("one\nthree\n"), Value::Null);
    let process = &results[5]["process"];
    assert_eq!(
        (&process["cwd"], &process["end"], &process["watched"]),
        (&json!("."), &json!("exit"), &json!(true))
    );
    assert_eq!(
        (process["envHash"].as_str().unwrap().len(), process["argv"][0].clone()),
        (64, json!("bash"))
    );

    let calls: Vec<&Value> = events.iter().filter(|e| e["type"] == "model:call").collect();
    let digest = |at: usize, part: &str| calls[at]["digests"][part].as_str().unwrap().to_owned();
    for part in ["prompt", "tools", "model"] {
        assert_eq!((digest(0, part).len(), digest(0, part)), (64, digest(1, part)), "{part}");
    }
    assert_ne!(calls[0]["requestHash"], calls[1]["requestHash"]);

    // What the tools changed can be read as text, call by call.
    let shown = scratch.kb(&["run", "diff", "@last", "a"]).code(0).out;
    for text in [
        "    -two\n    +three\n",
        "created  new.txt",
        "fs:write `",
        "    +hello",
        "-hello",
        "+hellox",
    ] {
        assert!(shown.contains(text), "`{text}` is missing in:\n{shown}");
    }
    let verdict = of(&events, "verification:complete", "a");
    assert_eq!((&verdict["verdict"], &verdict["confidence"]), (&json!("passed"), &json!("high")));
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn what_was_not_watched_is_said() {
    let scratch = agent(
        "  - {id: plain, run: 'echo x > made'}\n  - {id: a, specialist: agent, task: Work., evidence: none, verify: {claims: none}, dependsOn: [plain]}\n",
        "    - calls: [{tool: shell:exec, args: {command: 'echo x > made2'}}]\n    - output: {summary: done, created: []}\n",
    );
    events(&scratch, &SCRIPTED);
    let diff = scratch.json(&["run", "diff", "@last", "--json"]);
    let recorded: Vec<&Value> =
        diff["steps"].as_array().unwrap().iter().map(|s| &s["recorded"]).collect();
    assert_eq!(recorded, [&json!(false), &json!(false)], "{diff:#}");
    let said = scratch.kb(&["run", "diff", "@last"]).code(0);
    for text in ["plain: changes by its command were not recorded", "a: changes", "no file changes"]
    {
        assert!(said.err.contains(text), "{}", said.err);
    }
    scratch
        .kb(&["run", "diff", "@last", "plane"])
        .code(4)
        .says(&["there is no step `plane`", "did you mean `plain`?"]);
    scratch
        .kb(&["run", "diff", "@last", "a[x]"])
        .code(4)
        .says(&["there is no step `a[x]`", "available: a, plain"]);
    scratch.kb(&["run", "diff", "nope"]).code(4).says(&["there is no run `nope`"]);
}

/// Nothing watches what ignore rules hide, so a claim about it can be neither proved nor refuted.
#[test]
fn a_claim_about_an_ignored_file_is_inconclusive_and_one_that_is_not_there_is_refuted() {
    let script =
        "    - calls: [{tool: shell:exec, args: {command: 'mkdir -p out; echo x > out/made'}}]\n";
    let step =
        "  - {id: a, specialist: agent, task: Work., verify: {claims: strict, onFailed: fail}}\n";
    for (claimed, code, verdict, reason) in [
        ("out/made", 0, "inconclusive", "ignore rules exclude it"),
        ("out/never", 1, "failed", "it is not on disk"),
    ] {
        let end = format!("    - output: {{summary: done, created: [{claimed}]}}\n");
        let scratch = agent(step, &(script.to_owned() + &end));
        scratch.write(".gitignore", "/out/\n");
        let args = ["playbook", "run", "p", "--json", "--script", "script.yml", "--yes"];
        let events = scratch.kb(&args).code(code).events();
        let told = of(&events, "verification:complete", "a");
        let said = told["reason"].as_str().unwrap_or_default();
        assert!(told["verdict"] == verdict && said.contains(reason), "{told:#}");
        scratch.kb(&["run", "verify", "@last"]).code(0).says(&["verdicts  1"]);
    }
}

/// What a secret is stands nowhere in what is kept of a file's text.
#[test]
fn a_secret_in_a_file_is_masked_in_its_difference() {
    let scratch = project(
        "  - {id: a, run: 'printf \"key=%s\\n\" \"$KEY\" > file', evidence: full, env: {KEY: \"{{secrets.KEY}}\"}}\n",
    );
    scratch.write(".kb/kb.config.yml", "secrets: {KEY: 'env:SECRET_OF_TEST'}\n");
    let args = ["playbook", "run", "p"];
    let set = |command: &mut std::process::Command| {
        command.env("SECRET_OF_TEST", "correct-horse-battery");
    };
    scratch.kb_with(&args, set).code(0);
    assert_eq!(scratch.read("file"), "key=correct-horse-battery\n");
    let shown = scratch.kb(&["run", "diff", "@last"]).code(0).out;
    assert!(shown.contains("+key=«secret:KEY»") && !shown.contains("horse"), "{shown}");
}

/// What a gate asks for may have been done by any attempt of the run, and by none of an earlier run.
#[test]
fn the_evidence_of_a_step_is_that_of_all_its_attempts_and_of_no_other_run() {
    let step = "  - id: a
    run: 'echo x >> began; test \"$(wc -l < began)\" -gt 1 || { echo y > out.txt; exit 1; }'
    verify: {checks: [{file: {path: out.txt, changed: true}}]}\n";
    let retried = project(&format!("{step}    retry: {{max: 1, initial: 1ms}}\n"));
    retried.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(retried.read("began"), "x\nx\n", "the second attempt changes it no more");
    let anew = project(step);
    anew.kb(&["playbook", "run", "p"]).code(1);
    anew.kb(&["run", "retry", "@last"]).code(0);
    assert_eq!(anew.read("began"), "x\nx\n");
    anew.kb(&["playbook", "run", "p"]).code(1).says(&["no recorded call of this step changed"]);
}
