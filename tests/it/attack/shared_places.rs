//! Places that a specialist and the author could share: definitions behind a linked folder, and
//! temporary directories.

use crate::scratch::Scratch;
use serde_json::json;

const SPECIALIST: &str = "schema: kb.specialist/1
id: worker
role: You change what others read.
tools: [fs:write, shell:exec]
";

/// Runs a playbook in a linked folder whose specialist makes these calls.
fn run(steps: &str, calls: &[serde_json::Value]) -> (Scratch, crate::scratch::Said) {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: work, agent: worker, task: Try., verify: {{claims: none}}}}\n{steps}"
    );
    let turns = json!([{"calls": calls}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}}).to_string();
    let scratch = Scratch::new(&[
        ("shared/p.yml", &playbook),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script),
    ]);
    std::os::unix::fs::symlink("../shared", scratch.root().join(".kb/playbooks")).unwrap();
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--yes"]);
    (scratch, said)
}

#[test]
fn definitions_behind_a_linked_folder_are_not_written() {
    for path in ["shared/evil.yml", ".kb/playbooks/evil.yml", "shared/p.yml"] {
        let call = json!({"tool": "fs:write", "args": {"path": path, "content": "x"}});
        let (scratch, said) = run("", &[call]);
        said.says(&["KB0606"]);
        assert!(!scratch.has("shared/evil.yml"), "{path}");
        assert!(!scratch.read("shared/p.yml").starts_with('x'), "{path}");
    }
    // Read-only where the kernel can hold it, noticed anywhere else: the step never succeeds with it.
    for command in ["echo x >> shared/p.yml", "mv shared s; mkdir shared; echo x > shared/p.yml"] {
        let call = json!({"tool": "shell:exec", "args": {"command": command}});
        let (scratch, said) = run("", &[call]);
        let kept = scratch.has("shared/p.yml") && !scratch.read("shared/p.yml").ends_with("x\n");
        assert!(kept || said.code != 0 && said.err.contains("KB0606"), "{command}: {said:?}");
    }
}

#[test]
fn a_specialist_and_the_author_have_different_temporary_directories() {
    let call = json!({"tool": "shell:exec", "args": {"command": "touch \"$TMPDIR/planted\""}});
    let steps = "  - {id: look, dependsOn: work, run: 'test ! -e \"$TMPDIR/planted\" && ls -A \"$TMPDIR\" | wc -l'}\n";
    let (_, said) = run(steps, &[call]);
    said.code(0).says(&["p succeeded"]);
}

/// The namespaces of a command may be those of the one before it: nothing of it is in them, and what was replaced in the
/// project meanwhile is.
#[test]
fn a_command_finds_nothing_of_the_one_before_it_in_its_private_places() {
    let steps = [
        "sandbox: always, run: 'touch /dev/shm/left ~/.cache/left; cat .husky/x'",
        "sandbox: always, run: 'test ! -e /dev/shm/left; ls -A /dev/shm | wc -l | grep -qx 0'",
        "sandbox: never, run: 'mv .husky old; mkdir .husky; echo new > .husky/x; echo y > .envrc'",
        "sandbox: always, run: 'grep -qx new .husky/x; grep -qx y .envrc'",
        "sandbox: always, run: 'if echo z > .husky/x; then exit 1; fi; if rm .envrc; then exit 1; fi'",
        // A server of its own, whose closed connections the next network does not have.
        "sandbox: always, run: [python3, -c, 'import socket; s=socket.create_server((\"127.0.0.1\",4711)); c=socket.create_connection((\"127.0.0.1\",4711)); a,_=s.accept(); a.close(); c.close()']",
        "sandbox: always, run: 'test $(grep -c . /proc/net/tcp) = 1'",
    ];
    let chain: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| {
            let after = if at == 0 { String::new() } else { format!("dependsOn: s{}, ", at - 1) };
            format!("  - {{id: s{at}, {after}{step}}}\n")
        })
        .collect();
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n{}", chain.concat());
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook), (".husky/x", "old\n")]);
    if !crate::scratch::has_kernel_sandbox() {
        return;
    }
    scratch.kb(&["playbook", "run", "p"]).code(0);
}

/// A model, or a repository, has links in place of folders: no file that a person lets `kb` write goes through one out of
/// the project. Those that lead to another folder of it are followed.
#[test]
fn kb_writes_no_file_through_a_link_that_leads_out_of_the_project() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'true'}]\n";
    let test = "schema: kb.test/1\nplaybook: p\ntests: [{name: n, expect: {status: succeeded, snapshot: true}}]\n";
    for leads_out in [true, false] {
        let scratch = Scratch::new(&[
            ("playbooks/p.yml", playbook),
            (".kb/kb.config.yml", "limits: {}\n"),
            ("inside/tests/p.test.yml", test),
            ("../outside/tests/p.test.yml", test),
        ]);
        let target = if leads_out { "../outside" } else { "inside" };
        for (link, to) in [
            ("reports", target.to_owned()),
            (".kb/tests", format!("../{target}/tests")),
            (".kb/specialists", format!("../{target}")),
            (".kb/memory", format!("../{target}")),
        ] {
            std::os::unix::fs::symlink(to, scratch.root().join(link)).unwrap();
        }
        scratch.kb(&["playbook", "run", "p"]).code(0);
        let files = |folder: &str| {
            let all = walk(&scratch.root().join(folder));
            all.into_iter().filter(|file| !file.ends_with("p.test.yml")).collect::<Vec<_>>()
        };
        scratch.kb(&["memory", "add", "The port is 8080."]).code(0);
        let id = scratch.kb(&["memory", "list"]).out;
        let id = id.split_whitespace().find(|word| word.starts_with("m-")).unwrap().to_owned();
        for args in [
            &["playbook", "test", "--junit", "reports/j.xml"][..],
            &["playbook", "test", "--junit", "reports/new/j.xml"],
            &["playbook", "test", "--update"],
            &["backup", "reports/b.bak"],
            &["schema", "--out", "reports/schemas"],
            &["man", "--out", "reports/man"],
            &["specialist", "new", "someone"],
            &["memory", "approve", &id],
        ] {
            let before = files(target).len();
            let said = scratch.kb(args);
            let text = format!("{}{}", said.out, said.err);
            assert_eq!(
                text.contains("a link leads out of the project"),
                leads_out,
                "{args:?}: {text}"
            );
            assert_eq!(files(target).len() > before, !leads_out, "{args:?}: {text}");
        }
    }
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
