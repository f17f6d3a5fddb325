//! `kb lsp`, spoken to as an editor does: over stdin and stdout.

use crate::processor_time;
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};

pub(crate) struct Editor {
    child: Running,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    pub(crate) uri: String,
    next: u64,
    /// Problems of each file, as last sent.
    problems: std::collections::BTreeMap<String, Vec<Value>>,
}

impl Editor {
    pub(crate) fn open(scratch: &Scratch, path: &str, text: &str) -> Editor {
        let mut command = scratch.command();
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.start();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let root = scratch.root().canonicalize().unwrap();
        let uri = format!("file://{}", root.join(path).display());
        let (next, problems) = (0, Default::default());
        let mut editor =
            Editor { child, stdin, stdout: BufReader::new(stdout), uri, next, problems };
        let root = format!("file://{}", root.display());
        let answer = editor.request("initialize", json!({"capabilities": {}, "rootUri": root}));
        assert_eq!(answer["serverInfo"]["name"], "kb");
        editor.notify("initialized", json!({}));
        let document = json!({"uri": editor.uri, "languageId": "yaml", "version": 1, "text": text});
        editor.notify("textDocument/didOpen", json!({"textDocument": document}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.stdin, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.stdin.flush().unwrap();
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server has ended");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.stdout.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn respond(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics" {
                let uri = message["params"]["uri"].as_str().unwrap().to_owned();
                let found = message["params"]["diagnostics"].as_array().unwrap().clone();
                self.problems.insert(uri, found);
            } else if message["id"] == id {
                return message;
            }
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let message = self.respond(method, params);
        assert!(message.get("error").is_none(), "{message}");
        message["result"].clone()
    }

    /// Replaces the text; the last `|` is the cursor, whose position is returned.
    pub(crate) fn write(&mut self, text: &str) -> Value {
        let at = text.rfind('|').unwrap_or(text.len());
        let before = &text[..at];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap().encode_utf16().count();
        let changes = json!([{"text": format!("{before}{}", text[at..].trim_start_matches('|'))}]);
        let document = json!({"uri": self.uri, "version": 2});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": changes}),
        );
        json!({"line": line, "character": column})
    }

    pub(crate) fn at(&mut self, method: &str, text: &str) -> Value {
        let position = self.write(text);
        let params = json!({"textDocument": {"uri": self.uri}, "position": position});
        self.request(method, params)
    }

    /// The labels that are offered at `|`.
    pub(crate) fn complete(&mut self, text: &str) -> Vec<String> {
        let found = self.at("textDocument/completion", text);
        let items = found["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    }

    /// The problems of the document. Quick fixes are answered after the problems of the text were sent.
    pub(crate) fn problems(&mut self, text: &str) -> Vec<Value> {
        let at = self.write(text);
        let (document, range) = (json!({"uri": self.uri}), json!({"start": at, "end": at}));
        let params =
            json!({"textDocument": document, "range": range, "context": {"diagnostics": []}});
        self.request("textDocument/codeAction", params);
        self.problems.get(&self.uri).cloned().unwrap_or_default()
    }

    pub(crate) fn close(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        assert!(self.child.wait().unwrap().success());
    }
}

pub(crate) const HEAD: &str = "schema: kb.playbook/1
id: p
params:
  - {name: who, required: true}
steps:
  - {id: build, set: {size: 3}}
";

pub(crate) fn project() -> Scratch {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    scratch.write(".kb/playbooks/p.yml", HEAD);
    scratch
}

pub(crate) fn has(found: &[String], labels: &[&str]) {
    for label in labels {
        assert!(found.iter().any(|own| own == label), "`{label}` is missing in {found:?}");
    }
}

#[test]
fn keys_values_and_names_are_completed_while_the_file_is_incomplete() {
    let scratch = project();
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", HEAD);
    let mut complete = |text: &str| editor.complete(&format!("{HEAD}{text}"));
    let keys = complete("  - id: a\n    run: x\n    |");
    has(&keys, &["retry", "dependsOn", "verify", "timeout"]);
    for other in ["run", "specialist", "http", "task", "prompt", "with"] {
        assert!(!keys.contains(&other.to_owned()), "`{other}` is offered beside `run`");
    }
    has(&complete("  - {id: a, playbook: add-feature, |"), &["with", "version"]);
    has(&complete("  - {id: a, |"), &["run", "specialist"]);
    has(&complete("  - id: a\n    retry: {|"), &["max", "backoff"]);
    has(&complete("  - id: a\n    runIf: |"), &["allSucceeded", "anySucceeded"]);
    has(&complete("  - id: a\n    specialist: |"), &["implementer", "researcher"]);
    has(&complete("  - id: a\n    tool: fs:|"), &["fs:write", "shell:exec"]);
    has(&complete("  - id: a\n    dependsOn: [|"), &["build"]);
    has(
        &complete("  - id: a\n    verify:\n      checks:\n        - |"),
        &["file", "command", "expr"],
    );
    has(&complete("  - id: a\n    task: \"see {{|"), &["who", "build", "steps"]);
    has(&complete("  - id: a\n    task: \"see {{build.|"), &["output", "status"]);
    has(
        &complete("  - id: a\n    run: \"true\"\n    env: {A: \"{{build.output.|}}\"}\n"),
        &["size"],
    );
    has(&complete("  - id: a\n    condition: bu|"), &["build", "who"]);
    has(
        &complete("  - id: a\n    condition: build.output.size > 1 && build.|"),
        &["output", "status"],
    );
    has(&complete("  - {id: a, condition: \"build.|"), &["output"]);
    let child = "  - id: a\n    playbook: add-feature\n    with:\n      ";
    has(&editor.complete(&format!("{HEAD}{child}|")), &["featureName", "scope"]);
    let given = editor.complete(&format!("{HEAD}{child}scope: x\n      |"));
    assert!(
        !given.contains(&"scope".to_owned()),
        "a parameter that is given is offered: {given:?}"
    );
    let arguments = editor.complete(&format!("{HEAD}  - {{id: a, tool: fs:write, input: {{|"));
    has(&arguments, &["path", "content"]);
    has(&editor.complete("sche|"), &["schema", "steps", "params"]);
    editor.close();
}

#[test]
fn problems_are_those_of_validate_and_have_quick_fixes() {
    let scratch = project();
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", HEAD);
    assert_eq!(editor.problems(HEAD), Vec::<Value>::new());
    let wrong = format!("{HEAD}  - {{id: a, specialist: implementr, task: \"{{{{who}}}}\"}}\n");
    let found = editor.problems(&wrong);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["severity"], 1);
    let range = &found[0]["range"];
    assert_eq!(range["start"], json!({"line": 6, "character": 24}));
    assert!(found[0]["message"].as_str().unwrap().contains("implementr"));
    let params = json!({"textDocument": {"uri": editor.uri}, "range": range, "context": {"diagnostics": []}});
    let actions = editor.request("textDocument/codeAction", params);
    let edit = &actions[0]["edit"]["changes"][&editor.uri][0];
    assert_eq!((&edit["newText"], &edit["range"]), (&json!("implementer"), range), "{actions}");
    // The problem goes when the text is right.
    assert_eq!(editor.problems(HEAD), Vec::<Value>::new());
    editor.close();
}

#[test]
fn hover_definition_and_rename_know_keys_steps_and_specialists() {
    let scratch = project();
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", HEAD);
    let text = format!(
        "{HEAD}  - id: a\n    dependsOn: [build]\n    specialist: researcher\n    task: \"{{{{build.output.size}}}} {{{{who}}}}\"\n"
    );
    let at = |mark: &str, by: usize| {
        let at = text.find(mark).unwrap() + by;
        format!("{}|{}", &text[..at], &text[at..])
    };
    let hover = |found: Value| found["contents"]["value"].as_str().unwrap_or_default().to_owned();
    let key = hover(editor.at("textDocument/hover", &at("dependsOn", 3)));
    assert!(key.contains("**dependsOn** (key of a step)"), "{key}");
    let specialist = hover(editor.at("textDocument/hover", &at("researcher", 2)));
    assert!(specialist.contains(".kb/specialists/researcher.yml"), "{specialist}");
    let param = hover(editor.at("textDocument/hover", &at("who}}", 1)));
    assert!(param.contains("parameter **who** (string, required)"), "{param}");
    let step = editor.at("textDocument/definition", &at("build.output", 2));
    assert_eq!(step["range"]["start"]["line"], 5);
    let file = editor.at("textDocument/definition", &at("researcher", 2));
    assert!(file["uri"].as_str().unwrap().ends_with(".kb/specialists/researcher.yml"));

    let position = editor.write(&at("build.output", 2));
    let params =
        json!({"textDocument": {"uri": editor.uri}, "position": position, "newName": "compile-it"});
    let renamed = editor.request("textDocument/rename", params.clone());
    let edits = renamed["changes"][&editor.uri].as_array().unwrap().clone();
    let new: Vec<(u64, &str)> = edits
        .iter()
        .map(|e| (e["range"]["start"]["line"].as_u64().unwrap(), e["newText"].as_str().unwrap()))
        .collect();
    assert_eq!(new, [(5, "compile-it"), (7, "compile-it"), (9, "compile_it")]);
    let mut taken = params;
    taken["newName"] = json!("a");
    let refused = editor.respond("textDocument/rename", taken.clone());
    assert!(refused["error"]["message"].as_str().unwrap().contains("already"), "{refused}");
    for (name, reason) in [("run", "reserved name"), ("who", "has a parameter `who`")] {
        taken["newName"] = json!(name);
        let refused = editor.respond("textDocument/rename", taken.clone());
        assert!(refused["error"]["message"].as_str().unwrap().contains(reason), "{refused}");
    }
    editor.close();
}

#[test]
fn outlines_references_and_formatting_are_those_of_the_document() {
    let scratch = project();
    let text = format!(
        "{HEAD}  - id: a-b\n    dependsOn: [build]\n    run:   \"true\"\n\n  - {{id: c, condition: build.output.size > 1 && a_b.status == 'succeeded', set: {{v: 1}}}}\n"
    );
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", &text);
    let document = json!({"textDocument": {"uri": editor.uri}});
    let symbols = editor.request("textDocument/documentSymbol", document.clone());
    let shown = |symbol: &Value| {
        let line = |at: &str| symbol["range"][at]["line"].as_u64().unwrap();
        format!("{} {} {}-{}", symbol["detail"], symbol["name"], line("start"), line("end"))
            .replace('"', "")
    };
    let symbols: Vec<String> = symbols.as_array().unwrap().iter().map(shown).collect();
    assert_eq!(symbols, ["parameter who 3-3", "step build 5-5", "step a-b 6-8", "step c 10-10"]);

    let lines = |found: &Value| -> Vec<u64> {
        let line = |place: &Value| place["range"]["start"]["line"].as_u64().unwrap();
        found.as_array().unwrap().iter().map(line).collect()
    };
    let at = |mark: &str| {
        let at = text.find(mark).unwrap() + 1;
        format!("{}|{}", &text[..at], &text[at..])
    };
    assert_eq!(lines(&editor.at("textDocument/references", &at("build,"))), [5, 7, 10]);
    assert_eq!(lines(&editor.at("textDocument/documentHighlight", &at("a_b"))), [6, 10]);
    assert_eq!(lines(&editor.at("textDocument/references", &at("schema"))), Vec::<u64>::new());

    let edits = editor.request("textDocument/formatting", document.clone());
    let new = edits[0]["newText"].as_str().unwrap();
    assert!(new.contains("    run: \"true\"\n"), "{new}");
    editor.write(new);
    assert_eq!(editor.request("textDocument/formatting", document.clone()), json!([]));
    editor.write("a: [\n");
    let refused = editor.respond("textDocument/formatting", document);
    assert!(refused["error"]["message"].is_string(), "{refused}");

    let found = editor.request("workspace/symbol", json!({"query": "IMPL"}));
    let uri = found[0]["location"]["uri"].as_str().unwrap();
    assert!(uri.ends_with(".kb/specialists/implementer.yml"), "{found}");
    assert_eq!(editor.request("workspace/symbol", json!({"query": "no such"})), json!([]));
    editor.close();
}

#[test]
fn a_file_of_a_thousand_steps_is_completed_in_time() {
    let scratch = project();
    let mut text = HEAD.to_owned();
    for number in 0..1000 {
        text.push_str(&format!(
            "  - {{id: s{number}, set: {{v: \"{{{{build.output.size}}}}\"}}}}\n"
        ));
    }
    let mut editor = Editor::open(&scratch, ".kb/playbooks/p.yml", &text);
    editor.complete(&format!("{text}  - id: x\n    |"));
    let params =
        json!({"textDocument": {"uri": editor.uri}, "position": {"line": 1007, "character": 4}});
    let began = processor_time::of_process(editor.child.id());
    (0..9).for_each(|_| drop(editor.request("textDocument/completion", params.clone())));
    let took = (processor_time::of_process(editor.child.id()) - began) / 9;
    // The goal is 50 ms in a release build; a test build has ten times as long.
    assert!(took.as_millis() < 500, "{took:?}");
    editor.close();
}

#[test]
fn what_an_editor_cannot_send_is_an_error_without_a_panic() {
    let scratch = Scratch::new(&[]);
    for (sent, expected) in [
        ("Content-Length: 9000000000000000\r\n\r\n{}", "at most 64 MiB"),
        ("Content-Length: 18446744073709551615\r\n\r\n{}", "at most 64 MiB"),
        ("Content-Length: 99999999999999999999\r\n\r\n{}", "at most 64 MiB"),
        ("Content-Length: 67108864\r\n\r\n{}", "2 of the 67108864 bytes"),
        ("Content-Length: 2\r\n\r\n[]", "cannot be read"),
        ("Content-Type: x\r\n\r\n{}", "without `Content-Length`"),
    ] {
        let mut command = scratch.command();
        command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.start();
        child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(2), "{sent:?}: {errors}");
        assert!(
            errors.contains("KB1201")
                && errors.contains("the editor sent")
                && errors.contains(expected),
            "{sent:?}: {errors}"
        );
        assert!(!errors.contains("panicked"), "{errors}");
    }
}

#[test]
fn a_script_is_no_playbook() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: write, run: \"true\"}\n";
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", playbook)]);
    let good = "schema: kb.script/1\nsteps:\n  write: [{output: {summary: done}}]\n";
    for path in [".kb/scripts/demo.yml", ".kb/tests/p.script.yml", "s.yml"] {
        let mut editor = Editor::open(&scratch, path, good);
        assert_eq!(editor.problems(good), Vec::<Value>::new(), "{path}");
        editor.close();
    }
    let wrong = good.replace("output:", "outptu:");
    let mut editor = Editor::open(&scratch, "s.yml", &wrong);
    let problems = editor.problems(&wrong);
    editor.close();
    assert!(problems.iter().any(|one| one["code"] == "KB0106"), "{problems:?}");
    scratch.write("s.yml", good);
    scratch.kb(&["playbook", "validate", "s.yml"]).code(0);
    scratch.write("s.yml", &wrong);
    scratch.kb(&["playbook", "validate", "s.yml"]).code(2).says(&["s.yml:3:", "outptu"]);
}
