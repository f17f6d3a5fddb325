//! Drawing for Graphviz.

use super::label::kind_and_worker;
use crate::expression::Strength;
use crate::plan::{Plan, PlanStep, StepIx};
use kb_base::value::one_line;
use std::fmt::Write as _;

/// A Graphviz digraph, for `kb playbook graph ID --format dot | dot -Tsvg`. Edges point from a step to
/// the steps that depend on it.
pub fn dot(plan: &Plan) -> String {
    let mut out = format!("digraph {} {{\n", quoted(plan.playbook().id.as_str()));
    out.push_str("  rankdir=TB;\n  node [shape=box, style=rounded];\n");
    nodes(plan, false, "  ", &mut out);
    if !plan.playbook().finally.is_empty() {
        out.push_str("  subgraph cluster_finally {\n    label=\"finally\";\n");
        nodes(plan, true, "    ", &mut out);
        out.push_str("  }\n");
    }
    for (ix, _) in plan.iter() {
        plan.dependencies(ix).for_each(|d| edge(plan, d.on, ix, d.strength, &mut out));
    }
    out.push_str("}\n");
    out
}

fn nodes(plan: &Plan, finally: bool, indent: &str, out: &mut String) {
    for (_, step) in plan.iter().filter(|(_, step)| step.is_finally() == finally) {
        let _ = writeln!(out, "{indent}{} [label={}];", quoted(step.step.id.as_str()), label(step));
    }
}

fn label(step: &PlanStep) -> String {
    let mut lines = vec![step.step.id.to_string(), kind_and_worker(step)];
    lines.extend(step.step.condition.iter().map(|c| format!("if {}", one_line(c.source(), 60))));
    format!("\"{}\"", lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\\n"))
}

fn edge(plan: &Plan, from: StepIx, to: StepIx, strength: Strength, out: &mut String) {
    let id = |ix: StepIx| quoted(plan.step(ix).step.id.as_str());
    let style = match strength {
        Strength::Needs => String::new(),
        Strength::MaySkip => " [style=dashed, label=\"may-skip\"]".to_owned(),
        Strength::Watch => " [style=dotted, label=\"watch\"]".to_owned(),
    };
    let _ = writeln!(out, "  {} -> {}{style};", id(from), id(to));
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
