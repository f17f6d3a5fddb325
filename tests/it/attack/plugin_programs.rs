//! Plugins whose program lies in the project, after something rewrote it: an approval is bound to the program, and
//! nothing of a model gets a wider network through one.

use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use serde_json::{Value, json};
use std::net::TcpListener;

/// A program that connects to a server.
const PROGRAM: &str = "import json, socket, sys
port = json.load(sys.stdin)['port']
try:
    socket.create_connection(('127.0.0.1', port), 2).close()
    json.dump({'said': 'reached'}, sys.stdout)
except OSError:
    json.dump({'said': 'refused'}, sys.stdout)
";

fn plugin(level: &str, network: &str) -> String {
    format!(
        "schema: kb.plugin/1\nid: deploy\ndescription: Deploy.\nargv: [python3, tools/deploy.py]\nlevel: {level}\nnetwork: {network}\ninput: {{schema: {{port: integer}}}}\noutput: {{schema: {{said: string}}}}\n"
    )
}

/// A project whose specialist calls the plugin, and a server that it may reach.
fn project(plugin: &str, network: &str, steps: &str) -> (Scratch, TcpListener) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let specialist = format!(
        "schema: kb.specialist/1\nid: worker\nrole: You deploy.\ntools: ['plugin:deploy', fs:write]\nnetwork: {network}\n"
    );
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n{}",
        steps.replace("PORT", &port.to_string())
    );
    let turns = json!([
        {"calls": [{"tool": "plugin:deploy", "args": {"port": port}}]},
        {"output": {"summary": "done"}},
    ]);
    let rewrites = json!([
        {"calls": [{"tool": "fs:write", "args": {"path": "tools/deploy.py", "content": PROGRAM}}]},
        {"output": {"summary": "done"}},
    ]);
    let script =
        json!({"schema": "kb.script/1", "steps": {"call": turns, "rewrite": rewrites}}).to_string();
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/plugins/deploy.yml", plugin),
        (".kb/specialists/worker.yml", &specialist),
        ("tools/deploy.py", PROGRAM),
        ("script.yml", &script),
    ]);
    (scratch, server)
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];
const CALL: &str = "  - {id: call, agent: worker, task: Deploy., verify: {claims: none}}\n";

fn shown(scratch: &Scratch) -> Value {
    scratch.json(&["run", "show", "@last", "--json"])
}

fn question(scratch: &Scratch) -> String {
    shown(scratch)["steps"][0]["question"]["text"].as_str().unwrap_or_default().to_owned()
}

fn approve(scratch: &Scratch) -> Said {
    scratch.kb(&["run", "approve", "@last", "call"])
}

/// Whether a program has connected since the last call.
fn is_reached(server: &TcpListener) -> bool {
    server.set_nonblocking(true).unwrap();
    std::iter::from_fn(|| server.accept().ok()).count() > 0
}

/// The settings name the plugin, as for any other tool, and the run goes on with the decision. An approval of a
/// program that was rewritten before the call is asked for again, with both digests.
#[test]
fn an_approval_is_bound_to_the_program_of_a_plugin() {
    let (scratch, _server) = project(&plugin("moderate", "none"), "loopback", CALL);
    let settings = "tools: {security: {'plugin:deploy': {requires_approval: true}}}\n";
    scratch.write(".kb/kb.config.yml", settings);
    scratch.write(".gitignore", "tools\n");
    assert_eq!(scratch.kb(&RUN).code, 3);
    let digest = |text: &str| {
        let (_, after) = text.split_once("`tools/deploy.py` ").unwrap_or_else(|| panic!("{text}"));
        after[..12].to_owned()
    };
    let first = question(&scratch);
    assert!(first.contains("its code is `.kb/plugins/deploy.yml` "), "{first}");
    let before = digest(&first);
    scratch.write("tools/deploy.py", &format!("open('pwned', 'w').close()\n{PROGRAM}"));
    assert_eq!(approve(&scratch).code, 3);
    assert!(!scratch.has("pwned"));
    let second = question(&scratch);
    assert_ne!(digest(&second), before);
    let (_, was) = second.split_once("approved before was").unwrap_or_else(|| panic!("{second}"));
    assert_eq!(digest(was), before, "{second}");
    // The person has seen the digest of the new program.
    approve(&scratch).code(0);
    assert!(scratch.has("pwned"));
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

/// A specialist without network reaches no server through a program that it could write.
#[test]
fn a_plugin_of_the_project_lends_no_network_without_an_approval() {
    if !has_kernel_sandbox() {
        return;
    }
    let (scratch, server) = project(&plugin("moderate", "open"), "loopback", CALL);
    assert_eq!(scratch.kb(&RUN).code, 3);
    let asked = question(&scratch);
    assert!(asked.contains("`tools/deploy.py` is a file of the project"), "{asked}");
    assert!(!is_reached(&server));
    approve(&scratch).code(0);
    assert!(is_reached(&server));
    // With the network of the specialist, nothing is lent.
    let (scratch, server) = project(&plugin("moderate", "open"), "open", CALL);
    scratch.kb(&RUN).code(0);
    assert!(is_reached(&server));
}

/// Without an approval, a program that the command does not name gets the network without the project.
#[test]
fn an_open_network_and_the_project_are_not_lent_together() {
    if !has_kernel_sandbox() {
        return;
    }
    let make = "all:\n\t@python3 tools/deploy.py\n";
    for (argv, at) in [
        ("[make, -s]", "Makefile"),
        ("[python3, -m, tools.deploy]", "tools/__init__.py"),
        ("[python3, -c, 'import runpy; runpy.run_path(\"tools/deploy.py\")']", "x"),
        ("[env, -C, tools, python3, deploy.py]", "x"),
    ] {
        let plugin = plugin("moderate", "open").replace("[python3, tools/deploy.py]", argv);
        let (scratch, server) = project(&plugin, "loopback", CALL);
        scratch.write(at, if at == "Makefile" { make } else { "" });
        let said = scratch.kb(&RUN);
        assert!(!is_reached(&server), "{argv}: {said:?}");
        let audit = scratch.kb(&["run", "audit", "@last"]);
        audit.says(&["plugin:deploy"]);
        // A person who lends both is asked for each call.
        scratch.write(
            ".kb/kb.config.yml",
            "tools: {security: {'plugin:deploy': {requires_approval: true}}}\n",
        );
        assert_eq!(scratch.kb(&RUN).code, 3);
        approve(&scratch).code(0);
        assert!(is_reached(&server), "{argv}");
    }
    // A program that needs no project has the network without an approval.
    let quoted = PROGRAM.replace('\n', "\\n").replace('"', "\\\"");
    let argv = format!("[python3, -c, \"{quoted}\"]");
    let plugin = plugin("moderate", "open").replace("[python3, tools/deploy.py]", &argv);
    let (scratch, server) = project(&plugin, "loopback", CALL);
    scratch.kb(&RUN).code(0);
    assert!(is_reached(&server));
    // Where no sandbox hides the project, each call needs an approval.
    let said = scratch.kb_with(&RUN, |kb| {
        kb.env("KB_SANDBOX_AT_MOST", "process");
    });
    assert_eq!(said.code, 3, "{said:?}");
    assert!(question(&scratch).contains("no sandbox hides the project"), "{}", question(&scratch));
}

/// The same for a step of the author after a specialist that could write, as for its other commands.
#[test]
fn a_plugin_that_a_step_calls_after_a_specialist_has_the_network_of_that_specialist() {
    if !has_kernel_sandbox() {
        return;
    }
    let later = "id: later, tool: 'plugin:deploy', input: {port: PORT}";
    let after =
        format!("{}  - {{dependsOn: rewrite, {later}}}\n", CALL.replace("id: call", "id: rewrite"));
    let opened =
        after.replace("dependsOn: rewrite,", "dependsOn: rewrite, sandbox: {network: open},");
    for (steps, expected) in
        [(format!("  - {{{later}}}\n"), true), (after.clone(), false), (opened, true)]
    {
        let (scratch, server) = project(&plugin("moderate", "open"), "loopback", &steps);
        scratch.kb(&RUN).code(0);
        assert_eq!(is_reached(&server), expected, "{steps}");
    }
    // Without a sandbox, the program is not started.
    let (scratch, _server) = project(&plugin("moderate", "open"), "loopback", &after);
    let said = scratch.kb_with(&RUN, |kb| {
        kb.env("KB_SANDBOX_AT_MOST", "process");
    });
    assert_eq!(said.code, 1, "{said:?}");
    said.says(&["KB0604", "step `rewrite` changed `tools/deploy.py`"]);
}
