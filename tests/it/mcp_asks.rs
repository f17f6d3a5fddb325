//! Questions of MCP servers to people, and what servers say about the progress of a call.

use crate::scratch::{Said, Scratch};
use serde_json::{Value, json};

const SERVER: &str =
    concat!(include_str!("stand_ins/json_lines.py"), include_str!("mcp_asks/server.py"));

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  \
    - {id: a, specialist: clerk, task: Book., verify: {maxReworks: 0, expectChanges: false}}\n";

/// A project with a server that asks, whose definition is `server`.
fn project(server: &str, more: &str) -> Scratch {
    let settings = format!(
        "secrets: {{DB: 'env:DB_TOKEN'}}\n{more}mcp: {{servers: {{desk: {{{server}}}}}}}\n"
    );
    let clerk = "schema: kb.specialist/1\nid: clerk\nrole: You book.\ntools: ['mcp:desk:*']\n";
    let scratch = Scratch::new(&[
        (".kb/kb.config.yml", &settings),
        (".kb/specialists/clerk.yml", clerk),
        ("playbooks/p.yml", PLAYBOOK),
        ("server.py", SERVER),
    ]);
    kb(&scratch, &["mcp", "pin", "desk"]).code(0);
    scratch
}

fn kb(scratch: &Scratch, args: &[&str]) -> Said {
    scratch.kb_with(args, |command| {
        command.env("DB_TOKEN", "hunter2-hunter2");
    })
}

/// Runs the specialist, which calls this tool and claims that it returned this.
fn run(scratch: &Scratch, tool: &str, output: &Value) -> Said {
    let tool = format!("mcp:desk:{tool}");
    let claim = json!({"tool": tool, "output": output});
    let turns = json!([
        {"calls": [{"tool": tool, "args": {}}]},
        {"output": {"summary": "Booked.", "toolCalls": [claim]}},
    ]);
    let script = json!({"schema": "kb.script/1", "steps": {"a": turns}});
    scratch.write("script.json", &script.to_string());
    kb(scratch, &["playbook", "run", "p", "--script", "script.json", "--yes", "--json"])
}

fn step(scratch: &Scratch) -> Value {
    scratch.json(&["run", "show", "@last", "--json"])["steps"][0].clone()
}

/// The claim about the output of the call is not refuted, so the server returned it.
fn is_confirmed(scratch: &Scratch) {
    let step = step(scratch);
    assert_eq!(step["status"], "succeeded", "{step}");
    assert_eq!(step["verdict"], "inconclusive", "{step}");
    assert_eq!(step["attempts"], 1, "the attempt continued: {step}");
}

const STDIO: &str = "command: [python3, server.py]";

#[test]
fn a_question_of_a_server_is_answered_by_a_person_and_the_call_is_made_again() {
    for server in [STDIO, "command: [python3, server.py, stateless]"] {
        let scratch = project(server, "");
        let reply = r#"[{"action": "accept", "content": {"day": "friday", "seats": 2}}]"#;
        run(&scratch, "book", &json!(reply)).code(3);
        let question = step(&scratch)["question"].clone();
        let text = question["text"].as_str().unwrap();
        assert_eq!(
            text,
            "the MCP server `desk` asks, in a call of `mcp:desk:book` by `clerk`: Which day?"
        );
        assert_eq!(question["kind"], "ask");
        assert_eq!(question["schema"]["properties"]["day"]["enum"], json!(["monday", "friday"]));

        kb(&scratch, &["run", "approve", "@last", "a"]).code(2).says(&["asks a question"]);
        let misfit = kb(&scratch, &["run", "answer", "@last", "a", "{\"day\": \"sunday\"}"]);
        misfit.code(2).says(&["KB0574", "does not fit"]);
        // The default of the form fills in what is absent.
        kb(&scratch, &["run", "answer", "@last", "a", "{\"day\": \"friday\"}"]).code(0);
        is_confirmed(&scratch);
        kb(&scratch, &["run", "verify", "@last"]).code(0);
    }
}

#[test]
fn a_server_learns_that_a_person_refused_or_that_no_person_answered() {
    let scratch = project(STDIO, "");
    run(&scratch, "book", &json!(r#"[{"action": "decline"}]"#)).code(3);
    kb(&scratch, &["run", "reject", "@last", "a"]).code(0);
    is_confirmed(&scratch);

    let scratch = project("command: [python3, server.py], answerTimeout: 300ms", "");
    let reply = json!(r#"[{"action": "cancel"}]"#);
    run(&scratch, "book", &reply);
    if step(&scratch)["status"] == "waiting" {
        std::thread::sleep(std::time::Duration::from_millis(400));
        kb(&scratch, &["run", "resume", "@last"]).code(0);
    }
    is_confirmed(&scratch);
}

#[test]
fn a_question_without_fields_is_a_decision_and_each_question_is_asked_once() {
    let scratch = project(STDIO, "");
    run(&scratch, "sure", &json!(r#"[{"action": "accept", "content": {}}]"#)).code(3);
    assert_eq!(step(&scratch)["question"]["kind"], "approve");
    kb(&scratch, &["run", "approve", "@last", "a"]).code(0);
    is_confirmed(&scratch);

    // The second question of the call has the same words and is another one.
    let both = r#"[{"action": "accept", "content": {"day": "monday", "seats": 1}}, {"action": "decline"}]"#;
    run(&scratch, "twice", &json!(both)).code(3);
    let first = "{\"day\": \"monday\", \"seats\": 1}";
    kb(&scratch, &["run", "answer", "@last", "a", first]).code(3);
    kb(&scratch, &["run", "reject", "@last", "a"]).code(0);
    is_confirmed(&scratch);
}

#[test]
fn a_server_gets_no_secrets_and_no_person_is_asked_in_vain() {
    let scratch = project(STDIO, "");
    run(&scratch, "secret", &json!(r#"[{"action": "decline"}]"#)).code(0);
    is_confirmed(&scratch);
    run(&scratch, "odd", &json!(r#"[{"action": "error", "code": -32602}]"#)).code(0);
    is_confirmed(&scratch);
    // A command and a step of the author have no attempt that a person could answer.
    kb(&scratch, &["mcp", "call", "mcp:desk:book", "--input", "{}"]).code(0).says(&["decline"]);
    let step = "schema: kb.playbook/1\nid: t\nsteps: [{id: a, tool: 'mcp:desk:book', input: {}}]\n\
                outputs: {said: '{{a.output}}'}\n";
    scratch.write("playbooks/t.yml", step);
    let said = kb(&scratch, &["playbook", "run", "t", "--yes"]);
    said.code(0).says(&[r#"[{"action": "decline"}]"#]);
}

#[test]
fn the_progress_of_a_call_is_shown_and_masked() {
    let scratch = project(STDIO, "");
    // A server with a secret lies outside of the project.
    scratch.write("../server.py", SERVER);
    let server = scratch.root().with_file_name("server.py").display().to_string();
    let settings = scratch.read(".kb/kb.config.yml");
    let with_secret = format!("{server}], env: {{DB: '{{{{secrets.DB}}}}'}}");
    let settings = settings.replace("server.py]", &with_secret);
    scratch.write(".kb/kb.config.yml", &format!("{settings}sandbox: {{read: ['{server}']}}\n"));
    kb(&scratch, &["mcp", "pin", "desk"]).code(0);
    run(&scratch, "count", &json!("counted")).code(0);
    is_confirmed(&scratch);
    let said = kb(&scratch, &["playbook", "run", "p", "--script", "script.json", "--yes"]).code(0);
    let said =
        said.says(&["a | mcp:desk:count: 1/3 file", "a | mcp:desk:count: 3/3 file", "«secret:DB»"]);
    for hidden in ["hunter2", "\u{1b}", "alien"] {
        assert!(!said.err.contains(hidden), "{hidden:?}: {}", said.err);
    }
}
