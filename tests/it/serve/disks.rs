//! The daemon with a journal or disk that cannot be used.

use super::{at, daemon, enable, environment, fires, options, project, store, until};
use crate::disk::with_small_disk;
use crate::scratch::Scratch;
use kb::serve::Daemon;
use kb::service::Project;
use kb::trigger::{FireState, TriggerStore};
use std::path::Path;

const HOURLY: &str = "schema: kb.playbook/1\nid: p\non: {schedule: {cron: \"0 * * * *\", catchUp: {window: 1d, keep: all}, overlap: queueAll}}\nsteps: [{id: a, run: \"echo done >> log\"}]\n";

/// Takes all room of a disk. Returns the file that takes it.
fn fill(disk: &Path) -> std::path::PathBuf {
    let path = disk.join("ballast");
    let mut file = std::fs::File::create(&path).unwrap();
    let chunk = [0u8; 512];
    while std::io::Write::write_all(&mut file, &chunk).is_ok() {}
    path
}

/// While the disk is full, nothing starts and the project says why; with room, each time that passed fires once.
#[test]
fn a_full_disk_delays_what_is_due_and_loses_nothing() {
    let name = "serve::disks::a_full_disk_delays_what_is_due_and_loses_nothing";
    with_small_disk(name, "16m", |disk| {
        let scratch = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
        let mut environment = environment(&scratch);
        let state = disk.join("state").display().to_string();
        environment.variables.insert("XDG_STATE_HOME".to_owned(), state);
        let environment =
            kb::service::Environment::new(scratch.root(), environment.variables, environment.clock);
        let runtime = super::runtime();
        let _context = runtime.enter();
        let project = Project::find(&environment).unwrap();
        assert!(project.context.state_dir.starts_with(disk));
        let store = TriggerStore::open(&project.context.state_dir).unwrap();
        let digest = kb::serve::trigger_catalog(&project)["p.schedule"].digest;
        store.enable("p.schedule", &digest, at("2026-01-01T00:30:00Z")).unwrap();
        let mut daemon = Daemon::open(&environment, &options()).unwrap();
        let shared = daemon.shared().unwrap().remove(0);
        daemon.tick(at("2026-01-01T00:30:10Z"));
        assert_eq!(shared.state().problem, None);
        let ballast = fill(disk);
        for minute in ["01:00:01", "01:00:05", "02:00:01"] {
            daemon.tick(at(&format!("2026-01-01T{minute}Z")));
            let problem = shared.state().problem.unwrap_or_default();
            assert!(problem.contains("full"), "{minute}: {problem}");
        }
        assert!(fires(&store).is_empty() && !scratch.has("log"));
        // Other processes see it too, although nothing can be written.
        let told = kb::serve::daemon_problem(&project.context.state_dir).unwrap_or_default();
        assert!(told.contains("full"), "{told}");
        std::fs::remove_file(ballast).unwrap();
        let ended = || fires(&store).iter().filter(|f| !f.state.is_open()).count() == 2;
        until(&mut daemon, at("2026-01-01T02:00:10Z"), "both runs", ended);
        assert_eq!(shared.state().problem, None);
        assert_eq!(kb::serve::daemon_problem(&project.context.state_dir), None);
        assert_eq!(scratch.read("log"), "done\ndone\n");
    });
}

/// A journal that stays locked for longer than a writer waits delays the start: it is tried again, and the list of
/// triggers says so.
#[test]
fn a_start_that_a_locked_journal_prevents_is_tried_again() {
    let scratch = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
    let runtime = super::runtime();
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at("2026-01-01T00:30:00Z"));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    let journal = project(&scratch).context.state_dir.join("journal.sqlite3");
    let other = rusqlite::Connection::open(&journal).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    daemon.tick(at("2026-01-01T01:00:01Z"));
    let delayed = || fires(&store)[0].reason.is_some();
    until(&mut daemon, at("2026-01-01T02:00:01Z"), "the delay", delayed);
    let found: Vec<_> = fires(&store).iter().map(|f| (f.state, f.attempts)).collect();
    assert_eq!(found, [(FireState::Queued, 0), (FireState::Queued, 0)], "one after the other");
    scratch.kb(&["trigger", "list"]).code(0).says(&[
        "enabled, delayed",
        "has locked the journal",
        "tried again at 2026-01-01T02:00",
    ]);
    other.execute_batch("ROLLBACK").unwrap();
    // Not before its time, and then each once.
    daemon.tick(at("2026-01-01T02:00:02Z"));
    assert!(fires(&store).iter().all(|f| f.state == FireState::Queued) && !scratch.has("log"));
    let ended = || fires(&store).iter().all(|fire| !fire.state.is_open());
    until(&mut daemon, at("2026-01-01T02:01:30Z"), "both runs", ended);
    assert_eq!(scratch.read("log"), "done\ndone\n");
    assert!(fires(&store).iter().all(|fire| fire.reason.is_none()));
    let list = scratch.json(&["trigger", "list", "--json"]);
    assert_eq!(list[0].get("delayed"), None, "{list}");
}

/// A run whose process ends because the journal stays locked is resumed later, and that does not count as an attempt.
#[test]
fn a_run_that_a_locked_journal_interrupts_is_resumed_later() {
    let text = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 * * * *\"}\nsteps: [{id: a, run: \"touch begun; while [ ! -e go ]; do sleep 0.05; done\", retrySafe: true}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let runtime = super::runtime();
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at("2026-01-01T00:30:00Z"));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    until(&mut daemon, at("2026-01-01T01:00:01Z"), "the step", || scratch.has("begun"));
    let journal = project(&scratch).context.state_dir.join("journal.sqlite3");
    let other = rusqlite::Connection::open(&journal).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    scratch.write("go", "");
    let delayed = || fires(&store)[0].reason.is_some();
    until(&mut daemon, at("2026-01-01T01:00:10Z"), "the delay", delayed);
    let fire = fires(&store).remove(0);
    assert_eq!((fire.state, fire.attempts), (FireState::Started, 0), "{fire:?}");
    other.execute_batch("ROLLBACK").unwrap();
    let ended = || fires(&store).iter().all(|fire| !fire.state.is_open());
    until(&mut daemon, at("2026-01-01T01:02:00Z"), "the end", ended);
    let fire = fires(&store).remove(0);
    let succeeded = FireState::Ended(kb::definition::RunEnd::Succeeded);
    assert_eq!((fire.state, fire.attempts, fire.reason), (succeeded, 1, None));
}

/// A journal that another process keeps locked delays the run, and a journal of a newer version fails it with the reason.
#[test]
fn a_locked_journal_delays_a_run_and_a_newer_one_fails_it() {
    let scratch = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
    let runtime = super::runtime();
    let _context = runtime.enter();
    enable(&scratch, "p.schedule", at("2026-01-01T00:30:00Z"));
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    let shared = daemon.shared().unwrap().remove(0);
    let journal = project(&scratch).context.state_dir.join("journal.sqlite3");
    let other = rusqlite::Connection::open(&journal).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let states = || fires(&store).iter().map(|fire| fire.state).collect::<Vec<_>>();
    until(&mut daemon, at("2026-01-01T01:00:01Z"), "the start", || {
        states() == [FireState::Started]
    });
    assert_eq!(shared.state().problem, None);
    assert!(!scratch.has("log"));
    other.execute_batch("ROLLBACK").unwrap();
    let ended = || states().iter().all(|state| !state.is_open());
    until(&mut daemon, at("2026-01-01T01:00:10Z"), "the end", ended);
    assert_eq!(scratch.read("log"), "done\n");
    // A newer `kb` has changed the journal meanwhile.
    other.execute_batch("PRAGMA user_version = 999").unwrap();
    drop(other);
    until(&mut daemon, at("2026-01-01T02:00:01Z"), "the failure", || {
        states().len() == 2 && ended()
    });
    let last = fires(&store).pop().unwrap();
    assert_eq!(last.state, FireState::Ended(kb::definition::RunEnd::Failed));
    assert!(last.reason.as_ref().is_some_and(|reason| reason.contains("newer")), "{last:?}");
    assert_eq!(scratch.read("log"), "done\n");
    // A daemon that starts now says so.
    drop(daemon);
    scratch.kb(&["serve", "--port", "0"]).code(6).says(&["newer"]);
}
