//! The cache when `kb` is killed while it writes or reads, together with files of their own, and for requests.

use crate::disk::{Deed, Fault, Op, read_log};
use crate::running::Start;
use crate::scratch::Scratch;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - id: make
    run: |
      echo x >> count
      mkdir -p out; cat in/*.txt > out/all.txt; echo more > out/more.txt
      echo made
    cache: {inputs: \"in/*\", outputs: \"out/**\"}
";

fn project(playbook: &str) -> Scratch {
    Scratch::new(&[
        ("playbooks/p.yml", playbook),
        ("in/a.txt", "a\n"),
        (".gitignore", "count\nout/\n"),
    ])
}

/// The folder of the cache of a project that has run once; it is empty.
fn cache(scratch: &Scratch) -> std::path::PathBuf {
    scratch.kb(&["playbook", "run", "p", "--no-cache"]).code(0);
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folders = std::fs::read_dir(state).unwrap().flatten().map(|entry| entry.path());
    let is_project = |path: &std::path::PathBuf| path.join("journal.sqlite3").exists();
    let folder = folders.into_iter().find(is_project).expect("a state folder").join("cache");
    std::fs::remove_dir_all(scratch.root().join("out")).unwrap();
    folder
}

/// A kill before or after each change of a file in the cache loses at most the stored result: what is
/// taken afterwards is always whole.
#[test]
fn kb_may_be_killed_at_every_write_of_the_cache() {
    let every = crate::proof::amount("KB_CACHE_POINTS", 5, 1);
    let (mut kills, mut cut_short) = (0, 0);
    for point in (1..).step_by(every) {
        let deed = if point % 2 == 0 { Deed::KillBefore } else { Deed::KillAfter };
        let scratch = project(PLAYBOOK);
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]);
        let cache = cache(&scratch);
        Fault::below(&cache).at(point, deed).on(&mut command);
        let ended = command.finish().status;
        if ended.success() {
            break;
        }
        kills += 1;
        cut_short += unfinished(&cache).len();
        scratch.kb(&["run", "resume", "@last"]);
        scratch.kb(&["cache", "list"]).code(0);
        for _ in 0..2 {
            let _ = std::fs::remove_dir_all(scratch.root().join("out"));
            scratch.kb(&["playbook", "run", "p"]).code(0);
            assert_eq!(scratch.read("out/all.txt"), "a\n", "point {point}");
            assert_eq!(scratch.read("out/more.txt"), "more\n", "point {point}");
        }
        assert_eq!(unfinished(&cache), [""; 0], "point {point}");
        let shown = scratch.json(&["run", "show", "@last", "--json"]);
        assert!(shown["steps"][0]["cachedFrom"].is_object(), "point {point}");
    }
    assert!(kills >= 2 && cut_short > 0, "{kills} kills, {cut_short} files cut short");
}

/// `kb` is killed anywhere in a run that takes a stored result. Whether the step took it or did its work in the
/// end, the run says so.
#[test]
fn a_hit_may_be_interrupted_anywhere() {
    let playbook = format!("{PLAYBOOK}    verify: {{checks: [{{file: out/all.txt}}]}}\n");
    let stored = || {
        let scratch = project(&playbook);
        scratch.kb(&["playbook", "run", "p"]).code(0);
        std::fs::remove_dir_all(scratch.root().join("out")).unwrap();
        scratch
    };
    let folder = |scratch: &Scratch| scratch.root().parent().unwrap().canonicalize().unwrap();
    let usual = stored();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = usual.command();
    command.args(["playbook", "run", "p"]);
    Fault::below(&folder(&usual)).log(log.path()).on(&mut command);
    assert!(command.finish().status.success());
    let counts = |op: &Op| !matches!(op, Op::Synced | Op::Unsynced);
    let changes = read_log(log.path()).iter().filter(|record| counts(&record.op)).count();
    let wanted = crate::proof::amount("KB_CACHE_HIT_POINTS", 12, changes).clamp(1, changes);
    for number in 0..wanted {
        let point = 1 + number * changes / wanted;
        let deed = [Deed::KillBefore, Deed::KillAfter][number % 2];
        let scratch = stored();
        let before = scratch.last_run();
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]);
        Fault::below(&folder(&scratch)).at(point, deed).on(&mut command);
        if !command.finish().status.success() {
            let arguments: &[&str] = if scratch.last_run() == before {
                &["playbook", "run", "p"]
            } else {
                &["run", "resume", "@last"]
            };
            scratch.kb(arguments);
        }
        let shown = scratch.json(&["run", "show", "@last", "--json"]);
        assert_eq!(shown["status"], "succeeded", "point {point} of {changes}: {shown}");
        let executions = scratch.read("count").lines().count() - 1;
        let is_hit = shown["steps"][0]["cachedFrom"].is_object();
        assert_eq!(is_hit, executions == 0, "point {point} of {changes}: {shown}");
        assert_eq!(scratch.read("out/all.txt"), "a\n", "point {point}");
        scratch.kb(&["run", "verify", "@last"]).code(0);
    }
}

/// The incomplete files below a folder.
fn unfinished(folder: &std::path::Path) -> Vec<String> {
    let find = ["-name", ".new-*"];
    let found = std::process::Command::new("find").arg(folder).args(find).finish().stdout;
    String::from_utf8(found).unwrap().lines().map(str::to_owned).collect()
}

/// A step with files of its own takes a stored result into them, and its changes are merged like those
/// of an execution.
#[test]
fn a_stored_result_is_restored_into_files_of_its_own_and_merged() {
    for own in ["copy", "worktree", "worktree\n    merge: rebase"] {
        let playbook = PLAYBOOK.replace("cache:", &format!("workspace: {own}\n    cache:"));
        let scratch = Scratch::new(&[("playbooks/p.yml", &playbook), ("in/a.txt", "a\n")]);
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(args).current_dir(scratch.root());
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            let output = command.finish();
            assert!(output.status.success(), "git {args:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q", "."]);
        for (name, value) in [("user.name", "Somebody"), ("user.email", "somebody@example.com")] {
            git(&["config", name, value]);
        }
        let commit = || {
            git(&["add", "-A"]);
            git(&["commit", "-q", "--allow-empty", "-m", "by hand"]);
        };
        commit();
        scratch.kb(&["playbook", "run", "p"]).code(0);
        std::fs::remove_dir_all(scratch.root().join("out")).unwrap();
        commit();
        let said = scratch.kb(&["playbook", "run", "p"]).code(0);
        said.says(&["from the cache"]);
        assert_eq!(scratch.read("out/all.txt"), "a\n", "{own}");
        let last = git(&["log", "-1", "--format=%s"]);
        assert_eq!(last, if own.ends_with("rebase") { "make\n" } else { "by hand\n" }, "{own}");
        // Another input is a miss, also in files of its own.
        scratch.write("in/b.txt", "b\n");
        commit();
        scratch.kb(&["playbook", "run", "p"]).code(0);
        assert_eq!(scratch.read("out/all.txt"), "a\nb\n", "{own}");
        scratch.kb(&["run", "verify", "@last"]).code(0);
    }
}

/// Requests are stored by what they send: one that changes, or fails, goes to the server.
#[test]
fn requests_are_stored_by_what_they_send_and_failures_are_not() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let own = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut first = String::new();
            let _ = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|size| size > 2) {
                line.clear();
            }
            let number = own.fetch_add(1, Ordering::SeqCst) + 1;
            let status = if first.contains("missing") { "404 Not Found" } else { "200 OK" };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: 1\r\nConnection: close\r\n\r\n{number}"
            );
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    let text = format!(
        "schema: kb.playbook/1\nid: p\nparams: [{{name: page, default: first}}]\nsteps:
  - {{id: get, http: {{url: \"http://{address}/{{{{page}}}}\"}}, cache: true}}\noutputs: {{body: \"{{{{get.output.body}}}}\"}}\n"
    );
    let settings = format!("tools: {{http: {{allowPrivate: [\"{address}\"]}}}}\n");
    let scratch = Scratch::new(&[("playbooks/p.yml", &text), (".kb/kb.config.yml", &settings)]);
    let get = |page: &str| {
        let page = format!("page={page}");
        let said = scratch.kb(&["playbook", "run", "p", "-p", &page]);
        (said.code, said.err.contains("from the cache: get"), count.load(Ordering::SeqCst))
    };
    assert_eq!(get("first"), (0, false, 1));
    assert_eq!(get("first"), (0, true, 1));
    assert_eq!(get("second"), (0, false, 2));
    assert_eq!(get("missing"), (1, false, 3));
    assert_eq!(get("missing"), (1, false, 4));
    assert_eq!(get("first"), (0, true, 4));
}
