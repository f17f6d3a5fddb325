//! The memory where something goes wrong: kills, branches, moves, secrets, floods, and a project that has it switched off.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ON: &str = "memory: {enabled: true}\n";
const ASK: &str =
    "schema: kb.playbook/1\nid: ask\nsteps:\n  - {id: a, specialist: helper, task: Which port?}\n";

fn project(settings: &str, tools: &str) -> Scratch {
    let specialist = format!("schema: kb.specialist/1\nid: helper\nrole: You help.\n{tools}\n");
    Scratch::new(&[
        (".kb/kb.config.yml", settings),
        (".kb/specialists/helper.yml", &specialist),
        ("playbooks/ask.yml", ASK),
        ("src/port.txt", "port = 8080\n"),
    ])
}

/// A run whose model makes these calls, one each turn. Returns its log.
fn asked(scratch: &Scratch, calls: &[&str]) -> String {
    let calls: String = calls.iter().map(|call| format!("    - calls: [{{{call}}}]\n")).collect();
    let script =
        format!("schema: kb.script/1\nsteps:\n  a:\n{calls}    - output: {{summary: done}}\n");
    scratch.write("script.yml", &script);
    scratch.kb(&["playbook", "run", "ask", "--quiet", "--script", "script.yml"]);
    scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0).out
}

fn entries(scratch: &Scratch) -> Vec<Value> {
    let listed = scratch.json(&["memory", "list", "--json"]);
    listed["entries"].as_array().unwrap().clone()
}

/// The texts of entries in a state, in order.
fn texts(scratch: &Scratch, state: &str) -> Vec<String> {
    let all = entries(scratch).into_iter().filter(|own| own["state"] == state);
    let mut texts: Vec<String> = all.map(|own| own["text"].as_str().unwrap().to_owned()).collect();
    texts.sort();
    texts
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files(&path),
            path => vec![path],
        })
        .collect()
}

#[test]
fn entries_of_a_backup_are_there_after_the_state_was_lost() {
    let scratch = project(ON, "memory: {read: [fact]}");
    scratch.kb(&["memory", "add", "The port is 8080.", "--share"]).code(0);
    scratch.kb(&["memory", "add", "The host is local.", "--tag", "net"]).code(0);
    let noted = entries(&scratch);
    let known = scratch.json(&["memory", "export", "--json"]);
    scratch.kb(&["backup", "copy.kb"]).code(0);
    let state = scratch.root().parent().unwrap().join("state");
    std::fs::remove_dir_all(&state).unwrap();
    // Only what people shared is a file of the project.
    assert_eq!(entries(&scratch).len(), 1);
    std::fs::remove_dir_all(&state).unwrap();
    scratch.kb(&["backup", "copy.kb", "--restore"]).code(0);
    assert_eq!(entries(&scratch), noted);
    assert_eq!(scratch.json(&["memory", "export", "--json"]), known);
    assert!(asked(&scratch, &[]).contains("The port is 8080."));
    // What was rejected before the backup stays rejected.
    let id = noted.iter().find(|own| own["state"] == "candidate").unwrap()["id"].as_str().unwrap();
    scratch.kb(&["memory", "reject", id]).code(0);
    scratch.kb(&["memory", "search", "host"]).code(0);
    assert!(texts(&scratch, "candidate").is_empty());
}

#[test]
fn a_branch_has_its_own_shared_entries_and_its_own_files_in_the_index() {
    let scratch = project(ON, "memory: {read: [fact]}");
    let git = |args: &[&str]| {
        let own = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "-c",
            "init.defaultBranch=main",
        ];
        let done = scratch.program(None, "git").args(own).args(args).finish();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let commit = || {
        git(&["add", "-A"]);
        git(&["commit", "-qm", "state"]);
    };
    git(&["init", "-q"]);
    commit();
    git(&["checkout", "-qb", "other"]);
    let anchor = ["--anchor", "src/port.txt"];
    let add = ["memory", "add", "The port is 8080.", "--share"];
    scratch.kb(&[&add[..], &anchor[..]].concat()).code(0);
    scratch.write("src/lighthouse.txt", "a lighthouse\n");
    commit();
    let found = || scratch.kb(&["index", "query", "lighthouse"]).code(0).out;
    assert!(found().contains("src/lighthouse.txt"));
    for _ in 0..2 {
        git(&["checkout", "-q", "main"]);
        assert!(texts(&scratch, "shared").is_empty() && !asked(&scratch, &[]).contains("8080."));
        assert_eq!(found(), "");
        git(&["checkout", "-q", "other"]);
        assert_eq!(texts(&scratch, "shared"), ["The port is 8080."]);
        assert!(asked(&scratch, &[]).contains("The port is 8080.") && !found().is_empty());
    }
    // The file that it rests on differs on a branch.
    git(&["checkout", "-qb", "third"]);
    scratch.write("src/port.txt", "port = 9090\n");
    assert!(!asked(&scratch, &[]).contains("The port is 8080."));
    assert_eq!(texts(&scratch, "stale"), ["The port is 8080."]);
}

#[test]
fn a_project_that_is_moved_or_reached_by_a_link_or_is_the_home_folder_has_its_own_entries() {
    let scratch = project(ON, "memory: {read: [fact]}");
    scratch.kb(&["memory", "add", "The port is 8080.", "--share"]).code(0);
    scratch.kb(&["memory", "add", "The host is local."]).code(0);
    let folder = scratch.root().parent().unwrap().to_owned();
    let at = |path: &Path| {
        let path = path.to_str().unwrap();
        let listed = scratch.kb_with(&["memory", "list", "--json"], |command| {
            command.current_dir(path).env("PWD", path);
        });
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        listed["entries"].as_array().unwrap().len()
    };
    let link = folder.join("link");
    std::os::unix::fs::symlink(scratch.root(), &link).unwrap();
    assert_eq!(at(&link), 2);
    // Another place is another project: the files come along, what nobody confirmed stays.
    let moved = folder.join("moved");
    std::fs::rename(scratch.root(), &moved).unwrap();
    std::fs::remove_file(&link).unwrap();
    assert_eq!(at(&moved), 1);
    std::fs::rename(&moved, scratch.root()).unwrap();
    assert_eq!(at(&scratch.root()), 2);

    // The home folder as a project: the state is below it, and is no file of the project.
    std::fs::create_dir(folder.join(".kb")).unwrap();
    std::fs::write(folder.join("note.md"), "The lighthouse.\n").unwrap();
    assert_eq!(at(&folder), 0);
    let found = scratch.kb_with(
        &["index", "query", "lighthouse port 8080", "-k", "50", "--json"],
        |command| {
            command.current_dir(&folder);
        },
    );
    let found: Value = serde_json::from_str(&found.out).unwrap();
    let paths: BTreeSet<&str> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect();
    assert!(paths.contains("note.md"), "{paths:?}");
    assert!(!paths.iter().any(|path| path.starts_with("state")), "{paths:?}");
}

#[test]
fn no_encoding_of_a_secret_is_stored_shown_or_shared() {
    const SECRET: &str = "hunter2/Горячо+9";
    let scratch = project(&format!("{ON}secrets: {{OWN: 'env:OWN'}}\n"), "memory: {read: [fact]}");
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let escaped = serde_json::to_string(SECRET).unwrap().replace('"', "");
    let base64 = "aHVudGVyMi/Qk9C+0YDRj9GH0L4rOQ==";
    let forms = [
        SECRET,
        &hex,
        &hex.to_uppercase(),
        &percent,
        &escaped,
        base64,
        &base64.replace('/', "_").replace('+', "-"),
    ];
    for (n, form) in forms.iter().enumerate() {
        let text = format!("Entry {n} has {form} in it.");
        let said = scratch.kb_with(
            &["memory", "add", &text, "--subject", &format!("{n} {form}"), "--share", "--json"],
            |command| {
                command.env("OWN", SECRET);
            },
        );
        assert!(said.code == 0 && !said.out.contains(form), "{form}: {said:?}");
    }
    let state = scratch.root().parent().unwrap().join("state");
    let all = files(&state).into_iter().chain(files(&scratch.root().join(".kb")));
    for file in all {
        let bytes = std::fs::read(&file).unwrap();
        for form in forms {
            let has = bytes.windows(form.len()).any(|own| own == form.as_bytes());
            assert!(!has, "{} has {form}", file.display());
        }
    }
}

#[test]
fn a_command_that_is_killed_leaves_each_entry_whole_and_each_file_with_its_entry() {
    let scratch = project(ON, "memory: {read: [fact]}");
    scratch.kb(&["memory", "add", "It stays.", "--share"]).code(0);
    let ids = |n: usize| format!("k{n}");
    for n in 0..24 {
        let id = ids(n);
        let mut command = scratch.command();
        if n % 3 < 2 {
            command.args(["memory", "add", &format!("Fact {n}."), "--id", &id, "--share"]);
        } else {
            command.args(["memory", "forget", &ids(n - 2)]);
        }
        let mut process =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).start();
        std::thread::sleep(Duration::from_millis(n as u64 * 2));
        let _ = process.kill();
        let _ = process.wait();
    }
    let shared: BTreeSet<String> = entries(&scratch)
        .iter()
        .filter(|own| own["state"] == "shared")
        .map(|own| format!("{}.md", own["id"].as_str().unwrap()))
        .collect();
    let there: BTreeSet<String> = files(&scratch.root().join(".kb/memory"))
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        // A file under its temporary name is no entry; the next write of the same entry replaces it.
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(shared, there);
    assert!(texts(&scratch, "shared").contains(&"It stays.".to_owned()));
    let said = scratch.kb(&["memory", "list"]).code(0);
    assert!(!said.err.contains("KB160"), "{}", said.err);
    scratch.kb(&["memory", "add", "It goes on.", "--share"]).code(0);
}

#[test]
fn two_runs_at_once_propose_and_what_one_forgets_does_not_come_back() {
    let scratch = project(ON, "memory: {read: [fact], propose: true}");
    let script = |n: usize| {
        let own = format!("{{tool: 'memory:propose', args: {{kind: fact, text: Fact {n}}}}}");
        let same = "{tool: 'memory:propose', args: {kind: fact, text: The same, anchors: [{path: src/port.txt}], checks: [{file: src/port.txt}]}}";
        format!(
            "schema: kb.script/1\nsteps:\n  a:\n    - calls: [{own}]\n    - calls: [{same}]\n    - output: {{summary: done}}\n"
        )
    };
    let runs: Vec<_> = (0..2)
        .map(|n| {
            let file = format!("script{n}.yml");
            scratch.write(&file, &script(n));
            let mut command = scratch.command();
            command.args(["playbook", "run", "ask", "--quiet", "--script", &file]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).start()
        })
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    assert_eq!(texts(&scratch, "candidate"), ["Fact 0", "Fact 1"]);
    assert_eq!(texts(&scratch, "verified"), ["The same"]);
    let same = entries(&scratch).into_iter().find(|own| own["text"] == "The same").unwrap();
    scratch.kb(&["memory", "forget", same["id"].as_str().unwrap()]).code(0);
    scratch.kb(&["index", "rebuild"]).code(0);
    scratch.kb(&["memory", "check"]);
    scratch.kb(&["playbook", "run", "ask", "--quiet", "--script", "script0.yml"]);
    assert!(!entries(&scratch).iter().any(|own| own["text"] == "The same"));
    assert!(!asked(&scratch, &[]).contains("The same"));
}

#[test]
fn a_project_with_the_memory_off_stores_and_shows_nothing() {
    const TOOLS: &str = "tools: [knowledge_query, knowledge_contribute, memory_read, memory_write, 'memory:feedback', faqSearch, faqWrite]\nmemory: {read: [fact], propose: true}";
    let scratch = project("{}\n", TOOLS);
    scratch.kb(&["memory", "add", "The port is 8080.", "--share"]).code(0);
    let log = asked(
        &scratch,
        &[
            "tool: knowledge_contribute, args: {content: From outside, type: fact}",
            "tool: 'memory:propose', args: {kind: fact, text: From outside}",
            "tool: 'memory:search', args: {query: port}",
            "tool: faqWrite, args: {problem: p, solution: From outside, category: knowledge}",
            "tool: faqSearch, args: {query: port}",
        ],
    );
    assert!(!log.contains("The port is 8080."), "{log}");
    assert_eq!(entries(&scratch).len(), 1);
    let off = log.matches("not available").count() + log.matches("is off").count();
    assert!(off >= 5, "each tool says that the memory is off: {log}");
    // Switched on for later runs only by the settings.
    scratch.write(".kb/kb.config.yml", ON);
    assert!(asked(&scratch, &[]).contains("The port is 8080."));
}
