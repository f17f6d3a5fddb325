//! What helps while a command line or a file is written: completions, manual pages, hints, formatting, schemas.

use crate::scratch::{Said, Scratch};

const BUILD: (&str, &str) = (
    ".kb/playbooks/build.yml",
    "schema: kb.playbook/1\nid: build\nname: Build it\nsteps:\n  - {id: compile, run: echo one}\n  - {id: pack, run: echo two, dependsOn: [compile]}\n",
);

/// What the shell is offered for the last of these words.
fn completed(scratch: &Scratch, words: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["--", "kb"].into_iter().chain(words.iter().copied()).collect();
    let said = scratch.kb_with(&args, |command| {
        command
            .env("KB_COMPLETE", "bash")
            .env("_CLAP_IFS", "\n")
            .env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    });
    said.code(0).out.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_the_ids_of_the_project() {
    let scratch = Scratch::new(&[
        BUILD,
        (".kb/specialists/writer.yml", "schema: kb.specialist/1\nid: writer\nrole: You write.\n"),
    ]);
    scratch.kb(&["playbook", "run", "build"]).code(0);
    let run = scratch.last_run();
    let offers = |words: &[&str], expected: &str| {
        let all = completed(&scratch, words);
        assert!(all.iter().any(|word| word == expected), "{words:?} offers {all:?}");
    };
    offers(&["play"], "playbook");
    offers(&["playbook", "run", ""], "build");
    offers(&["playbook", "run", "build", "--only", "c"], "compile");
    offers(&["specialist", "info", ""], "writer");
    offers(&["run", "show", ""], &run);
    offers(&["run", "logs", "@last", "p"], "pack");
    offers(&["eval", "x", "--step", ""], "compile");
    offers(&["explain", "KB010"], "KB0101");
    // The engine, and so the ids, of the folder that `-C` names.
    let folder = scratch.root();
    let elsewhere = Scratch::bare();
    let all = completed(&elsewhere, &["-C", folder.to_str().unwrap(), "playbook", "run", ""]);
    assert!(all.contains(&"build".to_owned()), "{all:?}");
    assert!(!completed(&elsewhere, &["playbook", "run", ""]).contains(&"build".to_owned()));
}

#[test]
fn each_shell_has_a_script_that_asks_kb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = Scratch::bare().kb(&["completions", shell]).code(0);
        assert!(said.out.contains("KB_COMPLETE"), "{shell}: {}", said.out);
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let scratch = Scratch::bare();
    scratch.kb(&["man"]).code(0).says(&[".TH kb 1", "kb\\-playbook(1)"]);
    scratch.kb(&["man", "--out", "pages"]).code(0);
    for (page, text) in
        [("kb", "SUBCOMMANDS"), ("kb-run-logs", "\\-\\-follow"), ("kb-playbook-run", "\\-\\-param")]
    {
        assert!(scratch.read(&format!("pages/{page}.1")).contains(text), "{page}");
    }
}

#[test]
fn words_of_other_programs_point_at_the_command() {
    let scratch = Scratch::bare();
    for (line, hint) in [
        ("list", "`kb playbook list` lists playbooks"),
        ("ps", "`kb run list` lists runs"),
        ("-q ps", "`kb run list` lists runs"),
        ("-C / logs @last", "use `kb run logs`"),
        ("validate", "use `kb playbook validate`"),
        ("test", "use `kb playbook test`"),
        ("show x", "`kb playbook show ID`"),
        ("stop x", "`kb run cancel RUN`"),
        ("rerun", "`kb run retry RUN`"),
        ("format", "`kb fmt`"),
        ("rm x", "`kb run prune` removes old runs"),
        ("run rm x", "`kb run prune` removes old runs"),
        ("run stop x", "`kb run cancel RUN` stops a run"),
        ("start x", "`kb playbook run ID` starts a run"),
        ("exec x", "`kb playbook run ID` starts a run"),
        ("new x", "use `kb playbook new`"),
        ("check", "`kb playbook validate` checks playbooks"),
        ("status", "`kb run list` lists runs"),
        ("log x", "`kb run logs RUN` shows what a run did"),
        ("inspect x", "`kb run show RUN` a run"),
        ("resume x", "use `kb run resume`"),
        ("cancel x", "use `kb run cancel`"),
        ("playbook exec x", "`kb playbook run ID` starts a run"),
        ("playbook rm x", "a playbook is a file"),
        ("models", "`kb doctor` shows models"),
        ("agents", "`kb specialist list`"),
        ("playbook logs x", "use `kb run logs`"),
        ("playbook run hello --dry-run", "`kb playbook plan hello` shows"),
        ("run hello.yml", "use `kb playbook run hello.yml`"),
        ("run r12345", "`kb run show r12345`"),
        ("serve --listen example.org", "such as 127.0.0.1:7900"),
        ("run retry x --dry-run", "`kb run show RUN`"),
        ("trigger fire x --dry-run", "`kb trigger test ID`"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let said = scratch.kb(&words).code(2).says(&[hint]);
        assert!(!said.err.contains("tip:") || !line.starts_with("list"), "{said:?}");
    }
}

#[test]
fn show_and_info_are_one_command() {
    let scratch = Scratch::new(&[
        BUILD,
        (".kb/specialists/writer.yml", "schema: kb.specialist/1\nid: writer\nrole: You write.\n"),
        (
            ".kb/playbooks/night.yml",
            "schema: kb.playbook/1\nid: night\non: {schedule: {cron: '0 3 * * *'}}\nsteps: [{id: a, run: echo x}]\n",
        ),
    ]);
    scratch.kb(&["playbook", "run", "build"]).code(0);
    for (kind, id) in
        [("playbook", "build"), ("specialist", "writer"), ("run", "@last"), ("trigger", "night")]
    {
        let [show, info]: [Said; 2] =
            ["show", "info"].map(|word| scratch.kb(&[kind, word, id]).code(0));
        assert_eq!(show.out, info.out, "{kind}");
    }
}

#[test]
fn every_command_takes_quiet_and_prints_no_notes() {
    let scratch = Scratch::new(&[BUILD]);
    for line in [
        "playbook list",
        "playbook validate",
        "playbook run build",
        "run list",
        "run show @last",
        "run logs @last",
        "run prune",
        "specialist list",
        "specialist new writer",
        "playbook new other",
        "trigger list",
        "schema test",
        "fmt",
        "explain KB0101",
        "init",
    ] {
        let words: Vec<&str> = line.split(' ').chain(["-q"]).collect();
        let said = scratch.kb(&words).code(0);
        assert_eq!(said.err, "", "{line}");
    }
}

#[test]
fn playbooks_in_subfolders_load() {
    let text = "schema: kb.playbook/1\nid: deep\nsteps: [{id: a, run: echo x}]\n";
    let scratch = Scratch::new(&[(".kb/playbooks/team/nightly/deep.yml", text)]);
    scratch.kb(&["playbook", "run", "deep"]).code(0);
    let shown = scratch.json(&["playbook", "list", "--json"]);
    assert_eq!(shown[0]["path"], ".kb/playbooks/team/nightly/deep.yml");
}

#[test]
fn formatting_changes_the_layout_and_keeps_comments_and_values() {
    let ugly = "# About it.\nschema:   kb.playbook/1\nid: 'ugly'\nsteps:\n    -   id: a   # first\n        run: |\n            echo  one   # not a comment of YAML\n            exit 0\n\n\n\n    # The second step.\n    - {id: b,run: \"echo two\",   dependsOn: [ a ]}\n";
    let scratch = Scratch::new(&[(".kb/playbooks/ugly.yml", ugly)]);
    let before = scratch.json(&["playbook", "show", "ugly", "--json"]);
    scratch.kb(&["fmt", "--check"]).code(1).says(&["not formatted: .kb/playbooks/ugly.yml"]);
    assert_eq!(scratch.read(".kb/playbooks/ugly.yml"), ugly);
    scratch.kb(&["fmt"]).code(0).says(&["formatted .kb/playbooks/ugly.yml"]);
    let text = scratch.read(".kb/playbooks/ugly.yml");
    assert_eq!(
        text,
        "# About it.\nschema: kb.playbook/1\nid: \"ugly\"\nsteps:\n  - id: a # first\n    run: |\n      echo  one   # not a comment of YAML\n      exit 0\n\n  # The second step.\n  - {id: b, run: \"echo two\", dependsOn: [a]}\n"
    );
    assert_eq!(scratch.json(&["playbook", "show", "ugly", "--json"]), before);
    scratch.kb(&["fmt", "--check"]).code(0).says(&["1 file unchanged"]);
    scratch.write("broken.yml", "a: [1\n");
    scratch.kb(&["fmt", "broken.yml"]).code(2).says(&["broken.yml:"]);
    scratch.kb(&["fmt", "nowhere.yml"]).code(4);
    scratch.kb(&["fmt", ".kb"]).code(2).says(&["is a folder"]);
}

#[test]
fn new_files_name_their_schema_and_it_accepts_them() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    scratch.kb(&["playbook", "new", "build"]).code(0);
    scratch.kb(&["specialist", "new", "poet"]).code(0);
    for path in [
        ".kb/kb.config.yml",
        ".kb/playbooks/add-feature.yml",
        ".kb/playbooks/build.yml",
        ".kb/specialists/poet.yml",
        ".kb/specialists/researcher.yml",
        ".kb/tests/add-feature.test.yml",
    ] {
        let text = scratch.read(path);
        let first = text.lines().next().unwrap_or_default();
        let schema = first.strip_prefix("# yaml-language-server: $schema=");
        let schema = schema.unwrap_or_else(|| panic!("{path} begins with {first}"));
        let folder = std::path::Path::new(path).parent().unwrap();
        let schema = std::fs::read_to_string(scratch.root().join(folder).join(schema)).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        let value: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        // A settings file of comments only has no value.
        if !value.is_null() {
            let validator = jsonschema::validator_for(&schema).unwrap();
            let faults: Vec<_> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
            assert!(faults.is_empty(), "{path}: {faults:?}");
        }
    }
    let said = scratch.kb(&["playbook", "validate", "--strict"]).code(0);
    assert!(!said.err.contains("KB0422"), "{said:?}");
    scratch.kb(&["fmt", "--check"]).code(0);
    scratch.write(".kb/schemas/playbook.schema.json", "{}\n");
    scratch.kb(&["schema", "--out", ".kb/schemas"]).code(0);
    assert_eq!(
        scratch.read(".kb/schemas/playbook.schema.json"),
        scratch.kb(&["schema", "playbook"]).out
    );
    scratch.kb(&["schema"]).code(2).says(&["one of: playbook"]);
}
