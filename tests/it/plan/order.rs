//! The order of a plan, its critical path and what is downstream of a step.

use super::draft::draft;
use crate::processor_time;
use crate::simulate::{plan, playbook, step};
use kb::diagnostic::{SourceId, Span};
use kb::plan::{Plan, StepIx};
use kb::value::StepId;
use std::time::Duration;

fn ids(plan: &Plan, steps: &[StepIx]) -> String {
    let ids: Vec<&str> = steps.iter().map(|&ix| plan.step(ix).step.id.as_str()).collect();
    ids.join(" ")
}

#[test]
fn file_order_holds_where_the_graph_leaves_a_choice() {
    let plan = draft("d: set; needs b\nc: set\nb: set\na: set; needs c\nz: set; finally").sound();
    assert_eq!(ids(&plan, plan.order()), "c b d a z");
}

#[test]
fn finally_is_last_even_where_it_is_free() {
    let plan = draft("z: set; finally\na: set\nb: set; needs a\ny: set; finally").sound();
    assert_eq!(ids(&plan, plan.order()), "a b z y");
}

#[test]
fn every_step_is_found_by_its_id() {
    let plan = draft("b: set\na: set\nz: set; finally").sound();
    for (ix, step) in plan.iter() {
        assert_eq!(plan.find(step.step.id.as_str()), Some(ix));
    }
    assert_eq!(plan.find("nobody"), None);
}

#[test]
fn the_critical_path_is_the_heaviest_chain() {
    let text =
        "a: set\nb: set; needs a\nc: set; needs a\nd: set; needs b c\ne: set\nz: set; finally";
    let plan = draft(text).sound();
    assert_eq!(ids(&plan, &plan.critical_path(|_| 1)), "a b d z");
    let weigh = |id: &'static str| {
        let heavy = plan.find(id);
        ids(&plan, &plan.critical_path(move |ix| if Some(ix) == heavy { 10 } else { 1 }))
    };
    assert_eq!(weigh("c"), "a c d z");
    assert_eq!(weigh("e"), "e z");
}

#[test]
fn downstream_is_all_that_waits_and_finally_with_it() {
    let text = "a: set\nb: set; needs a\nc: set; needs b\nd: set\ny: set; finally\nz: set; finally; needs y";
    let plan = draft(text).sound();
    let below = |id: &str| ids(&plan, &plan.downstream(&[plan.find(id).unwrap()]));
    assert_eq!(below("b"), "b c y z");
    assert_eq!(below("d"), "d y z");
    assert_eq!(below("z"), "z");
    assert_eq!(below("y"), "y z");
    assert_eq!(ids(&plan, &plan.downstream(&[])), "");
}

#[test]
fn levels_hold_steps_that_wait_for_none_of_each_other() {
    let plan = draft("a: set\nb: set; needs a\nc: set\nd: set; needs b c\nz: set; finally").sound();
    let levels: Vec<String> = plan.levels().iter().map(|level| ids(&plan, level)).collect();
    assert_eq!(levels, ["a c", "b", "d", "z"]);
}

/// Not a measurement, which is for the benchmarks: quadratic work would take minutes here.
#[test]
fn a_large_plan_takes_no_quadratic_time() {
    const STEPS: usize = 30_000;
    let span = Span::new(SourceId(0), 0, 0);
    let shapes: [fn(usize) -> Vec<usize>; 3] = [
        |i| i.checked_sub(1).into_iter().collect(),
        |i| if i == STEPS - 1 { (0..i).collect() } else { Vec::new() },
        |i| (i.saturating_sub(i % 100 + 100)..i.saturating_sub(i % 100)).step_by(25).collect(),
    ];
    for shape in shapes {
        let steps = (0..STEPS).map(|i| {
            let mut step = step(&format!("s{i}"));
            let id = |on| StepId::new(format!("s{on}")).unwrap();
            step.depends_on = shape(i).into_iter().map(|on| (id(on), span)).collect();
            step
        });
        let book = playbook(steps.collect(), Vec::new());
        let began = processor_time::of_thread();
        let plan = plan(book);
        assert_eq!(plan.order().len(), STEPS);
        let took = processor_time::of_thread() - began;
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}
