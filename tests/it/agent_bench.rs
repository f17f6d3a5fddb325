//! The benchmark of the agent loop, with its recorded solutions in place of a model.

use crate::running::Start;
use serde_json::Value;
use std::process::Command;

fn bench(options: &[&str]) -> std::process::Output {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/agent-bench"))
        .args(["--script", "--kb", env!("CARGO_BIN_EXE_kb")])
        .args(options)
        .finish()
}

#[test]
fn every_task_is_open_before_and_solved_by_its_recorded_solution() {
    let output = bench(&[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stdout));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["tasks"].as_u64() >= Some(20), "{report}");
    assert_eq!(report["solved"], report["tasks"]);
    for result in report["results"].as_array().unwrap() {
        assert!(result["modelCalls"].as_u64() >= Some(2), "{result}");
        assert!(result["toolCalls"].as_u64() >= Some(1), "{result}");
    }
}
