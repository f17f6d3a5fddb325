//! The benchmark of `kb do`, with recorded plans and solutions in place of a model.

use crate::running::Start;
use serde_json::Value;
use std::process::Command;

fn bench(only: &str) -> Value {
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/do-bench"))
        .args(["--script", "--kb", env!("CARGO_BIN_EXE_kb"), "--only", only])
        .finish();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn plans_are_valid_repaired_and_revised_and_tasks_of_several_specialists_are_solved() {
    // Of these tasks, the second plan is repaired and the third is revised.
    let report = bench("add-");
    let count = |report: &Value, key: &str| report[key].as_u64().unwrap();
    let tasks = count(&report, "tasks");
    assert_eq!(count(&report, "solved"), tasks, "{report}");
    assert_eq!(count(&report, "validAtFirst") + count(&report, "validAfterRepair"), tasks);
    assert!(count(&report, "validAfterRepair") > 0, "{report}");
    let hard = bench("api-change");
    assert_eq!((count(&hard, "tasks"), count(&hard, "solved")), (1, 1), "{hard}");
    assert_eq!(hard["results"][0]["specialists"], 2);
}
