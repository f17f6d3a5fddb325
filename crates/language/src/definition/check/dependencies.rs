//! Static rule for `dependsOn`: it names other steps of the same list, each once.

use crate::definition::model::{Step, StepPhase};
use crate::definition::syntax::Decoder;
use crate::definition::syntax::outline::Outline;
use kb_base::diagnostic::{Code, Diagnostic};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Checks that `dependsOn` names other steps of the same list, each once.
pub(crate) fn check(
    outline: &Outline,
    steps: &[Arc<Step>],
    finally: &[Arc<Step>],
    decoder: &mut Decoder,
) {
    // From the outline, so that a step with errors is not also reported as unknown.
    let main = outline.steps.iter().map(|name| (name.text.as_str(), StepPhase::Main));
    let last = outline.finally.iter().map(|name| (name.text.as_str(), StepPhase::Finally));
    let phases: BTreeMap<&str, StepPhase> = main.chain(last).collect();
    for step in steps.iter().chain(finally) {
        let mut seen = BTreeSet::new();
        for (id, span) in &step.depends_on {
            let problem = match phases.get(id.as_str()) {
                _ if *id == step.id => Diagnostic::error(
                    Code::SELF_DEPENDENCY,
                    *span,
                    format!("the step `{id}` depends on itself"),
                )
                .help("remove it"),
                None => unknown(id.as_str(), *span, &phases, decoder),
                Some(StepPhase::Main)
                    if step.details().hook.as_ref().is_some_and(|hook| hook.is_early()) =>
                {
                    continue;
                }
                Some(phase) if *phase != step.phase => other_list(step, id.as_str(), *span),
                Some(_) if !seen.insert(id) => {
                    let message = format!("`{id}` is named twice");
                    Diagnostic::warning(Code::NO_EFFECT, *span, message).help("remove one of them")
                }
                Some(_) => continue,
            };
            decoder.push(problem);
        }
    }
}

fn unknown(
    id: &str,
    span: kb_base::diagnostic::Span,
    phases: &BTreeMap<&str, StepPhase>,
    decoder: &mut Decoder,
) -> Diagnostic {
    let help = match decoder.nearest(id, phases.keys().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if phases.len() <= 12 => {
            format!("known steps: {}", phases.keys().copied().collect::<Vec<_>>().join(", "))
        }
        None => "write the id of a step of this list".to_owned(),
    };
    Diagnostic::error(Code::UNKNOWN_STEP, span, format!("unknown step `{id}`")).help(help)
}

fn other_list(step: &Step, id: &str, span: kb_base::diagnostic::Span) -> Diagnostic {
    let (message, help) = match step.phase {
        StepPhase::Main => (
            format!("`{id}` is a step of `finally`, which runs after all others"),
            "move it into `steps`, or remove the dependency",
        ),
        StepPhase::Finally => (
            format!("`{id}` has always ended before `finally` starts"),
            "remove it; `finally` can read any step without a dependency",
        ),
    };
    match step.phase {
        StepPhase::Main => Diagnostic::error(Code::DEPENDS_ON_FINALLY, span, message).help(help),
        StepPhase::Finally => Diagnostic::warning(Code::NO_EFFECT, span, message).help(help),
    }
}
