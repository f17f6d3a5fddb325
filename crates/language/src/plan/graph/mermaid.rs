//! Drawing for Mermaid.

use super::label::kind_and_worker;
use crate::expression::Strength;
use crate::plan::{Plan, PlanStep, StepIx};
use kb_base::value::one_line;
use std::fmt::Write as _;

/// A Mermaid flowchart, which many code hosts render. Nodes are numbered, because an id such as `end`
/// is a keyword of Mermaid.
pub fn mermaid(plan: &Plan) -> String {
    let mut out = "flowchart TD\n".to_owned();
    nodes(plan, false, "  ", &mut out);
    if !plan.playbook().finally.is_empty() {
        out.push_str("  subgraph finally\n");
        nodes(plan, true, "    ", &mut out);
        out.push_str("  end\n");
    }
    for (ix, _) in plan.iter() {
        for dependency in plan.dependencies(ix) {
            edge(dependency.on, ix, dependency.strength, &mut out);
        }
    }
    out
}

fn nodes(plan: &Plan, finally: bool, indent: &str, out: &mut String) {
    for (ix, step) in plan.iter().filter(|(_, step)| step.is_finally() == finally) {
        let _ = writeln!(out, "{indent}s{}[\"{}\"]", ix.0, label(step));
    }
}

fn label(step: &PlanStep) -> String {
    let mut lines = vec![step.step.id.to_string(), kind_and_worker(step)];
    lines.extend(step.step.condition.iter().map(|c| format!("if {}", one_line(c.source(), 60))));
    lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("<br/>")
}

fn edge(from: StepIx, to: StepIx, strength: Strength, out: &mut String) {
    let (from, to) = (from.0, to.0);
    let _ = match strength {
        Strength::Needs => writeln!(out, "  s{from} --> s{to}"),
        weaker => writeln!(out, "  s{from} -.->|{}| s{to}", weaker.as_str()),
    };
}

/// Escapes with Mermaid entities, which start with `#`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            other => out.push(other),
        }
    }
    out
}
