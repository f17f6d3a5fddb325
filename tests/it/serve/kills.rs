//! The daemon is killed at random moments: no fire is lost, none happens twice.

use super::{at, daemon, enable, fires, store};
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use kb::serve::Daemon;
use kb::trigger::FireState;
use kb::value::Timestamp;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Variables of the child that runs a daemon: the root of the project, and the wall time in
/// milliseconds at which its clock was [`START`].
const ROOT: &str = "KB_TEST_DAEMON_ROOT";
const BEGAN: &str = "KB_TEST_DAEMON_BEGAN";
const START: &str = "2026-01-10T00:00:30Z";
/// A minute of the schedule lasts this many milliseconds.
const MINUTE_MS: i64 = 150;

fn fake(began: i64) -> Timestamp {
    let passed = kb::clock::Clock::system().wall().0 - began;
    Timestamp(at(START).0 + passed * 60_000 / MINUTE_MS)
}

/// The daemon of [`random_kills_lose_and_double_nothing`], in a process of its own.
#[test]
#[ignore = "started by random_kills_lose_and_double_nothing"]
fn mortal_daemon() {
    let (Ok(root), Ok(began)) = (std::env::var(ROOT), std::env::var(BEGAN)) else { return };
    let began: i64 = began.parse().unwrap();
    let variables = std::env::vars().collect();
    let environment = kb::service::Environment::new(root, variables, kb::clock::Clock::system());
    let runtime = super::runtime();
    let _context = runtime.enter();
    let mut daemon = Daemon::open(&environment, &super::options()).unwrap();
    loop {
        daemon.tick(fake(began));
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn spawn(scratch: &Scratch, began: i64) -> Running {
    let given = scratch.command();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "serve::kills::mortal_daemon"])
        .env_clear()
        .envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env(ROOT, scratch.root())
        .env(BEGAN, began.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.start()
}

#[test]
fn random_kills_lose_and_double_nothing() {
    let kills = crate::proof::amount("KB_SERVE_KILLS", 12, 1000);
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    let text = "schema: kb.playbook/1\nid: p\nparams: [{name: at, required: true}]\non:\n  schedule: {cron: \"* * * * *\", overlap: allow, payload: {at: nominal}, catchUp: {window: 1d, keep: all, max: 1000}}\nsteps: [{id: a, run: \"echo $AT >> log\", env: {AT: \"{{at}}\"}}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.write(".kb/kb.config.yml", "serve: {maxRuns: 2}\n");
    enable(&scratch, "p.schedule", at(START));
    let began = kb::clock::Clock::system().wall().0;
    let mut state = SEED;
    for _ in 0..kills {
        let mut child = spawn(&scratch, began);
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis(60 + (state >> 33) % 400));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let end = fake(began);
    let runtime = super::runtime();
    let _context = runtime.enter();
    let (mut last, store) = (daemon(&scratch), store(&scratch));
    last.tick(end);
    super::until_within(Duration::from_secs(240), &mut last, end, "the end of all runs", || {
        fires(&store).iter().all(|fire| !fire.state.is_open())
    });
    let mut expected = BTreeSet::new();
    let mut minute = at("2026-01-10T00:01:00Z");
    while minute <= end {
        expected.insert(minute.rfc3339());
        minute = Timestamp(minute.0 + 60_000);
    }
    let all = fires(&store);
    let nominal: Vec<String> = all.iter().map(|fire| fire.nominal.unwrap().rfc3339()).collect();
    assert_eq!(
        nominal.len(),
        nominal.iter().collect::<BTreeSet<_>>().len(),
        "a time is listed twice"
    );
    assert_eq!(nominal.into_iter().collect::<BTreeSet<_>>(), expected, "a time is missing");
    assert!(
        all.iter().all(|fire| fire.state == FireState::Ended(kb::definition::RunEnd::Succeeded))
    );
    let mut ran: Vec<String> = scratch.read("log").lines().map(str::to_owned).collect();
    ran.sort();
    assert_eq!(ran, expected.into_iter().collect::<Vec<_>>(), "each time ran once");
    let figures = [("kills", kills), ("fires", ran.len()), ("missing", 0), ("doubled", 0)];
    crate::proof::record("random kills of kb serve", Some(SEED), figures);
}
