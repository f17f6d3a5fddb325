//! Steps with `cache`: what is stored, what is taken, and what makes a difference.

use crate::running::Start;
use crate::scratch::{Said, Scratch};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// A playbook `p` whose step `make` counts its executions in the ignored file `count`.
fn project(cache: &str, more: &str) -> Scratch {
    let text = format!(
        "schema: kb.playbook/1
id: p
params: [{{name: mode, default: fast}}]
steps:
  - id: make
    run: |
      echo x >> count
      mkdir -p out; cat in/*.txt > out/all.txt; chmod 755 out/all.txt; rm -f old.txt
      echo \"made $MODE\"
    env: {{MODE: \"{{{{mode}}}}\"}}
    cache: {cache}
{more}"
    );
    let files =
        [("playbooks/p.yml", &*text), ("in/a.txt", "a\n"), (".gitignore", "count\nignored\n")];
    Scratch::new(&files)
}

fn run(scratch: &Scratch, args: &[&str]) -> Said {
    scratch.kb(&[&["playbook", "run", "p"], args].concat())
}

/// How often the step was executed.
fn executions(scratch: &Scratch) -> usize {
    if scratch.has("count") { scratch.read("count").lines().count() } else { 0 }
}

fn origin(scratch: &Scratch, step: usize) -> Value {
    scratch.json(&["run", "show", "@last", "--json"])["steps"][step]["cachedFrom"].clone()
}

/// The files of the cache below a folder.
fn stored(scratch: &Scratch, folder: &str) -> Vec<std::path::PathBuf> {
    let state = scratch.root().parent().unwrap().join("state/kb");
    let project = std::fs::read_dir(state).unwrap().flatten().next().unwrap().path();
    let folders = std::fs::read_dir(project.join("cache").join(folder)).into_iter().flatten();
    let files = folders.flatten().flat_map(|folder| std::fs::read_dir(folder.path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_hit_restores_files_and_output_and_shows_where_they_come_from() {
    let scratch = project("{inputs: \"in/*\"}", "    verify: {checks: [{file: out/all.txt}]}\n");
    scratch.write("old.txt", "");
    run(&scratch, &[]).code(0).says(&["not from the cache: no result is stored yet"]);
    let first = scratch.last_run();
    std::fs::remove_dir_all(scratch.root().join("out")).unwrap();
    scratch.write("old.txt", "again");
    let said = run(&scratch, &[]).code(0).says(&["from the cache: make of run ", "gate passed"]);
    assert!(said.err.contains(&format!("of run {first}")), "{}", said.err);
    assert_eq!(executions(&scratch), 1);
    assert_eq!(scratch.read("out/all.txt"), "a\n");
    assert!(!scratch.has("old.txt"), "the step removes it");
    let mode = scratch.root().join("out/all.txt").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(scratch.json(&["run", "output", "@last", "make", "--json"]), "made fast");
    assert_eq!(origin(&scratch, 0)["run"], first);
    assert_eq!(origin(&scratch, 0)["instance"], "make");
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["from the cache (run "]);
    scratch.kb(&["run", "logs", "@last"]).code(0).says(&["from the cache: make of run"]);
    let events = scratch.kb(&["run", "events", "@last"]).events();
    let hit = events.iter().find(|event| event["type"] == "cache:hit").expect("an event");
    assert_eq!((&hit["runFrom"], &hit["files"]), (&first.into(), &2.into()));
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

#[test]
fn each_part_of_the_key_makes_a_difference_and_is_named() {
    let scratch = project("{inputs: \"in/*\", key: \"{{mode}}\"}", "");
    run(&scratch, &[]).code(0);
    run(&scratch, &["-p", "mode=slow"])
        .says(&["the variable `MODE` changed, the `key` changed since run"]);
    scratch.write("in/b.txt", "b\n");
    run(&scratch, &[]).code(0).says(&["the file `in/b.txt` is new"]);
    scratch.kb(&["cache", "show", "make"]).code(0).says(&[
        "p/make",
        "executed: ",
        "file in/b.txt",
        "new",
        "the same",
    ]);
    scratch.write("in/b.txt", "c\n");
    run(&scratch, &[]).code(0).says(&["the file `in/b.txt` changed since run"]);
    let text = scratch.read("playbooks/p.yml").replace("made $MODE", "did $MODE");
    scratch.write("playbooks/p.yml", &text);
    run(&scratch, &[]).code(0).says(&["the command changed since run"]);
    assert_eq!(executions(&scratch), 5);
    run(&scratch, &[]).code(0).says(&["from the cache"]);
    let sheet = scratch.json(&["cache", "show", "p/make", "--json"]);
    assert_eq!(sheet["lookup"]["missed"], Value::Null);
    assert_eq!(sheet["result"]["output"], "did fast");
}

#[test]
fn without_inputs_every_file_of_the_project_counts() {
    let scratch = project("true", "");
    run(&scratch, &[]).code(0);
    run(&scratch, &[]).code(0).says(&["the file `out/all.txt` is new since run"]);
    run(&scratch, &[]).code(0).says(&["from the cache"]);
    scratch.write("other.txt", "");
    run(&scratch, &[]).code(0).says(&["the file `other.txt` is new since run"]);
    scratch.write("ignored", "");
    run(&scratch, &[]).code(0).says(&["from the cache"]);
}

#[test]
fn outputs_name_ignored_files_and_time_to_live_and_scope_limit_the_use() {
    let cache = "{inputs: \"in/*\", outputs: [\"out/**\", ignored], ttl: 1h, scope: step}";
    let scratch = project(cache, "");
    let text = scratch.read("playbooks/p.yml").replace("rm -f", "echo y > ignored; rm -f");
    scratch.write("playbooks/p.yml", &text);
    run(&scratch, &[]).code(0);
    std::fs::remove_file(scratch.root().join("ignored")).unwrap();
    run(&scratch, &[]).code(0).says(&["from the cache", "restored 1 file"]);
    assert_eq!(scratch.read("ignored"), "y\n");
    scratch.write("playbooks/q.yml", &text.replace("id: p", "id: q"));
    scratch.kb(&["playbook", "run", "q"]).code(0).says(&["not from the cache: no result"]);
    // The age counts against the `ttl` of the step that asks.
    scratch.write("playbooks/p.yml", &text.replace("ttl: 1h", "ttl: 1ms"));
    run(&scratch, &[]).code(0).says(&["is older than 1ms (`ttl`)"]);
}

#[test]
fn failures_and_refuted_results_are_not_stored() {
    let scratch = project("{inputs: \"in/*\"}", "    verify: {checks: [{file: proof.txt}]}\n");
    for _ in 0..2 {
        run(&scratch, &[]).code(1);
    }
    assert_eq!((executions(&scratch), stored(&scratch, "results").len()), (2, 0));
    scratch.write("proof.txt", "");
    run(&scratch, &[]).code(0);
    run(&scratch, &[]).code(0).says(&["from the cache"]);
    assert_eq!(executions(&scratch), 3);
    // The gate judges the restored state again, and then the step does its work.
    std::fs::remove_file(scratch.root().join("proof.txt")).unwrap();
    run(&scratch, &[]).code(1).says(&["from the cache", "gate failed", "retry 1 of 1"]);
    assert_eq!(executions(&scratch), 4);
    let steps = scratch.json(&["run", "show", "@last", "--json"])["steps"].clone();
    assert_eq!((&steps[0]["attempts"], &steps[0]["cachedFrom"]), (&2.into(), &Value::Null));
    let text = scratch.read("playbooks/p.yml").replace("echo x", "false; echo x");
    scratch.write("playbooks/p.yml", &text);
    let before = stored(&scratch, "results").len();
    run(&scratch, &[]).code(1);
    assert_eq!(stored(&scratch, "results").len(), before);
}

#[test]
fn the_user_can_leave_the_cache_out_refresh_a_step_and_clear_it() {
    let scratch =
        project("{inputs: \"in/*\"}", "  - {id: plain, dependsOn: [make], run: \"true\"}\n");
    run(&scratch, &["--no-cache"]).code(0);
    assert!(!scratch.kb(&["cache", "list", "--json"]).out.contains("make"));
    run(&scratch, &[]).code(0);
    run(&scratch, &["--no-cache"]).code(0);
    assert_eq!(executions(&scratch), 3);
    run(&scratch, &["--refresh", "make"]).code(0).says(&["`--refresh` asks for a new result"]);
    assert_eq!(executions(&scratch), 4);
    run(&scratch, &["--refresh", "mak"]).code(4).says(&["did you mean `make`?"]);
    run(&scratch, &["--refresh", "plain"]).code(2).says(&["`plain` has no `cache`"]);
    scratch.kb(&["cache", "list"]).code(0).says(&["p/make", "1 result"]);
    scratch.kb(&["cache", "clear", "nope"]).code(4).says(&["p/make"]);
    scratch.kb(&["cache", "clear", "make"]).code(0).says(&["removed 1 result"]);
    assert_eq!(stored(&scratch, "files").len(), 0);
    run(&scratch, &[]).code(0).says(&["not from the cache"]);
    scratch.kb(&["cache", "clear"]).code(0).says(&["removed 1 result"]);
}

#[test]
fn a_stored_result_that_was_damaged_or_lost_is_a_miss_with_the_reason() {
    let scratch = project("{inputs: \"in/*\"}", "");
    type Damage = fn(&std::path::Path);
    let damages: [(&str, &str, Damage); 4] = [
        ("files", "the stored content of `out/all.txt` was changed", |path| {
            std::fs::write(path, "b\n").unwrap();
        }),
        ("files", "the stored content of `out/all.txt` is missing", |path| {
            std::fs::remove_file(path).unwrap();
        }),
        ("results", "the stored result is damaged", |path| {
            let text = std::fs::read_to_string(path).unwrap().replace("made fast", "made slow");
            std::fs::write(path, text).unwrap();
        }),
        ("results", "the stored result was removed", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (done, (folder, reason, damage)) in damages.into_iter().enumerate() {
        run(&scratch, &[]).code(0);
        let [file] = stored(&scratch, folder).try_into().expect("one file");
        damage(&file);
        scratch.write("out/all.txt", "mine\n");
        run(&scratch, &[]).code(0).says(&["not from the cache", reason]);
        assert_eq!(executions(&scratch), done + 2, "{reason}");
        assert_eq!(scratch.read("out/all.txt"), "a\n");
    }
}

#[test]
fn no_secret_reaches_the_cache() {
    let text = "schema: kb.playbook/1
id: p
steps:
  - {id: safe, run: 'echo \"${#TOKEN}\"; echo done > safe.txt', env: {TOKEN: \"{{secrets.TOKEN}}\"}, cache: {inputs: []}}
  - {id: leak, dependsOn: [safe], run: 'echo \"$TOKEN\" > leak.txt', env: {TOKEN: \"{{secrets.TOKEN}}\"}, cache: {inputs: []}}
";
    let settings = "secrets: {TOKEN: env:MY_TOKEN}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text), (".kb/kb.config.yml", settings)]);
    let secret = "hunter2-hunter2";
    let run = |value: &str| {
        scratch.kb_with(&["playbook", "run", "p"], |kb| {
            kb.env("MY_TOKEN", value);
        })
    };
    run(secret).code(0).says(&["`leak.txt` contains the secret `TOKEN`"]);
    run(secret).code(0).says(&["from the cache: safe"]);
    // Another value of the secret is another key.
    run("other-secret-value").code(0).says(&["the variable `TOKEN` changed"]);
    for folder in ["results", "files", "steps"] {
        for file in stored(&scratch, folder) {
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            assert!(!text.contains(secret), "{}: {text}", file.display());
        }
    }
}

#[test]
fn changed_files_of_steps_that_run_at_the_same_time_are_not_mixed_up() {
    let other = "  - {id: other, run: \"while [ ! -e out/all.txt ]; do sleep 0.01; done; echo o > other.txt\"}\n";
    let scratch = project("{inputs: \"in/*\"}", other);
    let text = scratch.read("playbooks/p.yml");
    let text =
        text.replace("echo \"made", "while [ ! -e other.txt ]; do sleep 0.01; done; echo \"made");
    scratch.write("playbooks/p.yml", &text);
    run(&scratch, &["--max-parallel", "2"]).code(0).says(&["another step ran at the same time"]);
    assert_eq!(stored(&scratch, "results").len(), 0);
}

#[test]
fn two_runs_at_once_and_a_killed_one_leave_a_cache_that_works() {
    let scratch = project("{inputs: \"in/*\", outputs: \"out/**\"}", "");
    let spawn = || {
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.start()
    };
    let both = [spawn(), spawn(), spawn()];
    for mut child in both {
        assert!(child.wait().unwrap().success());
    }
    run(&scratch, &[]).code(0).says(&["from the cache"]);
    assert_eq!(stored(&scratch, "results").len(), 1);
    // An incomplete file is what a kill during the write leaves.
    let [result] = stored(&scratch, "results").try_into().expect("one result");
    let half = std::fs::read(&result).unwrap();
    std::fs::write(result.with_file_name(".new-1-0"), &half[..half.len() / 2]).unwrap();
    std::fs::write(&result, &half[..half.len() / 2]).unwrap();
    run(&scratch, &[]).code(0).says(&["the stored result is damaged"]);
    run(&scratch, &[]).code(0).says(&["from the cache"]);
}

#[test]
fn tools_requests_and_specialists_are_cached_with_what_they_depend_on() {
    let playbook = "schema: kb.playbook/1
id: p
steps:
  - {id: read, tool: fs:read, input: {path: in/a.txt}, cache: {inputs: \"in/*\"}}
  - id: write
    dependsOn: read
    specialist: author
    task: \"Write out.txt\"
    cache: {inputs: []}
    verify: {commentary: [summary]}
outputs: {text: \"{{read.output.content}}\", summary: \"{{write.output.summary}}\"}
";
    let specialist =
        "schema: kb.specialist/1\nid: author\nrole: You write files.\ntools: [\"fs:*\"]\n";
    let script = |word: &str| {
        format!(
            "schema: kb.script/1\nsteps:\n  write:\n    - {{calls: [{{tool: fs:write, args: {{path: out.txt, content: {word}}}}}]}}\n    - {{output: {{summary: {word}, filesCreated: [out.txt]}}}}\n"
        )
    };
    let files = [
        ("playbooks/p.yml", playbook),
        (".kb/specialists/author.yml", specialist),
        ("in/a.txt", "a"),
    ];
    let scratch = Scratch::new(&files);
    scratch.write("script.yml", &script("one"));
    let run = || scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]);
    run().code(0).says(&["gate passed"]);
    std::fs::remove_file(scratch.root().join("out.txt")).unwrap();
    let said =
        run().code(0).says(&["from the cache: read", "from the cache: write", "gate passed"]);
    assert!(!said.err.contains("model script"), "{}", said.err);
    assert_eq!(scratch.read("out.txt"), "one");
    scratch.kb(&["run", "verify", "@last"]).code(0);
    scratch.write("script.yml", &script("two"));
    std::fs::remove_file(scratch.root().join("out.txt")).unwrap();
    run().code(0).says(&["the model changed since run"]);
    assert_eq!(scratch.read("out.txt"), "two");
    scratch.write(".kb/specialists/author.yml", &specialist.replace("files.", "short files."));
    std::fs::remove_file(scratch.root().join("out.txt")).unwrap();
    run().code(0).says(&["the specialist changed since run"]);
}

#[test]
fn the_size_is_bound_and_the_results_used_last_stay() {
    let playbook = "schema: kb.playbook/1
id: p
params: [{name: n, type: number}]
steps:
  - id: big
    run: \"head -c 400000 /dev/urandom | od -An -tx1 > out/$N.txt\"
    env: {N: \"{{n}}\"}
    cache: {inputs: [], outputs: \"out/*\"}
";
    let settings = "cache: {maxMib: 4}\n";
    let files = [("playbooks/p.yml", playbook), (".kb/kb.config.yml", settings), ("out/.keep", "")];
    let scratch = Scratch::new(&files);
    let run = |n: &str| {
        let _ = std::fs::remove_dir_all(scratch.root().join("out"));
        scratch.write("out/.keep", "");
        scratch.kb(&["playbook", "run", "p", "-p", &format!("n={n}")])
    };
    for n in ["1", "2", "3"] {
        run(n).code(0);
    }
    run("1").code(0).says(&["from the cache"]);
    run("4").code(0);
    let bytes: u64 = stored(&scratch, "files").iter().map(|f| f.metadata().unwrap().len()).sum();
    assert!(bytes <= 4 << 20, "{bytes}");
    run("1").code(0).says(&["from the cache"]);
    run("2").code(0).says(&["not from the cache"]);
}

/// A stored result of a step with files of its own restores them there, and they are merged like those of an
/// execution; items of one list take results of each other's runs.
#[test]
fn a_hit_in_files_of_its_own_is_merged_like_an_execution() {
    let text = "schema: kb.playbook/1
id: p
steps:
  - id: make
    forEach: {in: [a, b], as: n, key: \"{{n}}\", maxParallel: 2}
    workspace: copy
    run: echo x >> count; mkdir -p out; cat in/a.txt > out/$N.txt; pwd
    env: {N: \"{{n}}\"}
    cache: {inputs: \"in/*\", outputs: \"out/**\"}
    verify: {checks: [{file: \"out/{{n}}.txt\"}]}
  - {id: after, dependsOn: [make], run: cat out/a.txt out/b.txt}
";
    let scratch =
        Scratch::new(&[("playbooks/p.yml", text), ("in/a.txt", "a\n"), (".gitignore", "count\n")]);
    run(&scratch, &[]).code(0);
    assert_eq!(
        (scratch.read("out/a.txt"), scratch.read("out/b.txt")),
        ("a\n".into(), "a\n".into())
    );
    std::fs::remove_dir_all(scratch.root().join("out")).unwrap();
    run(&scratch, &[]).code(0).says(&["from the cache: make[a] of run "]);
    assert_eq!(scratch.read("out/b.txt"), "a\n", "a hit is merged");
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let hits =
        shown["steps"].as_array().unwrap().iter().filter(|step| !step["cachedFrom"].is_null());
    assert_eq!(hits.count(), 2, "{shown}");
    let events = scratch.kb(&["run", "events", "@last"]).events();
    assert!(events.iter().any(|event| event["type"] == "step:merged"));
    scratch.kb(&["run", "verify", "@last"]).code(0);
    // A change of the input is a miss, also there.
    scratch.write("in/a.txt", "changed\n");
    run(&scratch, &[]).code(0);
    assert_eq!(scratch.read("out/a.txt"), "changed\n");
}
