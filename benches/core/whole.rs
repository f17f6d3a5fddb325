//! What is measured as a whole and printed as JSON, for `scripts/speed`: `--whole STEPS` and
//! `--runs COUNT`. Each is a process of its own, so that its memory is its own too.

use crate::driven::House;
use crate::shape::{Shape, catalog_of, planned};
use crate::state_machine;
use kb::definition::{FileRole, InputFile, Playbook};
use kb::project::ProjectFolder;
use kb::service::{Environment, Project, StartRequest, start};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::unbounded_channel;

/// Steps of one file: a definition holds at most 1 MiB, so a larger plan comes from several.
const A_FILE: usize = 10_000;

/// Does what the arguments ask for; whether they ask for anything.
pub(crate) fn asked() -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let told = match words.as_slice() {
        ["--whole", steps] => whole(steps.parse().expect("a number of steps")),
        ["--runs", count] => many_runs(count.parse().expect("a number of runs")),
        _ => return false,
    };
    println!("{told}");
    true
}

/// A large plan from its texts to the end of its run, with the journal as shipped.
fn whole(steps: usize) -> Value {
    let texts: Vec<String> = (0..steps.div_ceil(A_FILE))
        .map(|part| Shape::Layered.part(part * A_FILE, steps.min((part + 1) * A_FILE)))
        .collect();
    let largest = texts.iter().map(String::len).max();
    let began = Instant::now();
    let playbook = joined(texts);
    let loaded = began.elapsed();
    let plan = planned(&playbook);
    let planned = began.elapsed();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let house = House::new(&plan);
    let house = runtime.block_on(house.drive());
    let ran = began.elapsed();
    let peak = memory("VmHWM");
    drop(house);
    json!({
        "steps": plan.steps().len(),
        "bytesOfAFile": largest,
        "loadMs": loaded.as_millis() as u64,
        "planMs": (planned - loaded).as_millis() as u64,
        "runMs": (ran - planned).as_millis() as u64,
        "seconds": ran.as_secs_f64(),
        "peakMiB": peak,
        "inputsPerSecond": state_machine::inputs_per_second(Shape::Layered, 10_000),
    })
}

/// One playbook of the steps of several files.
fn joined(texts: Vec<String>) -> Arc<Playbook> {
    let file = |(part, text): (usize, String)| InputFile {
        path: format!("playbooks/part{part}.yml"),
        bytes: text.into_bytes().into(),
        role: FileRole::Playbook,
    };
    let catalog = catalog_of(texts.into_iter().enumerate().map(file).collect());
    let mut parts: Vec<Arc<Playbook>> = catalog.playbooks.into_values().collect();
    // By where they begin, not by name: `part10` comes after `part9`.
    parts.sort_by_key(|part| part.name.trim_start_matches("part").parse::<usize>().unwrap_or(0));
    let steps = parts.iter().flat_map(|part| part.steps.iter().cloned()).collect();
    let first = parts.swap_remove(0);
    drop(parts);
    let mut whole = Arc::unwrap_or_clone(first);
    whole.steps = steps;
    Arc::new(whole)
}

/// Runs one after the other in one process: what stays of them.
fn many_runs(count: usize) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = folder.path().join("project");
    std::fs::create_dir_all(&project).expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut early = 0.0;
    let began = Instant::now();
    for number in 1..=count {
        runtime.block_on(one_run(&project, &folder.path().join("state")));
        if number == count.min(100) {
            early = memory("VmRSS");
        }
    }
    json!({
        "runs": count,
        "msARun": began.elapsed().as_millis() as f64 / count as f64,
        "residentMiBAfter100": early,
        "residentMiB": memory("VmRSS"),
    })
}

const A_RUN: &str = "schema: kb.playbook/1\nid: small\nsteps:\n  \
    - {id: list, set: {all: '{{ range(200) | list }}'}}\n  \
    - {id: each, forEach: '{{list.output.all}}', set: {v: '{{item}}'}}\n  \
    - {id: shell, dependsOn: [each], run: [/bin/echo, done]}\n";

async fn one_run(project: &Path, state: &Path) {
    let path = "playbooks/small.yml".to_owned();
    let file = InputFile { path, bytes: A_RUN.as_bytes().into(), role: FileRole::Playbook };
    let state = ("XDG_STATE_HOME".to_owned(), state.display().to_string());
    let environment = Environment::new(
        project,
        std::env::vars().chain([state]).collect(),
        kb::clock::Clock::system(),
    );
    let project = Project::of_files(ProjectFolder::at(project), &environment, vec![file]);
    let request = StartRequest { definition: "small".to_owned(), ..StartRequest::default() };
    let prepared = start(project, request, None);
    let prepared = prepared.await.unwrap_or_else(|error| panic!("{error}"));
    let (_keep, commands) = unbounded_channel();
    let ended = prepared.drive(None, commands).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended.status, kb::run::RunStatus::Succeeded, "{:?}", ended.failure);
}

/// What the system says that this process holds, in MiB.
fn memory(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}
