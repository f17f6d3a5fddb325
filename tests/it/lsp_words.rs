//! What `kb lsp` offers and says about the words of expressions, the values of keys and the files of the project.

use crate::lsp::{Editor, HEAD, has, project};
use serde_json::{Value, json};

/// A step whose output has a schema, and one whose output is a list.
const STEPS: &str = "  - id: score-it
    specialist: researcher
    task: \"{{who}}\"
    output: {schema: {points: number, parts: {type: object, properties: {left: {type: string}}}}}
  - id: each
    forEach: {in: [1, 2], as: part}
    set: {double: \"{{part}}\"}
";

fn labels(editor: &mut Editor, text: &str) -> Vec<String> {
    editor.complete(&format!("{HEAD}{STEPS}{text}"))
}

#[test]
fn what_follows_a_dot_is_what_the_name_has_also_in_a_file_with_errors() {
    let scratch = project();
    scratch.write(".kb/kb.config.yml", "schema: kb.settings/1\nsecrets: {TOKEN: env:TOKEN}\n");
    // No text of the file is ever valid.
    let broken = format!("{HEAD}{STEPS}  - {{id: broken, rnu: x, dependsOn: [bild]}}\n");
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", &broken);
    let step = "  - id: b\n    env: {HOME_OF: x}\n    run: \"echo {{";
    let mut below = |path: &str| labels(&mut editor, &format!("{step}{path}|}}}}\"\n"));
    has(&below("build.output."), &["size"]);
    has(&below("steps.score_it.output."), &["points", "parts", "summary"]);
    has(&below("steps['score-it'].output.parts."), &["left"]);
    has(&below("each.output[0]."), &["double"]);
    assert_eq!(below("each.output."), Vec::<String>::new(), "a list has no keys");
    has(&below("score_it.error."), &["message", "suggestedNext"]);
    has(&below("params."), &["who"]);
    has(&below("secrets."), &["TOKEN"]);
    has(&below("env."), &["HOME_OF"]);
    has(&below("run."), &["id", "startedAt"]);
    has(&below("run.rejection."), &["comment"]);
    has(&below("loop."), &["iteration", "previous"]);
    has(&below("loop.previous."), &["output", "verdict", "reason"]);
    has(&below("steps['"), &["score-it"]);
    for root in ["secrets.", "loop.", "run."] {
        assert!(!below(root).contains(&"exitCode".to_owned()), "fields of a step below `{root}`");
    }
    has(&below("who | "), &["upper", "default", "tojson"]);
    has(&below("build is "), &["defined", "none"]);
    has(&below("build is not de"), &["defined"]);
    has(&below("build.status == '"), &["succeeded", "failed"]);
    assert_eq!(below("build.output.size == '"), Vec::<String>::new());
    let item = "  - id: b\n    forEach: {in: [1], as: host}\n    run: \"echo {{|";
    has(&labels(&mut editor, item), &["host", "index"]);
    // A quote is still open.
    has(&labels(&mut editor, "  - id: b\n    run: \"{{build.output.|"), &["size"]);
    editor.close();
}

#[test]
fn values_are_those_of_the_tables_and_files_those_of_the_project() {
    let scratch = project();
    scratch.write("tasks/implement.md", "x\n");
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", HEAD);
    has(
        &labels(&mut editor, "  - id: a\n    run: x\n    retry: {max: 1, on: [|"),
        &["timeout", "gate_failed", "exit"],
    );
    has(
        &labels(&mut editor, "  - id: a\n    run: x\n    retry:\n      on:\n        - |"),
        &["timeout"],
    );
    let zones =
        editor.complete(&format!("{HEAD}on:\n  schedule: {{cron: \"0 6 * * *\", zone: Eur|"));
    has(&zones, &["Europe/Berlin", "UTC"]);
    has(
        &labels(&mut editor, "  - id: a\n    specialist: researcher\n    taskFile: |"),
        &["tasks/"],
    );
    let task = "  - id: a\n    specialist: researcher\n    taskFile: tasks/im|";
    has(&labels(&mut editor, task), &["tasks/implement.md"]);
    has(&labels(&mut editor, "  - id: a\n    run: x\n    cwd: |"), &["tasks/"]);
    let outside = "  - id: a\n    specialist: researcher\n    taskFile: ../|";
    assert_eq!(labels(&mut editor, outside), Vec::<String>::new());
    // The item replaces what is typed: editors disagree about what a word is.
    let found = editor.at("textDocument/completion", &format!("{HEAD}{STEPS}{task}"));
    let edit = &found["items"][0]["textEdit"];
    assert_eq!(edit["newText"], "tasks/implement.md");
    assert_eq!(edit["range"]["start"]["character"], 14, "{edit}");
    editor.close();
}

#[test]
fn a_step_is_not_offered_itself_nor_a_step_that_follows_it() {
    let scratch = project();
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", HEAD);
    let chain = "  - id: one\n    dependsOn: [|]\n    run: x\n  - {id: two, run: x, dependsOn: [one]}\n  - {id: three, set: {v: \"{{two.output}}\"}}\n";
    editor.problems(&format!("{HEAD}{STEPS}{}", chain.replace('|', "")));
    let found = labels(&mut editor, chain);
    has(&found, &["build", "each"]);
    for after in ["one", "two", "three"] {
        assert!(!found.contains(&after.to_owned()), "`{after}` is offered: {found:?}");
    }
    let found = labels(&mut editor, &chain.replace("[|]", "\n      - |"));
    assert!(
        found.contains(&"build".to_owned()) && !found.contains(&"three".to_owned()),
        "{found:?}"
    );
    editor.close();
}

#[test]
fn items_say_what_the_reference_says() {
    let scratch = project();
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", HEAD);
    let found =
        editor.at("textDocument/completion", &format!("{HEAD}  - {{id: a, run: \"{{{{who | |"));
    let items = found["items"].as_array().cloned().unwrap_or_default();
    let of = |label: &str| {
        items.iter().find(|item| item["label"] == label).cloned().unwrap_or(Value::Null)
    };
    assert!(
        of("join")["documentation"]["value"]
            .as_str()
            .unwrap_or_default()
            .contains("one text, with a separator"),
        "{items:?}"
    );
    editor.close();
}

#[test]
fn hover_says_what_the_words_of_an_expression_are() {
    let scratch = project();
    let text = format!(
        "{HEAD}{STEPS}  - id: b\n    taskFile: tasks/implement.md\n    condition: \"score_it.status == 'failed' and who is defined\"\n    env: {{A: \"{{{{score_it.output.points}}}}\", B: \"{{{{who | join(', ')}}}}\", C: \"{{{{run.startedAt}}}}\"}}\n    specialist: researcher\n"
    );
    scratch.write("tasks/implement.md", "x\n");
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", &text);
    editor.problems(&text);
    let at = |mark: &str, by: usize| {
        let before = &text[..text.find(mark).unwrap_or_else(|| panic!("{mark}")) + by];
        let line = before.matches('\n').count();
        json!({"line": line, "character": before.rsplit('\n').next().map_or(0, str::len)})
    };
    editor.write(&format!("{text}|"));
    let mut ask = |method: &str, position: Value| {
        editor.request(method, json!({"textDocument": {"uri": editor.uri}, "position": position}))
    };
    let cases = [
        (at("score_it.status", 11), "**status** of `score_it`: `succeeded`, `failed`"),
        (at("is defined", 5), "test **defined**: not undefined"),
        (at("output.points", 9), "**points** of the output of `score_it` (number)"),
        (at("| join", 4), "filter **join**: one text, with a separator"),
        (at("run.startedAt", 6), "**run.startedAt**: the run;"),
        (at("score_it.output", 2), "step **score-it**"),
    ];
    for (position, expected) in cases {
        let found = ask("textDocument/hover", position);
        let found = found["contents"]["value"].as_str().unwrap_or_default();
        assert!(found.contains(expected), "`{expected}` is missing in: {found}");
    }
    let file = ask("textDocument/definition", at("tasks/implement.md", 3));
    assert!(file["uri"].as_str().unwrap_or_default().ends_with("/tasks/implement.md"), "{file}");
    editor.close();
}

#[test]
fn a_quick_fix_is_offered_only_if_the_problem_is_gone_after_it() {
    let scratch = project();
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", HEAD);
    let mut fixed = |text: &str| {
        let found = editor.problems(text);
        let range = &found[0]["range"];
        let params = json!({"textDocument": {"uri": editor.uri}, "range": range, "context": {"diagnostics": []}});
        let fixes = editor.request("textDocument/codeAction", params);
        fixes[0]["edit"]["changes"][&editor.uri][0]["newText"].as_str().map(str::to_owned)
    };
    let field = format!("{HEAD}  - {{id: a, set: {{v: \"{{{{build.outptu.size}}}}\"}}}}\n");
    // The help says `build.output`; only the field is marked.
    assert_eq!(fixed(&field).as_deref(), Some("output"));
    assert_eq!(fixed(&format!("{HEAD}  - {{id: a, rnu: x}}\n")).as_deref(), Some("run"));
    // The help is an example with other words.
    let shell = format!("{HEAD}  - {{id: a, run: x, timeout: soon}}\n");
    assert_eq!(fixed(&shell), None);
    editor.close();
}
