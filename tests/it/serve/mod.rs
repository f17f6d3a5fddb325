//! `kb serve` and `kb trigger`.

mod answers;
mod api;
mod browser;
mod collector;
mod commands;
mod contract;
mod daemon;
mod damaged;
mod disks;
mod events;
mod faults;
mod goals;
mod kills;
mod mcp_http;
mod memory;
mod moved;
mod notify;
mod operation;
mod pages;
mod retention;
mod security;
mod shown;
mod signatures;
mod site;
mod streams;

use crate::scratch::Scratch;
use kb::serve::{Daemon, DaemonOptions};
use kb::service::{Environment, Project};
use kb::trigger::{Fire, FireFilter, TriggerStore};
use kb::value::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The environment of a scratch project, as the binary in it has it.
fn environment(scratch: &Scratch) -> Environment {
    let command = scratch.command();
    let variables: BTreeMap<String, String> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
        .collect();
    Environment::new(scratch.root(), variables, kb::clock::Clock::system())
}

fn options() -> DaemonOptions {
    let program = Some(PathBuf::from(env!("CARGO_BIN_EXE_kb")));
    DaemonOptions { program, ..DaemonOptions::default() }
}

fn project(scratch: &Scratch) -> Project {
    Project::find(&environment(scratch)).unwrap()
}

fn store(scratch: &Scratch) -> TriggerStore {
    TriggerStore::open(&project(scratch).context.state_dir).unwrap()
}

fn daemon(scratch: &Scratch) -> Daemon {
    Daemon::open(&environment(scratch), &options()).unwrap()
}

/// Enables a trigger as if it were this time.
fn enable(scratch: &Scratch, id: &str, at: Timestamp) {
    let project = project(scratch);
    let catalog = kb::serve::trigger_catalog(&project);
    let loaded = catalog.get(id).unwrap_or_else(|| panic!("{id}: {:?}", project.diagnostics));
    store(scratch).enable(id, &loaded.digest, at).unwrap();
}

/// All fires, oldest first.
fn fires(store: &TriggerStore) -> Vec<Fire> {
    let filter = FireFilter { trigger: None, open: false, limit: usize::MAX };
    let mut all = store.fires(&filter).unwrap();
    all.reverse();
    all
}

/// Fires as `TIME STATE`, with the time of day in UTC.
fn lines(store: &TriggerStore) -> Vec<String> {
    let line = |fire: &Fire| {
        let time = |at: Timestamp| at.rfc3339()[11..16].to_owned();
        let nominal = fire.nominal.map(time).unwrap_or_default();
        let until = fire.until.map(|until| format!("-{}", time(until))).unwrap_or_default();
        format!("{nominal}{until} {}", fire.state.as_str())
    };
    fires(store).iter().map(line).collect()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Ticks with a fixed time until a condition holds, at most a minute.
fn until(daemon: &mut Daemon, now: Timestamp, what: &str, holds: impl FnMut() -> bool) {
    until_within(Duration::from_secs(60), daemon, now, what, holds);
}

fn until_within(
    limit: Duration,
    daemon: &mut Daemon,
    now: Timestamp,
    what: &str,
    mut holds: impl FnMut() -> bool,
) {
    let deadline = Instant::now() + limit;
    let mut time = now;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} does not happen");
        daemon.tick(time);
        std::thread::sleep(Duration::from_millis(10));
        // Runs are looked at when time passes.
        time = Timestamp(time.0 + 10);
    }
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Runtime(Some(builder.worker_threads(1).enable_all().build().unwrap()))
}

/// A runtime that does not wait without limit for its threads when it is dropped.
struct Runtime(Option<tokio::runtime::Runtime>);

impl std::ops::Deref for Runtime {
    type Target = tokio::runtime::Runtime;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().expect("it is taken when it is dropped")
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.0.take().expect("it is dropped once").shutdown_timeout(Duration::from_secs(60));
    }
}
