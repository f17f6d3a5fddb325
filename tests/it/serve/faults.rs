//! States of projects and triggers that are broken, moved, locked or too many.

use super::operation::get;
use super::site::Site;
use super::{at, daemon, environment, options, project, runtime, store, until};
use crate::scratch::Scratch;
use kb::clock::Clock;
use kb::serve::{Daemon, DaemonOptions};
use kb::trigger::Role;
use kb::value::Timestamp;
use kb::web::{Listen, Server};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const HOURLY: &str = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 * * * *\"}\nsteps: [{id: a, run: \"echo done >> log\"}]\n";

/// A definition that is broken or removed after it was enabled has a state of its own; nothing is lost or doubled.
#[test]
fn a_definition_that_is_broken_after_it_was_enabled() {
    let site = Site::new(&[("playbooks/p.yml", HOURLY)]);
    let admin = site.token(Role::Admin);
    site.scratch.kb(&["trigger", "enable", "p"]).code(0);
    let states = |token: &str| site.get("/api/v1/triggers", token).json();
    assert_eq!(states(&admin)[0]["state"], "enabled");
    site.scratch.write("playbooks/p.yml", &HOURLY.replace("steps:", "stpes:"));
    site.until("the broken state", || (states(&admin)[0]["state"] == "broken").then_some(()));
    let said = site.scratch.kb(&["trigger", "list"]).code(0);
    assert!(said.out.contains("broken") && said.out.contains("KB"), "{}", said.out);
    let page = site.get("/triggers", &admin).text();
    assert!(
        page.contains("p.schedule") && page.contains("until its definition is repaired"),
        "{page}"
    );
    assert_eq!(site.post("/api/v1/triggers/p.schedule/fire", &admin, "{}").status, 422);
    // Repaired as it was, it needs nobody.
    site.scratch.write("playbooks/p.yml", HOURLY);
    site.until("the repair", || (states(&admin)[0]["state"] == "enabled").then_some(()));
    std::fs::remove_file(site.scratch.root().join("playbooks/p.yml")).unwrap();
    site.until("the removal", || (states(&admin)[0]["state"] == "removed").then_some(()));
}

#[test]
fn a_project_that_was_moved_starts_nothing_and_says_so() {
    let scratch = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
    let runtime = runtime();
    let _context = runtime.enter();
    super::enable(&scratch, "p.schedule", at("2026-01-01T00:30:00Z"));
    let mut daemon = daemon(&scratch);
    let shared = daemon.shared().unwrap().remove(0);
    let (root, elsewhere) = (scratch.root(), scratch.root().with_extension("moved"));
    std::fs::rename(&root, &elsewhere).unwrap();
    daemon.tick(at("2026-01-01T01:00:01Z"));
    let problem = shared.state().problem.unwrap();
    assert!(problem.contains("moved or removed"), "{problem}");
    assert!(super::fires(&shared.store).is_empty());
    std::fs::rename(&elsewhere, &root).unwrap();
    until(&mut daemon, at("2026-01-01T01:00:20Z"), "the run", || scratch.has("log"));
    assert_eq!(shared.state().problem, None);
    assert_eq!(super::fires(&shared.store).len(), 1);
}

/// The store of another version is refused; a journal that cannot be written is a problem that passes.
#[test]
fn a_store_of_a_newer_version_is_refused() {
    let scratch = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
    scratch.kb(&["trigger", "enable", "p"]).code(0);
    let path = project(&scratch).context.state_dir.join("serve.sqlite3");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(connection);
    scratch.kb(&["trigger", "list"]).code(6).says(&["newer"]);
    scratch.kb(&["serve", "--port", "0"]).code(6).says(&["newer"]);
}

/// A locked store is a problem of its project alone, is shown, and ends with the lock.
#[test]
fn a_locked_store_is_a_problem_of_its_project_alone() {
    let (locked, free) = (
        Scratch::new(&[("playbooks/p.yml", HOURLY)]),
        Scratch::new(&[("playbooks/p.yml", HOURLY)]),
    );
    let runtime = runtime();
    let _context = runtime.enter();
    let all = DaemonOptions { projects: vec![locked.root(), free.root()], ..options() };
    // Both have the state folder of the first one's environment.
    let mut daemon = Daemon::open(&environment(&locked), &all).unwrap();
    let shared = daemon.shared().unwrap();
    for (project, scratch) in shared.iter().zip([&locked, &free]) {
        let catalog = kb::serve::trigger_catalog(&super::project(scratch));
        let digest = catalog["p.schedule"].digest;
        project.store.enable("p.schedule", &digest, at("2026-01-01T00:30:00Z")).unwrap();
    }
    let path = shared[0].context.state_dir.join("serve.sqlite3");
    let lock = rusqlite::Connection::open(path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    daemon.tick(at("2026-01-01T01:00:01Z"));
    let problem = shared[0].state().problem.unwrap();
    assert!(problem.contains("lock"), "{problem}");
    locked.kb(&["doctor"]).says(&["which starts nothing at the moment"]);
    locked.kb(&["trigger", "list"]).code(0).says(&["starts nothing at the moment", "lock"]);
    assert_eq!(shared[1].state().problem, None);
    assert_eq!(super::fires(&shared[1].store).len(), 1);
    lock.execute_batch("ROLLBACK").unwrap();
    until(&mut daemon, at("2026-01-01T01:00:20Z"), "both runs", || {
        locked.has("log") && free.has("log")
    });
    assert_eq!(shared[0].state().problem, None);
    assert_eq!(super::fires(&shared[0].store).len(), 1);
}

/// Several projects in one daemon: from options and from settings. A token sees its own.
#[test]
fn several_projects_share_a_daemon() {
    let (first, second) = (
        Scratch::new(&[("playbooks/p.yml", HOURLY)]),
        Scratch::new(&[("playbooks/q.yml", &HOURLY.replace("id: p", "id: q"))]),
    );
    let settings = format!("serve: {{projects: [\"{}\", ./gone]}}\n", second.root().display());
    first.write(".kb/kb.config.yml", &settings);
    let runtime = runtime();
    let _context = runtime.enter();
    let stop = tokio_util::sync::CancellationToken::new();
    let daemon = Daemon::open(&environment(&first), &options()).unwrap();
    let shared = daemon.shared().unwrap();
    let roots: Vec<_> = shared.iter().map(|project| project.context.root.clone()).collect();
    assert_eq!(
        roots,
        [first.root().canonicalize().unwrap(), second.root().canonicalize().unwrap()]
    );
    let token = kb::web::new_token(&shared[1].store, "t", Role::Run, None, Clock::system().wall())
        .unwrap()
        .text;
    let owner = |index: usize| {
        std::fs::read_to_string(shared[index].context.state_dir.join("serve.token"))
            .unwrap()
            .trim()
            .to_owned()
    };
    let listen = Listen { port: Some(0), ..Listen::default() };
    let server = runtime
        .block_on(Server::start(shared.clone(), &listen, Clock::system(), stop.clone()))
        .unwrap();
    let running = runtime.spawn(daemon.run(stop.clone()));
    let projects = |token: &str| {
        let answer = get(&server.url(), "/api/v1/projects", token);
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        body.as_array().unwrap().len()
    };
    assert_eq!((projects(&token), projects(&owner(0)), projects(&owner(1))), (1, 1, 1));
    let triggers = get(&server.url(), "/triggers", &token);
    assert!(triggers.contains("q.schedule") && !triggers.contains("p.schedule"));
    stop.cancel();
    runtime.block_on(running).unwrap();
    runtime.block_on(server.stopped());
}

/// Many ends at once start what the queue allows, each once, and none is lost.
#[test]
fn a_storm_of_ends_starts_each_run_once() {
    let after = "schema: kb.playbook/1\nid: after\nparams: [{name: of, required: true}]\non:\n  run: {playbook: p, overlap: queueAll, payload: {of: run}}\nsteps: [{id: a, run: \"echo $OF >> log\", env: {OF: \"{{of}}\"}}]\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: \"true\"}]\n"),
        ("playbooks/after.yml", after),
        (".kb/kb.config.yml", "serve: {maxRuns: 2}\n"),
    ]);
    let runtime = runtime();
    let _context = runtime.enter();
    let mut daemon = daemon(&scratch);
    let now = kb::clock::Clock::system().now();
    super::enable(&scratch, "after.run", now);
    daemon.tick(now);
    for _ in 0..12 {
        scratch.kb(&["playbook", "run", "p"]).code(0);
    }
    let lines = || if scratch.has("log") { scratch.read("log").lines().count() } else { 0 };
    until(&mut daemon, Timestamp(now.0 + 5000), "all runs", || lines() == 12);
    let text = scratch.read("log");
    let different: BTreeSet<&str> = text.lines().collect();
    assert_eq!(different.len(), 12, "each end once: {text}");
    assert_eq!(super::fires(&store(&scratch)).len(), 12);
}

/// Links in a watched folder lead nowhere: neither a linked file nor a linked folder fires.
#[test]
fn links_of_a_watched_folder_are_not_followed() {
    let on = "schema: kb.playbook/1\nid: p\nparams: [{name: path}]\non: {file: {paths: \"in/**/*.txt\", payload: {path: path}, overlap: queueAll}}\nsteps: [{id: a, run: \"echo $P >> log\", env: {P: \"{{path}}\"}}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", on)]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "x").unwrap();
    let runtime = runtime();
    let _context = runtime.enter();
    let mut daemon = daemon(&scratch);
    let now = kb::clock::Clock::system().now();
    super::enable(&scratch, "p.file", Timestamp(now.0 - 60_000));
    daemon.tick(now);
    scratch.write("in/real.txt", "1");
    let link = |to: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(to, scratch.root().join("in").join(name)).unwrap();
    };
    link(&outside.path().join("secret.txt"), "link.txt");
    link(outside.path(), "folder");
    link(&scratch.root(), "loop");
    let mut time = now;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !scratch.has("log") {
        assert!(Instant::now() < deadline, "the real file does not fire");
        time = Timestamp(time.0 + 2100);
        daemon.tick(time);
        std::thread::sleep(Duration::from_millis(30));
    }
    for _ in 0..3 {
        time = Timestamp(time.0 + 2100);
        daemon.tick(time);
    }
    let keys: Vec<String> = super::fires(&store(&scratch)).iter().map(|f| f.key.clone()).collect();
    assert!(keys.len() == 1 && keys[0].starts_with("file:in/real.txt//"), "{keys:?}");
}

/// What a browser asks for and does not find is a page; programs get problem details. Answers are compressed.
#[test]
fn browsers_get_pages_for_what_does_not_exist() {
    let site = super::api::site();
    let token = site.token(Role::Read);
    let bearer = format!("Bearer {token}");
    let html = [("Authorization", bearer.as_str()), ("Accept", "text/html,*/*")];
    for path in ["/nothing", "/runs/rnothing", "/playbooks/nothing"] {
        let answer = site.send("GET", path, &html, "");
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.header("content-type").starts_with("text/html"), "{path}");
        assert!(answer.text().contains("404: not found"), "{}", answer.text());
    }
    assert_eq!(site.send("GET", "/nothing", &html[1..], "").status, 303);
    let answer = site.get("/nothing", &token);
    assert_eq!((answer.status, answer.header("content-type")), (404, "application/problem+json"));
    let zipped = [("Authorization", bearer.as_str()), ("Accept-Encoding", "gzip")];
    let answer = site.send("GET", "/playbooks", &zipped, "");
    assert_eq!((answer.status, answer.header("content-encoding")), (200, "gzip"));
    assert_eq!(site.get("/playbooks", &token).header("content-encoding"), "");
    let stream = site.send("GET", "/healthz", &zipped[1..], "");
    assert_eq!(stream.status, 200);
}

/// Pipes, sockets and large files where a trigger reads delay neither schedules nor small files, of this project and
/// of others, and the server tells how much is left.
#[test]
fn what_is_slow_to_read_delays_no_schedule() {
    let file = "schema: kb.playbook/1\nid: f\nparams: [{name: path}]\non: {file: {paths: \"in/**\", payload: {path: path}, overlap: queueAll}}\nsteps: [{id: a, run: \"echo $P >> files\", env: {P: \"{{path}}\"}}]\n";
    let task = HOURLY
        .replace("id: p", "id: t")
        .replace("run: \"echo done >> log\"", "specialist: dev, taskFile: task.md");
    let slow = Scratch::new(&[
        ("playbooks/p.yml", HOURLY),
        ("playbooks/f.yml", file),
        ("playbooks/t.yml", &task),
        ("task.md", "Do it."),
        (
            ".kb/specialists/dev.yml",
            "schema: kb.specialist/1\nid: dev\nrole: r\ntools: [fs:read]\n",
        ),
    ]);
    let other = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
    let runtime = runtime();
    let _context = runtime.enter();
    let all = DaemonOptions { projects: vec![slow.root(), other.root()], ..options() };
    let mut daemon = Daemon::open(&environment(&slow), &all).unwrap();
    let shared = daemon.shared().unwrap();
    let start = at("2026-01-01T00:30:00Z");
    for (project, scratch) in shared.iter().zip([&slow, &other]) {
        let catalog = kb::serve::trigger_catalog(&super::project(scratch));
        for (id, loaded) in &catalog {
            project.store.enable(id, &loaded.digest, start).unwrap();
        }
    }
    daemon.tick(start);
    let pipe = |path: &str| {
        let path = slow.root().join(path);
        let _ = std::fs::remove_file(&path);
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        );
        made.unwrap();
    };
    slow.write("in/small.txt", "x");
    pipe("in/pipe");
    pipe("task.md");
    pipe("playbooks/pipe.yml");
    let _socket = std::os::unix::net::UnixListener::bind(slow.root().join("in/socket")).unwrap();
    for number in 0..200 {
        let path = slow.root().join(format!("in/large{number}"));
        std::fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
    }
    let (sent, received) = std::sync::mpsc::channel();
    let mut now = at("2026-01-01T01:00:01Z");
    let runtime_handle = runtime.handle().clone();
    std::thread::spawn(move || {
        let _context = runtime_handle.enter();
        while sent.send((daemon.tick(now), daemon.handle().since_turn())).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
            now = Timestamp(now.0 + 500);
        }
    });
    let done = || {
        let small = slow.has("files") && slow.read("files").contains("in/small.txt");
        let waiting = shared[0].telemetry.counted().files_waiting;
        small && waiting > 100 && slow.has("log") && other.has("log")
    };
    let deadline = Instant::now() + Duration::from_secs(100);
    while !done() {
        let turn = received.recv_timeout(Duration::from_secs(30));
        assert!(turn.is_ok(), "a turn of the daemon takes longer than 30 s");
        assert!(Instant::now() < deadline, "{:?}", shared[0].telemetry.counted());
    }
    assert!(!slow.read("files").contains("pipe"), "{}", slow.read("files"));
}

/// The health of the server and its metrics tell whether schedules are followed.
#[test]
fn health_and_metrics_tell_of_the_scheduler() {
    let site = Site::new(&[("playbooks/p.yml", HOURLY)]);
    let health = site.until("a turn", || {
        let health = site.send("GET", "/healthz", &[], "").json();
        health["schedulerIdleSeconds"].is_number().then_some(health)
    });
    assert_eq!(health["status"], "ok");
    let metrics = site.get("/metrics", &site.token(Role::Read)).text();
    for name in ["kb_scheduler_idle_seconds ", "kb_trigger_files_waiting{"] {
        assert!(metrics.contains(&format!("\n{name}")), "{metrics}");
    }
}
