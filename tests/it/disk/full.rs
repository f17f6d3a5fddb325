//! A disk that is really full: a small one of its own (tmpfs), where a ballast takes all room that is
//! left right before the n-th call that writes.

use super::broken::{at_each, holds, spread};
use super::scenario::Scenario;
use super::{Deed, Fault, Op, read_log};
use crate::proof;
use crate::running::Start;
use futures::future::BoxFuture;
use kb::llm::{ChatReply, ChatRequest, ModelError, ModelProvider, ModelRef};
use kb::value::Tier;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where the small disk is, in the process that has one.
const DISK: &str = "KB_SMALL_DISK";

/// Runs the test `name` again in name spaces of its own, on a small disk, where the system allows; the
/// path of that disk is given in the process that has it.
pub(crate) fn with_small_disk(name: &str, size: &str, test: impl FnOnce(&Path)) {
    if let Some(disk) = std::env::var_os(DISK) {
        return test(&PathBuf::from(disk));
    }
    let disk = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 77; shift 2; exec \"$@\"";
    let run = |flags: &str| {
        let mut command = Command::new("unshare");
        command.args([flags, "sh", "-c", script, "sh", size]).arg(disk.path());
        command.arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
        command.env(DISK, disk.path()).finish_if_found()
    };
    for flags in ["-Urm", "-m"] {
        let Some(output) = run(flags) else { continue };
        let err = String::from_utf8_lossy(&output.stderr);
        let out = String::from_utf8_lossy(&output.stdout);
        let began = out.contains("running 1 test");
        if began {
            assert!(output.status.success(), "{out}\n{err}");
            // What was recorded there.
            return println!("{out}");
        }
    }
    eprintln!("skipped: `{name}`, for this system lets nobody mount a small disk");
}

#[test]
fn a_disk_that_fills_up_at_any_write_stops_the_run_and_room_lets_it_go_on() {
    with_small_disk(
        "disk::full::a_disk_that_fills_up_at_any_write_stops_the_run_and_room_lets_it_go_on",
        "4m",
        |disk| {
            let (state, ballast) = (disk.join("state"), disk.join("ballast"));
            let scenario = Scenario::with_state(&state);
            let log = scenario.scratch.root().with_extension("log");
            let ops = "write,truncate,create,mkdir,rename";
            let fault = Fault::below(&state).ops(ops).log(&log);
            scenario.kb_with(&Scenario::RUN, |command| fault.on(command)).code(0);
            let counted = |op: &Op| {
                use Op::{Create, MakeDirectory, Rename, Truncate, Write};
                matches!(
                    op,
                    Write { .. } | Truncate { .. } | Create | MakeDirectory | Rename { .. }
                )
            };
            let count = read_log(&log).iter().filter(|record| counted(&record.op)).count();
            let end = scenario.end();
            let points = spread(count, proof::amount("KB_FULL", 2, 400));
            let stopped = at_each(&points, |n| {
                scenario.forget();
                let fault = Fault::below(&state).ops(ops).at(n, Deed::Fill).ballast(&ballast);
                let said = scenario.kb_with(&Scenario::RUN, |command| fault.on(command));
                let there = scenario.kb(&["run", "list", "--json"]);
                if there.code == 0 && there.out.trim() != "[]" {
                    // Still full, and readable.
                    scenario.kb(&["run", "show", "@last"]).code(0);
                    scenario.kb(&["run", "events", "@last"]).code(0);
                    if said.code != 0 {
                        scenario.kb(&["doctor"]).says(&["the disk of the journal is full"]);
                        scenario.kb(&["run", "resume", "@last"]).code(5).says(&["KB0802", "help:"]);
                    }
                } else {
                    let begun = super::scenario::journal_below(&state)
                        .is_some_and(|journal| journal.join("journal.sqlite3").exists());
                    assert!(
                        !begun || said.out.is_empty(),
                        "what was said cannot be read: {there:?}"
                    );
                }
                // Where this run made fewer calls, there is none.
                let _ = std::fs::remove_file(&ballast);
                holds(&scenario, &said, &end, &["KB0802"], true);
                said.code != 0
            });
            let figures = [("points", points.len()), ("runs stopped and gone on with", stopped)];
            proof::record("full disk: each write on a small tmpfs", None, figures);
        },
    );
}

#[test]
fn where_the_project_has_no_room_a_tool_fails_its_step_and_nothing_is_left_half() {
    with_small_disk(
        "disk::full::where_the_project_has_no_room_a_tool_fails_its_step_and_nothing_is_left_half",
        "1m",
        |disk| {
            let project = disk.join("project");
            std::fs::create_dir_all(project.join(".kb")).unwrap();
            std::fs::create_dir_all(project.join("playbooks")).unwrap();
            let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: big, run: 'head -c 900000 /dev/zero | tr \"\\0\" x'}\n  - {id: put, tool: fs:write, input: {path: out.txt, content: '{{big.output}}'}}\n";
            std::fs::write(project.join("playbooks/p.yml"), text).unwrap();
            std::fs::write(disk.join("ballast"), vec![0; 700_000]).unwrap();
            let scenario = Scenario::new();
            let in_project =
                |args: &[&str]| scenario.kb_with(args, |command| _ = command.current_dir(&project));
            in_project(&["playbook", "run", "p"]).code(1).says(&["failed put", "No space left"]);
            let left: Vec<_> = std::fs::read_dir(&project)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| ![".kb", "playbooks"].contains(&name.as_str()))
                .collect();
            assert!(left.is_empty(), "{left:?}");
            std::fs::remove_file(disk.join("ballast")).unwrap();
            in_project(&["run", "retry", "@last"]).code(0);
            assert_eq!(std::fs::metadata(project.join("out.txt")).unwrap().len(), 900_000);
        },
    );
}

#[test]
fn a_full_disk_stops_init_with_its_name_and_room_lets_it_be_done_again() {
    with_small_disk(
        "disk::full::a_full_disk_stops_init_with_its_name_and_room_lets_it_be_done_again",
        "512k",
        |disk| {
            let project = disk.join("project");
            std::fs::create_dir_all(&project).unwrap();
            let ballast = disk.join("ballast");
            let scenario = Scenario::new();
            let in_project =
                |args: &[&str]| scenario.kb_with(args, |command| _ = command.current_dir(&project));
            // One page after the other: each place where the room may end.
            for pages in 0..8 {
                let _ = std::fs::remove_dir_all(project.join(".kb"));
                fill(&ballast);
                let file = std::fs::OpenOptions::new().write(true).open(&ballast).unwrap();
                let length = file.metadata().unwrap().len();
                file.set_len(length.saturating_sub(pages * 4096)).unwrap();
                drop(file);
                let said = in_project(&["init"]);
                std::fs::remove_file(&ballast).unwrap();
                if said.code != 0 {
                    let said = said.code(5);
                    assert!(
                        said.err.contains("No space left") && said.err.contains(".kb"),
                        "{said:?}"
                    );
                }
                in_project(&["init"]).code(0);
                in_project(&["playbook", "validate"]).code(0);
                let reference = Scenario::new();
                let elsewhere = reference.scratch.root().with_extension("other");
                std::fs::create_dir_all(&elsewhere).unwrap();
                reference.kb_with(&["init"], |c| _ = c.current_dir(&elsewhere)).code(0);
                let text =
                    |folder: &Path| std::fs::read(folder.join(".kb/playbooks/add-feature.yml"));
                assert_eq!(text(&project).unwrap(), text(&elsewhere).unwrap(), "{pages} pages");
            }
        },
    );
}

fn fill(ballast: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(ballast).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

#[test]
fn without_room_for_it_a_recording_leaves_nothing_half() {
    with_small_disk(
        "disk::full::without_room_for_it_a_recording_leaves_nothing_half",
        "64k",
        |disk| {
            let path = disk.join("record.yml");
            std::fs::write(&path, "an older one").unwrap();
            fill(&disk.join("ballast"));
            let redactor = Arc::new(kb::redaction::Redactor::default());
            let recording = kb::llm::Recording::new(Arc::new(Nobody), redactor);
            let error = recording.write_to(&path).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "an older one");
            assert_eq!(std::fs::read_dir(disk).unwrap().count(), 2, "nothing half is left");
        },
    );
}

/// A model that is never asked.
struct Nobody;

impl ModelProvider for Nobody {
    fn chat<'a>(
        &'a self,
        _: ChatRequest,
        _: &'a (dyn Fn(&str) + Send + Sync),
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        unreachable!("nothing is asked")
    }

    fn resolve(&self, _: Tier, _: Option<&str>) -> Result<ModelRef, ModelError> {
        unreachable!("nothing is asked")
    }
}

#[test]
fn without_room_for_temporary_files_a_step_that_needs_them_fails_and_says_so() {
    with_small_disk(
        "disk::full::without_room_for_temporary_files_a_step_that_needs_them_fails_and_says_so",
        "64k",
        |disk| {
            fill(&disk.join("ballast"));
            let scenario = Scenario::new();
            let text = "schema: kb.playbook/1\nid: t\nsteps:\n  - {id: fine, run: echo fine}\n  - {id: needs, run: 'head -c 100000 /dev/zero > \"$TMPDIR/file\"'}\n";
            scenario.scratch.write("playbooks/t.yml", text);
            let full = |command: &mut Command| _ = command.env("TMPDIR", disk);
            let said = scenario.kb_with(&["playbook", "run", "t"], full);
            said.code(1).says(&["failed needs", "No space left", "1 succeeded"]);
            std::fs::remove_file(disk.join("ballast")).unwrap();
            scenario.scratch.kb_with(&["run", "retry", "@last"], |command| {
                command.env("XDG_STATE_HOME", &scenario.state);
            });
        },
    );
}
