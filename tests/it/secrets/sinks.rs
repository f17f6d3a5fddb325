//! Fifty secrets in every encoding through everything that stores or shows something: found nowhere.

use super::scan::{Texts, files_with};
use super::server::Server;
use super::values::{Secret, Source, encodings, fifty, forbidden};
use crate::proof;
use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Map, json};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// What stands in the workspace for steps to print, which is the user's own.
fn fill(scratch: &Scratch, secrets: &[Secret]) {
    let mut all = String::new();
    let mut data = Map::new();
    for secret in secrets {
        let written = encodings(&secret.value);
        for text in &written {
            all.push_str(text);
            all.push('\n');
        }
        // The last line is long, so that the words that are repeated of it end in a secret.
        let last = format!("{}{}{}", "x".repeat(150), secret.value.trim(), "y".repeat(60));
        scratch.write(
            &format!("said/{}.txt", secret.name),
            &format!("{all}\n{}", last.replace('\n', " ")),
        );
        let trimmed = secret.value.trim();
        data.insert(secret.value.clone(), json!([trimmed, {trimmed: written}]));
    }
    let numbers: Vec<serde_json::Value> =
        secrets.iter().filter_map(|secret| serde_json::from_str(&secret.value).ok()).collect();
    data.insert("numbers".into(), json!(numbers));
    let values: Vec<&str> = secrets.iter().map(|secret| secret.value.as_str()).collect();
    data.insert("list".into(), json!(values));
    scratch.write("said/all.txt", &all);
    scratch.write("said/data.json", &json!(data).to_string());
}

fn settings(secrets: &[Secret], port: u16) -> String {
    let mut sources = Map::new();
    for secret in secrets {
        let name = &secret.name;
        let source = match secret.source {
            Source::Env => json!(format!("env:KB_{name}")),
            Source::File => json!(format!("file:given/{name}")),
            Source::Command => json!({"command": ["cat", format!("given/{name}")]}),
        };
        sources.insert(name.clone(), source);
    }
    let endpoint = format!("http://127.0.0.1:{port}/v1");
    let tier = json!({"model": "m", "endpoint": endpoint, "price": {"input": 0, "output": 0}});
    json!({
        "secrets": sources,
        "llm": {"tiers": {"small": tier, "medium": tier, "large": tier}},
        "tools": {"http": {"allowPrivate": [format!("127.0.0.1:{port}")]}},
    })
    .to_string()
}

fn playbook(secrets: &[Secret], port: u16) -> String {
    let names: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    let env: Map<String, serde_json::Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("{{{{secrets.{name}}}}}"))))
        .collect();
    let quoted: String = names.iter().map(|name| format!("\"${name}\" ")).collect();
    let url = format!("http://127.0.0.1:{port}");
    let body: String = names.iter().map(|name| format!("{{{{secrets.{name}}}}}\n")).collect();
    let steps = json!([
        {"id": "prints", "run": "cat said/all.txt; cat said/all.txt >&2; env; declare -p"},
        {"id": "pieces", "run": "dd if=said/all.txt bs=7 status=none; dd if=said/all.txt bs=11 status=none >&2"},
        {"id": "traces", "run": format!("set -x; true {quoted}; printf '%q\\n' {quoted}")},
        {"id": "folds", "run": format!("for s in {quoted}; do printf %s \"$s\" | base64; printf %s \"$s\" | base64 -w 20; printf %s \"$s\" | xxd -p; done")},
        {"id": "data", "parse": "json", "run": "cat said/data.json"},
        {"id": "lines", "parse": "lines", "run": "cat said/all.txt"},
        {"id": "unparsed", "parse": "json", "run": "cat said/all.txt", "onError": "continue"},
        {"id": "fails", "forEach": {"in": names, "key": "{{item}}", "onItemError": "continue"}, "onError": "continue",
         "env": {"N": "{{item}}"}, "run": "tail -n 1 \"said/$N.txt\" >&2; exit 3"},
        {"id": "keyed", "dependsOn": ["data"], "forEach": {"in": "{{data.output.list}}", "key": "{{index}} {{item}}"}, "set": {"x": "{{item}}"}},
        {"id": "flood", "run": "head -c 1045000 /dev/zero | tr '\\0' x; cat said/all.txt"},
        {"id": "files", "evidence": "full", "run": format!("mkdir n; cd n; for s in {quoted}; do touch -- \"f-$s\" || true; done 2>&1")},
        {"id": "writes", "tool": "fs:write", "input": {"path": "written.txt", "content": format!("{{{{secrets.{}}}}}", names[0])}},
        {"id": "gone", "tool": "fs:edit", "input": {"path": "written.txt", "old": format!("{{{{secrets.{}}}}}", names[1]), "new": "x"}, "dependsOn": ["writes"], "onError": "continue"},
        {"id": "asks", "http": {"method": "POST", "url": format!("{url}/echo"), "headers": {"X-Token": format!("{{{{secrets.{}}}}}", names[0])},
            "query": {"q": format!("{{{{secrets.{}}}}}", names[2]), "r": format!("{{{{secrets.{}}}}}", names[1])}, "body": body}, "retrySafe": true},
        {"id": "asks2", "http": {"method": "POST", "url": format!("{url}/broken"), "body": {"all": body}}, "onError": "continue"},
        {"id": "checked", "dependsOn": ["prints"], "set": {"x": "{{prints.stdout}}", "y": "{{prints.output}}"},
         "verify": {"onFailed": "warn", "checks": [{"command": ["bash", "-c", format!("tail -n 1 said/{}.txt; env >&2; exit 1", names[3])]}, {"file": {"path": "n/*", "minCount": 999}}]}},
        {"id": "speaks", "specialist": "speaker", "task": "Say it.", "verify": {"claims": "none", "expectChanges": false}},
        {"id": "breaks", "specialist": "speaker", "task": "BREAK-OFF", "onError": "continue", "verify": {"claims": "none", "expectChanges": false}},
        {"id": "last", "dependsOn": names_of_steps(), "runIf": "allDone", "run": "touch began; until test -e go; do sleep 0.02; done"},
    ]);
    json!({
        "schema": "kb.playbook/1",
        "id": "p",
        "params": [{"name": "given", "type": "secret", "default": "env:KB_S00"}, {"name": "told", "default": "plain"}],
        "env": env,
        "limits": {"maxParallel": 2},
        "steps": steps,
        "outputs": {"all": "{{prints.output}}", "data": "{{data.output}}", "said": "{{speaks.output}}"},
    })
    .to_string()
}

fn names_of_steps() -> Vec<&'static str> {
    vec![
        "prints", "pieces", "traces", "folds", "data", "lines", "unparsed", "fails", "keyed",
        "flood", "files", "writes", "gone", "asks", "asks2", "checked", "speaks", "breaks",
    ]
}

fn project(secrets: &[Secret], port: u16) -> Scratch {
    let speaker = "schema: kb.specialist/1\nid: speaker\nrole: You speak.\ntools: ['fs:*', shell:exec]\n\
                   limits: {maxSteps: 6}\noutput: {schema: {summary: string, extra: object}}\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", &playbook(secrets, port)),
        (".kb/specialists/speaker.yml", speaker),
        (".kb/kb.config.json", &settings(secrets, port)),
    ]);
    fill(&scratch, secrets);
    for secret in secrets.iter().filter(|secret| secret.source != Source::Env) {
        scratch.write(&format!("given/{}", secret.name), &secret.value);
    }
    scratch
}

fn call(scratch: &Scratch, secrets: &[Secret], args: &[&str]) -> Command {
    let mut command = scratch.command();
    command.args(args);
    for secret in secrets.iter().filter(|secret| secret.source == Source::Env) {
        command.env(format!("KB_{}", secret.name), &secret.value);
    }
    command
}

/// The same call on a terminal, where there is a program that makes one.
fn on_terminal(call: &Command) -> Option<Output> {
    Command::new("script").arg("--version").finish_if_found()?;
    let args = call.get_args().map(|arg| arg.to_str().unwrap());
    let words: Vec<&str> = [env!("CARGO_BIN_EXE_kb")].into_iter().chain(args).collect();
    let words = format!("stty rows 40 cols 160; {}", words.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &words, "/dev/null"]).current_dir(call.get_current_dir().unwrap());
    command.env("TERM", "xterm").stdin(Stdio::null());
    for (name, value) in call.get_envs() {
        value.map(|value| command.env(name, value));
    }
    Some(command.finish())
}

fn state(scratch: &Scratch) -> PathBuf {
    scratch.root().parent().unwrap().join("state")
}

/// What is found where nothing may be; each line once.
struct Search<'a> {
    texts: &'a Texts,
    found: Vec<String>,
    bytes: usize,
}

impl Search<'_> {
    fn said(&mut self, what: &str, bytes: &[u8]) {
        self.bytes += bytes.len();
        let found = self.texts.within(bytes);
        self.found.extend(found.into_iter().map(|text| format!("{what}: {text}")));
    }

    fn state(&mut self, when: &str, scratch: &Scratch) {
        let found = files_with(&state(scratch), self.texts);
        self.found.extend(found.into_iter().map(|found| format!("{when}: {found}")));
    }
}

/// The tokens among these events, put together again.
fn tokens(events: &str) -> String {
    let events = events.lines().map(|line| serde_json::from_str(line).unwrap());
    let tokens = events.filter(|event: &serde_json::Value| event["type"] == "step:token");
    tokens.map(|event| event["text"].as_str().unwrap().to_owned()).collect()
}

/// All of it once with these secrets; how many bytes were looked through.
fn check(seed: u64, secrets: &[Secret]) -> usize {
    let said: Vec<String> = secrets
        .iter()
        .flat_map(|secret| {
            let written = encodings(&secret.value);
            [written[0].clone(), written[1 + (seed as usize % 20)].clone(), secret.value.clone()]
        })
        .collect();
    let server = Server::start(said);
    let scratch = project(secrets, server.port);
    let texts = Texts::of(forbidden(secrets));
    let mut search = Search { texts: &texts, found: Vec::new(), bytes: 0 };

    scratch.write(".kb/tests/.gitkeep", "");

    // The first owner is killed when all but the last step has ended.
    let base = ["playbook", "run", "p", "--yes", "--record", RECORDED];
    let mut command = call(&scratch, secrets, &[&base[..], &["--json", "--tokens"]].concat());
    command.env("KB_LOG", "trace").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.start();
    let mut log = child.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut all = Vec::new();
        log.read_to_end(&mut all).unwrap();
        all
    });
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut events = String::new();
    for line in lines.by_ref() {
        events.push_str(&line);
        events.push('\n');
        if line.contains("\"step:start\"") && line.contains("\"last\"") {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let rest: String = lines.collect();
    let (events, log) = (events + &rest, log.join().unwrap());
    assert!(events.contains("\"last\""), "{}\n{events}", String::from_utf8_lossy(&log));
    search.said("events of --json", events.as_bytes());
    search.said("what the model said, token by token", tokens(&events).as_bytes());
    search.said("log of KB_LOG=trace", &log);
    search.state("after kill -9", &scratch);

    // Another goes on with it, on a terminal where there is a program that makes one.
    scratch.write("go", "");
    let mut live = call(&scratch, secrets, &["run", "resume", "@last"]);
    let output = on_terminal(&live).unwrap_or_else(|| live.finish());
    search.said("the live display", &output.stdout);

    // A second run from the start, on a terminal too, and what is said of both.
    std::fs::remove_dir_all(scratch.root().join("n")).unwrap();
    let mut shown = vec![vec!["playbook", "run", "p", "--yes", "--record", RECORDED]];
    if proof::is_full() {
        shown.push(vec!["playbook", "run", "p", "--yes", "--quiet"]);
    }
    for args in [
        "run show @last",
        "run show @last --json",
        "run logs @last",
        "run logs @last speaks",
        "run events @last",
        "run output @last",
        "run output @last prints",
        "run output @last data",
        "run list",
        "run list --json",
        "run diff @last",
        "run diff @last files",
        "run logs @last prints",
        "doctor",
        "playbook show p",
    ] {
        shown.push(args.split(' ').collect());
    }
    for args in shown {
        let output = call(&scratch, secrets, &args).finish();
        search.said(&format!("stdout of {args:?}"), &output.stdout);
        search.said(&format!("stderr of {args:?}"), &output.stderr);
        if args[0] == "playbook" && args[1] == "run" {
            std::fs::remove_dir_all(scratch.root().join("n")).unwrap();
        }
    }
    let told = server.told();
    assert!(told.contains("«secret:"), "the model was told results: {told}");
    search.said("what the model is told of its tools", told.as_bytes());
    for (what, path) in [("script", RECORDED), ("test", ".kb/tests/recorded.test.yml")] {
        let text = scratch.read(path);
        assert!(text.contains("speaks"), "the {what} of --record has the steps: {text}");
        search.said(&format!("the {what} of --record"), text.as_bytes());
    }
    let temporary = std::fs::read_dir(scratch.root().parent().unwrap()).unwrap();
    for entry in temporary.map(|entry| entry.unwrap().path()) {
        if !entry.ends_with("project") && entry.is_dir() {
            let found = files_with(&entry, search.texts);
            search.found.extend(found.into_iter().map(|found| format!("left over: {found}")));
        }
    }
    let shown = search.found.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    if !search.found.is_empty() && std::env::var_os("KB_KEEP").is_some() {
        std::mem::forget(scratch);
    }
    assert!(search.found.is_empty(), "seed {seed}, {} places:\n{shown}", search.found.len());
    let masks = events.matches("«secret:").count();
    assert!(masks > 20 * secrets.len(), "{masks} masks: the steps did say something");
    search.bytes
}

/// The script of `--record`. In this folder, `kb` writes a test of the run beside it.
const RECORDED: &str = ".kb/tests/recorded.yml";

/// One of each shape; all fifty under `KB_PROVE=full`.
const SHAPES: [usize; 17] = [1, 8, 16, 17, 21, 23, 25, 27, 29, 31, 33, 36, 37, 38, 39, 40, 41];

#[test]
fn fifty_secrets_are_found_nowhere() {
    let rounds = proof::amount("KB_SECRETS", 1, 5);
    let (mut bytes, mut count) = (0, 0);
    for seed in 2_026..2_026 + rounds as u64 {
        let mut secrets = fifty(seed);
        if !proof::is_full() {
            secrets = SHAPES.iter().map(|at| secrets[*at].clone()).collect();
        }
        count += secrets.len();
        bytes += check(seed, &secrets);
    }
    let figures = [("secrets", count), ("bytes of output looked through", bytes), ("found", 0)];
    proof::record("secrets", Some(2_026), figures);
}

#[test]
fn a_secret_that_changes_during_the_run_is_masked_as_it_was_and_as_it_is() {
    let playbook = "schema: kb.playbook/1\nid: p\nenv: {T: '{{secrets.T}}'}\nsteps:
  - {id: a, run: 'echo \"$T\"; echo \"$T\" | tr a-z n-za-m > given.txt'}
  - {id: b, dependsOn: [a], run: 'echo \"$T\"; echo \"$T\" | tr a-z n-za-m'}\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/kb.config.yml", "secrets: {T: 'file:given.txt'}\n"),
        ("given.txt", "swordfish-tulip-0815\n"),
    ]);
    let said = scratch.kb(&["playbook", "run", "p", "--json"]).code(0);
    let texts = Texts::of(["swordfish-tulip-0815", "fjbeqsvfu-ghyvc-0815"]);
    assert_eq!(texts.within(said.out.as_bytes()), [""; 0]);
    assert_eq!(files_with(&state(&scratch), &texts), [""; 0]);
    assert_eq!(said.out.matches("«secret:T»\\n«secret:T»").count(), 1, "{}", said.out);
}

#[test]
fn what_a_step_says_is_masked_on_a_terminal_while_it_runs() {
    // It runs already when the value becomes a secret.
    let playbook = "schema: kb.playbook/1\nid: p\nlimits: {maxParallel: 2}\nsteps:
  - {id: a, run: 'touch open; until test -e known; do sleep 0.02; done; echo \"says $(cat given)\"; sleep 0.7'}
  - {id: b, env: {T: '{{secrets.T}}'}, run: touch known}\n";
    let command = "until test -e open; do sleep 0.02; done; cat given";
    let settings = format!("secrets: {{T: {{command: [bash, -c, '{command}']}}}}\n");
    let scratch = Scratch::new(&[("playbooks/p.yml", playbook), (".kb/kb.config.yml", &settings)]);
    scratch.write("given", "swordfish-tulip-0815");
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]);
    let Some(output) = on_terminal(&command) else {
        return eprintln!("skipped: no `script` makes a terminal here");
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("says «secret:T»"), "the line is shown: {shown}");
    assert!(!shown.contains("swordfish"), "{shown}");
}

/// A step may print the key of a model that `env.pass` hands it.
#[test]
fn the_key_of_a_model_is_a_secret_too() {
    let scratch = Scratch::new(&[
        (
            "playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: 'echo $KB_KEY'}\n  - {id: b, specialist: s, task: Go., condition: 'false'}\n",
        ),
        (
            ".kb/specialists/s.yml",
            "schema: kb.specialist/1\nid: s\nrole: You work.\ntools: []\noutput: {schema: {summary: string}}\n",
        ),
        (
            ".kb/kb.config.yml",
            "env: {pass: [KB_KEY]}\nllm: {tiers: {medium: {model: m, endpoint: 'http://127.0.0.1:9/v1', apiKeyEnv: KB_KEY}}}\n",
        ),
    ]);
    let said = scratch.kb_with(&["playbook", "run", "p", "--json"], |command| {
        command.env("KB_KEY", "swordfish-tulip-0815");
    });
    let said = said.code(0);
    assert!(said.out.contains("«secret:") && !said.out.contains("swordfish"), "{}", said.out);
    assert_eq!(files_with(&state(&scratch), &Texts::of(["swordfish-tulip"])), [""; 0]);
}

#[test]
fn a_secret_that_the_limit_of_an_output_cuts_in_two_leaves_no_half() {
    let playbook = "schema: kb.playbook/1\nid: p\nenv: {T: '{{secrets.T}}'}\ndefaults: {onError: continue}\nsteps:
  - {id: out, run: 'head -c 1048563 /dev/zero | tr \"\\0\" x; echo \"$T\"'}
  - {id: err, run: '{ head -c 1048563 /dev/zero | tr \"\\0\" x; echo \"$T\"; } >&2; exit 3'}
  - {id: call, tool: shell:exec, input: {command: 'head -c 1048563 /dev/zero | tr \"\\0\" x; echo \"$T\"'}}\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/kb.config.yml", "secrets: {T: 'env:KB_T'}\n"),
    ]);
    let args = ["playbook", "run", "p", "--yes", "--json"];
    let said = scratch.kb_with(&args, |command| {
        command.env("KB_T", "swordfish-tulip-0815");
    });
    // Thirteen bytes of it are within the limit.
    let texts = Texts::of(["swordfish-tu"]);
    assert_eq!(texts.within(format!("{}{}", said.out, said.err).as_bytes()), [""; 0]);
    assert_eq!(files_with(&state(&scratch), &texts), [""; 0]);
    for step in ["out", "err", "call"] {
        let logs = scratch.kb(&["run", "output", "@last", step, "--json"]);
        let logs = format!("{logs:?}{:?}", scratch.kb(&["run", "logs", "@last", step]));
        assert!(logs.contains("«secret:…»"), "{step}: {}", &logs[logs.len() - 300..]);
    }
}

#[test]
fn a_secret_that_is_written_out_refuses_the_run() {
    let playbook = "schema: kb.playbook/1\nid: p\nparams: [{name: x, default: none}]\nsteps: [{id: a, run: 'true'}]\n";
    let settings = "secrets: {T: 'env:KB_T', SHORT: 'env:KB_WORD'}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", playbook), (".kb/kb.config.yml", settings)]);
    let run = |param: &str| {
        scratch.kb_with(&["playbook", "run", "p", "--param", param], |command| {
            command.env("KB_T", "swordfish-tulip-0815").env("KB_WORD", "true-word");
        })
    };
    run("x=true-word").code(0);
    let said = run("x=my swordfish-tulip-0815").says(&["KB0571", "`x`", "`T`", "type: secret"]);
    assert_ne!(said.code, 0);
    assert!(!format!("{said:?}").contains("swordfish"), "{said:?}");
    scratch.write("playbooks/p.yml", &format!("{playbook}# swordfish-tulip-0815\n"));
    let said = run("x=y").says(&["KB0571", "`playbooks/p.yml`", "`T`"]);
    assert!(!format!("{said:?}").contains("swordfish"), "{said:?}");
    let texts = Texts::of(["swordfish-tulip-0815"]);
    assert_eq!(files_with(&state(&scratch), &texts), [""; 0]);
}

#[test]
fn an_error_after_the_run_is_masked() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'rm -r out-* && touch \"out-$T\"', env: {T: '{{secrets.T}}'}}]\n";
    let settings = "secrets: {T: 'env:KB_T'}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", playbook), (".kb/kb.config.yml", settings)]);
    let args = ["playbook", "run", "p", "--record", "out-swordfish-tulip-0815/r.yml"];
    let said = scratch.kb_with(&args, |command| {
        command.env("KB_T", "swordfish-tulip-0815");
    });
    let said = said.says(&["its script could not be written", "out-«secret:T»/r.yml"]);
    assert!(!format!("{said:?}").contains("swordfish"), "{said:?}");
}

#[test]
fn a_claim_of_a_file_whose_name_holds_a_secret_is_seen_on_disk() {
    let script = "schema: kb.script/1\nsteps:\n  a:\n    - calls: [{tool: shell:exec, args: {command: 'mkdir -p d; echo x > \"d/f-$T.txt\"; echo \"d/f-$T.txt\"'}}]\n    - output: {created: ['d/f-«secret:T».txt'], summary: done}\n";
    let specialist = "schema: kb.specialist/1\nid: s\nrole: You work.\ntools: [shell:exec]\noutput: {schema: {created: 'string[]', summary: string}}\n";
    let check = |secret: &str, more: &str, verdict: &str| {
        let playbook = format!(
            "schema: kb.playbook/1\nid: p\nenv: {{T: '{{{{secrets.T}}}}'}}\nsteps:\n  - {{id: a, specialist: s, task: Go., maxAttempts: 1, verify: {{checks: [{{file: {{path: 'd/f-*.txt', changed: true{more}}}}}]}}}}\n"
        );
        let scratch = Scratch::new(&[
            ("playbooks/p.yml", &playbook),
            (".kb/kb.config.yml", "secrets: {T: 'env:KB_T'}\n"),
            (".kb/specialists/s.yml", specialist),
            ("script.yml", script),
        ]);
        let args = ["playbook", "run", "p", "--yes", "--script", "script.yml"];
        let said = scratch.kb_with(&args, |command| {
            command.env("KB_T", secret);
        });
        let shown = scratch.json(&["run", "show", "@last", "--json"]);
        assert_eq!(shown["steps"][0]["verdict"], verdict, "{said:?}\n{shown}");
        let texts = Texts::of([secret]);
        assert_eq!(files_with(&state(&scratch), &texts), [""; 0]);
    };
    check("swordfish-tulip-0815", "", "passed");
    check("swordfish-tulip-0815", ", minCount: 2", "failed");
}
