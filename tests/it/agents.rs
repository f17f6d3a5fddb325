//! Coding agents as specialists: what they change, tell and ask, what of it is proof, and agents that lie or break the
//! protocol.

use crate::alive;
use crate::scratch::{Said, Scratch, has_kernel_sandbox, until};
use serde_json::Value;

pub(crate) const AGENT: &str =
    concat!(include_str!("stand_ins/json_lines.py"), include_str!("agents/agent.py"));

pub(crate) const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nparams: [{name: what, required: true}]\nsteps:\n  \
    - {id: a, specialist: coder, task: '{{params.what}}', verify: {maxReworks: REWORKS, expectChanges: false}}\n";

/// A project whose specialist `coder` is the agent of `agents/agent.py`, with these further keys.
pub(crate) fn project(reworks: u32, more: &str) -> Scratch {
    let coder = format!(
        "schema: kb.specialist/1\nid: coder\nrole: You write.\nagent: {{tools: own, command: [python3, agent.py]}}\n\
         output: {{schema: {{filesCreated?: 'string[]', commandsRun?: 'string[]'}}}}\n{more}"
    );
    Scratch::new(&[
        (".kb/specialists/coder.yml", &coder),
        ("playbooks/p.yml", &PLAYBOOK.replace("REWORKS", &reworks.to_string())),
        ("agent.py", AGENT),
    ])
}

const WRITES: &str = "tools: ['fs:read', 'fs:write']\n";

/// Lets the agent do this, one thing a line.
pub(crate) fn run(scratch: &Scratch, lines: &[&str]) -> Said {
    let what = format!("what={}", lines.join("\n"));
    scratch.kb(&["playbook", "run", "p", "--param", &what, "--json"])
}

/// The calls of the last run: tool and status.
pub(crate) fn calls(scratch: &Scratch) -> Vec<String> {
    let audit = scratch.json(&["run", "audit", "@last", "--json"]);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let one = |call: &Value| ["tool", "status"].map(|key| text(&call[key])).join(" ");
    audit.as_array().unwrap().iter().map(one).collect()
}

/// The texts of all notes of a run.
pub(crate) fn notes(said: &Said) -> String {
    let notes = said.events().into_iter().filter(|event| event["type"] == "step:note");
    notes.map(|note| note["text"].as_str().unwrap_or_default().to_owned() + "\n").collect()
}

pub(crate) fn verdicts(said: &Said) -> Vec<Value> {
    let gates = said.events().into_iter().filter(|event| event["type"] == "verification:complete");
    gates.map(|event| event["verdict"].clone()).collect()
}

#[test]
fn the_work_of_an_agent_is_recorded_and_its_words_are_only_reported() {
    let scratch = project(0, WRITES);
    let answer = r#"answer {"summary": "Created.", "filesCreated": ["own.txt", "by-kb.txt"]}"#;
    let lines = [
        "write own.txt hello",
        "client by-kb.txt hi",
        "show by-kb.txt",
        "noise",
        "daemon",
        "alien",
    ];
    let said = run(&scratch, &[&lines[..], &["say I look.", answer]].concat()).code(0);
    assert_eq!(verdicts(&said), ["passed"], "{}", said.out);
    assert_eq!(
        (scratch.read("own.txt"), scratch.read("by-kb.txt")),
        ("hello\n".into(), "hi\n".into())
    );
    let expected = [
        "reported:edit success",
        // What it changed by itself before.
        "agent success",
        "fs:write success",
        "fs:read success",
        "reported:think success",
        "agent success",
    ];
    assert_eq!(calls(&scratch), expected);
    assert!(notes(&said).contains("the agent says: [\"hi\\n\"]I look."), "{}", notes(&said));
    assert!(!said.out.contains("stray words"), "{}", said.out);
    let end = said.events().into_iter().find(|event| event["type"] == "run:end").unwrap();
    assert_eq!(end["usage"]["promptTokens"], 100, "{end}");
    // The agent may not leave its project, and what it wrote by itself is compared.
    let diff = scratch.kb(&["run", "diff", "@last"]).code(0);
    diff.says(&["own.txt", "by-kb.txt"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
    until("the agent ends with its attempt", || alive::working_below(&scratch.root()).is_empty());
}

#[test]
fn a_lie_is_refuted_and_reworked_with_the_findings() {
    let scratch = project(1, WRITES);
    scratch.write(
        ".kb/specialists/coder.yml",
        &scratch.read(".kb/specialists/coder.yml").replace("agent.py]", "agent.py, prompts.log]"),
    );
    let lie = r#"answer {"summary": "Created.", "filesCreated": ["none.txt"]}"#;
    let said = run(&scratch, &[lie]).code(1);
    assert_eq!(verdicts(&said), ["failed", "failed"], "{}", said.out);
    let prompts = scratch.read("prompts.log");
    let second = prompts.split("=====").nth(1).unwrap();
    assert!(second.contains("none.txt") && second.contains("it is not on disk"), "{second}");
}

#[test]
fn a_command_that_only_the_agent_reports_is_no_proof() {
    let scratch = project(0, "tools: ['fs:*', 'shell:exec']\n");
    let answer = r#"answer {"summary": "Ran.", "commandsRun": ["make check"]}"#;
    let said = run(&scratch, &["run make check", answer]);
    assert_eq!(verdicts(&said), ["inconclusive"], "{}", said.out);
    assert!(said.out.contains("what the coding agent itself ran is only reported"), "{}", said.out);
    assert_eq!(calls(&scratch), ["reported:execute success", "agent success"]);
}

#[test]
fn an_invalid_answer_is_repaired_in_the_same_session() {
    let scratch = project(0, WRITES);
    let good = r#"later answer {"summary": "Nothing to do.", "noChanges": "nothing was asked"}"#;
    let said = run(&scratch, &[good, r#"answer {"filesCreated": 7}"#]);
    let notes = notes(&said);
    assert!(notes.contains("repair 1 of 2: the output does not match its schema"), "{}", said.out);
    assert_eq!(notes.matches("the agent `agent` has started").count(), 1, "{notes}");
    let outcomes = said.events().into_iter().filter(|event| event["type"] == "model:call");
    assert_eq!(outcomes.count(), 2);
    run(&scratch, &["answer no object"]).code(1).says(&["KB0503"]);
}

#[test]
fn permissions_follow_the_policy_of_the_specialist() {
    let security = "security: {tools: {fs:read: {denied_paths: ['secret/**']}}}\n";
    let scratch = project(0, &format!("{WRITES}{security}"));
    scratch.write("secret/key", "hunter2\n");
    scratch.write("open.txt", "words\n");
    let lines = [
        "ask edit new.txt",
        "ask edit .kb/x",
        "ask edit ../x",
        "ask execute x",
        "ask read open.txt",
        "ask read secret/key",
        "ask other x",
        "ask think x",
        "show secret/key",
        "show missing",
        "say Done.",
        r#"answer {"summary": "Asked."}"#,
    ];
    let said = run(&scratch, &lines);
    let output = scratch.json(&["run", "output", "@last", "a", "--json"]);
    assert_eq!(output["summary"], "Asked.", "{}", said.out);
    let model = scratch.kb(&["run", "logs", "@last", "a", "--prompts"]);
    let told = format!("{}{}", said.out, model.out);
    for (asked, answer) in
        [("edit", "allow_once"), ("execute", "reject_once"), ("other", "reject_once")]
    {
        assert!(told.contains(&format!("[{asked}: {answer}]")), "{asked}: {told}");
    }
    let notes = notes(&said);
    for refused in ["(edit .kb/x)", "(edit ../x)", "(execute x)", "(read secret/key)", "(other x)"]
    {
        assert!(
            notes.contains(&format!(
                "the agent must not `{}` {refused}",
                &refused[1..refused.find(' ').unwrap()]
            )),
            "{refused}: {notes}"
        );
    }
    for allowed in ["`edit`: edit new.txt", "`read`: read open.txt", "`think`: think x"] {
        assert!(notes.contains(&format!("the agent may {allowed}")), "{allowed}: {notes}");
    }
    assert!(!told.contains("hunter2"), "{told}");
    assert!(calls(&scratch).contains(&"fs:read denied".to_owned()));
    // `resource not found`, without which some agents do not create a file.
    assert!(told.contains("-32002"), "{told}");
}

#[test]
fn a_permission_that_is_asked_for_twice_is_decided_twice_and_the_agent_decides_nothing() {
    let scratch = project(0, "tools: ['fs:read']\n");
    scratch.write("open.txt", "words\n");
    let lines =
        ["twice edit open.txt", "twice read open.txt", r#"answer {"summary": "Asked twice."}"#];
    let said = run(&scratch, &lines).code(0);
    let told =
        format!("{}{}", said.out, scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).out);
    assert!(told.contains("[edit: reject_once reject_once]"), "{told}");
    assert!(told.contains("[read: allow_once allow_once]"), "{told}");
    assert_eq!(notes(&said).matches("the agent must not `edit`").count(), 2, "{told}");
}

#[test]
fn the_sandbox_holds_an_agent() {
    if !has_kernel_sandbox() {
        return;
    }
    let scratch = project(0, WRITES);
    scratch.write("../outside.txt", "mine\n");
    let lines = [
        "write ../outside.txt x",
        "write .kb/x x",
        "env HOME",
        "env CANARY",
        r#"answer {"summary": "Tried."}"#,
    ];
    let what = format!("what={}", lines.join("\n"));
    let args = ["playbook", "run", "p", "--param", &what, "--json"];
    let said = scratch.kb_with(&args, |command| {
        command.env("CANARY", "seen");
    });
    let told =
        format!("{}{}", said.out, scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).out);
    assert!(told.contains("CANARY=not set"), "{told}");
    let home = scratch.root().parent().unwrap().display().to_string();
    assert!(!told.contains(&format!("HOME={home}]")), "{told}");
    assert_eq!(scratch.read("../outside.txt"), "mine\n");
    assert!(!scratch.has(".kb/x"));

    // Without a tool that writes, it cannot write at all.
    let reader = project(0, "tools: ['fs:read']\n");
    run(&reader, &["write own.txt x", "client by-kb.txt x", r#"answer {"summary": "Tried."}"#]);
    assert!(!reader.has("own.txt") && !reader.has("by-kb.txt"));
    assert_eq!(calls(&reader), ["fs:write denied", "agent success"]);
}

/// The list of `docs/agents.md`: of the home folder of the user, settings of git and toolchains are read, and nothing else.
#[test]
fn an_agent_reads_no_configuration_and_no_login_of_the_user() {
    if !has_kernel_sandbox() {
        return;
    }
    const HIDDEN: [&str; 13] = [
        ".claude/settings.json",
        ".claude.json",
        ".gemini/settings.json",
        ".gemini/oauth_creds.json",
        ".config/opencode/opencode.json",
        ".local/share/opencode/auth.json",
        ".codex/auth.json",
        ".config/goose/config.yaml",
        ".ssh/id_ed25519",
        ".netrc",
        ".npmrc",
        ".cargo/credentials.toml",
        ".bash_history",
    ];
    const READ: [&str; 3] = [".gitconfig", ".cargo/config.toml", ".config/git/config"];
    for tools in ["own", "kb"] {
        let scratch = match tools {
            "own" => project(0, WRITES),
            _ => crate::agent_tools::project(0, "'fs:read', 'fs:write'", ""),
        };
        let home = scratch.root().parent().unwrap().canonicalize().unwrap().display().to_string();
        let all = HIDDEN.iter().chain(&READ);
        let mut lines: Vec<String> = all.clone().map(|path| format!("cat {home}/{path}")).collect();
        all.for_each(|path| scratch.write(&format!("../{path}"), &format!("# text of {path}\n")));
        lines.push(r#"say Tried."#.to_owned());
        lines.push(r#"answer {"summary": "Tried."}"#.to_owned());
        let said = run(&scratch, &lines.iter().map(String::as_str).collect::<Vec<_>>());
        let told =
            format!("{}{}", said.out, scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).out);
        for path in HIDDEN {
            assert!(!told.contains(&format!("text of {path}")), "{tools}, {path}: {told}");
        }
        for path in READ {
            assert!(told.contains(&format!("text of {path}")), "{tools}, {path}: {told}");
        }
    }
}

#[test]
fn agents_that_break_the_protocol_fail_with_the_reason() {
    for (line, says) in [
        ("exit", "the agent `agent` ended (exit code 7): the model has gone"),
        ("flood", "the text of a turn has more than 1 MiB"),
        ("huge", "a line has more than 4 MiB"),
        ("refuse", "ended its turn: it refuses to continue"),
    ] {
        let scratch = project(0, WRITES);
        let said = run(&scratch, &["write own.txt hello", line]).code(1);
        said.says(&[says]);
        // What it changed before is recorded all the same.
        assert_eq!(calls(&scratch).last().unwrap(), "agent success", "{line}");
        scratch.kb(&["run", "diff", "@last"]).says(&["own.txt"]);
    }
    let scratch = project(0, WRITES);
    let said = run(&scratch, &[]).code(1);
    said.says(&["KB0503"]);
}

#[test]
fn a_turn_without_an_end_is_ended_by_the_timeout() {
    let scratch = project(0, &format!("{WRITES}limits: {{timeout: 3s}}\n"));
    let said = run(&scratch, &["write own.txt hello", "hang"]).code(1);
    said.says(&["\"outcome\":\"timeout\""]);
    assert_eq!(calls(&scratch).last().unwrap(), "agent success");
    until("the agent is gone", || alive::working_below(&scratch.root()).is_empty());

    let limited = project(0, &format!("{WRITES}limits: {{maxToolCalls: 2}}\n"));
    run(&limited, &["run a", "run b", "run c"]).code(1).says(&["KB0506", "2 tool calls"]);
}

#[test]
fn definitions_of_agents_are_checked() {
    let load = |agent: &str| {
        let text = format!("schema: kb.specialist/1\nid: coder\nrole: You write.\n{agent}\n");
        let scratch = Scratch::new(&[(".kb/specialists/coder.yml", &text)]);
        scratch.kb(&["specialist", "validate"])
    };
    for good in
        ["agent: opencode", "agent: {name: gemini, model: x}", "agent: {command: my-agent --acp}"]
    {
        load(good).code(0);
    }
    for (agent, says) in [
        ("agent: open-code", "did you mean `opencode`?"),
        ("agent: nobody", "known agents are `claude-code`"),
        ("agent: {model: x}", "`agent` needs a `name` or a `command`"),
        ("agent: {command: []}", "the program is empty"),
        ("agent: {command: ['{{x}}']}", "cannot contain placeholders"),
        (
            "agent: opencode\nllm: {tier: small}",
            "`llm` has no meaning for a specialist with `agent`",
        ),
        ("agent: opencode\nagentLoop: {maxIterations: 2}", "`agentLoop` has no meaning"),
        ("agent: opencode\nlimits: {maxSteps: 3}", "`maxSteps` has no meaning"),
        ("agent: opencode\nmcp_servers: [{name: a, command: b}]", "`mcp_servers` has no meaning"),
    ] {
        load(agent).code(2).says(&[says]);
    }
}

#[test]
fn an_agent_must_be_installed_and_have_the_mode() {
    let start = |agent: &str| {
        let scratch = project(0, WRITES);
        let text = scratch.read(".kb/specialists/coder.yml");
        let text = text.replace("agent: {tools: own, command: [python3, agent.py]}", agent);
        scratch.write(".kb/specialists/coder.yml", &text);
        scratch
    };
    let missing = start("agent: {name: opencode, tools: own, command: [no-such-agent]}");
    run(&missing, &["answer x"]).code(1).says(&["KB1402", "the agent `opencode` did not start"]);
    missing
        .kb(&["doctor"])
        .says(&["the program `no-such-agent` of the agent of `coder` does not exist"]);
    let mode = start("agent: {tools: own, command: [python3, agent.py], mode: yolo}");
    run(&mode, &["answer x"]).code(1).says(&["KB1405", "has no mode `yolo`; it has `default`"]);
    let created = Scratch::new(&[]);
    created.kb(&["specialist", "new", "mine", "--agent", "opencode"]).code(0);
    created.kb(&["specialist", "validate"]).code(0);
    assert!(created.read(".kb/specialists/mine.yml").contains("name: opencode"));
    created.kb(&["specialist", "new", "other", "--agent", "open-code"]).code(4).says(&["opencode"]);
}

/// An agent executes code, and can write in caches: what follows it is confined although no tool of it writes.
#[test]
fn commands_after_an_agent_that_only_reads_are_confined() {
    let agent = "schema: kb.specialist/1\nid: reader\nrole: Read.\nagent: {command: [cat]}\ntools: [\"fs:read\"]\n";
    let steps = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: read, specialist: reader, task: Look}\n  - {id: later, dependsOn: [read], run: \"true\"}\n";
    let scratch =
        Scratch::new(&[(".kb/specialists/reader.yml", agent), (".kb/playbooks/p.yml", steps)]);
    scratch.kb(&["playbook", "validate", "p"]).code(0).says(&["later", "in the sandbox"]);
    let model = agent.replace("agent: {command: [cat]}\n", "");
    scratch.write(".kb/specialists/reader.yml", &model);
    assert!(!scratch.kb(&["playbook", "validate", "p"]).code(0).out.contains("in the sandbox"));
}

/// An agent with a secret or a network executes nothing that a model could have written in the project: neither its
/// command nor its variables name the project in any form, and it does not start there.
#[test]
fn the_project_is_not_on_the_way_to_an_agent_with_a_secret_or_a_network() {
    if !has_kernel_sandbox() {
        return;
    }
    let start = |agent: &str, more: &str, env: &str| {
        let scratch = project(0, WRITES);
        let root = scratch.root().canonicalize().unwrap();
        let name = root.file_name().unwrap().to_str().unwrap();
        let root = root.display().to_string();
        let interpreted = format!("#!{root}/.venv/bin/python3\nimport sys\n");
        for (path, text) in
            [("../bin/interpreted", &*interpreted), (".venv/bin/tool", "#!/bin/sh\n")]
        {
            scratch.write(path, text);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(scratch.root().join(path), mode).unwrap();
        }
        for (target, link) in
            [(root.clone(), "../alias"), (format!("{root}/.venv/bin/tool"), "../bin/linked")]
        {
            std::os::unix::fs::symlink(target, scratch.root().join(link)).unwrap();
        }
        let placed = |text: &str| text.replace("ROOT", &root).replace("NAME", name);
        let text = scratch.read(".kb/specialists/coder.yml");
        let agent = format!("{}\n{more}", placed(agent));
        let text = text.replace("agent: {tools: own, command: [python3, agent.py]}", &agent);
        scratch.write(".kb/specialists/coder.yml", &text);
        let with_env = format!("specialist: coder, {}", placed(env));
        let text = scratch.read("playbooks/p.yml").replace("specialist: coder,", &with_env);
        scratch.write("playbooks/p.yml", &text);
        scratch
            .write(".kb/kb.config.yml", "secrets: {KEY: 'env:KEY'}\nenv: {pass: [PYTHONHOME]}\n");
        let args = ["playbook", "run", "p", "--param", "what=answer x"];
        scratch.kb_with(&args, |command| {
            command.env("KEY", "hunter2-hunter2");
            if more.contains("of the user") {
                command.env("PYTHONHOME", &root);
            }
        })
    };
    const KEY: &str = "env: {KEY: 'env:KEY'}";
    const OPEN: &str = "network: open";
    let secret = format!("agent: {{tools: own, command: [python3, agent.py], {KEY}}}");
    for (agent, more, env) in [
        (secret.as_str(), "", ""),
        ("agent: {tools: own, command: [python3, agent.py]}", OPEN, ""),
        ("agent: {tools: own, command: [sh, -c, 'exec python3 ROOT/agent.py']}", OPEN, ""),
        ("agent: {tools: own, command: [sh, -c, 'exec python3 ./agent.py']}", OPEN, ""),
        ("agent: {tools: own, command: [sh, -c, 'exec python3 ../NAME/agent.py']}", OPEN, ""),
        ("agent: {tools: own, command: [python3, ROOT/../alias/agent.py]}", OPEN, ""),
        ("agent: {tools: own, command: [node, '-rROOT/agent.js']}", OPEN, ""),
        ("agent: {tools: own, command: [ROOT/../bin/linked]}", OPEN, ""),
        ("agent: {tools: kb, command: [ROOT/../bin/linked]}", OPEN, ""),
        ("agent: {tools: own, command: [ROOT/../bin/interpreted]}", OPEN, ""),
        ("agent: {tools: own, command: [cat], env: {BASH_ENV: 'ROOT/agent.py'}}", OPEN, ""),
        ("agent: {tools: own, command: [cat], env: {A: '--import=file://ROOT/a.mjs'}}", OPEN, ""),
        ("agent: {tools: own, command: [cat]}", OPEN, "env: {PYTHONPATH: '/tmp:ROOT/../alias'},"),
        ("agent: {tools: own, command: [python3, agent.py]}", "", "env: {KEY: '{{secrets.KEY}}'},"),
        ("agent: {tools: own, command: [cat]}", "network: open # and a variable of the user", ""),
    ] {
        let said = start(agent, more, env);
        said.code(1).says(&["KB1402", "which a model could write", "outside of the project"]);
    }
    // What names no file is not found, because the working directory and the folders of `PATH` are others.
    for (command, env) in [
        ("[python3, -m, agent]", ""),
        ("[python3, .]", ""),
        ("[tool]", "env: {PATH: 'ROOT/.venv/bin:/usr/bin:/bin'},"),
    ] {
        let said = start(&format!("agent: {{tools: own, command: {command}}}"), OPEN, env);
        let said = said.code(1).says(&["KB1402"]);
        assert!(!said.err.contains("a model could write"), "{said:?}");
    }
}
