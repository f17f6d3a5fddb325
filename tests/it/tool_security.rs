//! `tools.security` in the settings, through the binary: groups, path rules, entries that narrow
//! together, and names of tools that do not exist yet.

use crate::isolation::git;
use crate::running::Start;
use crate::scratch::{Said, Scratch};

/// Runs one `tool` step with these settings in a project with some files.
fn call(settings: &str, step: &str) -> Said {
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: a, {step}}}\n");
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", &playbook),
        (".kb/kb.config.yml", settings),
        ("sub/a.txt", "SECRET in sub\n"),
        ("sub/.env", "SECRET in sub/.env\n"),
        ("out.txt", "SECRET outside\n"),
        (".env", "SECRET in .env\n"),
    ]);
    let said = scratch.kb(&["playbook", "run", "p", "--json"]);
    for path in ["sub/a.txt", "sub/.env", "out.txt", ".env"] {
        assert!(scratch.has(path), "{path} was deleted");
    }
    assert_eq!(scratch.read("out.txt"), "SECRET outside\n");
    said
}

fn refused(settings: &str, step: &str) {
    let said = call(settings, step);
    assert!(said.out.contains("KB0601"), "{settings} {step}: {}", said.out);
    said.code(1);
}

const EDIT: &str = "tool: 'fs:edit', input: {path: out.txt, old: SECRET, new: x}";
const DELETE: &str = "tool: 'fs:delete', input: {path: out.txt}";
const WRITE: &str = "tool: 'fs:write', input: {path: out.txt, content: x}";

#[test]
fn a_group_covers_every_tool_of_the_group() {
    for entry in ["file_write: {enabled: false}", "allowed_tools: [file_read]"] {
        let settings = format!("tools: {{security: {{{entry}}}}}\n");
        for step in [WRITE, EDIT, DELETE] {
            refused(&settings, step);
        }
        call(&settings, "tool: 'fs:list', input: {}").code(0);
    }
    for entry in ["shell", "code_execute", "Bash"] {
        let settings = format!("tools: {{security: {{{entry}: {{enabled: false}}}}}}\n");
        refused(&settings, "tool: 'shell:exec', input: {command: 'true'}");
    }
    for entry in ["api_call", "web_fetch", "'http:get'"] {
        let settings = format!("tools: {{security: {{{entry}: {{enabled: false}}}}}}\n");
        refused(&settings, "tool: 'http:request', input: {url: 'https://example.com/'}");
    }
}

#[test]
fn api_call_and_web_fetch_are_different_tools() {
    let refusal = "the settings do not allow";
    let fetch = "tool: 'http:fetch', input: {url: 'http://127.0.0.1:9/'}";
    let settings = "tools: {security: {api_call: {enabled: false}}}\n";
    refused(settings, "tool: 'http:request', input: {url: 'https://example.com/'}");
    // This address is denied by other rules.
    let said = call(settings, fetch);
    assert!(!said.out.contains(refusal) && said.out.contains("KB0617"), "{}", said.out);
    refused("tools: {security: {web_fetch: {enabled: false}}}\n", fetch);
    refused("tools: {security: {allowed_tools: [api_call]}}\n", fetch);
    let said =
        call(settings, "tool: 'http:fetch', input: {url: 'https://example.com/', method: POST}");
    assert!(format!("{}{}", said.out, said.err).contains("method"), "{}{}", said.out, said.err);
}

#[test]
fn workspace_is_the_project_in_path_rules() {
    let settings = "tools: {security: {file_read: {allowed_paths: ['/workspace/sub/**', '/data/**'], denied_paths: ['/workspace/sub/.env']}}}\n";
    call(settings, "tool: 'fs:read', input: {path: sub/a.txt}").code(0);
    refused(settings, "tool: 'fs:read', input: {path: out.txt}");
    refused(settings, "tool: 'fs:read', input: {path: sub/.env}");
    let named = "tools: {security: {file_read: {allowed_paths: ['/workspace/a.txt']}}}\n";
    refused(named, "tool: 'fs:read', input: {path: sub/a.txt}");
    for whole in ["/workspace", "/workspace/", "/workspace/**"] {
        let settings =
            format!("tools: {{security: {{file_read: {{allowed_paths: ['{whole}']}}}}}}\n");
        call(&settings, "tool: 'fs:read', input: {path: out.txt}").code(0);
    }
}

#[test]
fn a_misspelt_specialist_of_a_share_or_ladder_is_an_error() {
    let check = |entry: &str, code: i32| {
        let settings = format!("orchestrator: {{escalation: {{{entry}}}}}\n");
        let scratch = crate::scratch::Scratch::new(&[
            (
                ".kb/specialists/researcher.yml",
                "schema: kb.specialist/1\nid: researcher\nrole: You read.\n",
            ),
            (".kb/kb.config.yml", &settings),
        ]);
        scratch.kb(&["playbook", "validate"]).code(code)
    };
    check("budgetAllocation: {researcher: 30, orchestrator: 10, architect: 5}", 2)
        .says(&["KB0402", "there is no specialist `architect`"]);
    check("budgetAllocation: {researcher: 30, orchestrator: 10}", 0);
    check("budgetAllocation: {orchestator: 30}", 2).says(&["did you mean `orchestrator`?"]);
    for wrong in [
        "budgetAllocation: {resercher: 30}",
        "budgetAllocation: {RESEARCHER: 30, researcher-agent: 5}",
        "defaultLadder: {reseacher: [small]}",
    ] {
        check(wrong, 2).says(&["KB0402", "did you mean `researcher`?"]);
    }
}

#[test]
fn read_rules_apply_to_every_tool_that_reads() {
    let rules = "{allowed_paths: ['sub/**'], denied_paths: ['**/.env']}";
    for entry in ["file_read", "'fs:read'", "Read"] {
        let settings = format!("tools: {{security: {{{entry}: {rules}}}}}\n");
        for tool in
            ["tool: 'fs:search', input: {pattern: SECRET}", "tool: 'fs:list', input: {glob: '**'}"]
        {
            let said = call(&settings, tool);
            assert!(said.out.contains("sub/a.txt"), "{entry} {tool}: {}", said.out);
            for hidden in [".env\"", "SECRET outside", "out.txt", "SECRET in .env"] {
                let seen = said.out.replace('\\', "").contains(hidden);
                assert!(!seen, "{entry} {tool} shows {hidden}: {}", said.out);
            }
            said.code(0);
        }
        for step in [
            "tool: 'fs:read', input: {path: out.txt}",
            "tool: 'fs:read', input: {path: sub/.env}",
            "tool: 'fs:search', input: {pattern: S, path: .env}",
            "tool: 'fs:exists', input: {path: sub/.env}",
            EDIT,
        ] {
            refused(&settings, step);
        }
    }
}

/// What a tool tells about a file by accepting or refusing a call is read from it, and so is what is in the repository.
#[test]
fn read_rules_apply_to_tools_that_remember_and_commit() {
    let settings =
        "tools: {security: {'fs:read': {denied_paths: [out.txt]}}}\nmemory: {enabled: true}\n";
    let propose = "kind: fact, text: One sentence about nothing at all.";
    for more in [
        "anchors: [{path: out.txt, excerpt: SECRET}]",
        "checks: [{file: '*.txt'}]",
        "checks: [{file: {path: out.txt, count: {pattern: SECRET, min: 1}}}]",
    ] {
        let step = format!("tool: 'memory:propose', input: {{{propose}, {more}}}");
        let said = call(settings, &step);
        assert!(said.code == 1 && said.out.contains("KB060"), "{more}: {}", said.out);
    }
    let commit = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, tool: 'git:commit', input: {paths: ['.'], message: x}}]\n";
    let files = [("playbooks/p.yml", commit), ("out.txt", "SECRET")];
    let scratch = Scratch::new(&files);
    scratch.write(".kb/kb.config.yml", settings);
    git(&scratch, &["init", "--quiet"]);
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["out.txt"]);
    assert_eq!(git(&scratch, &["ls-files", "--stage"]), "");
}

#[test]
fn entries_for_one_tool_under_different_names_narrow_together() {
    for (first, second, step) in [
        ("file_write: {enabled: false}", "'fs:edit': {enabled: true}", EDIT),
        ("'fs:edit': {enabled: false}", "file_edit: {enabled: true}", EDIT),
        (
            "file_read: {denied_paths: [out.txt]}",
            "'fs:read': {denied_paths: []}",
            "tool: 'fs:read', input: {path: out.txt}",
        ),
        (
            "file_read: {allowed_paths: ['sub/**']}",
            "'fs:read': {allowed_paths: ['**']}",
            "tool: 'fs:read', input: {path: out.txt}",
        ),
    ] {
        for (first, second) in [(first, second), (second, first)] {
            refused(&format!("tools: {{security: {{{first}, {second}}}}}\n"), step);
        }
    }
    let two_lists =
        "tools: {security: {allowed_tools: [file_read], allowedTools: [file_read, file_write]}}\n";
    refused(two_lists, WRITE);
}

#[test]
fn an_approval_is_required_if_one_of_several_entries_requires_it() {
    for security in [
        "{file_write: {requiresApproval: true}, 'fs:write': {requiresApproval: false}}",
        "{'fs:write': {requiresApproval: false}, file_write: {requiresApproval: true}}",
    ] {
        let settings = format!("tools: {{security: {security}}}\n");
        let scratch = Scratch::new(&[
            (
                "playbooks/p.yml",
                "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: s, task: Write.}\n",
            ),
            (
                ".kb/specialists/s.yml",
                "schema: kb.specialist/1\nid: s\nrole: You write.\ntools: [fs:write]\noutput: {schema: {summary: string}}\n",
            ),
            (".kb/kb.config.yml", &settings),
            (
                "script.yml",
                "schema: kb.script/1\nsteps:\n  a:\n    - calls: [{tool: fs:write, args: {path: x, content: y}}]\n    - error: {status: 400}\n",
            ),
        ]);
        let said =
            scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--json"]).code(3);
        assert!(said.out.contains("ask:opened"), "{security}: {}", said.out);
        assert!(!scratch.has("x"));
    }
}

#[test]
fn names_of_tools_that_come_later_load_with_a_warning() {
    const NAMES: &str = "memory_search, \
                         bus_publish, 'devkit:*', \
                         'devkit:build', 'workflow:run', 'llm:complete', 'api:call', 'http:get', \
                         'http:post', code_execute, web_search, \
                         mcp__github__search, 'deploy:production', query_documents, ingest_file";
    let specialist = format!(
        "schema: kb.specialist/1\nid: s\nrole: You help.\ntools: [fs:read, {NAMES}]\noutput: {{schema: {{summary: string}}}}\n"
    );
    let scratch = Scratch::new(&[(".kb/specialists/s.yml", &specialist)]);
    let said = scratch.kb(&["specialist", "validate", "s"]);
    let said = if said.code == 2 { scratch.kb(&["specialist", "list"]) } else { said };
    assert!(
        !said.err.contains("KB0217") && !said.out.contains("KB0217"),
        "{} {}",
        said.out,
        said.err
    );
    let shown = scratch.json(&["specialist", "info", "s", "--json"]);
    let unknown = shown["unknownTools"].as_array().unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(unknown.len(), NAMES.split(',').count(), "{unknown:?}");
    assert_eq!(shown["tools"], serde_json::json!(["fs:read"]));
}

/// Through the binary, at each level that matters: where the sandbox can hide files and where it cannot.
#[test]
fn denied_files_are_hidden_from_the_commands_of_a_specialist() {
    const SCRIPT: &str = "schema: kb.script/1\nsteps:\n  a:\n    \
         - calls: [{tool: shell:exec, args: {command: 'cat .env sub/.env; cat sub/a.txt'}}]\n    \
         - output: {summary: done}\n";
    let scratch = Scratch::new(&[
        (
            "playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: s, task: Read.}\n",
        ),
        (
            ".kb/specialists/s.yml",
            "schema: kb.specialist/1\nid: s\nrole: You read.\ntools: [shell:exec]\noutput: {schema: {summary: string}}\n",
        ),
        (".kb/kb.config.yml", "tools: {security: {file_read: {denied_paths: ['**/.env']}}}\n"),
        ("script.yml", SCRIPT),
        (".env", "PLAIN-VALUE\n"),
        ("sub/.env", "PLAIN-VALUE\n"),
        ("sub/a.txt", "visible text\n"),
    ]);
    let run = |variables: &[(&str, &str)]| {
        let mut command = scratch.command();
        command.args(["playbook", "run", "p", "--script", "script.yml", "--yes", "--json"]);
        let output = command.envs(variables.iter().copied()).finish();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let sandboxed = text.contains(r#""sandbox":"kernel""#);
        let hides = sandboxed && !text.contains("`denied_paths` inside readable directories");
        let shown = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).out;
        (sandboxed, hides, shown)
    };
    let (sandboxed, hides, shown) = run(&[]);
    assert_eq!(shown.contains("PLAIN-VALUE"), !hides, "{shown}");
    if !sandboxed {
        eprintln!("skipped in part: no kernel sandbox here");
        return;
    }
    let (sandboxed, hides, shown) = run(&[("KB_SANDBOX_AT_MOST", "process")]);
    assert!(!sandboxed && !hides && shown.contains("PLAIN-VALUE"), "{shown}");
}
