//! The time of a step whose process was killed: what it worked is shown, and the time until the resume is not.

use crate::running::Start;
use crate::scratch::{Scratch, until};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

/// Milliseconds since 1970 of a time in RFC 3339.
fn millis(time: &Value) -> i64 {
    kb::value::Timestamp::parse(time.as_str().unwrap()).unwrap().0
}

/// When the owner of the only lease of the project gave the last sign of life.
fn renewed(scratch: &Scratch) -> Option<i64> {
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folder = std::fs::read_dir(state).ok()?.next()?.ok()?.path();
    let files = std::fs::read_dir(folder.join("locks")).ok()?.flatten();
    let times = files.filter_map(|file| file.metadata().ok());
    times.map(|file| file.mtime() * 1_000 + file.mtime_nsec() / 1_000_000).max()
}

#[test]
fn the_time_after_a_kill_is_not_the_time_of_a_step_and_the_time_before_it_is() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, forEach: {in: [1], as: n}, run: 'touch began; until test -e go; do sleep 0.02; done'}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.start();
    until("the step does not start", || scratch.has("began"));
    let show = || scratch.json(&["run", "show", "@last", "--json"]);
    let began = millis(&show()["steps"][1]["startedAt"]);
    until("the lease is not renewed", || renewed(&scratch).is_some_and(|at| at > began + 1_500));
    running.kill().unwrap();
    running.wait().unwrap();
    let killed = show();
    assert_eq!(killed["status"], "interrupted");
    for time in [&killed["workMs"], &killed["steps"][1]["durationMs"]] {
        assert!(time.as_u64().unwrap() > 1_000, "{killed}");
    }
    scratch.kb(&["run", "show", "@last"]).code(0).says(&["until it was interrupted"]);
    let last = renewed(&scratch).unwrap();
    let now = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    until("time stands still", || now() > last + 3_000);
    scratch.write("go", "");
    let said = scratch.kb(&["run", "resume", "@last", "--json"]).code(0);
    let done = show();
    let ends = said.events().into_iter().filter(|event| event["type"] == "step:end");
    let live = ends.map(|end| end["durationMs"].clone()).collect::<Vec<_>>();
    for (step, live) in done["steps"].as_array().unwrap().iter().zip(live.iter().rev()) {
        let whole = millis(&step["endedAt"]) - millis(&step["startedAt"]);
        for shown in [&step["durationMs"], live] {
            let shown = shown.as_i64().unwrap();
            assert!(shown > 1_000 && shown <= whole - 2_900, "{shown} of {whole}: {done}");
        }
    }
    let work = done["workMs"].as_i64().unwrap();
    assert!(work > 1_000 && work <= done["durationMs"].as_i64().unwrap() - 2_900, "{done}");
}
