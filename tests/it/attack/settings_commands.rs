//! Commands of secrets and of notifications, after a specialist could write to the project: what they execute of it
//! runs in the sandbox.

use crate::paid_calls::Provider;
use crate::running::Start;
use crate::scratch::{Said, Scratch, until};
use kb::trigger::TriggerStore;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

const SPECIALIST: &str =
    "schema: kb.specialist/1\nid: worker\nrole: You write.\ntools: [fs:write]\n";
/// The value that each command prints, and what a planted one does besides.
const TELLS: &str = "echo told-77a1f0c2";
const PLANT: &str = "{ echo pwned > $HOME/pwned; } 2> /dev/null || true; echo told-77a1f0c2";

/// The files of the project that a command executes: as the author wrote them, or as the specialist does.
fn files(text: &str) -> Vec<(&'static str, String)> {
    let python = format!("import os\nos.system('''{text}''')\n");
    let make = format!("token:\n\t@{}\n", text.replace('$', "$$"));
    vec![("token.sh", format!("#!/bin/sh\n{text}\n")), ("token.py", python), ("Makefile", make)]
}

fn project(settings: &str, steps: &str) -> Scratch {
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let scratch = Scratch::new(&[
        (".kb/kb.config.yml", settings),
        (".kb/playbooks/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
    ]);
    files(TELLS).iter().for_each(|(path, text)| scratch.write(path, text));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.root().join("token.sh"), mode).unwrap();
    let calls: Vec<_> = files(PLANT)
        .into_iter()
        .map(|(path, text)| json!({"tool": "fs:write", "args": {"path": path, "content": text}}))
        .collect();
    let turns = json!([{"calls": calls}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    scratch.write("script.yml", &script.to_string());
    std::fs::create_dir_all(home(&scratch)).unwrap();
    scratch
}

fn home(scratch: &Scratch) -> PathBuf {
    scratch.root().parent().unwrap().join("home")
}

fn run(scratch: &Scratch, args: &[&str], level: &str) -> (Said, bool) {
    let said = scratch.kb_with(args, |kb| {
        kb.env("HOME", home(scratch)).env("KB_SANDBOX_AT_MOST", level);
    });
    (said, home(scratch).join("pwned").exists())
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];
const WORK: &str = "  - {id: work, agent: worker, task: Write., verify: {claims: none}}\n";
const LATER: &str = "run: 'test \"$T\" = told-77a1f0c2', env: {T: '{{secrets.T}}'}";

/// What the machine can do: `Some(true)` with namespaces, `Some(false)` with Landlock alone.
fn sandbox() -> Option<bool> {
    let said = Scratch::new(&[]).kb(&["doctor"]).out;
    let has = said.contains("Landlock");
    if !has {
        eprintln!("skipped in part: this machine has no kernel sandbox");
    }
    has.then(|| !said.contains("can be read"))
}

/// What a command in the sandbox prints is a value of others, also in a later run without a specialist.
#[test]
fn a_secret_of_a_command_in_the_sandbox_is_a_foreign_value() {
    if sandbox().is_none() {
        return;
    }
    let settings = "secrets: {T: {command: [sh, token.sh]}}\n";
    let scratch = project(settings, WORK);
    let later = "schema: kb.playbook/1\nid: q\nsteps:\n  - {id: m, run: '(( T > 3 )) || true', env: {T: '{{secrets.T}}'}}\n";
    scratch.write(".kb/playbooks/q.yml", later);
    let (said, _) = run(&scratch, &RUN, "kernel");
    said.code(0);
    scratch.write("token.sh", "#!/bin/sh\necho 'PATH[$(echo pwned > $HOME/pwned)]'\n");
    let (said, pwned) = run(&scratch, &["playbook", "run", "q"], "kernel");
    assert!(!pwned, "{said:?}");
}

/// A step that executes such a value can write: what follows it, also in the run above, runs in the sandbox.
#[test]
fn a_step_that_executes_a_foreign_secret_counts_as_one_that_can_write() {
    if sandbox().is_none() {
        return;
    }
    let settings = "secrets: {T: {command: [sh, token.sh]}}\n";
    let scratch = project(settings, WORK);
    let (said, _) = run(&scratch, &RUN, "kernel");
    said.code(0);
    scratch.write(
        "token.sh",
        "#!/bin/sh\necho 'PATH[$(echo \"echo pwned > \\$HOME/pwned\" > ci.sh)]'\n",
    );
    let reads = "{id: m, run: '(( T > 3 )) || true', env: {T: '{{secrets.T}}'}}";
    let playbook = |id: &str, steps: &str| {
        let text = format!("schema: kb.playbook/1\nid: {id}\nsteps:\n{steps}");
        scratch.write(&format!(".kb/playbooks/{id}.yml"), &text);
    };
    playbook("child", &format!("  - {reads}\n"));
    let after = "{id: c, dependsOn: m, run: 'test -e ci.sh; bash ci.sh || true; echo ran >> out'}";
    let beside = "{id: c, run: 'while ! test -e ci.sh; do sleep 0.05; done; bash ci.sh || true; echo ran >> out', workspace: shared}";
    for (id, steps) in [
        ("above", format!("  - {{id: m, playbook: child}}\n  - {after}\n")),
        ("same", format!("  - {reads}\n  - {after}\n")),
        (
            "beside",
            format!("  - {}\n  - {beside}\n", reads.replace("run:", "workspace: shared, run:")),
        ),
    ] {
        let _ = std::fs::remove_file(scratch.root().join("ci.sh"));
        let _ = std::fs::remove_file(scratch.root().join("out"));
        playbook(id, &steps);
        let (said, pwned) = run(&scratch, &["playbook", "run", id], "kernel");
        assert!(scratch.has("out") && scratch.has("ci.sh"), "{id}: {said:?}");
        assert!(!pwned, "{id}: {said:?}");
    }
}

/// Whether a command names a file of the project.
const SECRETS: [(&str, bool); 7] = [
    ("[./token.sh]", true),
    ("[sh, token.sh]", true),
    ("[python3, token.py]", true),
    ("[env, X=1, sh, ./token.sh]", true),
    ("[make, -s, -f, Makefile, token]", true),
    ("[make, -s, token]", false),
    ("[sh, -c, '. ./token.sh']", false),
];

#[test]
fn the_command_of_a_secret_executes_what_a_specialist_wrote_in_the_sandbox() {
    let Some(_) = sandbox() else { return };
    for (command, named) in SECRETS {
        let settings = format!("secrets: {{T: {{command: {command}}}}}\n");
        let steps = format!("{WORK}  - {{id: later, dependsOn: work, {LATER}}}\n");
        let (said, escaped) = run(&project(&settings, &steps), &RUN, "kernel");
        assert!(!escaped, "{command}: {said:?}");
        // One that names the file works in the sandbox; for the others the project does not exist.
        assert_eq!(said.code == 0, named, "{command}: {said:?}");
        if !named {
            said.says(&["step `work` could write to it", "without the project folder"]);
        }
        // A person who read the changes releases it, so that the attack is known to work.
        let steps = format!(
            "{WORK}  - {{id: ok, dependsOn: work, approve: 'Go on?'}}\n  - {{id: later, dependsOn: ok, {LATER}}}\n"
        );
        let scratch = project(&settings, &steps);
        assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
        let (shown, _) = run(&scratch, &["run", "diff", "@last"], "kernel");
        let (_, seen) = shown.err.split_once("--seen ").unwrap();
        let seen = seen.split('`').next().unwrap();
        let approve = ["run", "approve", "@last", "ok", "--seen", seen];
        let (said, executed) = run(&scratch, &approve, "kernel");
        assert!(executed && said.code == 0, "{command}: {said:?}");
    }
}

/// A value that was read before is kept for the process, and the secret of the first specialist is read before it
/// starts. Another process that continues the run reads it in the sandbox.
#[test]
fn a_secret_that_was_read_before_a_specialist_started_is_kept() {
    let Some(_) = sandbox() else { return };
    let settings = "secrets: {T: {command: [sh, token.sh]}}\n";
    let free = "{ echo x >> $HOME/asked; } 2> /dev/null; echo told-77a1f0c2";
    let work = WORK.replace("task:", "env: {T: '{{secrets.T}}'}, task:");
    for (steps, asked) in [
        (format!("{work}  - {{id: later, dependsOn: work, {LATER}}}\n"), "x\n"),
        (
            format!("  - {{id: a, {LATER}}}\n{}", WORK.replace("agent", "dependsOn: a, agent")),
            "x\n",
        ),
    ] {
        let scratch = project(settings, &steps);
        scratch.write("token.sh", free);
        let (said, escaped) = run(&scratch, &RUN, "kernel");
        assert!(said.code == 0 && !escaped, "{steps}: {said:?}");
        let seen = std::fs::read_to_string(home(&scratch).join("asked")).unwrap_or_default();
        assert_eq!(seen, asked, "{steps}");
    }
    let wait = "  - {id: ok, dependsOn: work, ask: {question: Which?, options: [a, b]}}\n";
    let steps = format!("{work}{wait}  - {{id: later, dependsOn: ok, {LATER}}}\n");
    let scratch = project(settings, &steps);
    assert_eq!(run(&scratch, &RUN, "kernel").0.code, 3);
    let (said, escaped) = run(&scratch, &["run", "answer", "@last", "ok", "a"], "kernel");
    assert!(said.code == 0 && !escaped, "{said:?}");
}

/// In the sandbox it changes nothing of the project, so no change is left out before an approval.
#[test]
fn the_command_of_a_secret_changes_nothing_of_the_project() {
    let Some(_) = sandbox() else { return };
    let steps = format!("{WORK}  - {{id: later, dependsOn: work, {LATER}}}\n");
    let scratch = project("secrets: {T: {command: [sh, token.sh]}}\n", &steps);
    scratch.write("ci.sh", "true\n");
    let text = format!(
        "{{ echo evil > ci.sh; echo x > .envrc; mkdir -p sub/.git; touch token.py; }} 2> seen || true\n{TELLS}\n"
    );
    let call = json!({"tool": "fs:write", "args": {"path": "token.sh", "content": text}});
    let turns = json!([{"calls": [call]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    scratch.write("script.yml", &script.to_string());
    run(&scratch, &RUN, "kernel").0.code(0);
    assert_eq!(scratch.read("ci.sh"), "true\n");
    assert!([".envrc", "sub", "seen"].iter().all(|path| !scratch.has(path)));
}

/// What `sandbox` opens for writing counts as inside of the project.
#[test]
fn a_command_of_the_settings_executes_nothing_of_an_opened_folder_outside_of_the_sandbox() {
    let Some(can_hide) = sandbox() else { return };
    for (command, named) in [("sh TOOLS/token.sh", true), ("sh -c '. TOOLS/token.sh'", false)] {
        for by_step in [false, true] {
            let own = if by_step { "sandbox: {write: [~/tools]}, " } else { "" };
            let steps = format!(
                "{WORK}  - {{id: a, dependsOn: work, {own}run: 'true'}}\n  - {{id: later, dependsOn: a, {LATER}}}\n"
            );
            let scratch = project("", &steps);
            let tools = home(&scratch).join("tools");
            std::fs::create_dir_all(&tools).unwrap();
            std::fs::write(tools.join("token.sh"), PLANT).unwrap();
            let command = command.replace("TOOLS", &tools.display().to_string());
            let command: Vec<&str> =
                command.splitn(3, ' ').map(|word| word.trim_matches('\'')).collect();
            let mut settings = json!({"secrets": {"T": {"command": command}}});
            if !by_step {
                settings["sandbox"] = json!({"write": ["~/tools"]});
            }
            scratch.write(".kb/kb.config.yml", &settings.to_string());
            let (said, escaped) = run(&scratch, &RUN, "kernel");
            assert!(!escaped, "{command:?} {by_step}: {said:?}");
            assert_eq!(said.code == 0, named || !can_hide, "{command:?} {by_step}: {said:?}");
            // No difference shows a person what was written there, so it counts in later runs too.
            let playbook =
                format!("schema: kb.playbook/1\nid: q\nsteps:\n  - {{id: only, {own}{LATER}}}\n");
            scratch.write(".kb/playbooks/q.yml", &playbook);
            let (said, escaped) = run(&scratch, &["playbook", "run", "q"], "kernel");
            if named {
                assert!(!escaped && said.code == 0, "{command:?} {by_step}: {said:?}");
            }
        }
    }
}

/// A program that another one finds in `PATH` is named too, in the run of the specialist and in later ones.
#[test]
fn a_program_of_path_in_an_opened_folder_is_executed_in_the_sandbox() {
    if sandbox().is_none() {
        return;
    }
    for command in [vec!["env", "token"], vec!["sh", "-c", "token"], vec!["token"]] {
        let scratch = project("", WORK);
        let settings =
            json!({"secrets": {"T": {"command": command}}, "sandbox": {"write": ["~/tools"]}});
        scratch.write(".kb/kb.config.yml", &settings.to_string());
        let later = format!("schema: kb.playbook/1\nid: q\nsteps:\n  - {{id: only, {LATER}}}\n");
        scratch.write(".kb/playbooks/q.yml", &later);
        let program = home(&scratch).join("tools/token");
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, format!("#!/bin/sh\n{PLANT}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::join_paths(
            [home(&scratch).join("tools")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var("PATH").unwrap())),
        );
        for (args, is_free) in [
            (&["playbook", "run", "q"][..], true),
            (&RUN, false),
            (&["playbook", "run", "q"], false),
        ] {
            let said = scratch.kb_with(args, |kb| {
                kb.env("HOME", home(&scratch)).env("PATH", path.as_ref().unwrap());
            });
            let planted = home(&scratch).join("pwned");
            assert_eq!(
                (said.code, planted.exists()),
                (0, is_free),
                "{command:?} {args:?}: {said:?}"
            );
            let _ = std::fs::remove_file(planted);
        }
    }
}

/// A command that names nothing of the project has all but the project and the state of `kb`.
#[test]
fn a_command_outside_of_the_project_is_free_but_for_the_project() {
    let Some(true) = sandbox() else { return };
    let steps = format!("{WORK}  - {{id: later, dependsOn: work, {LATER}}}\n");
    let scratch = project("", &steps);
    let root = scratch.root().display().to_string();
    let state = scratch.root().parent().unwrap().join("state").display().to_string();
    let look = format!(
        "{TELLS}; touch $HOME/wrote; ls -A '{root}' > $HOME/seen; find '{state}' -type f >> $HOME/seen; pwd >> $HOME/seen"
    );
    let settings = json!({"secrets": {"T": {"command": ["sh", "-c", look]}}});
    scratch.write(".kb/kb.config.yml", &settings.to_string());
    let (said, _) = run(&scratch, &RUN, "kernel");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(home(&scratch).join("wrote").exists());
    let seen = std::fs::read_to_string(home(&scratch).join("seen")).unwrap();
    assert_eq!(seen.trim(), home(&scratch).canonicalize().unwrap().display().to_string());
}

/// Without a sandbox, a command that names a file of the project needs an approval.
#[test]
fn without_a_sandbox_a_command_of_the_project_needs_an_approval() {
    let steps = format!("{WORK}  - {{id: later, dependsOn: work, {LATER}}}\n");
    let settings = "secrets: {T: {command: [sh, token.sh]}}\n";
    let (said, escaped) = run(&project(settings, &steps), &RUN, "process");
    assert!(!escaped && said.code == 1, "{said:?}");
    said.says(&["step `work` could write to", "token.sh", "`--yes`"]);
    let scratch = project(settings, &steps);
    let (said, executed) = run(&scratch, &[&RUN[..], &["--yes"]].concat(), "process");
    assert!(executed && said.code == 0, "{said:?}");
}

#[test]
fn the_command_of_a_notification_executes_what_a_specialist_wrote_in_the_sandbox() {
    let Some(can_hide) = sandbox() else { return };
    for (command, shows) in [
        ("[sh, token.sh, '> told']", "token"),
        ("[sh, -c, 'touch told; . ./token.sh']", "hidden"),
        ("[sh, -c, 'touch $HOME/told']", "told"),
    ] {
        if shows != "token" && !can_hide {
            continue;
        }
        let settings = format!("notify: [{{on: ended, command: {command}}}]\n");
        // The one in the sandbox can change nothing of the project.
        let scratch = project(&settings, WORK);
        let plant = json!({"tool": "fs:write", "args": {"path": "token.sh", "content": format!("{PLANT}; touch told")}});
        let turns = json!([{"calls": [plant]}, {"output": {"summary": "done"}}]);
        let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
        scratch.write("script.yml", &script.to_string());
        let mut serve = scratch.command();
        serve.args(["serve", "--port", "0"]).env("HOME", home(&scratch)).stderr(Stdio::null());
        let _serve = serve.start();
        until("the daemon", || is_served(&scratch));
        let (said, _) = run(&scratch, &RUN, "kernel");
        assert_eq!(said.code, 0, "{said:?}");
        until("the notification", || match shows {
            "token" => scratch.kb(&["notify"]).out.contains("cannot change the project"),
            "told" => home(&scratch).join("told").exists(),
            _ => scratch.kb(&["notify"]).out.contains("without the project folder"),
        });
        assert!(!scratch.has("told"), "{command}");
        assert!(!home(&scratch).join("pwned").exists(), "{command}");
        if shows == "token" {
            // The next run has no specialist.
            let next = "schema: kb.playbook/1\nid: next\nsteps: [{id: a, set: {x: 1}}]\n";
            scratch.write(".kb/playbooks/next.yml", next);
            scratch.kb(&["playbook", "run", "next"]).code(0);
            let told = || scratch.kb(&["notify"]).out.matches("cannot change the project").count();
            until("the notification of the next run", || told() > 1);
            assert!(!home(&scratch).join("pwned").exists(), "{command}");
        }
    }
}

/// Whether the daemon tells about the runs that end from now on.
fn is_served(scratch: &Scratch) -> bool {
    let states = scratch.root().parent().unwrap().join("state/kb");
    let mut folders = std::fs::read_dir(states).into_iter().flatten().flatten();
    folders.any(|folder| {
        let store = TriggerStore::open(&folder.path());
        store.is_ok_and(|store| store.note("notify.cursor").is_ok_and(|note| note.is_some()))
    })
}

/// A hook is tested as it is told: what happened to the project before is not known.
#[test]
fn the_test_of_a_notification_executes_the_project_in_the_sandbox() {
    let Some(_) = sandbox() else { return };
    let settings = "notify: [{name: own, on: ended, command: [sh, token.sh]}]\n";
    let scratch = project(settings, WORK);
    scratch.write("token.sh", &format!("{PLANT}; touch told\n"));
    let (said, escaped) = run(&scratch, &["notify", "--test", "own"], "kernel");
    assert!(!escaped && !scratch.has("told"), "{said:?}");
    said.says(&["it ran in the sandbox, where it cannot change the project"]);
    let (said, escaped) = run(&scratch, &["notify", "--test", "own"], "process");
    assert!(!escaped && said.code != 0, "{said:?}");
}

/// A task that a specialist delegates is work after what the specialist wrote.
#[test]
fn the_command_of_a_secret_of_a_delegate_knows_what_the_specialist_could_write() {
    let Some(_) = sandbox() else { return };
    for (trust, escapes) in [("", false), ("sandbox: {steps: never}\n", true)] {
        let write = json!({"path": "token.sh", "content": files(PLANT)[0].1});
        let delegate = json!({"agent": "coder", "task": "Go on"});
        let provider = Provider::calling(&[("fs_write", write), ("delegate", delegate)]);
        let settings = format!(
            "secrets: {{T: {{command: [sh, token.sh]}}}}\n{trust}llm: {{tiers: {{medium: {{endpoint: \"{}/v1\", model: m, stream: false, contextWindow: 32000}}}}}}\n",
            provider.server.uri()
        );
        let scratch = project(&settings, WORK);
        let worker = SPECIALIST.replace("[fs:write]", "[fs:write, delegate]");
        scratch.write(".kb/specialists/worker.yml", &worker);
        scratch.write(
            ".kb/specialists/coder.yml",
            "schema: kb.specialist/1\nid: coder\nrole: You code.\nagent: {command: ['false'], tools: own, env: {T: '{{secrets.T}}'}}\ntools: ['fs:*', shell:exec]\n",
        );
        let (said, escaped) = run(&scratch, &["playbook", "run", "p", "--yes"], "kernel");
        assert_eq!(escaped, escapes, "{trust}: {said:?}");
    }
}

/// What the settings read a value from is theirs: an address, or a secret by which words of a difference are masked.
#[test]
fn models_do_not_write_what_the_settings_read_a_value_from() {
    let Some(_) = sandbox() else { return };
    const TOKEN: &str = "told-77a1f0c2";
    for settings in [
        "secrets: {T: file:conf/token}\n",
        "notify: [{webhook: {url: file:conf/token}}]\n",
        "notify: [{webhook: {url: 'https://example.org/', secret: file:conf/token}}]\n",
        "mcp: {servers: {s: {command: [mcp-s], env: {URL: 'file:conf/token'}}}}\n",
        "mcp: {servers: {s: {url: 'https://mcp.example.org/', token: 'file:conf/token'}}}\n",
        "agents: {mine: {command: [mine, --acp], env: {URL: 'file:conf/token'}}}\n",
        "role: r\nagent: {command: [mine, --acp], env: {URL: 'file:conf/token'}}\n",
        "role: r\nmcpServers: [{name: s, url: 'https://mcp.example.org/', token: 'file:conf/token'}]\n",
    ] {
        let work = WORK.replace("verify:", "onError: continue, verify:");
        let scratch = project(if settings.starts_with("role") { "" } else { settings }, &work);
        if settings.starts_with("role") {
            // No step of this run has it: a later run can.
            let other = format!("schema: kb.specialist/1\nid: other\n{settings}");
            scratch.write(".kb/specialists/other.yml", &other);
        }
        scratch.write(
            ".kb/specialists/worker.yml",
            &SPECIALIST.replace("[fs:write]", "[fs:write, shell:exec]"),
        );
        scratch.write("conf/token", TOKEN);
        let write = json!({"tool": "fs:write", "args": {"path": "conf/token", "content": "x"}});
        let shell = json!({"tool": "shell:exec", "args": {"command": "echo x > conf/token; mv conf c; cat conf/token"}});
        let turns =
            json!([{"calls": [write]}, {"calls": [shell]}, {"output": {"summary": "done"}}]);
        let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
        scratch.write("script.yml", &script.to_string());
        let (said, _) = run(&scratch, &RUN, "kernel");
        let kept = std::fs::read_to_string(scratch.root().join("conf/token"));
        assert_eq!(kept.unwrap_or_default(), TOKEN, "{settings}: {said:?}");
    }
}
