//! Comparisons of a text with a number, which are never equal.

use super::subject::Subject;
use crate::plan::output::Output;
use kb_base::diagnostic::{Code, Diagnostic};

/// Reads of the text of a step that are compared with a number, `true` or `false`.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let reads = subject.reads.iter().flatten().chain(&subject.outputs);
    let compared = reads.filter(|read| read.reference.beside_number);
    let found = compared.filter_map(|read| {
        let step = subject.plan.step(subject.plan.find(read.step.as_str())?);
        let text = || Output::of(&step.step, step.specialist.as_ref(), step.child_playbook());
        let path = read.reference.path();
        let is_text = step.step.for_each.is_none()
            && match path.as_slice() {
                ["output"] => matches!(text(), Output::Text),
                ["stdout" | "stderr"] => true,
                _ => false,
            };
        let root = read.step.as_str().replace('-', "_");
        let name = format!("{root}.{}", path.first().filter(|_| is_text)?);
        let problem = Diagnostic::warning(
            Code::TYPE_MISMATCH,
            read.reference.span,
            format!("`{name}` is a text, which is never equal to a number or a boolean"),
        );
        let help = match (step.step.kind.name(), path.as_slice()) {
            ("run", ["output"]) => {
                format!(
                    "convert it: `{name} | int`, or give `{}` the key `parse: json`, or compare with a text: `{name} == '3'`",
                    read.step
                )
            }
            _ => format!("convert it: `{name} | int`, or compare with a text: `{name} == '3'`"),
        };
        let label = format!("`{}` is defined here", read.step);
        Some(problem.label(step.step.span, label).help(help))
    });
    found.collect()
}
