//! Coding agents that work with the tools of their specialist: what they call is recorded and judged as with a model, and
//! the project exists for them only behind these tools.

use crate::agents::{AGENT, PLAYBOOK, calls, notes, run, verdicts};
use crate::scratch::{Said, Scratch, has_kernel_sandbox};

/// A project whose specialist `coder` is the agent of `agents/agent.py`, outside of the project, with these tools and keys.
pub(crate) fn project(reworks: u32, tools: &str, more: &str) -> Scratch {
    let scratch =
        Scratch::new(&[("playbooks/p.yml", &PLAYBOOK.replace("REWORKS", &reworks.to_string()))]);
    scratch.write("../agent.py", AGENT);
    let outside = scratch.root().parent().unwrap().canonicalize().unwrap().display().to_string();
    let coder = format!(
        "schema: kb.specialist/1\nid: coder\nrole: You write.\nagent: {{command: [python3, {outside}/agent.py]}}\n\
         tools: [{tools}]\noutput: {{schema: {{filesCreated?: 'string[]', commandsRun?: 'string[]'}}}}\n{more}"
    );
    scratch.write(".kb/specialists/coder.yml", &coder);
    scratch.write(".kb/kb.config.yml", &format!("sandbox: {{read: ['{outside}/agent.py']}}\n"));
    scratch
}

/// All that the agent said, and what it was told.
fn told(scratch: &Scratch, said: &Said) -> String {
    let model = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]);
    format!("{}{}", said.out, model.out).replace("\\\"", "\"")
}

#[test]
fn calls_of_an_agent_are_those_of_its_specialist() {
    let scratch = project(
        0,
        "'fs:read', 'fs:write', 'shell:exec'",
        "security: {tools: {fs:read: {denied_paths: ['secret/**']}}}\n",
    );
    scratch.write("secret/key", "hunter2\n");
    let lines = [
        "tools",
        r#"tool fs_write {"path": "new.txt", "content": "hello"}"#,
        r#"tool fs_read {"path": "secret/key"}"#,
        r#"tool fs_read {"path": "../agent.py"}"#,
        r#"tool fs_read {"path": "new.txt"}"#,
        r#"tool shell_exec {"command": "cat new.txt; exit 3"}"#,
        r#"tool shell_exec {"command": "test -f new.txt"}"#,
        "say Checked.",
        r#"answer {"summary": "Wrote.", "filesCreated": ["new.txt"], "commandsRun": ["test -f new.txt"]}"#,
    ];
    let said = run(&scratch, &lines);
    assert_eq!(verdicts(&said), ["passed"], "{}", said.out);
    said.code(0);
    let expected = [
        "fs:write success",
        "fs:read denied",
        "fs:read denied",
        "fs:read success",
        "shell:exec failed",
        "shell:exec success",
        "reported:think success",
        "agent success",
    ];
    assert_eq!(calls(&scratch), expected);
    let told = told(&scratch, &Said { code: 0, out: String::new(), err: String::new() });
    assert!(
        told.contains("[fs_read fs_write output_read shell_exec]") || told.contains("fs_read"),
        "{told}"
    );
    assert!(told.contains("fs_read failed") && !told.contains("hunter2"), "{told}");
    scratch.kb(&["run", "diff", "@last"]).code(0).says(&["new.txt"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

/// As with a model: what no call did was not done, whatever the agent reports.
#[test]
fn a_command_that_no_call_ran_is_refuted_and_reworked() {
    let scratch = project(1, "'fs:read', 'shell:exec'", "");
    let lie = r#"answer {"summary": "Ran.", "commandsRun": ["make check"]}"#;
    let said = run(&scratch, &["run make check", lie]);
    assert_eq!(verdicts(&said), ["failed", "failed"], "{}", said.out);
    assert_eq!(calls(&scratch).first().unwrap(), "reported:execute success");
}

/// The last record of an agent is that of its process, which belongs to the same attempt as its calls.
#[test]
fn a_file_that_an_agent_leaves_out_of_its_list_is_found() {
    let scratch = project(0, "'fs:write'", "");
    let lines = [
        r#"tool fs_write {"path": "told.txt", "content": "a"}"#,
        r#"tool fs_write {"path": "untold.txt", "content": "b"}"#,
        "say Wrote.",
        r#"answer {"summary": "Wrote.", "filesCreated": ["told.txt"]}"#,
    ];
    let said = run(&scratch, &lines).code(0);
    assert_eq!(verdicts(&said), ["inconclusive"], "{}", said.out);
    said.says(&["the step changed `untold.txt`, and no list of the output has it"]);
}

#[test]
fn the_project_exists_only_behind_the_tools() {
    if !has_kernel_sandbox() {
        return;
    }
    let scratch = project(0, "'fs:*'", "");
    scratch.write("here.txt", "words\n");
    let root = scratch.root().canonicalize().unwrap().display().to_string();
    let lines = [
        &format!("write {root}/own.txt x"),
        &format!("cat {root}/here.txt"),
        "write note.txt x",
        "ask edit new.txt",
        "ask other mcp__kb__fs_write",
        "ask other mcp__other__send",
        "client by-kb.txt x",
        r#"answer {"summary": "Tried."}"#,
    ];
    let said = run(&scratch, &lines);
    let told = told(&scratch, &said);
    assert!(!scratch.has("own.txt") && !scratch.has("note.txt") && !scratch.has("by-kb.txt"));
    assert!(told.contains("[No such file or directory]"), "{told}");
    for answer in ["[edit: reject_once]", "[other: allow_once]", "[other: reject_once]"] {
        assert!(told.contains(answer), "{answer}: {told}");
    }
    assert!(notes(&said).contains("it works with the tools of kb"), "{}", said.out);
    // It was not offered to write through the client, and the path is not one of the project.
    assert_eq!(calls(&scratch), ["reported:edit success", "fs:write denied", "agent success"]);
    let inside = scratch.read(".kb/specialists/coder.yml");
    let at = inside.find("[python3, ").unwrap() + "[python3, ".len();
    let end = at + inside[at..].find("/agent.py").unwrap();
    scratch
        .write(".kb/specialists/coder.yml", &format!("{}{root}{}", &inside[..at], &inside[end..]));
    run(&scratch, &["answer x"]).code(1).says(&[
        "KB1402",
        "the project does not exist for it",
        "tools: own",
    ]);
}

/// What an agent sends to the server of its tools is hostile, too.
#[test]
fn the_server_of_the_tools_holds_to_the_protocol() {
    let scratch = project(0, "'fs:read'", "limits: {maxToolCalls: 2}\n");
    let lines = [
        r#"send {"jsonrpc": "2.0", "id": "x", "method": "prompts/list"}"#,
        r#"send {"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#,
        r#"send {"jsonrpc": "2.0", "id": "y", "method": "tools/call", "params": {"name": "fs_nothing"}}"#,
        r#"tool fs_read {"file": 7}"#,
        r#"answer {"summary": "Sent."}"#,
    ];
    let said = run(&scratch, &lines);
    let text = told(&scratch, &said);
    for part in ["-32601", r#""id":1.5,"result":{}"#, "unknown tool `fs_nothing`", "KB0603"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let third = r#"tool fs_read {"path": "a"}"#;
    run(&scratch, &[third, third, third]).code(1).says(&["KB0506", "2 tool calls"]);
}
