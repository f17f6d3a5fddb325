//! The items of `forEach` steps in displays and summaries: counted, and named where they failed.

use crate::locks::project;
use serde_json::Value;

/// 150 items, of which those that `test` refuses fail.
fn items(test: &str, more: &str) -> String {
    format!(
        "steps:\n  - {{id: a, forEach: {{in: 150, as: n, onItemError: continue}}, env: {{N: '{{{{n}}}}'}}, \
         run: 'echo out-$N; {test}'{more}}}\n"
    )
}

#[test]
fn many_tolerated_failures_of_items_are_one_line() {
    let scratch = project(&items("exit 1", ""));
    let said = scratch.kb(&["playbook", "run", "p"]);
    let all = format!("{}{}", said.out, said.err);
    let tolerated = "tolerated 150 items of a: 0, 1, 2, 3, 4, and 145 more; kb run show ";
    assert_eq!(all.matches("tolerated").count(), 1, "{all}");
    assert!(said.out.contains(tolerated) && said.out.contains("--failed"), "{all}");
    assert!(!all.contains("a[") && !all.contains("out-"), "{all}");
    assert!(said.err.contains("150/150 done · 150 failed: "), "{all}");
    let show = scratch.kb(&["run", "show"]).code(0).out;
    assert!(
        show.contains("150 items without a row: 150 failed") && !show.contains("a[7]"),
        "{show}"
    );
    let failed = scratch.kb(&["run", "show", "--failed"]).code(0).out;
    assert_eq!(failed.matches("exit code 1: out-").count(), 150, "{failed}");
    let json = scratch.json(&["run", "show", "--failed", "--json"]);
    let steps = json["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["status"] == "failed") && steps.len() >= 150);
}

#[test]
fn what_failed_the_run_comes_first_and_failed_items_are_named() {
    let scratch = project(
        "limits: {maxParallel: 8}\nsteps:\n  - {id: ok, run: 'exit 3', onError: continue}\n  \
         - {id: a, dependsOn: [ok], forEach: {in: 6, as: n}, env: {N: '{{n}}'}, \
         run: 'echo out-$N; touch b-$N; until test $(ls b-* | wc -l) = 6; do sleep 0.02; done; exit 1'}\n",
    );
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    let (first, last) = (said.out.find("\nfailed a["), said.out.find("\ntolerated ok: "));
    assert!(first.is_some() && last > first, "{}", said.out);
    assert!(
        said.out.contains("    out-") && said.out.contains("failed 3 more items of a: "),
        "{}",
        said.out
    );
    assert!(said.out.contains("failed a: 6 of 6 items failed"), "{}", said.out);
    assert!(!said.err.contains("a[") && !said.err.contains("out-"), "{}", said.err);
    assert!(said.err.contains("6/6 done · 6 failed: 0, 1, 2, 3, 4, and 1 more"), "{}", said.err);
}

/// Steps and times, as they are shown in the list and in the view of a run, and as the page has them.
#[test]
fn a_run_has_one_time_and_one_count_of_steps_everywhere() {
    let scratch = project(
        "steps:\n  - {id: a, run: sleep 0.3}\n  - {id: b, dependsOn: [a], run: test -e fixed}\n  \
         - {id: c, dependsOn: [b], run: 'true'}\n",
    );
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    let shown = |out: &str| -> String {
        let took = out.split(" in ").nth(1).unwrap_or_default();
        took.split([' ', ':', '\n']).next().unwrap_or_default().to_owned()
    };
    let listed = || -> (String, String) {
        let list = scratch.kb(&["run", "list"]).code(0).out;
        let row: Vec<&str> = list.lines().nth(1).unwrap().split_whitespace().collect();
        (row[row.len() - 2].to_owned(), row[row.len() - 1].to_owned())
    };
    let view = || -> String {
        scratch.kb(&["run", "show"]).code(0).out.lines().nth(1).unwrap().to_owned()
    };
    let took = shown(&said.out);
    assert_eq!(
        listed(),
        (took.clone(), "2/3".to_owned()),
        "a blocked step is not done: {}",
        said.out
    );
    assert!(view().starts_with(&took), "{}", view());
    scratch.write("fixed", "");
    let said = scratch.kb(&["run", "retry", "@last"]).code(0);
    let took = shown(&said.out);
    assert_eq!(listed(), (took.clone(), "3/3".to_owned()), "{}", said.out);
    assert!(view().starts_with(&format!("{took} (")) && view().contains(" since it continued)"));
    assert!(said.out.contains(&format!(" in {took} (")), "{}", said.out);
    let log = scratch.kb(&["run", "logs"]).code(0).out;
    assert!(log.lines().last().unwrap().contains(&format!(" in {took} (")), "{log}");
    let json: Value = scratch.json(&["run", "show", "--json"]);
    assert!(json["workMs"].as_u64().unwrap() >= 300, "{json}");
}
