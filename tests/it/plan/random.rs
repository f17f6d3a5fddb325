//! Random graphs against slow and obvious answers.

use crate::simulate::{playbook, step};
use kb::definition::{Catalog, OutputParse, RunCommand, RunStep, Step, StepKind, ToolStep};
use kb::diagnostic::{Code, Diagnostic, SourceId, Span};
use kb::plan::{Plan, StepIx};
use kb::value::StepId;
use proptest::prelude::*;

const SPAN: Span = Span { source: SourceId(0), start: 0, end: 0 };

/// What a step does and which steps it waits for, by number.
type Sketch = Vec<(u8, Vec<usize>)>;

fn sketch() -> impl Strategy<Value = Sketch> {
    (1usize..14).prop_flat_map(|count| {
        let step = (0u8..4, prop::collection::vec(0..count, 0..3));
        prop::collection::vec(step, count)
    })
}

/// The same without circles: a step keeps what has a lower rank, which is not the order of the file.
fn acyclic() -> impl Strategy<Value = Sketch> {
    (sketch(), any::<u64>()).prop_map(|(mut sketch, seed)| {
        let rank = |i: usize| (i as u64 + 1).wrapping_mul(seed | 1) >> 7;
        for (i, (_, on)) in sketch.iter_mut().enumerate() {
            on.retain(|&on| (rank(on), on) < (rank(i), i));
        }
        sketch
    })
}

fn build(sketch: &Sketch) -> (Option<Plan>, Vec<Diagnostic>) {
    let steps = sketch.iter().enumerate().map(|(i, (kind, on))| drawn(i, *kind, on)).collect();
    Plan::build(&playbook(steps, Vec::new()), &Catalog::default())
}

fn drawn(i: usize, kind: u8, on: &[usize]) -> Step {
    let mut step = step(&format!("s{i}"));
    let command = RunCommand::Shell("true".into());
    match kind {
        0 => {
            step.kind = StepKind::Tool(Box::new(ToolStep {
                tool: kb::toolspec::built_in().entry("fs:write"),
            }))
        }
        1 => step.kind = StepKind::Run(RunStep { command, parse: OutputParse::Text }),
        _ => {}
    }
    let id = |on: &usize| (StepId::new(format!("s{on}")).unwrap(), SPAN);
    step.depends_on = on.iter().map(id).collect();
    step
}

/// Whether one step comes after another, by one edge or more.
fn closure(sketch: &Sketch) -> Vec<Vec<bool>> {
    let count = sketch.len();
    let mut after = vec![vec![false; count]; count];
    sketch
        .iter()
        .enumerate()
        .for_each(|(i, (_, on))| on.iter().for_each(|&on| after[i][on] = true));
    for via in 0..count {
        for i in 0..count {
            for j in 0..count {
                after[i][j] |= after[i][via] && after[via][j];
            }
        }
    }
    after
}

fn longest(sketch: &Sketch, i: usize) -> usize {
    1 + sketch[i].1.iter().map(|&on| longest(sketch, on)).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn there_is_a_plan_where_there_is_no_circle(sketch in sketch()) {
        let after = closure(&sketch);
        let (plan, problems) = build(&sketch);
        let knotted = (0..sketch.len()).any(|i| after[i][i]);
        prop_assert_eq!(plan.is_none(), knotted);
        for problem in problems.iter().filter(|problem| problem.code == Code::CIRCULAR_DEPENDENCY) {
            let path = problem.message.rsplit_once(": ").unwrap().1.trim_matches('`');
            let path: Vec<usize> =
                path.split(" → ").map(|id| id[1..].parse().unwrap()).collect();
            prop_assert_eq!(path.first(), path.last());
            for pair in path.windows(2) {
                prop_assert!(sketch[pair[0]].1.contains(&pair[1]), "{:?}", problem.message);
            }
        }
    }

    #[test]
    fn order_paths_and_levels_are_those_of_the_graph(sketch in acyclic()) {
        let after = closure(&sketch);
        let plan = build(&sketch).0.unwrap();
        let at = |i: usize| plan.order().iter().position(|ix| ix.at() == i).unwrap();
        for (i, after_i) in after.iter().enumerate() {
            for on in (0..sketch.len()).filter(|&on| after_i[on]) {
                prop_assert!(at(on) < at(i));
            }
            let below = plan.downstream(&[StepIx(i as u32)]);
            let expected: Vec<usize> = (0..sketch.len()).filter(|&j| j == i || after[j][i]).collect();
            prop_assert_eq!(below.iter().map(|ix| ix.at()).collect::<Vec<_>>(), expected);
            let level = plan.levels().iter().position(|level| level.contains(&StepIx(i as u32)));
            prop_assert_eq!(level, Some(longest(&sketch, i) - 1));
        }
        let path = plan.critical_path(|_| 1);
        prop_assert_eq!(Some(path.len()), (0..sketch.len()).map(|i| longest(&sketch, i)).max());
        for pair in path.windows(2) {
            prop_assert!(sketch[pair[1].at()].1.contains(&pair[0].at()));
        }
    }

    #[test]
    fn a_warning_names_writers_that_nothing_orders(sketch in acyclic()) {
        let after = closure(&sketch);
        let loose = |i: usize, j: usize| i != j && !after[i][j] && !after[j][i];
        let meets = |i: usize, j: usize| sketch[i].0 == 0 && sketch[j].0 <= 1 && loose(i, j);
        let any = (0..sketch.len()).any(|i| (0..sketch.len()).any(|j| meets(i, j)));
        let (_, problems) = build(&sketch);
        let warned = problems.iter().any(|problem| problem.code == Code::UNORDERED_WRITERS);
        prop_assert_eq!(warned, any);
        for problem in &problems {
            let names = problem.message.split(" may change").next().unwrap();
            for id in names.split('`').filter(|part| part.starts_with('s')) {
                let i: usize = id[1..].parse().unwrap();
                prop_assert!((0..sketch.len()).any(|j| meets(i, j) || meets(j, i)), "{}", id);
            }
        }
    }
}
