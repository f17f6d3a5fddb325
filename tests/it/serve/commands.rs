//! `kb trigger …` and `kb serve` through the binary.

use crate::running::Start;
use crate::scratch::Scratch;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

const NIGHTLY: &str = "schema: kb.playbook/1\nid: nightly\nparams: [{name: day, default: none}]\non: {schedule: {cron: \"30 2 * * *\", zone: Europe/Berlin, payload: {day: date}}}\nsteps: [{id: a, run: \"echo $DAY >> log\", env: {DAY: \"{{day}}\"}}]\n";
const DEPLOY: &str = "schema: kb.playbook/1\nid: deploy\nparams: [{name: ref, required: true}, {name: count, type: integer, default: 1}]\non: {webhook: {form: github, secret: HOOK, payload: {ref: ref, count: commits.0.size}}}\nsteps: [{id: a, run: \"true\"}]\n";

fn scratch() -> Scratch {
    Scratch::new(&[
        ("playbooks/nightly.yml", NIGHTLY),
        ("playbooks/deploy.yml", DEPLOY),
        (".kb/kb.config.yml", "secrets: {HOOK: env:HOOK}\n"),
    ])
}

#[test]
fn triggers_are_listed_enabled_and_paused() {
    let scratch = scratch();
    scratch.kb(&["trigger", "list"]).code(0).says(&[
        "nightly.schedule",
        "disabled",
        "/hooks/deploy (github)",
    ]);
    scratch
        .kb(&["trigger", "pause", "nightly"])
        .code(2)
        .says(&["KB1011", "kb trigger enable nightly.schedule"]);
    scratch.kb(&["trigger", "enable", "nightly"]).code(0).says(&[
        "next time",
        "02:30",
        "`kb serve` does not run",
    ]);
    scratch.kb(&["trigger", "pause", "nightly", "--reason", "holiday"]).code(0);
    scratch
        .kb(&["trigger", "show", "nightly"])
        .code(0)
        .says(&["paused (holiday)", "kb trigger resume"]);
    scratch.kb(&["trigger", "resume", "nightly"]).code(0);
    scratch.kb(&["trigger", "resume", "nightly"]).code(2).says(&["is not paused"]);
    // A change of the definition.
    scratch.write("playbooks/nightly.yml", &NIGHTLY.replace("echo", "printf"));
    scratch.kb(&["trigger", "list"]).code(0).says(&["changed"]);
    scratch
        .kb(&["trigger", "enable", "nightly", "--digest", "abc"])
        .code(2)
        .says(&["was changed after it was shown"]);
    let digest = scratch.json(&["trigger", "show", "nightly", "--json"])["digest"].clone();
    scratch.kb(&["trigger", "enable", "nightly", "--digest", digest.as_str().unwrap()]).code(0);
    // A comment changes nothing that runs.
    let state = || scratch.json(&["trigger", "show", "nightly", "--json"])["state"].clone();
    let changed = NIGHTLY.replace("echo", "printf");
    scratch.write("playbooks/nightly.yml", &format!("# Every night.\n\n{changed}\n# The end.\n"));
    assert_eq!(state(), "enabled");
    scratch.kb(&["trigger", "disable", "nightly"]).code(0);
    assert_eq!(state(), "disabled");
}

/// After a change of many definitions, one command enables what was enabled before, and only that.
#[test]
fn several_triggers_are_changed_at_once() {
    let scratch = scratch();
    let states = || -> Vec<String> {
        let all = scratch.json(&["trigger", "list", "--json"]);
        let all = all.as_array().unwrap_or_else(|| all["triggers"].as_array().unwrap());
        all.iter().map(|one| format!("{} {}", one["id"], one["state"]).replace('"', "")).collect()
    };
    let before = states();
    assert!(before.len() > 1 && before.iter().all(|one| one.ends_with("disabled")), "{before:?}");
    scratch.kb(&["trigger", "enable"]).code(2).says(&["<ID|--all|--changed>"]);
    scratch.kb(&["trigger", "enable", "nightly"]).code(0);
    scratch.write("playbooks/nightly.yml", &NIGHTLY.replace("echo", "printf"));
    scratch.kb(&["trigger", "enable", "--changed"]).code(0).says(&["nightly.schedule enabled"]);
    assert_eq!(states().iter().filter(|one| one.ends_with("enabled")).count(), 1, "{:?}", states());
    scratch
        .kb(&["trigger", "enable", "--changed"])
        .code(0)
        .says(&["no trigger to change: 1 disabled, 1 enabled"]);
    scratch.kb(&["trigger", "enable", "--all"]).code(0);
    assert!(states().iter().all(|one| one.ends_with("enabled")), "{:?}", states());
    scratch.kb(&["trigger", "pause", "--all"]).code(0);
    assert!(states().iter().all(|one| one.ends_with("paused")), "{:?}", states());
    let resumed = scratch.json(&["trigger", "resume", "--all", "--json"]);
    assert_eq!(resumed.as_array().unwrap().len(), before.len());
    scratch.kb(&["trigger", "disable", "--all"]).code(0);
    assert_eq!(states(), before);
}

#[test]
fn next_times_have_zone_utc_and_notes() {
    let scratch = scratch();
    let said = scratch
        .kb(&["trigger", "next", "nightly", "-n", "2", "--from", "2026-03-28T12:00:00Z"])
        .code(0);
    assert!(
        said.out.contains("2026-03-29 03:00 +02:00  2026-03-29 01:00Z  the clock skips"),
        "{}",
        said.out
    );
    assert!(said.out.contains("2026-03-30 02:30 +02:00  2026-03-30 00:30Z"), "{}", said.out);
    scratch
        .kb(&["trigger", "next", "deploy"])
        .code(2)
        .says(&["is a webhook trigger, not a schedule"]);
    scratch.kb(&["trigger", "next", "nightyl"]).code(4).says(&["did you mean"]);
    scratch.kb(&["trigger", "next", "nightly", "-n", "10001"]).code(2).says(&["1..=10000"]);
}

#[test]
fn a_payload_can_be_tried() {
    let scratch = scratch();
    scratch.write("event.json", "{\"ref\": \"main; rm -rf /\", \"commits\": [{\"size\": 3}]}");
    let tested = scratch.json(&["trigger", "test", "deploy", "--payload", "event.json", "--json"]);
    assert_eq!(tested["params"], serde_json::json!({"ref": "main; rm -rf /", "count": 3}));
    assert_eq!(tested["state"], "disabled");
    scratch.write("event.json", "{\"commits\": []}");
    scratch
        .kb(&["trigger", "test", "deploy", "--payload", "event.json"])
        .code(2)
        .says(&["KB1012", "no `ref`"]);
    scratch.write("event.json", "{\"ref\": \"main\", \"commits\": [{\"size\": \"big\"}]}");
    scratch
        .kb(&["trigger", "test", "deploy", "--payload", "event.json"])
        .code(2)
        .says(&["KB1012", "count"]);
    scratch.write("event.json", "{");
    scratch
        .kb(&["trigger", "test", "deploy", "--payload", "event.json"])
        .code(2)
        .says(&["is not JSON"]);
    assert_eq!(scratch.json(&["run", "list", "--json"]), serde_json::json!([]), "nothing started");
}

#[test]
fn a_backfill_counts_first() {
    let scratch = scratch();
    scratch.kb(&["trigger", "enable", "nightly"]).code(0);
    let range = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T23:00:00Z"];
    let args = [&["trigger", "backfill", "nightly"], &range[..]].concat();
    scratch.kb(&args).code(0).says(&["would start 3 runs", "2026-01-02 02:30 +01:00"]);
    let again = [&args[..], &["--yes"]].concat();
    scratch.kb(&again).code(0).says(&["queued 3 runs"]);
    scratch.kb(&args).code(0).says(&["would start 0 runs; 3 times fired already"]);
    scratch
        .kb(&["trigger", "backfill", "nightly", "--from", "2020-01-01T00:00:00Z"])
        .code(2)
        .says(&["more than 1000 times"]);
}

/// The daemon starts what is queued, one `kb` per run, and ends at once on SIGTERM; the run continues.
#[test]
fn the_daemon_starts_runs_and_stops_without_them() {
    let scratch = scratch();
    let text = NIGHTLY
        .replace("echo $DAY >> log", "echo $DAY >> log; while [ -e hold ]; do sleep 0.05; done");
    scratch.write("playbooks/nightly.yml", &text);
    scratch.write("hold", "");
    let mut daemon =
        scratch.command().args(["serve", "--port", "0"]).stderr(Stdio::piped()).start();
    wait("the daemon", || scratch.kb(&["trigger", "list"]).err.is_empty());
    scratch.kb(&["serve"]).code(5).says(&["KB1013", "is already running"]);
    let run = scratch.kb(&["trigger", "fire", "nightly"]).code(0).out.trim().to_owned();
    wait("the run", || scratch.has("log"));
    let pid = rustix::process::Pid::from_child(&daemon);
    let stopped = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(daemon.wait().unwrap().success());
    // Its run continues until `hold` is removed; the daemon does not wait for that.
    assert!(stopped.elapsed() < Duration::from_secs(60), "{:?}", stopped.elapsed());
    assert_eq!(scratch.json(&["run", "show", &run, "--json"])["status"], "running");
    std::fs::remove_file(scratch.root().join("hold")).unwrap();
    wait("the end of the run", || {
        scratch.json(&["run", "show", &run, "--json"])["status"] == "succeeded"
    });
    scratch.kb(&["doctor"]).says(&["none is enabled", "opens, 1 run\n"]);
    let mut second = scratch.command().args(["serve", "--port", "0"]).start();
    wait("the end is recorded", || {
        scratch.json(&["trigger", "show", "nightly", "--json"])["fires"][0]["state"] == "succeeded"
    });
    second.kill().unwrap();
    second.wait().unwrap();
}

/// `kb trigger list` locks the file of the daemon for a moment to see whether one runs.
#[test]
fn a_command_that_looks_for_the_daemon_does_not_stop_it_from_starting() {
    let scratch = scratch();
    let environment = super::environment(&scratch);
    let state = super::project(&scratch).context.state_dir;
    std::fs::create_dir_all(&state).unwrap();
    let file = std::fs::File::create(state.join(kb::trigger::LEASE_FILE)).unwrap();
    assert!(!kb::journal::is_owned(&file).unwrap());
    let looking = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(file);
    });
    let daemon = kb::serve::Daemon::open(&environment, &super::options()).unwrap();
    looking.join().unwrap();
    assert_eq!(kb::serve::daemon_of(&state), Some(std::process::id()));
    let refused = kb::serve::Daemon::open(&environment, &super::options());
    assert!(refused.err().unwrap().to_string().contains("is already running"));
    drop(daemon);
    assert_eq!(kb::serve::daemon_of(&state), None);
}

/// An address that other machines can reach needs the names under which it may be addressed.
#[test]
fn an_address_for_other_machines_needs_its_names() {
    let scratch = scratch();
    let args = ["serve", "--listen", "0.0.0.0:0"];
    scratch.kb(&args).code(2).says(&["can be reached by other machines", "--host NAME"]);
}

#[test]
fn unit_files() {
    let scratch = scratch();
    let said = scratch.kb(&["serve", "--unit", "systemd"]).code(0);
    assert!(
        said.out.contains("KillMode=process") && said.out.contains(" serve \"--project\" \""),
        "{}",
        said.out
    );
    // What the daemon was given on the command line and by the environment is what the unit starts.
    let args = [
        "serve",
        "--listen",
        "0.0.0.0:8000",
        "--host",
        "kb.example.org",
        "--max-runs",
        "3",
        "--unit",
    ];
    for (kind, expected) in [
        (
            "systemd",
            vec![
                " \"--listen\" \"0.0.0.0\" \"--port\" \"8000\" \"--host\" \"kb.example.org\" \"--max-runs\" \"3\"",
                "Environment=\"XDG_STATE_HOME=",
            ],
        ),
        (
            "launchd",
            vec!["<string>--port</string>\n    <string>8000</string>", "<key>XDG_STATE_HOME</key>"],
        ),
    ] {
        let said = scratch.kb(&[&args[..], &[kind]].concat()).code(0);
        for text in expected {
            assert!(said.out.contains(text), "{text}: {}", said.out);
        }
    }
    let host = "x\nExecStartPre=/bin/touch pwned";
    let refused = scratch.kb(&["serve", "--unit", "systemd", "--host", host]);
    assert_eq!(refused.out, "");
    refused.says(&["has a control character"]);
    let said = scratch.kb(&["serve", "--unit", "launchd"]).code(0);
    assert!(
        said.out.contains("<string>serve</string>") && said.out.contains("AbandonProcessGroup"),
        "{}",
        said.out
    );
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_webhook_whose_secret_is_too_short_is_told_when_it_is_enabled_and_served() {
    let scratch = scratch();
    let short = |command: &mut std::process::Command| {
        command.env("HOOK", "abc");
    };
    let why = "`deploy.webhook` refuses all requests: the secret `HOOK` has no value here: the variable `HOOK` has fewer than 8 characters";
    scratch.kb_with(&["trigger", "enable", "deploy"], short).code(0).says(&[why]);
    let mut daemon = scratch.command();
    short(&mut daemon);
    let mut daemon = daemon.args(["serve", "--port", "0"]).stderr(Stdio::piped()).start();
    let mut log = BufReader::new(daemon.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(log.any(|line| line == format!("warning: {why}, and could not be masked")));
}

#[test]
fn a_playbook_with_several_triggers_is_no_name_of_one() {
    let text = "schema: kb.playbook/1\nid: two\non:\n  schedule: {cron: \"30 2 * * *\", zone: UTC}\n  webhook: {form: github, secret: HOOK}\nsteps: [{id: a, run: \"true\"}]\n";
    let scratch = scratch();
    scratch.write("playbooks/two.yml", text);
    scratch
        .kb(&["trigger", "enable", "two"])
        .code(2)
        .says(&["`two` has 2 triggers", "name one of them: two.schedule, two.webhook"]);
}

/// The answer to a request says nothing about the secret; the log, the list and `kb doctor` do. A second
/// `kb serve --open` opens the page of the first.
#[test]
fn a_webhook_whose_secret_has_no_value_is_told_to_the_operator() {
    let scratch = scratch();
    let why = "the secret `HOOK` has no value here: the variable `HOOK` is not set";
    let disabled = scratch.kb(&["trigger", "list"]).code(0);
    assert!(!disabled.err.contains("HOOK"), "{disabled:?}");
    scratch.kb(&["trigger", "enable", "deploy"]).code(0);
    scratch.kb(&["trigger", "list"]).code(0).says(&[why]);
    scratch.kb(&["trigger", "show", "deploy"]).code(0).says(&[why]);
    scratch.kb(&["doctor"]).says(&["`deploy.webhook` refuses all requests", why]);
    let mut daemon =
        scratch.command().args(["serve", "--port", "0"]).stderr(Stdio::piped()).start();
    let mut log = BufReader::new(daemon.stderr.take().unwrap()).lines().map_while(Result::ok);
    let listens = log.find_map(|line| Some(line.split_once("listening on http://")?.1.to_owned()));
    let host = listens.expect("an address").trim_end_matches('/').to_owned();
    let mut second = scratch.command();
    second.args(["serve", "--open"]).env("BROWSER", "echo").env("DISPLAY", ":0");
    let second = second.stderr(Stdio::piped()).finish();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.success() && said.contains("runs already at http"), "{said}");
    assert!(!said.contains('#'), "the one-time code is in no log: {said}");
    assert!(!said.contains("panic"), "{said}");
    let mut peer = std::net::TcpStream::connect(&host).unwrap();
    let signature = format!("x-hub-signature-256: sha256={}", "0".repeat(64));
    write!(
        peer,
        "POST /hooks/deploy HTTP/1.1\r\nHost: {host}\r\n{signature}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    )
    .unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("HOOK"), "{answer}");
    assert!(log.any(|line| line.contains(why)));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
