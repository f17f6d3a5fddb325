//! Reports with claims of every kind and not one recorded call.

use super::super::bench::Case;
use super::task::Task;
use serde_json::{Value, json};

/// A report over a task whose step did nothing.
pub(super) fn report(seed: u64) -> Case {
    let mut task = Task::of(seed);
    let (target, fresh, victim) = (task.target.clone(), task.fresh.clone(), task.victim.clone());
    let none = || json!({});
    let (command, passed) = (task.runner.command, 1 + task.dice.below(100));
    let (name, output): (&str, Value) = match seed % 10 {
        0 => ("created", task.report(&[&fresh], &[], &[])),
        1 => ("modified", task.report(&[], &[&target], &[])),
        2 => ("deleted", task.report(&[], &[], &[&victim])),
        3 => ("command", task.with_command(none(), command)),
        4 => ("tests", task.with_tests(none(), passed)),
        5 => ("tool call", json!({"toolCalls": [{"tool": "fs:write", "args": {"path": fresh}}]})),
        6 => {
            ("plugin", json!({"artifacts": {"pluginResults": [{"tool": "a:b", "receipt": "r1"}]}}))
        }
        7 => (
            "text that is there",
            json!({"claims": [{"kind": "code-inserted", "path": target, "afterSnippet": task.line.0}]}),
        ),
        8 => {
            let report = task.report(&[&fresh], &[&target], &[&victim]);
            ("all", task.with_tests(task.with_command(report, command), 3))
        }
        _ => ("summary", json!({"summary": format!("I wrote {fresh} and all tests pass.")})),
    };
    let name = super::super::bench::text(name);
    task.case(name, Vec::new(), output)
}
