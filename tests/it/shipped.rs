//! Every shipped file loads, matches its JSON Schema, and runs.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn shipped(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<(PathBuf, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yml"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn validator(kind: &str) -> jsonschema::Validator {
    let said = Scratch::bare().kb(&["schema", kind]).code(0);
    let schema: Value = serde_json::from_str(&said.out).unwrap();
    jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{kind}: {error}"));
    jsonschema::validator_for(&schema).unwrap()
}

fn fits(kind: &str, folder: &str) {
    let validator = validator(kind);
    let files = shipped(folder);
    assert!(!files.is_empty(), "{folder}");
    for (path, text) in files {
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| format!("{e} at {}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn shipped_files_fit_the_schemas_for_editors() {
    fits("playbook", "playbooks");
    fits("playbook", "templates/playbooks");
    fits("specialist", "templates/specialists");
    fits("specialist", ".kb/specialists");
    fits("test", "templates/tests");
    fits("test", ".kb/tests");
    fits("settings", ".kb");
    fits("settings", "assets/demo/files");
    fits("script", "assets/demo");
}

/// `action.yml` runs this program.
#[test]
fn the_action_annotates_failed_steps_and_reports_the_run() {
    let text = "schema: kb.playbook/1\nid: p\nparams: [{name: who, required: true}]\nsteps:
  - {id: fine, run: \"echo $WHO\", env: {WHO: \"{{who}}\"}}
  - {id: bad, run: \"echo 'a | b' >&2; exit 3\"}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let program = Path::new(env!("CARGO_BIN_EXE_kb")).parent().unwrap().display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let act = |playbook: &str| {
        let mut command = Command::new("python3");
        let variables = scratch.command();
        command
            .envs(variables.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/.github/run_playbook.py"))
            .envs([("PATH", path.as_str()), ("KB_PLAYBOOK", playbook), ("KB_PARAMS", "who=Ada\n")])
            .env("KB_DIRECTORY", scratch.root())
            .env("GITHUB_WORKSPACE", scratch.root())
            .env("GITHUB_OUTPUT", scratch.root().join("outputs"))
            .env("GITHUB_STEP_SUMMARY", scratch.root().join("summary"));
        let output = command.finish();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, log) = act("p");
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("fine: succeeded") && log.contains("bad: failed"), "{log}");
    assert!(
        log.contains("::error file=playbooks/p.yml,line=6,col=10,title=kb bad::exit code 3: a | b"),
        "{log}"
    );
    let run = scratch.last_run();
    assert_eq!(scratch.read("outputs"), format!("run={run}\nstatus=failed\n"));
    let summary = scratch.read("summary");
    assert!(summary.starts_with(&format!("### kb run {run}: failed\n")), "{summary}");
    assert!(summary.contains("| `bad` | exit code 3: a \\| b"), "{summary}");
    let (code, log) = act("none");
    assert_eq!(code, Some(4), "{log}");
    assert!(log.contains("::error title=kb::the run did not start"), "{log}");
}

#[test]
fn the_schemas_refuse_what_the_language_refuses() {
    let refuses = |kind: &str, value: Value| {
        assert!(!validator(kind).is_valid(&value), "{kind} takes {value}");
    };
    let playbook = |step: Value| json!({"schema": "kb.playbook/1", "id": "a", "steps": [step]});
    refuses("playbook", playbook(json!({"id": "s"})));
    refuses("playbook", playbook(json!({"id": "s", "run": "x", "set": {}})));
    refuses("playbook", playbook(json!({"id": "s", "run": "x", "dependson": ["y"]})));
    refuses("playbook", playbook(json!({"id": "s", "run": "x", "timeout": "soon"})));
    refuses("playbook", json!({"schema": "kb.playbook/1", "id": "A B", "steps": []}));
    refuses("script", json!({"schema": "kb.script/1", "steps": {"a": [{}]}}));
    refuses("settings", json!({"limit": {"maxParallel": 2}}));
    refuses("workflow", json!({"name": "w", "steps": [{"id": "s", "prompt": "x"}]}));
    let ok = json!({"name": "w", "steps": [
        {"id": "s", "agent": "agents/w.md", "prompt": "on {topic}", "outputs": ["found"]},
        {"id": "t", "agent": "agents/w.md", "prompt": "x", "depends_on": ["s"]},
    ]});
    assert!(validator("workflow").is_valid(&ok));
}

#[test]
fn the_schemas_accept_both_spellings_of_a_key() {
    let with = |key: &str| {
        json!({"schema": "kb.playbook/1", "id": "a", "steps": [
            {"id": "s", "run": "x"}, {"id": "t", "run": "x", key: ["s"]},
        ]})
    };
    let schema = validator("playbook");
    assert!(schema.is_valid(&with("depends_on")));
    assert!(schema.is_valid(&with("dependsOn")));
    assert!(!schema.is_valid(&with("depends-on")));
}

/// The sample of the first design documents, in Russian, must load and plan unchanged.
#[test]
fn the_sample_of_the_documents_is_kept_byte_for_byte() {
    let text = include_str!("../definitions/documents/add-feature.yml");
    assert_eq!(
        kb::value::Digest::of(text).to_string(),
        "d7345df88a174322b234ddda263787e2fdb56c4490aba5b0602010d2ca46fe7f"
    );
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    scratch.write(".kb/playbooks/add-feature.yml", text);
    scratch.kb(&["playbook", "validate", "add-feature"]).code(0);
    let args = ["playbook", "plan", "add-feature", "--param", "featureName=login"];
    scratch.kb(&args).code(0).says(&["Реализуй login по плану"]);
}

/// Shipped definitions are in English; triggers are also in Russian, for people who type Russian.
#[test]
fn shipped_definitions_are_in_english_with_triggers_in_both_languages() {
    let russian = |text: &str| text.chars().any(|c| ('а'..='я').contains(&c.to_ascii_lowercase()));
    let folders =
        ["playbooks", "templates/playbooks", "templates/init", ".kb/specialists", "assets/demo"];
    for folder in folders {
        for (path, text) in shipped(folder) {
            let triggers = text.lines().skip_while(|line| !line.starts_with("triggers:")).skip(1);
            let triggers: Vec<&str> =
                triggers.take_while(|line| line.starts_with("  - ")).collect();
            let others = text.lines().filter(|line| !triggers.contains(line));
            let found: Vec<&str> = others.filter(|line| russian(line)).collect();
            assert!(found.is_empty(), "{}: {found:#?}", path.display());
            let both = triggers.iter().any(|t| russian(t)) && triggers.iter().any(|t| !russian(t));
            assert!(triggers.is_empty() || both, "{}: {triggers:#?}", path.display());
        }
    }
    let playbooks = shipped("playbooks");
    let (_, add_feature) =
        playbooks.iter().find(|(path, _)| path.ends_with("add-feature.yml")).expect("shipped");
    assert!(add_feature.contains("добавь фичу") && add_feature.contains("implement feature"));
}

#[test]
fn the_report_on_a_repository_runs_without_a_model() {
    let scratch = Scratch::new(&[
        ("src/a.rs", "// TODO: more\nfn a() {}\n"),
        ("src/b with space.rs", "fn b() {}\n"),
        ("Makefile", "all:\n"),
    ]);
    let playbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("playbooks/repo-report.yml");
    scratch.write("playbooks/repo-report.yml", &std::fs::read_to_string(playbook).unwrap());
    scratch.kb(&["playbook", "validate", "--strict"]).code(0);
    let args = ["playbook", "run", "repo-report", "--param", "report=out/report.md"];
    let said = scratch.kb(&args).code(0);
    assert!(said.out.contains("created out/report.md"), "{}", said.out);
    let report = scratch.read("out/report.md");
    for text in [
        "## Files by kind\n\n- .rs: 2",
        "src/b with space.rs: 10 bytes",
        "no commits here",
        "2 in: playbooks/repo-report.yml, src/a.rs",
    ] {
        assert!(report.contains(text), "`{text}` is missing in:\n{report}");
    }
}

#[test]
fn every_event_of_a_run_fits_the_schema_of_events() {
    let scratch = Scratch::bare();
    let said = scratch.kb(&["demo", "--dir", "demo", "--json"]).code(0);
    let validator = validator("events");
    let events = said.events();
    assert!(events.len() > 20);
    for event in &events {
        let errors: Vec<String> = validator.iter_errors(event).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{event}: {errors:#?}");
    }
}

/// Every shipped template, written into a new project, is valid and passes its own test.
#[test]
fn every_template_is_valid_and_passes_its_test() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let listed = scratch.json(&["playbook", "new", "--list", "--json"]);
    let names: Vec<String> =
        listed.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect();
    assert!(names.len() >= 20, "{names:?}");
    for name in &names {
        let id = format!("my-{name}");
        scratch.kb(&["playbook", "new", &id, "--template", name]).code(0);
    }
    scratch.kb(&["playbook", "validate"]).code(0);
    let said = scratch.kb(&["playbook", "test"]).code(0);
    for name in &names {
        assert!(said.out.contains(&format!("my-{name}: ")), "{name} has no test:\n{}", said.out);
    }
}

/// Copies what is in a folder of the repository, folders included.
fn copy(folder: &Path, name: &str, scratch: &Scratch) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            copy(&entry.path(), &name, scratch)
        } else {
            scratch.write(&name, &std::fs::read_to_string(entry.path()).unwrap())
        }
    }
}

/// The repository is a project: its `workflows/`, `agents/`, `playbooks/` and `.kb/` are what is shipped.
#[test]
fn every_shipped_definition_is_a_template_and_has_a_test_and_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Scratch::bare();
    for folder in ["workflows", "agents", "playbooks", ".kb"] {
        copy(&root.join(folder), folder, &scratch);
    }
    scratch.kb(&["playbook", "validate", "--strict"]).code(0);
    scratch.kb(&["specialist", "validate"]).code(0);
    let names = |args: &[&str], key: &str| -> Vec<String> {
        let list = scratch.json(args);
        list.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    let ids = names(&["playbook", "list", "--json"], "id");
    let templates = names(&["playbook", "new", "--list", "--json"], "name");
    let tests = scratch.kb(&["playbook", "test"]).code(0).out;
    assert_eq!(ids.len(), 16, "{ids:?}");
    for id in &ids {
        assert!(tests.contains(&format!("] {id}: ")), "`{id}` has no test:\n{tests}");
        // The rounds of `review-loop` are a workflow of their own.
        let page = if id == "review-round" { "review-loop" } else { id };
        let text = std::fs::read_to_string(root.join(format!("docs/cookbook/{page}.md"))).unwrap();
        assert!(text.contains(id), "`{id}` has no page");
        assert!(templates.contains(&page.to_owned()), "`{id}` is no template: {templates:?}");
    }
    let specialists = names(&["specialist", "list", "--json"], "id");
    let templates = names(&["specialist", "new", "--list", "--json"], "name");
    assert_eq!(specialists.len(), 12, "{specialists:?}");
    for id in &specialists {
        let name = id.trim_start_matches("agents/").trim_end_matches(".md").to_owned();
        assert!(templates.contains(&name), "`{id}` is no template: {templates:?}");
    }
}

/// Every template of a specialist or agent profile, written into a new project, is valid.
#[test]
fn specialists_and_agent_profiles_are_created_from_templates() {
    let own = "---\nname: Ours\ntools: [fs:read]\n---\nYou read.\n";
    let scratch = Scratch::new(&[(".kb/templates/agents/ours.md", own)]);
    let listed = scratch.json(&["specialist", "new", "--list", "--json"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed[0]["path"], ".kb/templates/agents/ours.md");
    for (number, template) in listed.iter().enumerate() {
        let (id, name) = (format!("mine{number}"), template["name"].as_str().unwrap());
        let said = scratch.kb(&["specialist", "new", &id, "--template", name]).code(0);
        let agent = scratch.has(&format!(".kb/agents/{id}.md"));
        assert_ne!(agent, scratch.has(&format!(".kb/specialists/{id}.yml")), "{name}");
        let named =
            if agent { format!("agent: agents/{id}.md") } else { format!("specialist: {id}") };
        said.says(&["created .kb/", &named]);
    }
    scratch.kb(&["specialist", "validate"]).code(0).says(&["19 specialists"]);
    // The bare profile works in a workflow.
    scratch.kb(&["specialist", "new", "reader", "--template", "agent"]).code(0);
    let text = "---\nname: W\nsteps:\n  - {id: a, agent: agents/reader.md, prompt: \"Read {topic}\"}\n---\n";
    scratch.write("workflows/w.md", text);
    scratch.write("script.yml", "schema: kb.script/1\nsteps: {a: [{output: {summary: done}}]}\n");
    let args = ["playbook", "run", "w", "--param", "topic=x", "--script", "script.yml"];
    scratch.kb(&args).code(0);
    scratch.kb(&["specialist", "new", "plain"]).code(0).says(&[".kb/specialists/plain.yml"]);
    scratch.kb(&["specialist", "new", "plain"]).code(2).says(&["exists already"]);
    scratch.kb(&["specialist", "new", "a/b"]).code(2).says(&["not a plain id"]);
    scratch.kb(&["specialist", "new", "x", "--template", "agnet"]).code(4).says(&["agent"]);
    scratch.kb(&["specialist", "new"]).code(2).says(&["kb specialist new ID"]);
}

#[test]
fn templates_of_the_project_come_first_and_files_are_kept() {
    let own = "schema: kb.playbook/1\nid: ours\nsteps:\n  - {id: a, run: \"echo ours\"}\n";
    let scratch = Scratch::new(&[(".kb/templates/ours.yml", own)]);
    scratch.kb(&["playbook", "new", "--list"]).code(0).says(&["ours", "fix-bug", "review-loop"]);
    scratch.kb(&["playbook", "new", "mine", "--template", "ours"]).code(0);
    assert!(scratch.read(".kb/playbooks/mine.yml").contains("id: mine"));
    // The id in a template is often that of the playbook that it was copied from.
    scratch.write(
        ".kb/templates/copied.yml",
        &own.replace("id: ours", "id: other   # of another file"),
    );
    scratch.kb(&["playbook", "new", "copy", "--template", "copied"]).code(0);
    // A second file with an id would make both unusable.
    scratch.write("playbooks/taken.yml", &own.replace("id: ours", "id: taken"));
    let refused = scratch.kb(&["playbook", "new", "taken"]).code(2);
    refused.says(&["`playbooks/taken.yml` exists already, with the id `taken`"]);
    assert!(scratch.read(".kb/playbooks/copy.yml").contains("\nid: copy\nsteps:"));
    scratch
        .write(".kb/specialists/reviewer.yml", "schema: kb.specialist/1\nid: reviewer\nrole: x\n");
    let said = scratch.kb(&["playbook", "new", "check", "--template", "review-pr"]).code(0);
    said.says(&[
        "created .kb/playbooks/check.yml",
        "created .kb/tests/check.test.yml",
        "kept    .kb/specialists/reviewer.yml",
    ]);
    assert!(scratch.read(".kb/tests/check.test.yml").contains("playbook: check"));
    scratch
        .kb(&["playbook", "new", "check", "--template", "review-pr"])
        .code(2)
        .says(&["exists already"]);
    scratch.kb(&["playbook", "new", "x", "--template", "fixbug"]).code(4).says(&["fix-bug"]);
    scratch.kb(&["playbook", "new"]).code(2).says(&["kb playbook new ID"]);
}

/// In a workflow without `params`, a name in a prompt is a parameter, but not the name of an item.
#[test]
fn the_name_of_an_item_is_not_inferred_as_a_parameter() {
    let text = "---\nname: Parts\nsteps:\n  - id: work\n    forEach: {in: [a, b], as: part}\n    agent: \
                agents/worker.md\n    prompt: \"Do {part} of {input}\"\n---\n";
    let agent = "---\nname: Worker\n---\nYou work.\n";
    let scratch = Scratch::new(&[("workflows/parts.md", text), ("agents/worker.md", agent)]);
    scratch.kb(&["playbook", "validate"]).code(0);
    let shown = scratch.json(&["playbook", "show", "parts", "--json"]);
    let params = shown["params"].as_array().unwrap();
    assert_eq!(params.len(), 1, "{shown}");
    assert_eq!(params[0]["name"], "input");
}

/// The files for releases and installation are YAML, their shell parts are shell, and they build what the
/// documents promise.
#[test]
fn the_release_and_the_action_can_be_read_and_their_shell_parts_too() {
    fn scripts(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("run").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|value| scripts(value, found));
            }
            Value::Array(all) => all.iter().for_each(|value| scripts(value, found)),
            _ => {}
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let read = |path: &str| {
        let (value, _, problems) = kb::definition::load_value(path, text(path).as_bytes());
        value.unwrap_or_else(|| panic!("{path}: {problems:?}")).value
    };
    let mut count = 0;
    for path in [".github/workflows/release.yml", ".github/workflows/ci.yml", "action.yml"] {
        let mut found = Vec::new();
        scripts(&read(path), &mut found);
        for script in found {
            // An expression of GitHub stands for a text.
            let mut plain = String::new();
            for (at, part) in script.split("${{").enumerate() {
                plain += if at == 0 { part } else { part.split_once("}}").expect("closed").1 };
            }
            let checked = Command::new("bash").args(["-n", "-c", &plain]).finish();
            assert!(checked.status.success(), "{path}: {plain}");
            count += 1;
        }
    }
    assert!(count > 8, "only {count} scripts");
    let release = read(".github/workflows/release.yml");
    let targets = &release["jobs"]["build"]["strategy"]["matrix"]["include"];
    let targets: Vec<&str> =
        targets.as_array().unwrap().iter().filter_map(|row| row["target"].as_str()).collect();
    assert_eq!(targets, ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]);
    let release = text(".github/workflows/release.yml");
    for part in ["sha256sum", "cyclonedx", "statically linked", "kb-*.cdx.json"] {
        assert!(release.contains(part), "{part}");
    }
    let docker = text("Dockerfile");
    for line in ["FROM ", "ENTRYPOINT "] {
        assert!(docker.lines().any(|own| own.starts_with(line)), "{line}: {docker}");
    }
    let action = read("action.yml");
    assert_eq!(action["runs"]["using"], "composite");
    for page in ["github-actions", "make-and-just", "dagu", "langgraph"] {
        let text = text(&format!("docs/migration/{page}.md"));
        assert!(text.starts_with("# "), "{page}");
    }
}
