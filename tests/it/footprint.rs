//! Memory: what a finished step leaves behind, what a run leaves behind in its process, and that a
//! folder full of runs makes the next one no slower. Each measured program is a process of its own,
//! since whatever else the tests do would be in the figure.

use super::proof;
use super::scratch::Scratch;
use crate::running::Start;
use kb::definition::{FileRole, InputFile};
use kb::project::ProjectFolder;
use kb::run::RunStatus;
use kb::service::{Environment, Project, StartRequest, start};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;

/// A list of so many items, each a step that hands out a value.
fn items(count: usize) -> String {
    format!(
        "schema: kb.playbook/1\nid: many\nsteps:\n\
         \x20 - {{id: list, set: {{all: '{{{{ range({count}) | list }}}}'}}}}\n\
         \x20 - {{id: each, forEach: '{{{{list.output.all}}}}', set: {{v: '{{{{item}}}}'}}}}\n"
    )
}

/// So many steps in layers of a hundred, each with values of two steps of the layer before.
fn steps(count: usize) -> String {
    let mut text = "schema: kb.playbook/1\nid: many\nsteps:\n".to_owned();
    for i in 0..count {
        let values = match i.checked_sub(100) {
            None => "v0: 1, v1: 1".to_owned(),
            Some(above) => {
                let beside = above + 1;
                format!("v0: '{{{{s{above}.output.v0}}}}', v1: '{{{{s{beside}.output.v0}}}}'")
            }
        };
        text.push_str(&format!("  - {{id: s{i}, set: {{{values}}}}}\n"));
    }
    text
}

/// The most that a process held, in KiB.
fn peak(project: &Scratch, args: &[&str]) -> u64 {
    most(project, args, "VmHWM:")
}

/// The most of that sort of memory that a process was seen to hold, in KiB.
fn most(project: &Scratch, args: &[&str], sort: &str) -> u64 {
    let mut child = project
        .command()
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .start();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(kib_of(&std::fs::read_to_string(&status).unwrap_or_default(), sort));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success(), "{args:?}");
    most
}

fn kib_of(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn peak_of_items(count: usize) -> u64 {
    let project = Scratch::new(&[(".kb/playbooks/many.yml", &items(count))]);
    peak(&project, &["playbook", "run", "many", "--quiet"])
}

/// Most of what a finished item may leave behind, in bytes: its record, its value's text and its line
/// on the display. Each of its events, of which there are four, takes about 290 while it is held.
const AN_ITEM: u64 = 600;

#[test]
fn a_finished_item_leaves_its_record_and_its_value_and_nothing_else() {
    let most = proof::amount("KB_FOOTPRINT_ITEMS", 16_000, 20_000);
    let few = most / 10;
    // On a busy machine more events wait for who takes them, which is no part of an item.
    let (mut small, mut large, mut each) = (0, u64::MAX, u64::MAX);
    for _ in 0..5 {
        (small, large) = (small.max(peak_of_items(few)), large.min(peak_of_items(most)));
        each = large.saturating_sub(small) * 1024 / (most - few) as u64;
        if each <= AN_ITEM {
            break;
        }
    }
    assert!(small > 0 && each <= AN_ITEM, "{each} bytes an item: {small} KiB, then {large} KiB");
    let figures = [
        ("items", most as u64),
        ("KiB", large),
        ("KiB of a tenth", small),
        ("bytes an item", each),
    ];
    proof::record("memory of finished steps", None, figures);
}

/// The most memory of its own, without the program's pages, that a run of so many steps held, in KiB.
fn peak_of_steps(count: usize) -> u64 {
    let project = Scratch::new(&[(".kb/playbooks/many.yml", &steps(count))]);
    most(&project, &["playbook", "run", "many", "--quiet"], "RssAnon:")
}

/// Most of what a step may cost that is defined and run, in bytes, at whatever time the most is held:
/// its part of the file and of the tree that it is read from; the step, its place in the plan and the
/// text that is frozen; or all of that without the texts, and what it leaves behind in the run.
const A_STEP: u64 = 840;

#[test]
fn a_step_that_is_defined_and_run_takes_what_it_is_and_no_second_copy() {
    let many = proof::amount("KB_FOOTPRINT_STEPS", 8_000, 12_000);
    let few = many / 10;
    // On a busy machine more events wait for who takes them, which is no part of a step.
    // There, too, the peak of the short run may fall between two looks at it.
    let (mut small, mut large, mut each) = (0, u64::MAX, u64::MAX);
    for _ in 0..5 {
        (small, large) = (small.max(peak_of_steps(few)), large.min(peak_of_steps(many)));
        each = large.saturating_sub(small) * 1024 / (many - few) as u64;
        if each <= A_STEP {
            break;
        }
    }
    assert!(small > 0 && each <= A_STEP, "{each} bytes a step: {small} KiB, then {large} KiB");
    let figures =
        [("steps", many as u64), ("KiB", large), ("KiB of a tenth", small), ("bytes a step", each)];
    proof::record("memory of defined steps", None, figures);
}

/// What a display that stands still may cost, in KiB: updates that wait, and lines that do.
const A_STALL: u64 = 3 << 10;

#[test]
fn a_display_that_stands_still_holds_neither_the_run_nor_memory_and_loses_no_line() {
    let many = proof::amount("KB_FOOTPRINT_STALL", 8_000, 20_000);
    // Items have no lines of their own in the plain display.
    for (text, args, journal) in [
        (items(many), &["playbook", "run", "many", "--json"][..], ["run", "events", "@last"]),
        (steps(many), &["playbook", "run", "many"], ["run", "logs", "@last"]),
    ] {
        let project = Scratch::new(&[(".kb/playbooks/many.yml", &text)]);
        let read = peak(&project, &["playbook", "run", "many", "--quiet"]);
        let (shown, stalled) = shown_late(&project, args);
        let told = project.kb(&journal).out;
        let both = || shown.lines().zip(told.lines()).find(|(a, b)| a != b);
        assert_eq!(shown.lines().count(), told.lines().count(), "{args:?}: {:?}", both());
        assert!(shown == told, "{args:?}: {:?}", both());
        let most = read + A_STALL;
        assert!(read > 0 && stalled <= most, "{args:?}: {stalled} KiB, read at once {read} KiB");
    }
}

/// What a run shows whose lines nobody reads before it has ended, and the most that it held by then.
fn shown_late(project: &Scratch, args: &[&str]) -> (String, u64) {
    let is_json = args.contains(&"--json");
    let (lines, rest) = (Stdio::piped(), Stdio::null());
    let (out, err) = if is_json { (lines, rest) } else { (rest, lines) };
    let before = project.kb(&["run", "list"]).out.matches("succeeded").count();
    let mut command = project.command();
    let mut child = command.args(args).stdin(Stdio::null()).stdout(out).stderr(err).start();
    while project.kb(&["run", "list"]).out.matches("succeeded").count() == before {
        assert!(child.try_wait().unwrap().is_none(), "{args:?} ended");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mut shown = String::new();
    if is_json {
        child.stdout.take().unwrap().read_to_string(&mut shown).unwrap()
    } else {
        child.stderr.take().unwrap().read_to_string(&mut shown).unwrap()
    };
    assert!(child.wait().unwrap().success(), "{args:?}");
    (shown, kib_of(&status, "VmHWM:"))
}

#[test]
fn runs_in_one_process_leave_nothing_behind() {
    let runs = proof::amount("KB_FOOTPRINT_RUNS", 60, 1_000);
    let folder = Scratch::bare();
    let mine = std::env::current_exe().unwrap();
    let told = Command::new(mine)
        .args(["footprint::many_runs_in_this_process", "--exact", "--ignored", "--nocapture"])
        .env("KB_FOOTPRINT", format!("{runs}:{}", folder.root().display()))
        .finish();
    let text = String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success(), "{text}{}", String::from_utf8_lossy(&told.stderr));
    let figure = |name: &str| kib_of(&text, name);
    let (early, late) = (figure("EARLY"), figure("LATE"));
    // The first runs fill caches; from then on it is one run like the other.
    let grown = late as f64 / early as f64;
    assert!(early > 0 && grown <= 1.05, "{early} KiB, and {late} KiB after {runs} runs");
    let figures = [("runs", runs as f64), ("KiB early", early as f64), ("times at the end", grown)];
    proof::record("memory of runs in one process", None, figures);
}

const SMALL: &str = "schema: kb.playbook/1\nid: small\nsteps:\n  \
    - {id: list, set: {all: '{{ range(200) | list }}'}}\n  \
    - {id: each, forEach: '{{list.output.all}}', set: {v: '{{item}}'}}\n  \
    - {id: shell, dependsOn: [each], run: [/bin/echo, done]}\n";

#[test]
#[ignore = "the measured part of another test, which starts it as a process"]
fn many_runs_in_this_process() {
    let asked = std::env::var("KB_FOOTPRINT").unwrap();
    let (runs, folder) = asked.split_once(':').unwrap();
    let (runs, folder): (usize, &Path) = (runs.parse().unwrap(), Path::new(folder));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for number in 1..=runs {
        runtime.block_on(one_run(folder));
        if number == (runs / 3).min(100) {
            tell("EARLY");
        }
    }
    tell("LATE");
}

fn tell(name: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("\n{name} {}", kib_of(&status, "VmRSS:"));
}

async fn one_run(folder: &Path) {
    let path = "playbooks/small.yml".to_owned();
    let file = InputFile { path, bytes: SMALL.as_bytes().into(), role: FileRole::Playbook };
    let state = folder.with_file_name("state").display().to_string();
    let variables = std::env::vars().chain([("XDG_STATE_HOME".to_owned(), state)]).collect();
    let environment = Environment::new(folder, variables, kb::clock::Clock::system());
    let project = Project::of_files(ProjectFolder::at(folder), &environment, vec![file]);
    let request = StartRequest { definition: "small".to_owned(), ..StartRequest::default() };
    let prepared = start(project, request, None);
    let prepared = prepared.await.unwrap_or_else(|error| panic!("{error}"));
    let (_keep, commands) = unbounded_channel();
    let ended = prepared.drive(None, commands).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended.status, RunStatus::Succeeded, "{:?}", ended.failure);
}
