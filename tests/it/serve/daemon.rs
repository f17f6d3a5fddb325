//! The daemon with a clock of the test: what fires, what is skipped, what is missed.

use super::{at, daemon, enable, environment, fires, lines, options, runtime, store, until};
use crate::scratch::Scratch;
use kb::serve::Daemon;
use kb::trigger::FireState;
use kb::value::Timestamp;

/// A project with one playbook whose runs append a line to `log`, and wait for `go` if it has `hold`.
fn scratch(on: &str) -> Scratch {
    let text = format!(
        "schema: kb.playbook/1\nid: p\nparams:\n  - {{name: day, default: none}}\non: {on}\nsteps:\n  - id: a\n    run: |\n      echo \"$DAY\" >> log\n      while [ -e hold ]; do sleep 0.02; done\n    env: {{DAY: \"{{{{day}}}}\"}}\n"
    );
    Scratch::new(&[("playbooks/p.yml", &text)])
}

fn hourly(more: &str) -> Scratch {
    scratch(&format!("{{schedule: {{cron: \"0 * * * *\"{more}}}}}"))
}

const START: &str = "2026-01-10T00:30:00Z";

fn log(scratch: &Scratch) -> usize {
    if scratch.has("log") { scratch.read("log").lines().count() } else { 0 }
}

#[test]
fn a_time_fires_once_and_its_run_gets_the_parameters() {
    let (runtime, scratch) = (runtime(), hourly(", payload: {day: date}"));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    daemon.tick(at("2026-01-10T00:59:59.900Z"));
    assert!(fires(&store).is_empty(), "before its time");
    until(&mut daemon, at("2026-01-10T01:00:00Z"), "the run", || {
        lines(&store) == ["01:00 succeeded"]
    });
    assert_eq!(scratch.read("log"), "2026-01-10\n");
    // The same time again, and a clock that goes back an hour.
    for time in ["2026-01-10T01:00:30Z", "2026-01-10T00:00:01Z", "2026-01-10T01:00:02Z"] {
        daemon.tick(at(time));
    }
    assert_eq!(lines(&store), ["01:00 succeeded"]);
    // Ahead a year and back: the year is listed as missed, and the next hour fires.
    daemon.tick(at("2027-01-10T01:30:00Z"));
    assert_eq!(lines(&store)[1], "02:00-01:00 missed");
    until(&mut daemon, at("2026-01-10T01:30:00Z"), "the clock is right", || true);
    daemon.tick(at("2026-01-10T01:30:00Z"));
    until(&mut daemon, at("2026-01-10T02:00:01Z"), "the next hour", || log(&scratch) == 2);
}

/// A machine that was suspended: the daemon wakes up hours later in the same process.
#[test]
fn times_during_a_suspension_are_listed_as_missed() {
    let (runtime, scratch) = (runtime(), hourly(""));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    daemon.tick(at("2026-01-10T00:59:59Z"));
    daemon.tick(at("2026-01-10T05:30:00Z"));
    assert_eq!(lines(&store), ["01:00-05:00 missed"]);
    until(&mut daemon, at("2026-01-10T06:00:01Z"), "the next hour", || {
        lines(&store) == ["01:00-05:00 missed", "06:00 succeeded"]
    });
    assert_eq!(log(&scratch), 1);
}

#[test]
fn nothing_fires_without_a_person() {
    let (runtime, scratch) = (runtime(), hourly(""));
    let _context = runtime.enter();
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    daemon.tick(at("2026-01-10T01:00:01Z"));
    assert!(fires(&store).is_empty(), "it is disabled");
    enable(&scratch, "p.schedule", at(START));
    // A change of the definition: its times are listed and start nothing.
    let text = scratch.read("playbooks/p.yml").replace("echo", "printf '%s\\n'");
    scratch.write("playbooks/p.yml", &text);
    daemon.tick(at("2026-01-10T01:00:02Z"));
    let all = fires(&store);
    assert_eq!(all[0].state, FireState::Skipped);
    assert_eq!(all[0].reason.as_deref(), Some("the definition was changed and is not enabled"));
    // Enabled again, it continues with the next time.
    enable(&scratch, "p.schedule", at("2026-01-10T01:30:00Z"));
    until(&mut daemon, at("2026-01-10T02:00:00Z"), "the run", || log(&scratch) == 1);
    // A start during this run would be skipped.
    until(&mut daemon, at("2026-01-10T02:30:00Z"), "its end", || {
        fires(&store).iter().all(|fire| !fire.state.is_open())
    });
    // Paused, then resumed.
    store.pause("p.schedule", "maintenance", at("2026-01-10T00:00:00Z")).unwrap();
    daemon.tick(at("2026-01-10T03:00:01Z"));
    let last = fires(&store).pop().unwrap();
    assert_eq!(last.reason.as_deref(), Some("the trigger is paused: maintenance"));
    store.resume("p.schedule", at("2026-01-10T00:00:00Z")).unwrap();
    until(&mut daemon, at("2026-01-10T04:00:00Z"), "the run", || log(&scratch) == 2);
}

#[test]
fn a_daemon_that_was_down_follows_the_policy() {
    let (runtime, scratch) =
        (runtime(), hourly(", catchUp: {window: 3h, keep: all, max: 2}, overlap: allow"));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-02-09T10:30:00Z"), "two late runs", || log(&scratch) == 2);
    until(&mut daemon, at("2026-02-09T10:31:00Z"), "their ends", || {
        lines(&store)
            == ["01:00-07:00 missed", "08:00 missed", "09:00 succeeded", "10:00 succeeded"]
    });
    // Every time is shown with what became of it and why.
    let shown = scratch.json(&["trigger", "show", "p", "--json"]);
    let reasons: Vec<_> = shown["fires"].as_array().unwrap().iter().map(|f| &f["reason"]).collect();
    let missed = "`kb serve` did not run";
    let beyond = format!("{missed}; more times than `catchUp.max`");
    assert_eq!(serde_json::json!(reasons), serde_json::json!([null, null, beyond, missed]));
    let times = ["2026-01-10 01:00 to 2026-02-09 07:00  missed", "2026-02-09 10:00   "];
    scratch.kb(&["trigger", "show", "p"]).code(0).says(&times).says(&[missed, &beyond]);
}

#[test]
fn of_several_late_times_the_latest_starts_one_run() {
    let (runtime, scratch) = (runtime(), hourly(", catchUp: {window: 3h, keep: latest}"));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-02-09T10:30:00Z"), "the late run", || log(&scratch) == 1);
    until(&mut daemon, at("2026-02-09T10:31:00Z"), "its end", || {
        fires(&store).iter().all(|fire| !fire.state.is_open())
    });
    assert_eq!(lines(&store), ["01:00-07:00 missed", "08:00-09:00 missed", "10:00 succeeded"]);
    assert_eq!(log(&scratch), 1);
}

#[test]
fn a_run_that_waits_for_a_person_has_not_ended() {
    let text = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 * * * *\"}\nsteps: [{id: ok, approve: Go?}]\n";
    let (runtime, scratch) = (runtime(), Scratch::new(&[("playbooks/p.yml", text)]));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    let status = |index: usize| scratch.json(&["run", "list", "--json"])[index]["status"].clone();
    until(&mut daemon, at("2026-01-10T01:00:00Z"), "the question", || status(0) == "waiting");
    daemon.tick(at("2026-01-10T02:00:00Z"));
    let second = fires(&store).pop().unwrap();
    assert_eq!(second.state, FireState::Skipped, "{:?}", second.reason);
    // With its end the next time starts a run again.
    scratch.kb(&["run", "approve", "@last", "ok"]).code(0);
    until(&mut daemon, at("2026-01-10T02:30:00Z"), "its end", || {
        lines(&store) == ["01:00 succeeded", "02:00 skipped"]
    });
    until(&mut daemon, at("2026-01-10T03:00:00Z"), "the third", || status(0) == "waiting");
    assert_eq!(fires(&store).len(), 3);
}

#[test]
fn a_schedule_gives_its_nominal_time_its_local_time_and_its_date() {
    let text = "schema: kb.playbook/1\nid: p\nparams: [{name: utc, required: true}, {name: zoned, required: true}, {name: date, required: true}]\non: {schedule: {cron: \"30 2 * * *\", zone: Asia/Tokyo, payload: {utc: nominal, zoned: local, date: date}}}\nsteps: [{id: a, run: \"true\"}]\n";
    let (runtime, scratch) = (runtime(), Scratch::new(&[("playbooks/p.yml", text)]));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    let nominal = at("2026-01-10T17:30:00Z");
    until(&mut daemon, nominal, "the run", || lines(&store) == ["17:30 succeeded"]);
    let expected = serde_json::json!({
        "utc": nominal.rfc3339(), "zoned": "2026-01-11 02:30 +09:00", "date": "2026-01-11"
    });
    assert_eq!(serde_json::Value::Object(fires(&store)[0].params.clone()), expected);
}

#[test]
fn a_start_during_another_run() {
    let cases = [
        ("", vec!["01:00 started", "02:00 skipped", "03:00 skipped"]),
        ("skip", vec!["01:00 started", "02:00 skipped", "03:00 skipped"]),
        ("queueOne", vec!["01:00 started", "02:00 queued", "03:00 skipped"]),
        ("queueAll", vec!["01:00 started", "02:00 queued", "03:00 queued"]),
        ("allow", vec!["01:00 started", "02:00 started", "03:00 started"]),
    ];
    for (policy, expected) in cases {
        let overlap = if policy.is_empty() { "" } else { ", overlap: " };
        let (runtime, scratch) = (runtime(), hourly(&format!("{overlap}{policy}")));
        scratch.write(".kb/kb.config.yml", "serve: {maxRuns: 3}\n");
        let _context = runtime.enter();
        enable(&scratch, "p.schedule", at(START));
        scratch.write("hold", "");
        let (mut daemon, store) = (daemon(&scratch), store(&scratch));
        until(&mut daemon, at("2026-01-10T01:00:00Z"), "the run", || log(&scratch) == 1);
        daemon.tick(at("2026-01-10T02:00:00Z"));
        daemon.tick(at("2026-01-10T03:00:00Z"));
        assert_eq!(lines(&store), expected, "{policy}");
        std::fs::remove_file(scratch.root().join("hold")).unwrap();
        until(&mut daemon, at("2026-01-10T03:00:10Z"), "all end", || {
            fires(&store).iter().all(|fire| !fire.state.is_open())
        });
        let started = expected.iter().filter(|line| !line.ends_with("skipped")).count();
        assert_eq!(log(&scratch), started, "{policy}");
    }
}

/// What a trigger had queued does not start after it was disabled; its active run continues.
#[test]
fn a_trigger_that_is_disabled_starts_nothing_that_waits() {
    let (runtime, scratch) = (runtime(), hourly(", overlap: queueAll"));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    scratch.write("hold", "");
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-01-10T01:00:00Z"), "the run", || log(&scratch) == 1);
    daemon.tick(at("2026-01-10T02:00:00Z"));
    scratch.kb(&["trigger", "disable", "p"]).code(0);
    std::fs::remove_file(scratch.root().join("hold")).unwrap();
    until(&mut daemon, at("2026-01-10T02:00:10Z"), "the end", || {
        fires(&store).iter().all(|fire| !fire.state.is_open())
    });
    assert_eq!(lines(&store), ["01:00 succeeded", "02:00 skipped"]);
    assert_eq!(fires(&store)[1].reason.as_deref(), Some("the trigger was disabled"));
    assert_eq!(log(&scratch), 1);
}

#[test]
fn a_new_start_replaces_the_active_run() {
    let (runtime, scratch) = (runtime(), hourly(", overlap: cancel"));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    scratch.write("hold", "");
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-01-10T01:00:00Z"), "the run", || log(&scratch) == 1);
    until(&mut daemon, at("2026-01-10T02:00:00Z"), "the second run", || log(&scratch) == 2);
    assert_eq!(lines(&store), ["01:00 cancelled", "02:00 started"]);
    std::fs::remove_file(scratch.root().join("hold")).unwrap();
    until(&mut daemon, at("2026-01-10T02:01:00Z"), "the end", || {
        lines(&store)[1] == "02:00 succeeded"
    });
}

#[test]
fn runs_outlive_the_daemon_and_are_followed_by_the_next_one() {
    let (runtime, scratch) = (runtime(), hourly(""));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    scratch.write("hold", "");
    let store = store(&scratch);
    let mut first = daemon(&scratch);
    until(&mut first, at("2026-01-10T01:00:00Z"), "the run", || log(&scratch) == 1);
    let second = Daemon::open(&environment(&scratch), &options());
    let refused = second.err().expect("the lease is taken").to_string();
    assert!(refused.contains("is already running"), "{refused}");
    drop(first);
    std::fs::remove_file(scratch.root().join("hold")).unwrap();
    let mut second = daemon(&scratch);
    until(&mut second, at("2026-01-10T01:10:00Z"), "the end", || {
        lines(&store) == ["01:00 succeeded"]
    });
    assert_eq!(log(&scratch), 1);
}

#[test]
fn a_killed_run_is_resumed() {
    let (runtime, scratch) = (runtime(), hourly(""));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    scratch.write("hold", "");
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-01-10T01:00:00Z"), "the run", || log(&scratch) == 1);
    let run = fires(&store)[0].run.clone().unwrap();
    let lock = project_lock(&scratch, run.as_str());
    let pid: i32 = std::fs::read_to_string(lock).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    std::fs::remove_file(scratch.root().join("hold")).unwrap();
    until(&mut daemon, at("2026-01-10T01:10:00Z"), "the end", || {
        lines(&store) == ["01:00 succeeded"]
    });
    assert_eq!(fires(&store)[0].attempts, 2);
}

fn project_lock(scratch: &Scratch, run: &str) -> std::path::PathBuf {
    super::project(scratch).context.state_dir.join("locks").join(format!("{run}.lock"))
}

#[test]
fn failures_in_a_row_pause_the_trigger() {
    let (runtime, scratch) = (runtime(), hourly(", pauseAfter: 2"));
    let _context = runtime.enter();
    let text = scratch.read("playbooks/p.yml").replace("echo", "false; exit 3; echo");
    scratch.write("playbooks/p.yml", &text);
    enable(&scratch, "p.schedule", at(START));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-01-10T01:00:00Z"), "the run", || lines(&store) == ["01:00 failed"]);
    until(&mut daemon, at("2026-01-10T02:00:00Z"), "the second", || {
        lines(&store).ends_with(&["02:00 failed".into()])
    });
    daemon.tick(at("2026-01-10T03:00:00Z"));
    let last = fires(&store).pop().unwrap();
    assert_eq!(last.reason.as_deref(), Some("the trigger is paused: 2 failed runs in a row"));
}

#[test]
fn a_run_that_cannot_start_says_why() {
    let (runtime, scratch) = (runtime(), hourly(""));
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at(START));
    scratch.write(".kb/kb.config.yml", "sandbox: {requires: kernel}\n");
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-01-10T01:00:00Z"), "the failure", || {
        lines(&store) == ["01:00 failed"]
    });
    let reason = fires(&store)[0].reason.clone().unwrap();
    assert!(reason.contains("did not start") && reason.contains("requires"), "{reason}");
    assert_eq!(log(&scratch), 0);
}

/// 200 schedules are due at the same moment: each fires in the turn in which it is due.
#[test]
fn many_schedules_fire_in_one_turn() {
    let files: Vec<(String, String)> = (0..200)
        .map(|n| {
            let text = format!(
                "schema: kb.playbook/1\nid: p{n}\non: {{schedule: \"0 * * * *\"}}\nsteps: [{{id: a, run: \"true\"}}]\n"
            );
            (format!("playbooks/p{n}.yml"), text)
        })
        .collect();
    let names: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let (runtime, scratch) = (runtime(), Scratch::new(&names));
    let _context = runtime.enter();
    scratch.write(".kb/kb.config.yml", "serve: {maxRuns: 1}\n");
    let (project, store) = (super::project(&scratch), store(&scratch));
    for loaded in kb::serve::trigger_catalog(&project).values() {
        store.enable(&loaded.id, &loaded.digest, at(START)).unwrap();
    }
    let mut daemon = daemon(&scratch);
    daemon.tick(at("2026-01-10T01:00:00Z"));
    let all = fires(&store);
    assert_eq!(all.len(), 200);
    assert!(all.iter().all(|fire| fire.at == at("2026-01-10T01:00:00Z")));
    assert_eq!(all.iter().filter(|fire| fire.state == FireState::Started).count(), 1);
    let sleep = daemon.tick(Timestamp(at("2026-01-10T01:00:00Z").0 + 1));
    assert!(sleep.as_secs() <= 30);
}
