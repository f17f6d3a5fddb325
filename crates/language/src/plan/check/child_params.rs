//! The parameters that a `playbook` step passes: declared, complete, and of the declared types.

use crate::definition::{ParamType, Playbook, PlaybookStep};
use crate::expression::ValueTemplate;
use kb_base::diagnostic::{Code, Diagnostic, nearest};

/// Checks `with` against the parameters of the child. Computed values are checked when the child run
/// starts.
pub(in crate::plan) fn child_params(call: &PlaybookStep, child: &Playbook) -> Vec<Diagnostic> {
    let id = &call.playbook;
    let mut problems = Vec::new();
    for given in &call.with {
        let name = &given.name;
        let Some(param) = child.params.iter().find(|param| param.name == *name) else {
            let known: Vec<&str> = child.params.iter().map(|param| param.name.as_str()).collect();
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => format!("`{id}` takes no parameters"),
                None => format!("it takes: {}", known.join(", ")),
            };
            let message = format!("`{id}` has no parameter `{name}`");
            problems.push(
                Diagnostic::error(Code::CHILD_PARAMETER, given.name_span, message).help(help),
            );
            continue;
        };
        let misfit = match &given.value {
            ValueTemplate::Literal(value) => param.misfit(&format!("`{name}`"), value),
            _ if param.kind == ParamType::Secret => Some((
                format!("the secret `{name}` cannot be computed"),
                "write where its value is stored: `env:NAME` or `file:PATH`".to_owned(),
            )),
            _ => None,
        };
        if let Some((message, help)) = misfit {
            problems.push(
                Diagnostic::error(Code::CHILD_PARAMETER, given.value_span, message)
                    .label(param.span, "declared here")
                    .help(help),
            );
        }
    }
    for param in &child.params {
        let given = call.with.iter().find(|given| given.name == param.name);
        // A null counts as not given.
        let missing = match given.map(|given| (&given.value, given.value_span)) {
            Some((ValueTemplate::Literal(value), span)) if value.is_null() => Some(span),
            Some(_) => None,
            None => Some(call.span),
        };
        if let Some(span) = missing.filter(|_| param.required && param.default.is_none()) {
            let name = &param.name;
            let message = format!("`{id}` needs a value for its parameter `{name}`");
            problems.push(
                Diagnostic::error(Code::CHILD_PARAMETER, span, message)
                    .label(param.span, "declared here")
                    .help(format!("add `with: {{{name}: ...}}`")),
            );
        }
    }
    problems
}
